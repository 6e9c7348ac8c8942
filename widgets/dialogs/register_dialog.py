"""Dialog with what each means to attach to a function reads, and what a hit by it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

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


class RegisterDialog(Dialog[None]):
    """Dialog with the report on one function; closes without an answer."""

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

    def __init__(self, name: str) -> None:
        """Set the function's name; `show` sets the report later."""
        super().__init__()
        self.function = name
        """Name of the function."""
        self._head = Static("", markup=False)
        self._list = TableList(TableLines())

    def compose(self) -> ComposeResult:
        """Yield the line with what is going on, and the report."""
        with Vertical(classes="box") as box:
            box.border_title = "what can be read where"
            yield self._head
            yield self._list

    def on_mount(self) -> None:
        """Focus the report."""
        self.say(f"{self.function}: reading what can be attached …")
        self.set_focus(self._list)

    def show(self, report: FunctionReport, costs: CostReport | None = None) -> None:
        """Show a report, with the costs of hits before it where they were measured."""
        texts = [*(cost_lines(costs) if costs is not None else []), *([""] if costs is not None else [])]
        lines = [_Line(safe(text), "number" if text else "") for text in texts]
        lines += [_Line(safe(text), _look(text)) for text in report_lines(report)]
        self._list.show(TableLines(lines))
        attached = {one.means for one in report.reports if one.attaches}
        missing = [str(one.means) for one in report.reports if not one.attaches]
        without = f"; not: {', '.join(missing)}" if missing else ""
        self.say(f"{report.function}: {len(attached)} ways to attach{without}")

    def say(self, text: str) -> None:
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
