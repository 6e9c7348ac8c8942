"""Which format, which file, and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from widgets.dialogs.dialog import Dialog
from widgets.dialogs.progress import ProgressBar
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe
from widgets.search_line import SearchLine


class OfferedFormat(NamedTuple):
    """A format."""

    name: str
    """What is requested with it."""
    title: str
    suffix: str
    """Of its files, with the dot."""
    keeps: str
    """What is in it and what is left out, in a line."""


class _Formats:
    first = 0

    def __init__(self, offered: Sequence[OfferedFormat]) -> None:
        self.offered = tuple(offered)
        self.next = len(self.offered)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        wide = max(len(one.title) for one in self.offered)
        yield Piece(fit(self.offered[row].title, wide), "name")
        yield Piece("  " + cut(self.offered[row].suffix, max(0, columns - wide - 2)), "dim")


class _FormatList(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Write", key_display="enter")]


class EventExportDialog(Dialog[None]):
    """Asks by message; whoever does it says how far it is, or why it can't be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "write", "Write", id="export.write", tooltip="Write the file"),
        Binding("up", "format(-1)", "Format above", show=False, id="export.up", tooltip="The format above"),
        Binding("down", "format(1)", "Format below", show=False, id="export.down", tooltip="The format below"),
        Binding("tab", "other", "File name", id="export.other", tooltip="To the name of the file, and back"),
    ]

    DEFAULT_CSS = """
    EventExportDialog {
        & LineList { height: auto; max-height: 10; min-height: 3; }
        & .file { height: 1; margin: 1 0 0 0; }
        & .prompt { width: 6; color: $text-accent; text-style: bold; }
        & .said { margin: 1 0 0 0; }
        & ProgressBar { display: none; }
        &.-running ProgressBar { display: block; }
    }
    """

    class Requested(Message):
        """This shall be written."""

        def __init__(self, name: str, path: str, overwrite: bool) -> None:
            super().__init__()
            self.name = name
            self.path = path
            self.overwrite = overwrite
            """The user was told that there is such a file, and wants it all the same."""

    class CancelRequested(Message):
        """It shall be given up."""

    def __init__(self, heading: str, offered: Sequence[OfferedFormat], stem: str) -> None:
        """Offer formats.

        Args:
            heading: of what, in a line.
            offered: the formats.
            stem: a name for the file, without the suffix.
        """
        super().__init__()
        self._heading = Static("", markup=False)
        self.say_of_what(heading)
        self._offered = tuple(offered)
        self._list = _FormatList(_Formats(offered))
        self._line = SearchLine("name of the file")
        self._line.value = stem + offered[0].suffix
        self._suffix = offered[0].suffix
        self._keeps, self._said = Static("", markup=False), Static("", classes="said", markup=False)
        self._bar = ProgressBar()
        self._taken = ""
        """The name of which was told that there is such a file."""

    def compose(self) -> ComposeResult:
        """Formats, what the one under the cursor keeps, the name, what is going on."""
        with Vertical(classes="box") as box:
            box.border_title = "export"
            yield self._heading
            yield self._list
            yield self._keeps
            with Horizontal(classes="file"):
                yield Label("file: ", classes="prompt", markup=False)
                yield self._line
            yield self._said
            yield self._bar

    def on_mount(self) -> None:
        """Choose a format first."""
        self.set_focus(self._list)

    @property
    def running(self) -> bool:
        """Whether something is being written."""
        return self.has_class("-running")

    # -- from whoever does it ----------------------------------------------------------------------------------

    def say_of_what(self, heading: str) -> None:
        """Of what a file would be, in a line."""
        self._heading.update(Content.styled(safe(heading), "bold"))

    def report(self, text: str, fraction: float | None) -> None:
        """It is being written."""
        self.add_class("-running")
        self._said.update(Content.styled(safe(text), "dim"))
        self._bar.fraction = fraction

    def refuse(self, why: str, *, taken: bool = False) -> None:
        """It was not written; `taken`: there is a file of that name."""
        self.remove_class("-running")
        self._taken = self._line.value.strip() if taken else ""
        more = "; Enter once more overwrites it" if taken else ""
        self._said.update(Content.styled(f"✗ {safe(why)}{more}", "$text-error"))

    # -- from the user -----------------------------------------------------------------------------------------

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        form = self._offered[event.row]
        self._keeps.update(Content.styled(safe(form.keeps), "dim"))
        name = self._line.value
        if name.endswith(self._suffix) and form.suffix != self._suffix:
            self._line.value = name.removesuffix(self._suffix) + form.suffix
        self._suffix = form.suffix

    @on(LineList.Selected)
    @on(Input.Submitted)
    def _entered(self, event: Message) -> None:
        event.stop()
        self.action_write()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if not self.running and self._taken and event.value.strip() != self._taken:
            self._taken = ""
            self._said.update("")

    def action_write(self) -> None:
        """Ask for it."""
        path = self._line.value.strip()
        if self.running:
            return
        if not path:
            self.refuse("a file needs a name")
            self.set_focus(self._line)
            return
        form = self._offered[self._list.cursor]
        self.post_message(self.Requested(form.name, path, overwrite=path == self._taken))

    def action_format(self, step: int) -> None:
        """Another format, while the name is typed."""
        if not self.running:
            self._list.move_to(self._list.cursor + step)

    def action_other(self) -> None:
        """From the formats to the name, and back."""
        self.set_focus(self._list if self._line.has_focus else self._line)

    def action_leave(self) -> None:
        """Give it up where something is being written, else close."""
        if self.running:
            self.post_message(self.CancelRequested())
        else:
            self.dismiss(None)
