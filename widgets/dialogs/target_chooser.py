"""Chooser of targets: each with its abilities, problems and remedies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from probes.facts.facts import Trouble
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width
from widgets.search_line import SearchLine


@dataclass(frozen=True, slots=True)
class TargetRow:
    """Target in the list."""

    spec: str
    """Value of `--target`: `local`, `lab:7.2`, `ssh://host`, `FILE.pwr`."""
    name: str
    """Name for people: `this machine`, `lab`, `a recording`."""
    title: str = ""
    """Kernel, as `Linux 7.2.13 x86-64`; empty: unknown before opening."""
    abilities: tuple[tuple[str, bool], ...] = ()
    """Each ability with True if the target has it: (`arguments by name`, True)."""
    troubles: tuple[Trouble, ...] = ()
    is_open: bool = False
    """True for the target that is open now."""

    @property
    def usable(self) -> bool:
        """True if a probe can be armed there."""
        return not any(trouble.fatal for trouble in self.troubles)


class _ChoiceRows:
    first = 0

    def __init__(self, choices: Sequence[TargetRow]) -> None:
        self.choices = tuple(choices)
        self.next = len(self.choices)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        choice = self.choices[row]
        look = "good" if choice.usable else "dim"
        yield Piece("✓ " if choice.usable else "✗ ", look if choice.usable else "bad")
        named = min(max(width(safe(one.name)) for one in self.choices), columns // 2)
        yield Piece(fit(safe(choice.name), named), "name" if choice.usable else "dim")
        opened = "  open" if choice.is_open else ""
        yield Piece(opened, "good")
        yield Piece("  " + cut(safe(choice.title or choice.spec), max(0, columns - named - 4 - len(opened))), "dim")


class _ChoiceList(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose", key_display="enter")]


class _OtherLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Choose", key_display="enter")]


class TargetChooser(Vertical):
    """List of targets, description of the current one, and a line for any other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab",
            "other",
            "Other",
            id="targets.other",
            tooltip="To the line for another, ssh://HOST, lab:SERIES or a file; letters and / go there, too",
        ),
        Binding(
            "enter",
            "choose",
            "Choose",
            key_display="enter",
            id="targets.choose",
            tooltip="Open the target under the cursor",
        ),
        Binding("escape", "back", "List", id="targets.back", tooltip="From the line back to the list"),
    ]

    DEFAULT_CSS = """
    TargetChooser {
        background: $surface;
        & LineList { height: auto; max-height: 40%; min-height: 1; }
        & VerticalScroll { height: 1fr; padding: 0 1; border-top: solid $foreground 30%; }
        & Horizontal { height: 1; }
        & .prompt { width: 7; color: $text-accent; text-style: bold; }
    }
    """

    class Chosen(Message):
        """Sent for a chosen target, even one with problems (opening it reports them)."""

        def __init__(self, spec: str) -> None:
            super().__init__()
            self.spec = spec

    def __init__(
        self,
        choices: Sequence[TargetRow] = (),
        title: str = "target",
        example: str = "ssh://user@host   lab:6.12   FILE.pwr",
    ) -> None:
        """Take the first rows, the title, and examples for the line."""
        super().__init__()
        self.border_title = title
        self._list = _ChoiceList(_ChoiceRows(choices))
        self._about = Static("", markup=False)
        self._other = _OtherLine(example)

    def compose(self) -> ComposeResult:
        """Yield list, description, and line for another target."""
        yield self._list
        with VerticalScroll(can_focus=False):
            yield self._about
        with Horizontal():
            yield Label("other: ", classes="prompt", markup=False)
            yield self._other

    def show(self, choices: Sequence[TargetRow]) -> None:
        """Show other targets, or more facts about the same ones: the cursor stays.

        The first list starts on the open target. Where nothing is offered the line takes the keyboard.
        """
        cursor = self._list.cursor
        if not self._list.rows.next:
            cursor = next((row for row, choice in enumerate(choices) if choice.is_open), 0)
        self._list.rows = _ChoiceRows(choices)
        self._list.move_to(cursor)
        if not choices:
            self._about.update("nothing was found to choose from: type which one")
            self.action_other()

    def focus_list(self) -> None:
        """Focus the list."""
        self.screen.set_focus(self._list)

    def on_key(self, event: events.Key) -> None:
        """Move what is typed over the list into the line for another target, a path with its first `/`."""
        if event.is_printable and event.character and not self._other.has_focus:
            event.stop()
            self._other.value += event.character  # of several letters at once all arrive here before the focus moves
            self.screen.set_focus(self._other)

    def action_other(self) -> None:
        """Focus the line for another target."""
        self.screen.set_focus(self._other)

    def action_back(self) -> None:
        """Focus the list."""
        self.focus_list()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow going back only from the line and to a row, and to the line only from elsewhere."""
        if action == "back":
            return self._other.has_focus and self._list.rows.next > 0
        return action != "other" or not self._other.has_focus

    def action_choose(self) -> None:
        """Choose the current target."""
        self._list.action_select()

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        if isinstance(self._list.rows, _ChoiceRows):
            self.post_message(self.Chosen(self._list.rows.choices[event.row].spec))

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.Chosen(event.value.strip()))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if isinstance(self._list.rows, _ChoiceRows):
            self._about.update(about(self._list.rows.choices[event.row]))


def about(choice: TargetRow) -> Content:
    """Return the description of a target before it is opened."""
    lines = [Content.assemble((safe(choice.name), "bold"), f"  {safe(choice.title)}  ", (safe(choice.spec), "dim"))]
    for trouble in choice.troubles:
        sign = ("✗ ", "bold $text-error") if trouble.fatal else ("! ", "bold $text-warning")
        lines.append(Content.assemble(sign, safe(trouble.what)))
        if trouble.remedy:
            lines.append(Content.assemble(("  way out: ", "dim"), (safe(trouble.remedy), "$text-accent")))
    for ability, there in choice.abilities:
        sign = ("✓ ", "$text-success") if there else ("✗ ", "$text-error")
        lines.append(Content.assemble(sign, (safe(ability), "" if there else "dim")))
    return Content("\n").join(lines)
