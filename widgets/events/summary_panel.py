"""Panel of the summary: rates over time; below them latencies, values and, on a wide screen, processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Label

from widgets.events.summary_rows import Bar, BarRows, Rate, RateRows, rate_lines
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, fit, safe

_WIDE: Final = 110
"""Columns from which on processes have a list of their own."""
_TITLES: Final = 3
"""Lines of the head, and of the titles of the rates and of the lists below."""


class Bars(NamedTuple):
    """Bars below a title."""

    title: str
    bars: tuple[Bar, ...] = ()
    total: int = 0
    """Total that shares refer to; 0: no shares are shown."""


class SummaryText(NamedTuple):
    """Content of the panel."""

    head: str = ""
    """Source of the figures, and missing data."""
    rate_title: str = ""
    rates: tuple[Rate, ...] = ()
    rate_step: int = 0
    """Nanoseconds of an interval of the rates; 0: there are none."""
    latencies: Bars = Bars("")
    values: Bars = Bars("")
    tasks: Bars = Bars("")
    source_key: str = ""
    """Key for the other source of the figures; empty: there is none."""


class SummaryList(LineList):
    """List of rows below a title."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Only these", show=False, tooltip="Show the events with this value"),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, header=True)
        self.cursor_scope = self
        self._title = ""

    def fill(self, title: str, rows: BarRows | RateRows) -> None:
        """Show other rows; the cursor stays."""
        self._title = title
        self.window.rows = rows
        self.rows_changed()

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the title, with the legend for that many columns."""
        legend = self.rows.legend(columns) if isinstance(self.rows, RateRows) else ""
        return (Piece(fit(cut_parts(f" {safe(self._title)}{legend}", columns), columns)),)


class SummaryPanel(Vertical):
    """Panel of a `SummaryText`, with messages that request other content."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "field(1)", "Next field", tooltip="Count the values of the next field"),
        Binding("V", "field(-1)", "Field before", show=False, tooltip="Count the values of the field before"),
        Binding("k", "source", "In the kernel", tooltip="Let the kernel count instead of recording, or end that"),
    ]

    DEFAULT_CSS = """
    SummaryPanel {
        & .head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
        & #summary-rates { height: 3; }
        & Horizontal { height: 1fr; }
        & Horizontal > SummaryList { width: 1fr; }
        & #summary-tasks { display: none; }
        &.-wide #summary-tasks { display: block; }
        & SummaryList > .line-list--header { text-style: bold underline; color: $text-accent; }
    }
    """

    class FieldAsked(Message):
        """Request to count another field, `step` fields away."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class SourceAsked(Message):
        """Request to count in the kernel, or events again."""

    class Wanted(Message):
        """Request to show the events of a row."""

        def __init__(self, of_tasks: bool, row: int) -> None:
            super().__init__()
            self.of_tasks = of_tasks
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.rates = SummaryList("summary-rates")
        self.latencies = SummaryList("summary-latencies")
        self.values = SummaryList("summary-values")
        self.tasks = SummaryList("summary-tasks")
        self._head = Label("", classes="head", markup=False)
        self._shown = SummaryText()
        self._rates_shown: tuple[object, ...] = ()
        """Content and size of the rates."""

    def compose(self) -> ComposeResult:
        """Yield the head, then the lists."""
        yield self._head
        yield self.rates
        with Horizontal():
            yield self.latencies
            yield self.values
            yield self.tasks

    @property
    def is_wide(self) -> bool:
        """True if processes have a list of their own."""
        return self.has_class("-wide")

    def show(self, text: SummaryText) -> None:
        """Show other content; unchanged parts are not drawn."""
        before, self._shown = self._shown, text
        self._update_head()
        self._fill_rates()
        for shown, one, old in (
            (self.latencies, text.latencies, before.latencies),
            (self.values, text.values, before.values),
            (self.tasks, text.tasks, before.tasks),
        ):
            if one != old:
                shown.fill(one.title, BarRows(one.bars, one.total))

    def _fill_rates(self) -> None:
        """Show the rates in the lines that the lists below do not need."""
        text = self._shown
        below = max(len(bars.bars) for bars in (text.latencies, text.values, text.tasks))
        shown, lines = rate_lines(len(text.rates), self.size.height - below - _TITLES)
        if (content := (*text[1:4], shown, lines)) != self._rates_shown:
            self._rates_shown = content
            self.rates.styles.height = shown * lines + 1
            self.rates.fill(text.rate_title, RateRows(text.rates, text.rate_step, lines))

    def on_resize(self, event: events.Resize) -> None:
        """Show or hide the list of processes."""
        self.set_class(event.size.width >= _WIDE, "-wide")
        self._fill_rates()
        self._update_head()

    def _update_head(self) -> None:
        """Show the source, then the keys that fit."""
        text = self._shown
        hidden = text.tasks.title and not self.is_wide and text.tasks != text.values
        parts = text.head, "v V: processes" if hidden else "", text.source_key
        self._head.update(safe_content(cut_parts(safe(", ".join(filter(None, parts))), self.size.width - 2)))

    def action_field(self, step: int) -> None:
        """Request another field."""
        self.post_message(self.FieldAsked(step))

    def action_source(self) -> None:
        """Request the other source."""
        self.post_message(self.SourceAsked())

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        if event.control in (self.values, self.tasks):
            self.post_message(self.Wanted(event.control is self.tasks, event.row))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
