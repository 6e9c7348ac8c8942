"""Panel of lost events by CPU and by probe, with remedies: each has a key and names its cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from foreign.count_text import counted
from widgets.columns import TableColumns
from widgets.events.values import LossSheet, ProbeLoss
from widgets.lists.line_list import LineList
from widgets.number_format import grouped, rate
from widgets.rows import Piece
from widgets.safe_text import fit, safe

_REMEDIES: Final = {
    "b": "bigger",
    "B": "smaller",
    "f": "filter",
    "c": "count",
    "r": "record",
    "m": "maxactive",
}
"""Names of the remedies by their keys, in the order of their lines."""
KEYS: Final = "".join(_REMEDIES)
_TITLES = ("probe", "now", "events/s", "hits", "missed")


class RemedyClicked(Message):
    """A remedy was clicked."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        """Name of the remedy, as in `LossPanel.Remedy`."""


class _RemedyLines(Static):
    """Remedies, one a line, each with its key."""

    def on_click(self, event: events.Click) -> None:
        """Tell which remedy was clicked."""
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.y < len(KEYS):
            self.post_message(RemedyClicked(_REMEDIES[KEYS[offset.y]]))


class LossPanel(Vertical):
    """Panel of a `LossSheet`; requests remedies by message."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "remedy('bigger')", "Bigger buffer", id="losses.bigger", tooltip="Double the kernel's buffer"),
        Binding("B", "remedy('smaller')", "As before", id="losses.smaller", tooltip="Restore the size of the buffer"),
        Binding("f", "remedy('filter')", "Filter", id="losses.filter", tooltip="Edit the probe's filter"),
        Binding("c", "remedy('count')", "Count only", id="losses.count", tooltip="Count hits, record nothing"),
        Binding("r", "remedy('record')", "Record", id="losses.record", tooltip="Record the probe's events again"),
        Binding("m", "remedy('maxactive')", "Maxactive", id="losses.maxactive", tooltip="Follow more calls at once"),
        Binding("escape", "close", "Back", id="losses.close", tooltip="Back to the events"),
    ]

    DEFAULT_CSS = """
    LossPanel {
        background: $surface;
        & LineList { height: 1fr; min-height: 3; }
        & .counts { height: auto; max-height: 12; padding: 0 1; }
        & .remedies { height: auto; padding: 0 1; border-top: solid $foreground 30%; }
    }
    """

    class Remedy(Message):
        """Request for a remedy."""

        def __init__(self, name: str, row: int) -> None:
            super().__init__()
            self.name = name
            """Name: `bigger`, `smaller`, `filter`, `count`, `record` or `maxactive`."""
            self.row = row
            """Number of the current probe; -1: there is none."""

    class Closed(Message):
        """Sent when the user closes the panel."""

    def __init__(self) -> None:
        super().__init__()
        self.sheet = LossSheet()
        self._counts = Static("", classes="counts", markup=False)
        self._list = _ProbeList(header=True)
        self._remedies = _RemedyLines("", classes="remedies", markup=False)
        self.border_title = "losses"

    def compose(self) -> ComposeResult:
        """Yield counts, probes, remedies."""
        yield self._counts
        yield self._list
        yield self._remedies

    def show(self, sheet: LossSheet) -> None:
        """Show other figures; the cursor stays."""
        self.sheet = sheet
        cursor = self._list.cursor
        self._counts.update(Content("\n").join(Content.assemble(*line) for line in count_lines(sheet)))
        self._list.rows = _ProbeRows(sheet.probes)
        self._list.move_to(cursor)
        self._remedies.update(Content("\n").join(Content.assemble(*line) for line in remedy_lines(sheet, self.row)))

    @property
    def row(self) -> int:
        """Number of the current probe; -1: there is none."""
        return self._list.cursor if self._list.cursor < len(self.sheet.probes) else -1

    def focus_list(self) -> None:
        """Focus the list of probes."""
        self.screen.set_focus(self._list)

    def action_remedy(self, name: str) -> None:
        """Request a remedy."""
        self.post_message(self.Remedy(name, self.row))

    def action_close(self) -> None:
        """Close the panel."""
        self.post_message(self.Closed())

    @on(RemedyClicked)
    def _remedy_clicked(self, event: RemedyClicked) -> None:
        """Do what the key of a remedy does."""
        event.stop()
        self.action_remedy(event.name)

    @on(LineList.Highlighted)
    def _moved(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._remedies.update(
            Content("\n").join(Content.assemble(*line) for line in remedy_lines(self.sheet, self.row))
        )

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()


Run = tuple[str, str]
_CAUSES: Final = {
    "lost": "overwritten in the kernel's buffer before we read",
    "missed": "a hit without room to run (nmissed), or a sample that a monitor came too late for",
    "dropped": "read, and dropped by us: too fast to be shown",
    "unread": "read, and not understood: damaged, or no format",
}
_NOT_COUNTED: Final = "; the kernel counts that of kprobes only"


def count_lines(sheet: LossSheet) -> list[list[Run]]:
    """Return the four counts, with the first by CPU."""
    lines = [
        [
            (f"{loss.name:<8}", "bold"),
            (f"{loss.text:>14}", "bold $text-error" if loss.number else "dim"),
            (f"  {_CAUSES[loss.name]}{'' if loss.counted else _NOT_COUNTED}", ""),
        ]
        for loss in sheet.losses.counts
    ]
    if (counts := sheet.counts) is None:
        return lines
    by_cpu = counts.lost_by_cpu
    worst = sorted((cpu for cpu in sorted(by_cpu) if by_cpu[cpu]), key=lambda cpu: -by_cpu[cpu])
    for cpu in worst[:6]:
        full = f", {grouped(counts.full[cpu])} found no room" if counts.full.get(cpu) else ""
        lines.append([(f"  CPU {cpu:<4}{grouped(counts.overrun.get(cpu, 0)):>12}  overwritten{full}", "")])
    if len(worst) > 6:
        lines.append([(f"  and {counted(len(worst) - 6, 'more CPU')}", "dim")])
    if counts.read_errors:
        reads = counted(counts.read_errors, "read of the buffer was", "reads of the buffer were")
        lines.append([(f"  {reads} refused by the kernel", "")])
    return lines


def remedy_lines(sheet: LossSheet, row: int) -> list[list[Run]]:
    """Return each remedy with its key and cost; dimmed with the reason if it has no effect."""
    probe = sheet.probes[row] if 0 <= row < len(sheet.probes) else None
    lines = [_remedy(key, *said) for key, said in zip(KEYS, _remedy_texts(sheet, probe), strict=False)]
    return lines or [[("a recording: nothing can be changed any more", "dim")]]


def _remedy(key: str, can: bool, text: str) -> list[Run]:
    return [(f"{key} ", "bold $text-accent" if can else "dim"), (text, "" if can else "dim")]


def _remedy_texts(sheet: LossSheet, probe: ProbeLoss | None) -> Sequence[tuple[bool, str]]:
    kb, usual = sheet.buffer_kb, sheet.usual_kb
    if not kb:
        return []  # of a recording
    bigger = f"buffer {size(kb)} → {size(kb * 2)} a CPU: loses nothing, costs {size(kb)} a CPU"
    before = (
        f"buffer back to {size(usual)}: what has no room in it is lost" if kb != usual else "buffer: as it was made"
    )
    name = safe(probe.name) if probe else ""
    if probe is None:
        return [(True, bigger), (kb != usual, before), *[(False, "no probe is armed")] * 4]
    counting, recording = probe.mode == "count only", probe.mode == "record"
    active = probe.maxactive
    return [
        (True, bigger),
        (kb != usual, before),
        (True, f"filter of {name}: fewer events; each call still runs the probe"),
        (
            not counting,
            f"only count {name}: nothing to lose, nothing to see; the cheapest" if not counting else "it only counts",
        ),
        (not recording, f"record {name} again" if not recording else "it records"),
        (
            active is not None,
            f"maxactive {active} → {active * 4}: arms {name} anew, a gap in its events"
            if active is not None
            else "maxactive: only a kretprobe has one",
        ),
    ]


def size(kb: int) -> str:
    """Format a size: `1.4 MB`, `512 KB`."""
    return f"{kb} KB" if kb < 1000 else f"{kb / 1000:.1f} MB"


class _ProbeRows:
    first = 0

    def __init__(self, probes: Sequence[ProbeLoss]) -> None:
        self._columns = TableColumns(_TITLES, {0: 20})
        self._cells = [_cells(probe) for probe in probes]
        self.next = len(self._cells)
        for cells in self._cells:
            self._columns.see(cells)

    def header(self, columns: int) -> Iterable[Piece]:
        for n, (title, wide) in enumerate(zip(_TITLES, self._columns.widths(columns), strict=True)):
            yield Piece(("  " if n else " ") + fit(title, wide, n > 1))

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        for n, (cell, wide) in enumerate(zip(self._cells[row], self._columns.widths(columns), strict=True)):
            yield Piece(("  " if n else "") + fit(cell, wide, n > 1), "" if n != 1 or cell == "record" else "name")


class _ProbeList(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "", show=False)]

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        return self.rows.header(columns - 1) if isinstance(self.rows, _ProbeRows) else ()


def _cells(probe: ProbeLoss) -> tuple[str, ...]:
    def figure(number: int | None) -> str:
        return "?" if number is None else grouped(number)

    pace = "" if probe.rate is None else rate(probe.rate)
    return (safe(probe.name), probe.mode, pace, figure(probe.hits), figure(probe.missed))
