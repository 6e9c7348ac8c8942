"""The fields and the specification of the probe that is being built: imported and made on first use.

The first paint shows the functions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.screen import Screen

from foreign.count_text import counted
from widgets.footer import KeyFooter

if TYPE_CHECKING:
    from probes.completion.choice import Completions
    from probes.probe import Probe
    from widgets.fields.probe_editor import ProbeEditor
    from widgets.spec.spec_pane import SpecPane


class PaneRow(Horizontal):
    """The functions, and the fields of the one that was picked.

    The style of what stands beside and below them is read with it: a sheet of the application is read three times
    before the first picture.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    ComposeScreen {
        & > PaneRow { height: 1fr; }
        & FunctionList, & ProbeEditor, & SpecPane { border: round $foreground 30%; border-title-color: $text-muted; }
        & FunctionList { width: 40%; max-width: 60; }
        & ProbeEditor { width: 1fr; }
        & SpecPane { min-height: 3; max-height: 40%; }
        & FunctionList:focus-within, & ProbeEditor:focus-within, & SpecPane:focus-within { border: round $primary; }
    }
    """


class ProbePanes:
    """The two panes of one screen."""

    def __init__(self, screen: Screen[None], complete: Callable[[str, int], Completions]) -> None:
        """Take the screen, and the function that completes a text at a place."""
        self._screen = screen
        self._complete = complete
        self._editor: ProbeEditor | None = None
        self._spec: SpecPane | None = None

    @property
    def editor(self) -> ProbeEditor:
        """The fields of a function."""
        return self._made()[0]

    @property
    def spec(self) -> SpecPane:
        """The specification, its verdict, and its lines."""
        return self._made()[1]

    def _made(self) -> tuple[ProbeEditor, SpecPane]:
        if self._editor is None or self._spec is None:
            from widgets.fields.probe_editor import ProbeEditor
            from widgets.spec.spec_pane import SpecPane

            self._editor, self._spec = ProbeEditor(), SpecPane(complete=self._complete)
            self._screen.query_one(PaneRow).mount(self._editor)
            self._screen.mount(self._spec, before=self._screen.query_one(KeyFooter))
        return self._editor, self._spec

    # -- also before they are made ---------------------------------------------------------------------------------

    @property
    def probe(self) -> Probe | None:
        """The probe whose fields are shown; None: no function was picked."""
        return self._editor.probe if self._editor is not None else None

    def show_marks(self, number: int, noun: str) -> None:
        """Tell in the fields of a place that so many functions, or places, are marked, which are not in them yet."""
        if self._editor is not None:
            told = f"{counted(number, f'marked {noun}')} not in it yet" if number else ""
            self._editor.border_subtitle = told

    @property
    def typing(self) -> bool:
        """True while the specification has the keyboard."""
        return self._spec is not None and self._screen.focused is self._spec.editor

    @property
    def lowered(self) -> bool:
        """True while the lines are shown that would be written."""
        return self._spec is not None and self._spec.lowered
