"""What this machine lacks for a lab, and the command that brings it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from typing import NamedTuple

from kernel.lab.errors import LabError

_QEMU = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm"),
}
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
    """Something that is not here."""

    what: str
    """A program or a header."""
    package: str
    """The Debian package that has it."""


def missing(arch: str) -> list[MissingTool]:
    """What booting a guest of an architecture needs and this machine lacks. LabError for any other architecture."""
    if arch not in _QEMU:
        raise LabError(f"no lab for {arch}", "amd64 and arm64 can be booted: say amd64:7.2")
    programs = [
        _QEMU[arch],
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
    ]
    return [MissingTool(program, package) for program, package in programs if shutil.which(program) is None]


def missing_to_build() -> list[MissingTool]:
    """What compiling a kernel needs and this machine lacks."""
    found = [
        MissingTool(program, package) for program, package in _BUILD_PROGRAMS.items() if shutil.which(program) is None
    ]
    compiler = shutil.which("gcc") is not None
    found += [
        MissingTool(name, package) for name, package in _HEADERS.items() if not (compiler and _has_header(name))
    ]
    return found


def _has_header(name: str) -> bool:
    source = f"#include <{name}>\n".encode()
    return subprocess.run(["gcc", "-E", "-xc", "-"], input=source, capture_output=True, check=False).returncode == 0


def command(found: Iterable[MissingTool]) -> str:
    """The command that installs them."""
    names = sorted({need.package for need in found})
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install --no-install-recommends {' '.join(names)}"


def require(found: list[MissingTool], purpose: str) -> None:
    """Raise LabError when something is missing."""
    if found:
        names = ", ".join(dict.fromkeys(need.what for need in found))
        raise LabError(f"{names} missing for the lab ({purpose})", command(found))
