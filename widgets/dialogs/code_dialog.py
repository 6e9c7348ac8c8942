"""Dialog with the instructions of a function: places that take a kprobe, targets by name, hits of armed probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from probes.code.body import CodePart, FunctionBody, Instruction
from probes.code.rows import code_row, kprobe_refusal, source_starts, summary_text
from probes.code.ways_out import ways_out, ways_out_text
from probes.probe import ProbeEnds
from widgets.dialogs.dialog import Dialog
from widgets.lists.line_list import LineList
from widgets.number_format import short
from widgets.rows import NoRows, Piece
from widgets.safe_text import cut, safe

_EVERY = 1.0
"""Seconds between two looks at the hits."""
_HITS_WIDTH = 8
"""Columns of the hits of armed probes, where there are any."""


class _Place(NamedTuple):
    """Row of an instruction, or of the source line above it."""

    body: FunctionBody
    part: CodePart
    instruction: Instruction
    source: str = ""
    """Source line; empty: the row is that of the instruction."""


class _BodyRows:
    """Rows of the instructions of one or more functions of a name."""

    first = 0

    def __init__(self, bodies: Sequence[FunctionBody]) -> None:
        self.places: list[_Place] = []
        for body in bodies:
            for part in body.parts:
                for one, source in source_starts(part):
                    if source:
                        self.places.append(_Place(body, part, one, source))
                    self.places.append(_Place(body, part, one))
        self.next = len(self.places)
        self.hits: Mapping[str, int] = {}
        """Hits of armed probes by their places."""
        self._width = max((len(one.body.label(one.part, one.instruction.offset)) for one in self.places), default=0)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return place, hits, instruction and note of a row."""
        body, part, one, source = self.places[row]
        if source:
            yield Piece(f"  {cut(safe(source), max(columns - 2, 1))}", "type")
            return
        texts = code_row(body, part, one)
        mark = " " if texts.takes_kprobe else "-"
        yield Piece(f"{mark} {safe(texts.place):<{self._width}} ", "name" if texts.takes_kprobe else "dim")
        left = columns - self._width - 3
        if self.hits:
            hits = self.hits.get(part.place_at(one.offset))
            yield Piece(f"{'' if hits is None else short(hits):>{_HITS_WIDTH}} ", "number")
            left -= _HITS_WIDTH + 1
        text = cut(safe(texts.text), max(left, 1))
        yield Piece(text, "" if texts.takes_kprobe else "dim")
        if texts.note and left > len(text) + 2:
            yield Piece(f"  {cut(safe(texts.note), left - len(text) - 2)}", "dim")


class CodeRows(LineList):
    """List of instructions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Probe here",
            key_display="enter",
            id="code.probe",
            tooltip="Specify a kprobe on the instruction",
        ),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a probe where there is an instruction."""
        return (action != "select" or self.rows.next > 0) and super().check_action(action, parameters)


class CodeChoice(NamedTuple):
    """Choice of an instruction, or of all by which calls end."""

    place: str
    """Place as a kprobe names it: of the instruction, or of the function with `%retinsn` or `%tailcall` behind it."""
    end: ProbeEnds | None = None
    """Instructions that are to be armed at once; None: one instruction, whose probe is specified."""
    values: tuple[str, ...] = ()
    """Fetchargs of the variables that were ticked."""


