"""Base class of outputs other than a single file: a collector, or a series of files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from events.record import Record


class SinkReport(NamedTuple):
    """Final report of a sink."""

    text: str
    """Destination, number and size of the events."""
    values: Mapping[str, str | int]
    """The report's values for JSON."""
    failed: bool = False
    """True if no event at all could be exported."""


class Sink(ABC):
    """An `events.export.source.Writer` with its own destination; all but `notes` is called by the thread of the
    events.
    """

    @property
    @abstractmethod
    def omitted(self) -> int:
        """Number of events that were taken but did not arrive."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Notes on missing events, one a line."""

    @abstractmethod
    def take(self, record: Record) -> None:
        """Take one event, in the order of sequence numbers. Raises OSError, ExportRefused."""

    @abstractmethod
    def idle(self) -> None:
        """Work periodically; called whether or not events arrive. Raises OSError, ExportRefused."""

    @abstractmethod
    def finish(self) -> None:
        """Write everything held back; nothing may follow. Raises OSError, ExportRefused."""

    @abstractmethod
    def discard(self) -> None:
        """Drop everything held back, after an error."""

    @abstractmethod
    def report(self) -> SinkReport:
        """Return the report, after `finish`."""
