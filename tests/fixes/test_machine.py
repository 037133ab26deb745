"""What is found out about the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardwon.fixes import machine


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    machine.system_info.cache_clear()
    yield
    machine.system_info.cache_clear()


def with_ollama(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "ollama"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_it_has_the_documented_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_ollama(tmp_path, "echo 'ollama version is 0.1.17'", monkeypatch)
    found = machine.system_info()
    assert list(found) == ["os", "ram_gb", "gpu_available", "ollama_version"]
    assert isinstance(found["ram_gb"], int)
    assert isinstance(found["gpu_available"], bool)
    assert found["ollama_version"] == "0.1.17"


@pytest.mark.parametrize("script", ["exit 3", "echo nothing to see", "kill -9 $$", "exec sleep 60"])
def test_an_ollama_of_no_use_is_left_out(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_OLLAMA_TIMEOUT_S", 0.2)
    with_ollama(tmp_path, script, monkeypatch)
    began = time.monotonic()
    assert "ollama_version" not in machine.system_info()
    assert time.monotonic() - began < 50


def test_a_gpu_is_known_by_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(machine, "_GPU_SIGNS", (str(tmp_path / "driver"),))
    assert machine.system_info()["gpu_available"] is False
    machine.system_info.cache_clear()
    (tmp_path / "driver").mkdir()
    assert machine.system_info()["gpu_available"] is True
    machine.system_info.cache_clear()
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert machine.system_info() == {
        "os": "Darwin",
        "ram_gb": machine.system_info()["ram_gb"],
        "gpu_available": True,
    }


def test_it_is_found_out_once_and_nobody_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_ollama(tmp_path, f"echo x >> {tmp_path}/asked; echo 0.1.17", monkeypatch)
    with pytest.raises(TypeError, match="does not support item assignment"):
        machine.system_info()["os"] = "another"  # type: ignore[index]  # that is the question
    assert machine.system_info()["os"] != "another"
    assert (tmp_path / "asked").read_text() == "x\n"
