"""Compile the BPF objects of tests/data/bpf with clang, each once in a process."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "data" / "bpf"
_MACHINES = {"x86_64": ("x86", "x86_64-linux-gnu"), "aarch64": ("arm64", "aarch64-linux-gnu")}
_FOLDER = tempfile.TemporaryDirectory(prefix="probewright-objects-")


@cache
def built(name: str) -> Path:
    """Return the object of `NAME.bpf.c`; skip the test where clang or libbpf's headers are missing (unless both must
    be there).
    """
    clang = shutil.which("clang")
    if clang is None or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        reason = "clang and libbpf-dev compile the objects, and are not installed"
        if os.environ.get("PROBEWRIGHT_REAL") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    architecture, folder = _MACHINES[platform.machine()]
    path = Path(_FOLDER.name) / f"{name}.bpf.o"
    words = [f"-D__TARGET_ARCH_{architecture}", "-idirafter", f"/usr/include/{folder}", "-Wno-gnu", "-c"]
    subprocess.run(
        [clang, "-O2", "-g", "-target", "bpf", *words, str(SOURCES / f"{name}.bpf.c"), "-o", str(path)], check=True
    )
    return path


@cache
def stripped(name: str) -> Path:
    """Return the object without debug information, as libbpf-tools ship theirs."""
    path = Path(_FOLDER.name) / f"{name}.stripped.bpf.o"
    strip = shutil.which("llvm-strip") or pytest.skip("llvm-strip is not installed")
    subprocess.run([strip, "-g", "-o", str(path), str(built(name))], check=True)
    return path
