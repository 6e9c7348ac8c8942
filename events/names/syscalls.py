"""Names of system calls: which number means which call is the ABI of an architecture.

`syscalls.txt` has the numbers as programs are compiled with them (`python -m tests.data.make_syscalls`). It is asked
by the architecture of the kernel that made the record. A kernel of 64 bits runs programs of 32 bits, too, whose calls
have other numbers: a record does not tell them apart. A call of x32 has bit 30 set in its number, and no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

_SAME = {"i386": "i686", "i486": "i686", "i586": "i686"}


class _Table(NamedTuple):
    names: Mapping[int, str]
    numbers: Mapping[str, int]


def call_name(machine: str, number: int) -> str | None:
    """`openat` of 257 on x86_64; None: no call that is known has this number.

    Args:
        machine: `uname -m` of the kernel that made the record.
        number: as it was recorded; -1 is a call that was skipped.
    """
    return _table(machine).names.get(number)


def call_number(machine: str, name: str) -> int | None:
    """257 of `openat` on x86_64; None: that architecture has no such call, or is not known."""
    return _table(machine).numbers.get(name)


def call_names(machine: str = "") -> tuple[str, ...]:
    """Of all calls of an architecture, without one of all; empty where it is not known."""
    return tuple(_table(machine).numbers) if machine else tuple(row[0] for row in _rows()[1:])


def is_call_number(group: str, field: str) -> bool:
    """Whether a field of the events of a group is the number of a system call.

    include/trace/events/syscalls.h, and syscall_enter_define_fields() of kernel/trace/trace_syscalls.c.
    """
    return (group, field) in (("raw_syscalls", "id"), ("syscalls", "__syscall_nr"))


@cache
def _rows() -> tuple[list[str], ...]:
    """The words of each line; those of the first are `name` and the architectures."""
    lines = Path(__file__).with_name("syscalls.txt").read_text().splitlines()
    return tuple(line.split() for line in lines if not line.startswith("#"))


@cache
def _table(machine: str) -> _Table:
    """Both ways; empty where the architecture is not known."""
    rows, machine = _rows(), _SAME.get(machine, machine)
    if machine not in rows[0][1:]:
        return _Table({}, {})
    column = rows[0].index(machine)
    numbers = {row[0]: int(row[column]) for row in rows[1:] if row[column] != "-"}
    return _Table({number: name for name, number in numbers.items()}, numbers)
