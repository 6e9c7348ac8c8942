"""Dialog for an export of events: format, file and progress."""

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
from widgets.search_line import FileLine


class OfferedFormat(NamedTuple):
    """Format in the list."""

    name: str
    """Name of the format in a request."""
    title: str
    suffix: str
    """Suffix of its files, with the dot."""
    keeps: str
    """Included and excluded data, in a line."""
    table: str = ""
    """Table that the file is of; empty: events, or the screen."""

    @property
    def endings(self) -> tuple[str, str]:
        """The suffix, and its last part: `.flame.svg` and `.svg`."""
        return self.suffix, f".{self.suffix.rpartition('.')[2]}"

    def has_name(self, name: str) -> bool:
        """Return whether a file name may be one of this format's."""
        return name.endswith(self.endings)


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
    """Dialog that requests an export by message; the receiver reports progress or an error back."""

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
        """Request to write a file."""

        def __init__(self, name: str, path: str, overwrite: bool) -> None:
            super().__init__()
            self.name = name
            self.path = path
            self.overwrite = overwrite
            """True if the user was told that the file exists, and overwrites it."""

    class CancelRequested(Message):
        """Request to cancel the export."""

    def __init__(self, heading: str, offered: Sequence[OfferedFormat], stem: str) -> None:
        """Set the formats.

        Args:
            heading: exported data, in a line.
            offered: formats to choose from.
            stem: suggested file name, without the suffix.
        """
        super().__init__()
        self._heading = Static("", markup=False)
        self.say_of_what(heading)
        self._offered = tuple(offered)
        self._list = _FormatList(_Formats(offered))
        self._line = FileLine("name of the file")
        self._line.value = stem + offered[0].suffix
        self._suffix = offered[0].suffix
        self._keeps, self._status = Static("", markup=False), Static("", classes="said", markup=False)
        self._bar = ProgressBar()
        self._existing_name = ""
        """File name for which an existing file was reported."""

    def compose(self) -> ComposeResult:
        """Yield the formats, the note on the current one, the file name and the progress."""
        with Vertical(classes="box") as box:
            box.border_title = "export"
            yield self._heading
            yield self._list
            yield self._keeps
            with Horizontal(classes="file"):
                yield Label("file: ", classes="prompt", markup=False)
                yield self._line
            yield self._status
            yield self._bar

    def on_mount(self) -> None:
        """Focus the formats."""
        self.set_focus(self._list)

    @property
    def running(self) -> bool:
        """True while a file is being written."""
        return self.has_class("-running")

    @property
    def ends_by_itself(self) -> bool:
        """True while a file is being written: keys that lead elsewhere wait for its end."""
        return self.running

    # -- from the receiver of requests ----------------------------------------------------------------------------

    def say_of_what(self, heading: str) -> None:
        """Show in a line which data a file would hold."""
        self._heading.update(Content.styled(safe(heading), "bold"))

    def report(self, text: str, fraction: float | None) -> None:
        """Show the progress of writing."""
        self.add_class("-running")
        self._status.update(Content.styled(safe(text), "dim"))
        self._bar.fraction = fraction

    def refuse(self, why: str, *, taken: bool = False) -> None:
        """Show why nothing was written; `taken`: a file of that name exists."""
        self.remove_class("-running")
        self._existing_name = self._line.value.strip() if taken else ""
        more = "; Enter once more overwrites it" if taken else ""
        self._status.update(Content.styled(f"✗ {safe(why)}{more}", "$text-error"))

    # -- from the user --------------------------------------------------------------------------------------------

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        form = self._offered[event.row]
        self._keeps.update(Content.styled(safe(form.keeps), "dim"))
        name = self._line.value
        if not form.has_name(name):
            endings = [ending for one in self._offered for ending in one.endings if name.endswith(ending)]
            if endings:
                self._line.value = name.removesuffix(max(endings, key=len)) + form.suffix
        self._suffix = form.suffix

    @on(LineList.Selected)
    @on(Input.Submitted)
    def _entered(self, event: Message) -> None:
        event.stop()
        self.action_write()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if not self.running and self._existing_name and event.value.strip() != self._existing_name:
            self._existing_name = ""
            self._status.update("")
        if not self.running:
            self._follow_suffix(event.value.strip())

    def _follow_suffix(self, name: str) -> None:
        """Mark the format whose suffix a typed name has; of the same table, where one is."""
        marked = self._offered[self._list.cursor]
        if marked.has_name(name):
            return
        named = [row for row, form in enumerate(self._offered) if form.has_name(name)]
        if named:
            of_table = [row for row in named if self._offered[row].table == marked.table]
            self._list.move_to(min(of_table or named, key=lambda row: not name.endswith(self._offered[row].suffix)))

    def action_write(self) -> None:
        """Request the export."""
        path = self._line.value.strip()
        if self.running:
            return
        if not path:
            self.refuse("a file needs a name")
            self.set_focus(self._line)
            return
        self._follow_suffix(path)
        form = self._offered[self._list.cursor]
        self.post_message(self.Requested(form.name, path, overwrite=path == self._existing_name))

    def action_format(self, step: int) -> None:
        """Select another format while the name is typed."""
        if not self.running:
            self._list.move_to(self._list.cursor + step)

    def action_other(self) -> None:
        """Switch the focus between formats and name."""
        self.set_focus(self._list if self._line.has_focus else self._line)

    def action_leave(self) -> None:
        """Cancel a running export, else close."""
        if self.running:
            self.post_message(self.CancelRequested())
        else:
            self.dismiss(None)
