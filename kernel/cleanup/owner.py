"""Name the owner of a session: a process name that no other process of this boot ever has.

`PID_STARTTIME`, the start time (field 22 of /proc/PID/stat, clock ticks since boot) in base 36: short enough for the
group name of an event (63 characters), and made of characters that are valid in event groups and folder names.
"""

from __future__ import annotations

import errno
import re
import string
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kernel.errors import FileRefused
from kernel.target import Target

GROUP_PREFIX = "pw_"
INSTANCE_PREFIX = "probewright-"

_DIGITS = string.digits + string.ascii_lowercase
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD, include/linux/sched.h, in field 9 of /proc/PID/stat."""
_NAMESPACED = re.compile(rb"^NSpid:([\t\d ]+)$", re.MULTILINE)
_OWNER = re.compile(r"(\d{1,10})_([0-9a-z]{1,20})(?:_(\d{1,10}))?")


class Owner(NamedTuple):
    """Parsed name of a session."""

    pid: int
    starttime: str
    """Start time in base 36."""
    number: int = 1
    """2 and more for the further sessions of one process."""

    @property
    def process(self) -> str:
        """`PID_STARTTIME`, without the number."""
        return f"{self.pid}_{self.starttime}"


def base36(number: int) -> str:
    """Return a number in base 36, with digits and lowercase letters."""
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits


def owner_name(stat: bytes) -> str:
    """Return `PID_STARTTIME` from the content of /proc/PID/stat; the name in parentheses may hold anything."""
    head, _, tail = stat.rpartition(b")")
    return f"{int(head.split(b' ', 1)[0])}_{base36(int(tail.split()[19]))}"


def parse_owner(text: str) -> Owner | None:
    """Parse the name of a session; None if it is not one of ours."""
    if not (match := _OWNER.fullmatch(text)):
        return None
    pid, start, number = match.groups()
    return Owner(int(pid), start, int(number or 1))


def is_alive(target: Target, owner: Owner) -> bool:
    """Return whether that very process runs on the target."""
    try:
        stat = target.read(f"/proc/{owner.pid}/stat", 4096)
        return owner_name(stat) == owner.process
    except (FileRefused, ValueError, IndexError):
        return False


def is_dead_everywhere(target: Target, owner: Owner) -> bool:
    """Return whether no process of any PID name space is that owner; False if our PID name space does not show all
    processes.

    A process in a container with that PID counts as the owner, whatever its start time: clocks differ between time
    name spaces. Raises TargetLost.
    """
    try:
        if is_alive(target, owner) or not is_initial_pid_namespace(target.read("/proc/2/stat", 4096)):
            return False
        paths = [f"/proc/{name}/status" for name in target.list("/proc") if name.isdigit()]
        statuses = _contents(target, paths)
    except FileRefused:
        return False
    return not has_pid_in_child_namespace(statuses, owner.pid)


def is_initial_pid_namespace(stat: bytes) -> bool:
    """Return whether /proc/2/stat is that of kthreadd, which only the machine's initial PID name space shows."""
    fields = stat.rpartition(b")")[2].split()
    return len(fields) > 6 and fields[6].isdigit() and bool(int(fields[6]) & _KERNEL_THREAD)


def has_pid_in_child_namespace(statuses: Iterable[bytes], pid: int) -> bool:
    """Return whether a process has this PID in a name space below ours, by contents of /proc/PID/status."""
    numbers = (match[1].split()[1:] for match in map(_NAMESPACED.search, statuses) if match)
    return any(b"%d" % pid in below for below in numbers)


def _contents(target: Target, paths: list[str]) -> list[bytes]:
    """Read files of processes, except for those that have ended. Raises FileRefused, TargetLost."""
    ahead: Mapping[str, bytes | FileRefused] = getattr(target, "ahead", lambda _: {})(paths)
    contents: list[bytes] = []
    for path in paths:
        try:
            content = ahead.get(path)
            if isinstance(content, FileRefused):
                raise content
            contents.append(content if content is not None else target.read(path, 1 << 16))
        except FileRefused as error:
            if error.errno not in (errno.ENOENT, errno.ESRCH):
                raise
    return contents
