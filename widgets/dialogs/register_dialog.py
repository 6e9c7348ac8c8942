"""Dialog with what each means to attach to a function reads, and what a hit by it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from probes.readable.hit_cost import CostReport, cost_lines
from probes.readable.report import FunctionReport
from probes.readable.rows import report_lines
from widgets.dialogs.dialog import Dialog
from widgets.lists.text_list import TableLines, TableList
from widgets.safe_text import safe


class _Line(NamedTuple):
    """Line of the report."""

    text: str
    look: str


class ReportSource(Protocol):
    """Source of the reports on one function, which may take long."""

    function: str
    """Name of the function."""

    @property
    def can_measure(self) -> bool:
        """True where costs can be measured."""

    def report(self) -> FunctionReport | str:
        """Return the report, or why there is none."""

    def costs(self) -> CostReport | str:
        """Return what a hit costs by each means, or why that can't be measured."""


class RegisterDialog(Dialog[None]):
    """Dialog with the report on one function, which workers read and measure; closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "m",
            "measure",
            "Measure",
            id="registers.measure",
            tooltip="Time what a hit costs by each means, on a cheap system call of our own: some seconds",
        ),
    ]

    DEFAULT_CSS = """
    RegisterDialog {
        & .box { width: 96%; height: 90%; }
        & TableList { height: 1fr; }
    }
    """

    def __init__(self, source: ReportSource) -> None:
        super().__init__()
        self._source = source
        self._report: FunctionReport | None = None
        self._measures = False
        """True while costs are measured."""
        self._head = Static("", markup=False)
        self._list = TableList(TableLines())

    def compose(self) -> ComposeResult:
        """Yield the line with what is going on, and the report."""
        with Vertical(classes="box") as box:
            box.border_title = "what can be read where"
            yield self._head
            yield self._list

    def on_mount(self) -> None:
        """Focus the report, and have it read."""
        self._say(f"{self._source.function}: reading what can be attached …")
        self.set_focus(self._list)
        self._read()

    @work(thread=True, group="registers")
    def _read(self) -> None:
        self.call_later(self._take_report, self._source.report())

    @work(thread=True, group="registers")
    def _measure(self) -> None:
        self.call_later(self._take_costs, self._source.costs())

    def _take_report(self, found: FunctionReport | str) -> None:
        if isinstance(found, str):
            self._say(found)
        else:
            self._report = found
            self._show(found, None)

    def _take_costs(self, found: CostReport | str) -> None:
        self._measures = False
        if isinstance(found, str):
            self._say(found)
        elif self._report is not None:
            self._show(self._report, found)

    def action_measure(self) -> None:
        """Time hits, once the report is there and no measurement runs."""
        if not self._source.can_measure:
            self._say("hits are timed on a running kernel: this target is none")
        elif self._report is not None and not self._measures:
            self._measures = True
            self._say("timing a system call with each means armed in turn: some seconds …")
            self._measure()

    def _show(self, report: FunctionReport, costs: CostReport | None) -> None:
        """Show a report, with the costs of hits before it where they were measured."""
        texts = [*(cost_lines(costs) if costs is not None else []), *([""] if costs is not None else [])]
        lines = [_Line(safe(text), "number" if text else "") for text in texts]
        lines += [_Line(safe(text), _look(text)) for text in report_lines(report)]
        self._list.show(TableLines(lines))
        attached = {one.means for one in report.reports if one.attaches}
        missing = [str(one.means) for one in report.reports if not one.attaches]
        without = f"; not: {', '.join(missing)}" if missing else ""
        self._say(f"{report.function}: {len(attached)} ways to attach{without}")

    def _say(self, text: str) -> None:
        """Show what is going on, or why there is no report."""
        self._head.update(Content(safe(text)))

    @property
    def lines(self) -> Sequence[str]:
        """Lines of the report that is shown."""
        rows = self._list.rows
        return [one.text for one in rows.lines] if isinstance(rows, TableLines) else []


def _look(text: str) -> str:
    """Return the style of a line: means stand out, reasons stand back."""
    if text.startswith(("  not ", "  no others", "  note ", "unknown,")) or " can't be attached: " in text:
        return "dim"
    return "" if text.startswith(" ") else "name"
