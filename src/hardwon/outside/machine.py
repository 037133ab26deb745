"""What machine this is, as far as a fix may depend on it: the same fix works on one and not on another."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

from hardwon import limits

_GPU_SIGNS: Final = ("/proc/driver/nvidia", "/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[-+.\w]*")


def system_info() -> dict[str, Any]:
    """`os`, `ram_gb`, `gpu_available`, and `ollama_version` where there is one. Found out once per process; what cannot be
    found out is left out."""
    return dict(_collected())


@cache
def _collected() -> dict[str, Any]:
    found: dict[str, Any] = {"os": platform.system() or "unknown"}
    ram_bytes = _ram_bytes()
    if ram_bytes:
        found["ram_gb"] = round(ram_bytes / limits.GIB)
    found["gpu_available"] = _has_gpu()
    version = _ollama_version()
    if version:
        found["ollama_version"] = version
    return found


def _ram_bytes() -> int:
    try:
        return max(0, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 0


def _has_gpu() -> bool:
    """By the drivers' own files: asking a driver can take seconds."""
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    return any(Path(sign).exists() for sign in _GPU_SIGNS)


def _ollama_version() -> str | None:
    program = shutil.which("ollama")
    if not program:
        return None
    try:
        done = subprocess.run(  # noqa: S603  # nosec B603  # a program of the user's own, without input of anybody's
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limits.OLLAMA_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # It warns of a server that does not run before it tells the version of the client.
    said = _VERSION.findall(done.stdout.decode(errors="replace"))
    return str(said[-1])[: limits.NAME_CHARS_MAX] if said else None
