"""What machine this is: the same fix works on one and not on another."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from hardwon import limits

# By the drivers' own files: asking a driver can take seconds.
_GPU_SIGNS: Final = "/proc/driver/nvidia /dev/nvidia0 /dev/nvidiactl /dev/kfd /dev/dxg".split()
_OLLAMA_TIMEOUT_S: Final = 2.0


@cache
def system_info() -> Mapping[str, Any]:
    """`os`, `ram_gb`, `gpu_available`, and `ollama_version` where there is one. Found out once per
    process; what cannot be found out is left out.
    """
    info: dict[str, Any] = {"os": platform.system() or "unknown"}
    with suppress(AttributeError, OSError, ValueError):
        ram_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if ram_bytes > 0:
            info["ram_gb"] = round(ram_bytes / limits.GIB)
    if platform.system() == "Darwin":
        info["gpu_available"] = platform.machine() == "arm64"
    else:
        info["gpu_available"] = any(Path(sign).exists() for sign in _GPU_SIGNS)
    if program := shutil.which("ollama"):
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603  # nosec B603  # a program of the user's own, without input of anybody's
                [program, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_OLLAMA_TIMEOUT_S,
                check=False,
            )
            # It warns of a server that does not run before it tells the version of the client.
            versions = re.findall(r"\d+(?:\.\d+)+[-+.\w]*", done.stdout.decode(errors="replace"))
            if versions:
                info["ollama_version"] = versions[-1][: limits.NAME_CHARS_MAX]
    return MappingProxyType(info)