class CodeDialog(Dialog[CodeChoice]):
    """Dialog that returns the choice, or None for Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "variables", "Variables", id="code.variables", tooltip="The local variables at the instruction"),
        Binding("n", "way_out", "Way out", id="code.way_out", tooltip="Cursor to the next return or tail call"),
        Binding(
            "r",
            "probe_ends('retinsn')",
            "Arm returns",
            id="code.returns",
            tooltip="Arm a kprobe on each return instruction, with the result",
        ),
        Binding(
            "t",
            "probe_ends('tailcall')",
            "Arm tail calls",
            id="code.tail_calls",
            tooltip="Arm a kprobe on each jump to a function that returns in place of this one",
        ),
    ]

    DEFAULT_CSS = """
    CodeDialog {
        & .box { width: 96%; height: 90%; }
        & LineList { height: 1fr; }
    }
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Sequence[FunctionBody] | str],
        hits: Callable[[], Mapping[str, int]],
        variables: Callable[[CodePart, Instruction], Dialog[tuple[str, ...]]],
    ) -> None:
        """Take a function.

        Args:
            name: of the function.
            read: returns the code of each function of that name, or why it can't be read; called in a worker.
            hits: returns the hits of armed probes by their places.
            variables: returns the dialog with the variables at an instruction, which returns the chosen fetchargs.
        """
        super().__init__()
        self._function = name
        self._read = read
        self._hits = hits
        self._variables = variables
        self._head = Static("", markup=False)
        self._notes = Static("", markup=False)
        self._rows: _BodyRows | None = None
        self._list = CodeRows(NoRows())

    def compose(self) -> ComposeResult:
        """Yield the function's line, its instructions, and what is not known of them."""
        with Vertical(classes="box") as box:
            box.border_title = "code"
            yield self._head
            yield self._list
            yield self._notes

    def on_mount(self) -> None:
        """Focus the list, and have the code read."""
        self._head.update(Content(f"{safe(self._function)}: reading the kernel's memory …"))
        self.set_focus(self._list)
        self._look()
        self.set_interval(_EVERY, self._show_hits)

    @work(thread=True, group="code")
    def _look(self) -> None:
        self.call_later(self._take, self._read())

    def _take(self, found: Sequence[FunctionBody] | str) -> None:
        if isinstance(found, str):
            self._head.update(Content(safe(found)))
        elif found:
            self._show(found)
            self._show_hits()

    def _show(self, bodies: Sequence[FunctionBody]) -> None:
        """Show the code of each function of the name."""
        self._rows = _BodyRows(bodies)
        self._list.rows = self._rows
        texts = [f"{body.name}: {summary_text(body)}" for body in bodies]
        self._head.update(Content.styled(safe("; ".join(texts)), "bold"))
        notes = [text for body in bodies for text in (ways_out_text(body), body.refusal, *body.notes) if text]
        self._notes.update(Content.styled(safe("; ".join(dict.fromkeys(notes))), "dim"))
        self.refresh_bindings()

    def _show_hits(self) -> None:
        if self._rows is not None and (hits := self._hits()) != self._rows.hits:
            self._rows.hits = dict(hits)
            self._list.rows_changed()

    def _refuse(self, place: str, reason: str) -> None:
        self.notify(reason, title=f"no kprobe at {place}", severity="warning", markup=False)

    @property
    def _under_cursor(self) -> _Place | None:
        rows, row = self._rows, self._list.cursor
        return rows.places[row] if rows is not None and row < rows.next else None

    @on(LineList.Selected)
    def _taken(self, event: LineList.Selected) -> None:
        event.stop()
        if (found := self._place_to_probe()) is not None:
            self.dismiss(CodeChoice(found.part.place_at(found.instruction.offset)))

    def _place_to_probe(self) -> _Place | None:
        """Return the row under the cursor; None: its instruction takes no kprobe, and the reason is told."""
        if (found := self._under_cursor) is None:
            return None
        if reason := kprobe_refusal(found.body, found.instruction):
            self._refuse(found.part.place_at(found.instruction.offset), reason)
            return None
        return found

    def action_variables(self) -> None:
        """Ask for the variables at the instruction under the cursor."""
        if (found := self._place_to_probe()) is None:
            return

        def chosen(values: tuple[str, ...] | None) -> None:
            if values is not None:
                self.dismiss(CodeChoice(found.part.place_at(found.instruction.offset), values=values))

        self.app.push_screen(self._variables(found.part, found.instruction), chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer variables and ways out only where there is code."""
        return action not in ("way_out", "probe_ends", "variables") or self._rows is not None

    def action_probe_ends(self, suffix: str) -> None:
        """Return the return instructions or tail calls of the function under the cursor, to be armed."""
        if (found := self._under_cursor) is None:
            return
        body, end = found.body, ProbeEnds(suffix)
        place = f"{body.parts[0].place_at(0)}%{suffix}"
        is_there = any(way.is_return == (end is ProbeEnds.RETURN_INSTRUCTIONS) for way in ways_out(body))
        if body.refusal or not is_there:
            self._refuse(place, body.refusal or ways_out_text(body))
        else:
            self.dismiss(CodeChoice(place, end))

    def action_way_out(self) -> None:
        """Put the cursor on the next return or tail call, behind the last on the first."""
        if self._rows is None:
            return
        ways = [row for row, one in enumerate(self._rows.places) if one.instruction.leaves and not one.source]
        if ways:
            self._list.move_to(next((row for row in ways if row > self._list.cursor), ways[0]))
