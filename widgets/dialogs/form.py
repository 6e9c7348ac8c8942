"""A few lines to fill in: each with its name, what it is for, and what is wrong with what stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_text import cut, safe
from widgets.search_line import SearchLine


class FormField(NamedTuple):
    """One line of a form."""

    name: str
    value: str = ""
    help: str = ""
    """What it is for, and of what form."""


class _FormLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Done", key_display="enter")]


class _LineBefore(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Next", key_display="enter")]


class FormDialog(Dialog[dict[str, str] | None]):
    """Gives the values by name; None: it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "Done", key_display="enter", id="form.done", tooltip="Take what stands there"),
        Binding("down,tab", "app.focus_next", "Next", id="form.next", tooltip="To the next line"),
        Binding("up,shift+tab", "app.focus_previous", "Previous", show=False, id="form.previous", tooltip="Back"),
    ]

    DEFAULT_CSS = """
    FormDialog {
        & Horizontal { height: 1; }
        & Label { width: 16; color: $text-accent; }
        & .help { color: $text-muted; padding: 0 0 0 16; }
        & .wrong { color: $text-error; }
    }
    """

    def __init__(
        self,
        title: str,
        lines: Sequence[FormField],
        wrong: Callable[[Mapping[str, str]], str] = lambda _: "",
        *,
        by_line: bool = False,
    ) -> None:
        """Ask.

        Args:
            title: what for.
            lines: to be filled in.
            wrong: says what is wrong with values; an empty text: nothing, they are taken.
            by_line: Enter goes to the next line, and takes the values in the last; else it takes them in each.
        """
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        kinds = [_LineBefore if by_line else _FormLine] * (len(lines) - 1) + [_FormLine]
        self._inputs: dict[str, SearchLine] = {line.name: kind() for line, kind in zip(lines, kinds, strict=False)}
        for line in lines:
            self._inputs[line.name].value = line.value
        self._wrong = wrong
        self._said = Static("", markup=False, classes="wrong")

    def compose(self) -> ComposeResult:
        """Title, lines, what is wrong."""
        with VerticalScroll(classes="box", can_focus=False):
            yield Static(Content.styled(safe(self._title), "bold"))
            for line in self._lines:
                with Horizontal():
                    yield Label(cut(safe(line.name), 15), markup=False)
                    yield self._inputs[line.name]
                if line.help:
                    yield Static(Content(safe(line.help)), classes="help")
            yield self._said

    @property
    def values(self) -> dict[str, str]:
        """What stands in the lines."""
        return {name: line.value.strip() for name, line in self._inputs.items()}

    def on_mount(self) -> None:
        """The keyboard is in the first line."""
        if self._inputs:
            next(iter(self._inputs.values())).focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._said.update(Content(safe(self._wrong(self.values))))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if isinstance(event.input, _LineBefore):
            self.focus_next()
        else:
            self.action_done()

    def action_done(self) -> None:
        """Take the values, where nothing is wrong with them."""
        why = self._wrong(self.values)
        self._said.update(Content(safe(why)))
        if not why:
            self.dismiss(self.values)
