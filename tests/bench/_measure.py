"""Rounds of a measurement: their median and spread, the bound of a figure, and its row of text.

A figure is measured in five rounds. A round calls again and again, until all rounds together have measured two
seconds or 200 calls; its peer has its own rounds in between. Clocks count nanoseconds, for a child process
microseconds (its rusage).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

ROUNDS = 5
SECONDS = 2.0
"""Of all rounds together."""
CALLS = 200
"""Of all rounds together, where they take less than SECONDS."""

Timer = Callable[[], float]
"""Does the work once; gives the seconds of it."""


@dataclass(frozen=True)
class Spread:
    """A value a round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    def each(self, change: Callable[[float], float]) -> Spread:
        """Return what `change` makes of the value of each round."""
        return Spread(tuple(map(change, self.rounds)))

    def over(self, peer: Spread) -> Spread:
        """Return the ratio to the peer's value of the same round."""
        return Spread(tuple(own / other for own, other in zip(self.rounds, peer.rounds, strict=True)))


@dataclass(frozen=True)
class Figure:
    """A line of `make bench`; its bound is `most` or `least`, in its unit, and none where it is only to compare."""

    what: str
    unit: str
    most: float | None = None
    least: float | None = None
    digits: int = 1
    """Behind the decimal point."""

    @property
    def bound(self) -> str:
        """Return the bound as text; empty without one."""
        sign, value = ("<=", self.most) if self.most is not None else (">=", self.least)
        return "" if value is None else f"{sign} {value:,g} {self.unit}"

    def holds(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def of(self, spread: Spread, note: str = "") -> Row:
        """Return the row of what was measured; `note` says more of it."""
        return Row(self, spread, note)

    def missing(self, reason: str) -> Row:
        """Return the row of a figure that can't be measured here, which holds nothing."""
        return Row(self, None, reason)


class Row(NamedTuple):
    """A figure as it was measured."""

    figure: Figure
    spread: Spread | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the median keeps the bound."""
        return self.spread is not None and self.figure.holds(self.spread.median)

    @property
    def value(self) -> str:
        """Return median, unit, least and most as text; empty where nothing was measured."""
        if self.spread is None:
            return ""
        digits, rounds = self.figure.digits, self.spread.rounds
        least, most = (f"{value:,.{digits}f}" for value in (min(rounds), max(rounds)))
        return f"{self.spread.median:,.{digits}f} {self.figure.unit} ({least}–{most})"

    def __str__(self) -> str:
        status = "ok  " if self.holds else "FAIL"
        return f"  {status} {self.figure.what:<58} {self.value:<40} {self.figure.bound:<24} {self.note}".rstrip()


class Part(NamedTuple):
    """Figures that are measured together, in at most 30 seconds on a quiet machine."""

    name: str
    figures: Sequence[Figure]
    measure: Callable[[], Iterable[Row]]
    """Gives a row for each of the figures."""


def interleaved(*timers: Timer) -> list[Spread]:
    """Return the seconds a call of each timer; a round of each in turn, so that a busy machine is so for all."""
    return _columns([_share([timer])[0] for timer in timers] for _ in range(ROUNDS))


def together(timers: Sequence[Timer]) -> list[Spread]:
    """Return the seconds a call of each of many timers, where two seconds of all of them are enough."""
    return _columns(_share(timers) for _ in range(ROUNDS))


def _share(timers: Sequence[Timer]) -> list[float]:
    """Mean seconds of each timer in passes over all of them, until a round has its share of seconds or calls."""
    sums, passes = [0.0] * len(timers), 0
    while sum(sums) < SECONDS / ROUNDS and passes < CALLS / ROUNDS:
        sums = [taken + timer() for taken, timer in zip(sums, timers, strict=True)]
        passes += 1
    return [taken / passes for taken in sums]


def _columns(rounds: Iterable[Sequence[float]]) -> list[Spread]:
    return [Spread(column) for column in zip(*rounds, strict=True)]


def cpu_timer(work: Callable[[], object]) -> Timer:
    """Return a timer of the CPU time that this process takes for `work`, all its threads included."""

    def timer() -> float:
        began = time.process_time_ns()
        work()
        return (time.process_time_ns() - began) / 1e9

    return timer


class Used(NamedTuple):
    """Seconds that a command took."""

    cpu: float
    """Of user and system."""
    wall: float


def run_child(command: Sequence[str], **options: Any) -> Used:
    """Run a command to its end; `options` are those of Popen. Raises CalledProcessError."""
    began = time.perf_counter_ns()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    wall = (time.perf_counter_ns() - began) / 1e9
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Used(usage.ru_utime + usage.ru_stime, wall)


def child_timer(command: Sequence[str], **options: Any) -> Timer:
    """Return a timer of the CPU time of a command; see `run_child`."""
    return lambda: run_child(command, **options).cpu
