"""Pane with the reasons why nothing can attach to a function, and alternatives, each a row that Enter probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Label, Static

from foreign.count_text import counted
from probes.attaching.callers import Callers, all_reasons
from probes.attaching.values import Alternative, Attachability
from widgets.functions.function_rows import shown_kinds
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, fit, safe, width

_HOW = 13
_KINDS = 4
_MIN_NOTE = 12


class InsteadRows:
    """Alternatives as rows: name, kind of alternative, note, kinds of probe."""

    first = 0

    def __init__(self, ways: Sequence[Alternative]) -> None:
        self.ways = ways
        self.next = len(ways)
        self._longest = max((width(safe(str(way.place))) for way in ways), default=0)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the parts that fit; always the name."""
        way = self.ways[row]
        room = columns - _KINDS
        name = min(self._longest, max(_MIN_NOTE, room - _HOW - _MIN_NOTE))
        yield Piece(fit(safe(str(way.place)), min(name, room)), "name")
        room -= min(name, room)
        if room > _HOW:
            yield Piece(" " + fit(way.relation, _HOW - 1), "type")
            room -= _HOW
        yield Piece(fit(" " + cut_parts(safe(way.note), max(0, room - 1)) if room > 1 else "", max(0, room)), "dim")
        yield Piece(" " + fit(shown_kinds(way.kinds) or "–", _KINDS - 1))


class _Ways(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Go to", key_display="enter", id="attach.go", tooltip="Probe the alternative"),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Enable Enter only if there are rows."""
        return action != "select" or self.rows.next > 0


class AttachPane(Vertical):
    """Pane with reasons, alternatives, and the progress of the search for callers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "callers", "Callers", id="attach.callers", tooltip="Search the kernel's code for callers"),
    ]

    DEFAULT_CSS = """
    AttachPane {
        height: 1fr;
        & .reasons { width: 1fr; height: auto; max-height: 50%; padding: 0 0 1 0; color: $text-warning; }
        & LineList { height: 1fr; }
        & .state { height: auto; max-height: 2; width: 1fr; color: $text-muted; }
    }
    """

    class AlternativeTaken(Message):
        """Request to probe an alternative."""

        def __init__(self, function: str, way: Alternative) -> None:
            super().__init__()
            self.function = function
            self.way = way

    class CallersWanted(Message):
        """Request to search for the callers of a function; `found` shows the result."""

        def __init__(self, function: str) -> None:
            super().__init__()
            self.function = function

    def __init__(self) -> None:
        super().__init__()
        self.list = _Ways()
        self._reasons = Static("", classes="reasons", markup=False)
        self._state = Label("", classes="state", markup=False)
        self._about = Attachability("")
        self._callers: Callers | None = None
        self._searching = False

    def compose(self) -> ComposeResult:
        """Yield reasons, list, progress."""
        yield self._reasons
        yield self.list
        yield self._state

    def show(self, about: Attachability) -> None:
        """Show a function's reasons; callers of another function are discarded."""
        if about.name != self._about.name:
            self._callers, self._searching = None, False
        self._about = about
        self._show_found()

    def searching(self, function: str, share: float) -> None:
        """Show the part of the code that was searched, from 0 to 1."""
        if function == self._about.name and self._searching:
            self._state.update(f"looking for callers: {share:.0%} of the kernel's code read")

    def found(self, callers: Callers) -> None:
        """Show callers, unless another function is current by now."""
        if callers.name == self._about.name:
            self._callers, self._searching = callers, False
            self._show_found()

    def _show_found(self) -> None:
        reasons = all_reasons(self._about, self._callers)
        lines = [f"{r.text}{f' — {r.remedy}' if r.remedy else ''}" for r in reasons]
        self._reasons.update(Content("\n").join(map(safe_content, lines or ["everything can attach here"])))
        ways = (*self._about.alternatives, *(self._callers.alternatives if self._callers else ()))
        rows = self.list.rows
        if not isinstance(rows, InsteadRows) or rows.ways != ways:
            self.list.rows = InsteadRows(ways)
            self.list.refresh_bindings()
        self._state.update(safe_content(self._state_text(len(ways))))

    def _state_text(self, count: int) -> str:
        if self._searching:
            return "looking for callers"
        if self._callers is not None:
            hidden = len(self._callers.hidden)
            more = f"; {hidden} more call it and can't be probed" if hidden and self._callers.callers else ""
            count = len(self._callers.callers)
            found = f"{counted(count, 'caller')} by {self._callers.searched}"
            return (self._callers.text or found) + more
        take = "enter takes the one under the cursor" if count else ""
        ask = "c looks for who calls it" if self._about.has_code or self._about.kinds else ""
        return "; ".join(filter(None, (take, ask)))

    def action_callers(self) -> None:
        """Request the callers, once."""
        if not self._searching and self._callers is None:
            self._searching = True
            self._state.update("looking for callers")
            self.post_message(self.CallersWanted(self._about.name))

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        rows = self.list.rows
        if isinstance(rows, InsteadRows) and event.row < rows.next:
            self.post_message(self.AlternativeTaken(self._about.name, rows.ways[event.row]))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
