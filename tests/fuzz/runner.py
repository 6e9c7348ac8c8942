"""Runs inputs under bounds of time and memory, and counts what came of them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

from tests.fuzz.kinds import Kind

SECONDS = 5.0
"""Of a processor, that one input may take."""
MEMORY = 512 << 20
"""Bytes that one input may take beyond what the process had before."""


_ARENAS = -8
"""M_ARENA_MAX of malloc.h."""


class TooLong(BaseException):
    """An input took more than SECONDS."""


class Failure(NamedTuple):
    """An input that did not end as documented."""

    kind: str
    what: str
    """Exception and the place that raised it; alike failures have the same."""
    data: bytes
    trace: str


def schedule(kinds: Mapping[str, Kind], number: int) -> Iterator[tuple[str, int]]:
    """So many inputs, each kind by its share: its name and its own number."""
    row = [name for name, kind in kinds.items() for _ in range(kind.share)]
    counts: Counter[str] = Counter()
    for at in range(number):
        name = row[at % len(row)]
        yield name, counts[name]
        counts[name] += 1


def made(kind: Kind, name: str, seed: int, number: int) -> bytes:
    """Return input `number` of a kind: the same for the same seed."""
    return kind.make(Random(f"{seed} {name} {number}"))


def feed(kind: Kind, name: str, data: bytes) -> tuple[str, Failure | None]:
    """Give one input; what came of it, and the failure where it was one."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _wait(SECONDS)
    try:
        outcome = kind.feed(data)
    except kind.refusals as error:
        _wait(0)
        if "\n" in str(error):
            return "failed", Failure(name, f"{type(error).__name__} of several lines", data, str(error))
        outcome = type(error).__name__
    except (Exception, TooLong) as error:
        _wait(0)
        return "failed", Failure(name, _named(error), data, traceback.format_exc())
    finally:
        _wait(0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if grown > MEMORY:
        return "failed", Failure(name, f"{grown >> 20} MB of memory", data, "")
    return str(outcome or "taken"), None


def bound_memory() -> None:
    """Have this process get no more than MEMORY beyond what it has, and half a gigabyte for what is mapped only."""
    ctypes.CDLL(None).mallopt(_ARENAS, 2)  # each thread of a line would map one of its own
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY + (512 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def keep(failure: Failure, folder: Path) -> Path:
    """Write a failing input into a folder: `--replay` gives it again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.kind.replace(' ', '_')}-{hashlib.sha256(failure.data).hexdigest()[:12]}"
    path.write_bytes(failure.data)
    return path


def _wait(seconds: float) -> None:
    """Have TooLong raised after so much time of a processor, and after six times as much by the clock; 0: not."""
    for number, timer, most in ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 6)):
        signal.signal(number, _too_long)
        signal.setitimer(timer, seconds * most)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong(f"more than {SECONDS:g} s" if number == signal.SIGPROF else "it waits for ever")


def _named(error: BaseException) -> str:
    """Name of an exception and the innermost place of ours."""
    places = [one for one in traceback.extract_tb(error.__traceback__) if "/tests/fuzz/" not in one.filename]
    ours = [one for one in places if ".venv" not in one.filename and "/lib/python" not in one.filename]
    place = next(reversed(ours or places), None)
    where = f" at {os.path.relpath(place.filename)}:{place.lineno}" if place else ""
    return f"{type(error).__name__}{where}"
