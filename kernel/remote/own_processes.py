"""Find our own processes on a remote host in its /proc: the owner name, and those that serve our connection only.

Both dialects, sudo or doas and the ssh server's session processes are one chain of parents. Their ancestor, the
listening ssh server, is shared with other users; excluding it would exclude its children from other users' traces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused

_DEEPEST = 32
_LISTEN = "0A"
"""TCP_LISTEN of include/net/tcp_states.h, as /proc/net/tcp prints it."""


class ProcessFiles(Protocol):
    def read(self, path: str, limit: int) -> bytes: ...
    def links(self, path: str) -> Sequence[str]: ...


def owner(files: ProcessFiles, pid: int) -> str:
    """Return `PID_STARTTIME` (`kernel.cleanup.owner`); empty if /proc does not show it."""
    try:
        return owner_name(files.read(f"/proc/{pid}/stat", 4096))
    except (FileRefused, ValueError, IndexError):
        return ""


def own_chain(files: ProcessFiles, pid: int) -> tuple[int, ...]:
    """Return `pid` and its ancestors that exist for us alone, nearest first."""
    sockets = _listening(files)
    chain = [pid]
    while len(chain) < _DEEPEST:
        parent = _parent(files, chain[-1])
        if parent <= 1 or parent in chain or _shared(files, parent, sockets):
            break
        chain.append(parent)
    return tuple(chain)


def _shared(files: ProcessFiles, pid: int, sockets: frozenset[str]) -> bool:
    """Return whether a process serves others too: it listens, or (its files being hidden) it is a child of init."""
    try:
        links = files.links(f"/proc/{pid}/fd")
    except FileRefused:
        links = ()
    if links:
        return any(link in sockets for link in links)
    return _parent(files, pid) <= 1


def _listening(files: ProcessFiles) -> frozenset[str]:
    """Return `socket:[INODE]` of all listening TCP sockets."""
    sockets = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            text = files.read(path, 8 << 20).decode("ascii", "replace")
        except FileRefused:
            continue
        for row in text.splitlines()[1:]:
            columns = row.split()
            if len(columns) > 9 and columns[3] == _LISTEN:
                sockets.add(f"socket:[{columns[9]}]")
    return frozenset(sockets)


def _parent(files: ProcessFiles, pid: int) -> int:
    """Return the parent, field 4 of /proc/PID/stat; 0: unknown."""
    try:
        text = files.read(f"/proc/{pid}/stat", 4096).decode("ascii", "replace")
    except FileRefused:
        return 0
    # The second field is the name in parentheses, which may hold anything: count from the last parenthesis.
    match = re.match(r" \S (\d{1,10}) ", text.rpartition(")")[2])
    return int(match[1]) if match else 0
