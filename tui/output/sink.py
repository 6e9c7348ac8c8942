"""What takes events to a place of its own: not into one file, but to a collector or into a row of files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from events.record import Record


class SinkReport(NamedTuple):
    """What is said at the end."""

    text: str
    """Where the events went, how many, how large."""
    values: Mapping[str, str | int]
    """The same for JSON."""
    failed: bool = False
    """Nothing of what came could be given out."""


def counted(number: int, what: str = "event") -> str:
    """`1 event`, `2,000 events`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class Sink(ABC):
    """An `events.export.source.Writer` with a place of its own; all but `notes` for the thread of the events."""

    @property
    @abstractmethod
    def left_out(self) -> int:
        """Events that were taken and did not get there."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What was left out, a line each."""

    @abstractmethod
    def take(self, record: Record) -> None:
        """One event more; they come in the order of their sequence numbers. Raises OSError, FileRefused."""

    @abstractmethod
    def idle(self) -> None:
        """Some time has gone by, with events or without. Raises OSError, FileRefused."""

    @abstractmethod
    def finish(self) -> None:
        """Give out what is held back; nothing comes after it. Raises OSError, FileRefused."""

    @abstractmethod
    def discard(self) -> None:
        """It ends by an error: what is held back is let go of."""

    @abstractmethod
    def told(self) -> SinkReport:
        """What was done, after `finish`."""
