"""List the architectures whose code is read; for another one, a module beside these and its line here."""

from __future__ import annotations

from typing import Final

from probes.code.architectures import arm64, riscv64, x86_64
from probes.code.architectures.architecture import Architecture

ARCHITECTURES: Final[dict[str, Architecture]] = {"x86_64": x86_64, "aarch64": arm64, "riscv64": riscv64}
"""Architectures by `uname -m`."""


def names_text() -> str:
    """Return the common names of all: `x86-64 and arm64`."""
    *most, last = (one.NAME for one in ARCHITECTURES.values())
    return f"{', '.join(most)} and {last}"
