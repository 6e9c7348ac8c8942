"""Map system call numbers to names, which depends on the architecture's ABI.

`syscalls.txt` has the numbers as compiled into programs (`python -m tests.data.make_syscalls`). It is indexed by the
architecture of the kernel that made the record. A 64-bit kernel also runs 32-bit programs, whose calls have other
numbers: a record does not distinguish them. An x32 call has bit 30 set in its number, and no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

MACHINE_ALIASES = {"i386": "i686", "i486": "i686", "i586": "i686"}
"""Other names of architectures, as `uname -m` has them."""


class _Table(NamedTuple):
    names: Mapping[int, str]
    numbers: Mapping[str, int]


def call_name(machine: str, number: int) -> str | None:
    """Return the name of a system call, `openat` for 257 on x86_64; None: the number is unknown.

    Args:
        machine: `uname -m` of the kernel that made the record.
        number: recorded number; -1 is a skipped call.
    """
    return _table(machine).names.get(number)


def call_number(machine: str, name: str) -> int | None:
    """Return the number of a system call, 257 for `openat` on x86_64; None: the architecture or call is unknown."""
    return _table(machine).numbers.get(name)


def call_names(machine: str = "") -> tuple[str, ...]:
    """Return the names of all calls of an architecture, or of all architectures; empty if it is unknown."""
    return tuple(_table(machine).numbers) if machine else tuple(row[0] for row in _rows()[1:])


def is_call_number(group: str, field: str) -> bool:
    """Return whether a field of a group's events is a system call number.

    See include/trace/events/syscalls.h, and syscall_enter_define_fields() of kernel/trace/trace_syscalls.c.
    """
    return (group, field) in (("raw_syscalls", "id"), ("syscalls", "__syscall_nr"))


@cache
def _rows() -> tuple[list[str], ...]:
    """Return the words of each line; the first line has `name` and the architectures."""
    lines = Path(__file__).with_name("syscalls.txt").read_text().splitlines()
    return tuple(line.split() for line in lines if not line.startswith("#"))


@cache
def _table(machine: str) -> _Table:
    """Return both mappings; empty if the architecture is unknown."""
    rows, machine = _rows(), MACHINE_ALIASES.get(machine, machine)
    if machine not in rows[0][1:]:
        return _Table({}, {})
    column = rows[0].index(machine)
    numbers = {row[0]: int(row[column]) for row in rows[1:] if row[column] != "-"}
    return _Table({number: name for name, number in numbers.items()}, numbers)
