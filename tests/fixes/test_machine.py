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


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo 'ollama version is 0.1.17'", "0.1.17"),
        ("echo 'Warning: no server runs'; echo 'client version is 0.9.2-rc1'", "0.9.2-rc1"),
        ("exit 3", None),
        ("echo nothing to see", None),
        ("kill -9 $$", None),
        ("exec sleep 60", None),
    ],
)
def test_it_has_the_documented_keys_and_waits_for_nobody(
    script: str, version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ollama").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "ollama").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    if version is None:
        monkeypatch.setattr(machine, "_OLLAMA_TIMEOUT_S", 0.2)
    began = time.monotonic()
    found = machine.system_info()
    assert time.monotonic() - began < 50
    assert list(found)[:3] == ["os", "ram_gb", "gpu_available"]
    assert (type(found["ram_gb"]), type(found["gpu_available"])) == (int, bool)
    assert found.get("ollama_version") == version
    with pytest.raises(TypeError, match="does not support item assignment"):
        found["os"] = "another"  # type: ignore[index]  # that is the question


def test_a_gpu_is_known_by_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(machine, "_GPU_SIGNS", (str(tmp_path / "driver"),))
    assert machine.system_info()["gpu_available"] is False
    machine.system_info.cache_clear()
    (tmp_path / "driver").mkdir()
    assert machine.system_info()["gpu_available"] is True
