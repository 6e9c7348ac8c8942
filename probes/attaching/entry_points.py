"""Find the traceable functions that a word names: functions by name or pattern, or the entry of a system call."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from typing import Final

from events.names.glob import Glob
from probes.attaching.spellings import SYSTEM_CALLS, closest
from probes.facts.facts import TargetFacts
from probes.functions.function_index import index_of

_ENTRY_NAMES: Final = {
    "stat": "newstat",
    "lstat": "newlstat",
    "fstat": "newfstat",
    "uname": "newuname",
    "umount2": "umount",
    "sendfile": "sendfile64",
}
"""System calls whose function has another name (SYSCALL_DEFINE in fs/stat.c, kernel/sys.c, fs/namespace.c)."""


def entry_points(word: str, facts: TargetFacts) -> tuple[str, ...]:
    """Return the traceable functions that a word means; empty: there is none.

    Args:
        word: name of a function (`vfs_open`), a pattern (`vfs_*`), or name of a system call (`openat`, `sys_openat`).
        facts: what the target has.
    """
    index = index_of(facts)
    if any(letter in word for letter in "*?["):
        fits = Glob(word).matches
        return tuple(name for name in index.modules if fits(name))
    if index.count(word):
        return (word,)
    return next(((name,) for name in entry_names(word) if index.count(name)), ())


def entry_names(call: str) -> tuple[str, ...]:
    """Return the names that the function of a system call may have, by architecture."""
    bare = call.removeprefix("sys_")
    return tuple(f"{prefix}{_ENTRY_NAMES.get(bare, bare)}" for prefix in SYSTEM_CALLS)


def name_test(words: Iterable[str], facts: TargetFacts) -> Callable[[str], bool]:
    """Return a test whether a function is meant by one of some words (see `entry_points`), by its name; also of
    functions that can't be traced any more.
    """
    texts = tuple(words)
    names = {name for word in texts for name in (*entry_points(word, facts), *entry_names(word))}
    return lambda name: name in names or any(fnmatch.fnmatchcase(name, word) for word in texts)


def nearest_entry_points(word: str, facts: TargetFacts) -> list[str]:
    """Return up to three names that an unknown word may mean: of functions, and of system calls without prefix."""
    calls = {name.partition("sys_")[2] for name in index_of(facts).modules if name.startswith(SYSTEM_CALLS)}
    return closest(word, calls) or closest(word, index_of(facts).modules)
