"""Represent what can be read of a function's call by each means to attach to it, with the reasons for the rest."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple


class Means(enum.StrEnum):
    """Means to attach to a function; the value is its name for people."""

    FTRACE_KPROBE = "kprobe on ftrace"
    """Kprobe that ftrace's call at the entry of the function calls (CONFIG_KPROBES_ON_FTRACE)."""
    BREAKPOINT = "kprobe by breakpoint"
    OPTIMISED = "optimised kprobe"
    """Kprobe whose breakpoint became a jump (CONFIG_OPTPROBES)."""
    KRETPROBE = "kretprobe"
    FPROBE_ENTRY = "fprobe entry"
    FPROBE_EXIT = "fprobe exit"
    MULTI_ENTRY = "kprobe.multi"
    MULTI_EXIT = "kretprobe.multi"
    FENTRY = "fentry"
    FEXIT = "fexit"
    TRACEPOINT = "tracepoint"

    @property
    def at_exit(self) -> bool:
        """True if the probe runs when the function returns."""
        return self in (Means.KRETPROBE, Means.FPROBE_EXIT, Means.MULTI_EXIT, Means.FEXIT)

    @property
    def by_program(self) -> bool:
        """True if a BPF program runs; False: the kernel writes an event of tracefs."""
        return self in (Means.MULTI_ENTRY, Means.MULTI_EXIT, Means.FENTRY, Means.FEXIT)


class ReadableValue(NamedTuple):
    """An argument or the return value, by one means."""

    name: str
    """Name of the argument, or `$retval`."""
    fetcharg: str = ""
    """Fetcharg that records the value; empty: it can't be read."""
    reason: str = ""
    """Reason why the value can't be read, in a line; empty: it can."""
    note: str = ""
    """Limit of what is read, in a line: only members, two registers."""


class MeansReport(NamedTuple):
    """Values of the function's call that one means reads."""

    means: Means
    spec: str = ""
    """Probe that attaches by this means, as a specification; empty: none does."""
    refusal: str = ""
    """Reason why nothing attaches by this means, in a line; empty: it attaches."""
    values: tuple[ReadableValue, ...] = ()
    registers: tuple[str, ...] = ()
    """Registers that can be recorded, without `%`."""
    registers_note: str = ""
    """Reason why other registers can't be recorded; empty: all of struct pt_regs can."""
    notes: tuple[str, ...] = ()

    @property
    def attaches(self) -> bool:
        """True if a probe can be attached by this means."""
        return not self.refusal


class ArgumentPlace(NamedTuple):
    """Place of a parameter, or of the return value, by the calling convention."""

    name: str
    c_type: str
    place: str
    """`%di`, `%dx and %cx`, `on the stack: $stack1`; empty: no probe can read it."""
    reason: str = ""
    """Reason why no probe can read the value there; empty: a probe can."""


class SavedSet(NamedTuple):
    """Registers that a structure of the kernel has room for."""

    structure: str
    """`struct pt_regs`, `struct ftrace_regs`."""
    registers: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """All that can be read of a function's call on one kernel."""

    function: str
    prototype: str
    """Declaration in C; empty: BTF does not have it."""
    kernel: str
    """`Linux 7.2.13 x86-64`."""
    machine: str
    """`uname -m`."""
    arguments: tuple[ArgumentPlace, ...]
    saved: tuple[SavedSet, ...]
    settings: tuple[tuple[str, str], ...]
    """Options of the kernel's configuration, and other switches, each with its value; `unknown` where it can't be
    read."""
    reports: tuple[MeansReport, ...]
    notes: tuple[str, ...] = ()

    def report(self, means: Means) -> MeansReport:
        """Return the first report of a means. Raises StopIteration for a tracepoint where there is none."""
        return next(report for report in self.reports if report.means is means)
