"""Find programs and headers that a lab needs and this machine lacks, and the command that installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kernel.lab.errors import LabError

_QEMU = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm"),
    "riscv64": ("qemu-system-riscv64", "qemu-system-misc"),
}
_FIRMWARE = Path("/usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin")
"""Firmware of a riscv64 machine, which QEMU loads before the kernel."""
_BUILD_PROGRAMS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "pahole": "dwarves",
    "xz": "xz-utils",
}
_HEADERS = {"stdio.h": "libc6-dev", "libelf.h": "libelf-dev", "openssl/opensslv.h": "libssl-dev"}


class MissingTool(NamedTuple):
    """A program or header that is missing here."""

    name: str
    """Name of the program or header."""
    package: str
    """Debian package that contains it."""


def missing(arch: str) -> list[MissingTool]:
    """Return the programs missing for booting a guest of an architecture. Raises LabError for an unsupported one."""
    if arch not in _QEMU:
        raise LabError(f"no lab for {arch}", f"{', '.join(_QEMU)} can be booted: say amd64:7.2")
    programs = [
        _QEMU[arch],
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
    ]
    tools = [MissingTool(program, package) for program, package in programs if shutil.which(program) is None]
    if arch == "riscv64" and not _FIRMWARE.exists():
        tools.append(MissingTool(_FIRMWARE.name, "opensbi"))
    return tools


def missing_to_build() -> list[MissingTool]:
    """Return the programs and headers missing for compiling a kernel."""
    tools = [
        MissingTool(program, package) for program, package in _BUILD_PROGRAMS.items() if shutil.which(program) is None
    ]
    compiler = shutil.which("gcc") is not None
    tools += [
        MissingTool(name, package) for name, package in _HEADERS.items() if not (compiler and _has_header(name))
    ]
    return tools


def _has_header(name: str) -> bool:
    source = f"#include <{name}>\n".encode()
    return subprocess.run(["gcc", "-E", "-xc", "-"], input=source, capture_output=True, check=False).returncode == 0


def command(tools: Iterable[MissingTool]) -> str:
    """Return the command that installs the missing packages."""
    names = sorted({need.package for need in tools})
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install --no-install-recommends {' '.join(names)}"


def require(tools: list[MissingTool], purpose: str) -> None:
    """Raise LabError if a program or header is missing."""
    if tools:
        names = ", ".join(dict.fromkeys(need.name for need in tools))
        raise LabError(f"{names} missing for the lab ({purpose})", command(tools))
