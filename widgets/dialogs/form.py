"""Dialog with lines to fill in, each with its name, purpose and validation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_text import cut, safe
from widgets.search_line import SearchLine

_JUDGING = "judge"
"""Group of the workers that judge values: the newest values are judged alone."""
_PAUSE = 0.2
"""Seconds without a key after which values are judged."""


class FormField(NamedTuple):
    """Line of a form."""

    name: str
    value: str = ""
    help: str = ""
    """Purpose and syntax of the value."""


class _FormLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Done", key_display="enter")]


class _LineBefore(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Next", key_display="enter")]


class FormDialog(Dialog[dict[str, str] | None]):
    """Dialog that returns the values by name; None: cancelled."""

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
        & .wrong { color: $text-error; dock: bottom; height: auto; }
    }
    """

    def __init__(
        self,
        title: str,
        lines: Sequence[FormField],
        wrong: Callable[[Mapping[str, str]], str] = lambda _: "",
        *,
        judge: Callable[[Mapping[str, str]], str] | None = None,
        by_line: bool = False,
    ) -> None:
        """Set the lines.

        Args:
            title: purpose of the form.
            lines: lines to fill in.
            wrong: returns the error in the values; empty: they are accepted.
            judge: returns the error in values that are not wrong by themselves; asked in a thread, as it may wait for
                a target. None: there is no such error.
            by_line: True: Enter goes to the next line, and accepts in the last; False: Enter accepts in every line.
        """
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        kinds = [_LineBefore if by_line else _FormLine] * (len(lines) - 1) + [_FormLine]
        self._inputs: dict[str, SearchLine] = {line.name: kind() for line, kind in zip(lines, kinds, strict=False)}
        for line in lines:
            self._inputs[line.name].value = line.value
        self._wrong = wrong
        self._judge = judge
        self._error_line = Static("", markup=False, classes="wrong")

    def compose(self) -> ComposeResult:
        """Yield the title, the lines and the error, which stays in sight when the lines do not all fit."""
        with VerticalScroll(classes="box", can_focus=False):
            yield Static(Content.styled(safe(self._title), "bold"))
            for line in self._lines:
                with Horizontal():
                    yield Label(cut(safe(line.name), 15), markup=False)
                    yield self._inputs[line.name]
                if line.help:
                    yield Static(Content(safe(line.help)), classes="help")
            yield self._error_line

    @property
    def values(self) -> dict[str, str]:
        """Current values of the lines."""
        return {name: line.value.strip() for name, line in self._inputs.items()}

    def on_mount(self) -> None:
        """Focus the first line."""
        if self._inputs:
            next(iter(self._inputs.values())).focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look(then_accept=False)

    def _look(self, *, then_accept: bool) -> None:
        """Show the error in the values, when it is known; accept them if asked to, and there is none."""
        values = self.values
        why = self._wrong(values)
        self._error_line.update(Content(safe(why)))
        if why or (self._judge is None and not then_accept):
            self.workers.cancel_group(self, _JUDGING)
        elif self._judge is None:
            self.dismiss(values)
        else:
            self._ask(self._judge, values, then_accept=then_accept)

    @work(group=_JUDGING, exclusive=True)
    async def _ask(
        self, judge: Callable[[Mapping[str, str]], str], values: dict[str, str], *, then_accept: bool
    ) -> None:
        """Show the error that a judge finds, unless other values were typed meanwhile."""
        await asyncio.sleep(0 if then_accept else _PAUSE)
        if then_accept:
            self._error_line.update("looking at this kernel…")
        why = await asyncio.to_thread(judge, values)
        self._error_line.update(Content(safe(why)))
        if then_accept and not why:
            self.dismiss(values)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if isinstance(event.input, _LineBefore):
            self.focus_next()
        else:
            self.action_done()

    def action_done(self) -> None:
        """Accept the values if they have no error."""
        self._look(then_accept=True)
