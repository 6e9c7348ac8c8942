"""Pane of the time line: the chart, and three lines about the cell under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Label

from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, safe
from widgets.timeline.chart import TimelineChart

_LINES: Final = ("cell", "kinds", "first")


class Steering(Protocol):
    """Part of a view that keys and mouse steer."""

    def step(self, cells: int, lanes: int, *, extends: bool) -> None:
        """Move the cursor by cells and lanes, with the selection or without."""

    def point(self, row: int | None, begin: int | None, end: int | None) -> None:
        """Put the cursor on a cell (None: it stays) of a lane (None: the same), or select the cells between two."""

    def zoom_at(self, cell: int, *, closer: bool) -> None:
        """Show half or twice the time, with a cell where it is."""

    def act(self, action: str) -> None:
        """Do what a key asks for."""


class TimelinePane(Vertical):
    """A `TimelineChart`, and what is in its cell."""

    DEFAULT_CSS = """
    TimelinePane {
        & .about { height: 1; width: 1fr; padding: 0 1; background: $surface; }
        & .cell { text-style: bold; }
        & .first { color: $text-muted; }
    }
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.chart = TimelineChart()
        self.steering: Steering | None = None
        """Does what keys and mouse ask for."""
        self.resized: Callable[[], None] = lambda: None
        """Makes the lines for another size."""
        self._labels = [Label("", classes=f"about {name}", markup=False) for name in _LINES]

    def compose(self) -> ComposeResult:
        """Yield the chart and the lines."""
        yield self.chart
        yield from self._labels

    def show_about(self, texts: Sequence[str]) -> None:
        """Show three lines of foreign text."""
        room = max(0, self.size.width - 2)
        for label, text in zip(self._labels, texts, strict=True):
            label.update(safe_content(cut_parts(safe(text), room)))

    @on(TimelineChart.Resized)
    def _resized(self, event: TimelineChart.Resized) -> None:
        event.stop()
        self.resized()

    @on(TimelineChart.Acted)
    def _acted(self, event: TimelineChart.Acted) -> None:
        event.stop()
        if self.steering is not None and event.cell is not None:
            self.steering.zoom_at(event.cell, closer=event.action == "in")
        elif self.steering is not None:
            self.steering.act(event.action)

    @on(TimelineChart.Stepped)
    def _stepped(self, event: TimelineChart.Stepped) -> None:
        event.stop()
        if self.steering is not None:
            self.steering.step(event.cells, event.lanes, extends=event.extends)

    @on(TimelineChart.Pointed)
    def _pointed(self, event: TimelineChart.Pointed) -> None:
        event.stop()
        if self.steering is not None:
            self.steering.point(event.row, event.begin, event.end)
