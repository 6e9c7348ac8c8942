"""Who holds a session: the name of a process that no other process of this boot ever has.

`PID_STARTTIME`, the start time (field 22 of /proc/PID/stat, clock ticks since boot) in base 36: short enough for the
group name of an event (63 characters), and made of characters that both event groups and folders take.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from kernel.errors import FileRefused
from kernel.target import Target

GROUP_PREFIX = "pw_"
INSTANCE_PREFIX = "probewright-"

_DIGITS = string.digits + string.ascii_lowercase
_OWNER = re.compile(r"(\d+)_([0-9a-z]+)(?:_(\d+))?")


class Owner(NamedTuple):
    """A session's name, read."""

    pid: int
    starttime: str
    """In base 36."""
    number: int = 1
    """From 2 on for the further sessions of one process."""

    @property
    def process(self) -> str:
        """`PID_STARTTIME`, without the number."""
        return f"{self.pid}_{self.starttime}"


def base36(number: int) -> str:
    """Digits and small letters."""
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits


def owner_of(stat: bytes) -> str:
    """`PID_STARTTIME` from the content of /proc/PID/stat; the name in brackets may hold anything."""
    head, _, tail = stat.rpartition(b")")
    return f"{int(head.split(b' ', 1)[0])}_{base36(int(tail.split()[19]))}"


def parse_owner(text: str) -> Owner | None:
    """The reverse of a session's name; None where it is none of ours."""
    if not (match := _OWNER.fullmatch(text)):
        return None
    pid, start, number = match.groups()
    return Owner(int(pid), start, int(number or 1))


def is_alive(target: Target, owner: Owner) -> bool:
    """Whether that very process runs on the target."""
    try:
        stat = target.read(f"/proc/{owner.pid}/stat", 4096)
        return owner_of(stat) == owner.process
    except (FileRefused, ValueError, IndexError):
        return False
