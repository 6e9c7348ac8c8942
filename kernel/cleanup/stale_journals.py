"""Read the journals (`kernel.agent.journal`) on a target: the undo steps that dead processes left."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from kernel.agent import journal
from kernel.cleanup.owner import base36
from kernel.errors import FileRefused
from kernel.target import Effect, Step, Target

_NAME = re.compile(r"(\d{1,10})-(\d{1,20})(?:-([0-9a-f]{32}))?")
_UID = re.compile(r"^Uid:\s+\d+\s+(\d{1,10})\b", re.MULTILINE)
_MOST_BYTES = 4 << 20


class StaleJournal(NamedTuple):
    """Journal of a process: path, process, and steps to undo."""

    path: str
    process: str
    """`PID_STARTTIME`, as `kernel.cleanup.owner` writes it."""
    steps: tuple[Step, ...]
    """Undo steps, the oldest first."""


def read_journals(target: Target, tracefs: str) -> list[StaleJournal]:
    """Return all readable journals, of live and dead processes; those of an earlier boot are empty. Raises
    TargetLost.

    Journals that another machine may have written (in a shared home folder) are left out.

    Args:
        target: a kernel.
        tracefs: mount point of tracefs there; a step on a file elsewhere is not one of ours.
    """
    boot = _text(target, journal.BOOT_ID).strip()
    machine = journal.machine_of(_text(target, journal.MACHINE_ID).encode())
    journals: list[StaleJournal] = []
    for folder in _folders(target):
        for name in _names(target, folder):
            if not (match := _NAME.fullmatch(name)) or (match[3] or "") != machine:
                continue
            path = f"{folder}/{name}"
            try:
                boot_of_journal, entries = journal.parse(target.read(path, _MOST_BYTES))
            except FileRefused:
                continue
            if boot_of_journal != boot and not machine and folder != journal.ROOTS:
                continue  # cannot be proved to be of this machine
            steps = tuple(_steps(entries, tracefs)) if boot_of_journal and boot_of_journal == boot else ()
            journals.append(StaleJournal(path, f"{match[1]}_{base36(int(match[2]))}", steps))
    return journals


def _steps(entries: list[journal.Entry], tracefs: str) -> Iterator[Step]:
    for effect, raw, data, expects in entries:
        path = raw.decode("utf-8", "surrogateescape")
        if posixpath.normpath(path) == path and path.startswith(f"{tracefs}/") and effect in (b"write", b"append"):
            yield Step(Effect(effect.decode()), path, data, expects)


def _folders(target: Target) -> list[str]:
    """Return the folders in which a process like that which serves us keeps its journal."""
    pid = target.owner.partition("_")[0]
    uid = _UID.search(_text(target, f"/proc/{pid}/status"))
    pairs = [word.partition("=") for word in _text(target, f"/proc/{pid}/environ").split("\0")]
    environment = {name: value for name, _, value in pairs}
    return journal.folders(int(uid[1]) if uid else 0, environment)


def _text(target: Target, path: str) -> str:
    try:
        return target.read(path, 1 << 16).decode("utf-8", "replace")
    except FileRefused:
        return ""


def _names(target: Target, folder: str) -> list[str]:
    try:
        return list(target.list(folder))
    except FileRefused:
        return []
