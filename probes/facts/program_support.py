"""Represent the attach types of BPF programs that a kernel takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class ProgramSupport:
    """Attach types of BPF programs that a kernel takes, as tried (`kernel.bpf.attaching`); unknown: all of them."""

    fentry: bool = True
    """True if a program can be attached to the entry or the exit of one function (fentry, fexit)."""
    multi: bool = True
    """True if a program can be attached to several functions at once (kprobe.multi, kretprobe.multi)."""
    obstacle: str = ""
    """Why none can be attached, in the kernel's words; empty: unknown."""
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Functions that were refused a program at their entry or exit, each with the kernel's reason."""

    @property
    def any(self) -> bool:
        """True if programs can be attached at all."""
        return self.fentry or self.multi


UNKNOWN_SUPPORT: Final = ProgramSupport()
