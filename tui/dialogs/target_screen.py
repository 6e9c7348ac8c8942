"""The dialog that chooses a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.dialogs.target_list import choices, mark_open
from widgets.dialogs.target_chooser import TargetChooser, TargetRow
from widgets.footer import KeyFooter


class TargetScreen(ModalScreen[str | None]):
    """The list of targets; dismissed with the word for `--target`, or None."""

    DEFAULT_CSS = """
    TargetScreen {
        align: center middle;
        background: $background 60%;
        & TargetChooser { width: 90%; max-width: 110; height: 80%; border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="targets.leave", tooltip="Keep the target that is open"),
        Binding("f1,question_mark", "app.help", "Help", show=True, id="targets.help", tooltip="Explain this"),
        Binding("ctrl+q", "app.quit", "Quit", show=False, id="targets.quit", tooltip="Leave probewright"),
    ]

    def __init__(
        self,
        opened: str = "",
        look: Callable[[], Sequence[TargetRow]] | None = None,
        chooser: TargetChooser | None = None,
    ) -> None:
        """Make the list.

        Args:
            opened: word of the target that is open; empty: none is.
            look: returns the rows to offer, in a worker; None: all targets.
            chooser: list to fill; None: one for targets.
        """
        super().__init__()
        self._find = look or (lambda: mark_open(choices(), opened))
        self._chooser = chooser or TargetChooser()

    def compose(self) -> ComposeResult:
        yield self._chooser
        yield KeyFooter("app.help")

    def on_mount(self) -> None:
        self._chooser.focus_list()
        self._look()

    @work(thread=True, group="targets")
    def _look(self) -> None:
        self.app.call_from_thread(self._show, self._find())

    def _show(self, found: Sequence[TargetRow]) -> None:
        if self.is_attached:
            self._chooser.show(found)

    @on(TargetChooser.Chosen)
    def _chosen(self, event: TargetChooser.Chosen) -> None:
        event.stop()
        self.dismiss(event.spec)
