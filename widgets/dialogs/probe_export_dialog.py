"""Dialog with a probe in the languages of other tools: view, copy, save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from widgets.dialogs.dialog import Dialog
from widgets.lists.option_rows import OptionRows
from widgets.safe_text import safe, safe_lines
from widgets.search_line import FileLine

_LONGEST = 400
"""Lines of a text that are shown; all of them are copied and saved."""


class DialectText(NamedTuple):
    """Probe in the language of one tool."""

    title: str
    file: str
    """Suggested file name."""
    text: str
    """Text; empty: the tool can't express the probe."""
    notes: tuple[str, ...] = ()
    """Notes; without a text the reasons."""


class ProbeExportDialog(Dialog[None]):
    """Dialog that copies, saves and boots; stays open until Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy", id="dialect.copy", tooltip="Copy the text to the clipboard, by the terminal"),
        Binding("s", "save", "Save", id="dialect.save", tooltip="Write the text to a new file"),
        Binding(
            "b", "boot", "Boot lab", id="dialect.boot", tooltip="Boot a guest of the lab with it, and record the boot"
        ),
        Binding("up", "tool(-1)", "Tool above", show=False, id="dialect.above", tooltip="The tool above"),
        Binding("down", "tool(1)", "Tool below", show=False, id="dialect.below", tooltip="The tool below"),
        Binding("pageup", "page(-1)", "Up", show=False, id="dialect.up", tooltip="Scroll the text up"),
        Binding("pagedown", "page(1)", "Down", show=False, id="dialect.down", tooltip="Scroll the text down"),
    ]

    DEFAULT_CSS = """
    ProbeExportDialog {
        & .box { width: 96%; height: 90%; }
        & .body { height: 1fr; }
        & OptionList, & OptionList:focus { width: auto; max-width: 40%; height: 1fr; border: none; padding: 0; }
        & VerticalScroll { width: 1fr; height: 1fr; padding: 0 0 0 1; }
        & SearchLine { width: 1fr; display: none; }
        &.-saving SearchLine { display: block; }
    }
    """

    def __init__(
        self,
        subject: str,
        read: Callable[[], Sequence[DialectText]],
        save: Callable[[str, str], str],
        boot: Callable[[], object],
    ) -> None:
        """Take a probe.

        Args:
            subject: the probe, as text.
            read: returns its texts for the tools; called in a worker.
            save: writes a text to a new file by its path; returns why not, empty: it is written.
            boot: boots a guest of the lab with the probe, after questions.
        """
        super().__init__()
        self._subject = subject
        self._read = read
        self._save = save
        self._boot = boot
        self._texts: tuple[DialectText, ...] = ()
        self._list = OptionRows()
        self._preview = Static("", markup=False)
        self._scroll = VerticalScroll(self._preview, can_focus=False)
        self._status = Static("", markup=False)
        self._path = FileLine("file")

    def compose(self) -> ComposeResult:
        """Yield the probe, the tools beside the text, the file name, and the notes."""
        with Vertical(classes="box") as box:
            box.border_title = "export"
            yield Static(Content.styled(safe(self._subject), "bold"))
            with Horizontal(classes="body"):
                yield self._list
                yield self._scroll
            yield self._path
            yield self._status

    def on_mount(self) -> None:
        """Focus the tools, and have their texts made."""
        self._list.focus()
        self._status.update("looking at the target …")
        self._look()

    @work(thread=True, group="export")
    def _look(self) -> None:
        self.call_later(self._show, self._read())

    def _show(self, texts: Sequence[DialectText]) -> None:
        """Show the texts of the tools."""
        self._texts = tuple(texts)
        self._list.clear_options()
        self._list.add_options(Option(f"{' ' if one.text else '✗'} {safe(one.title)}") for one in self._texts)
        self._list.highlighted = 0 if self._texts else None

    @property
    def current(self) -> DialectText | None:
        """Text of the current tool."""
        number = self._list.highlighted
        return self._texts[number] if number is not None and number < len(self._texts) else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        one = self.current
        if one is None:
            return
        lines = safe_lines(one.text.rstrip("\n"), _LONGEST) if one.text else ["this tool can't say it:", *one.notes]
        self._preview.update(Content("\n".join(safe(line) for line in lines)))
        self._scroll.scroll_home(animate=False)
        self._status.update(Content.styled(safe("; ".join(one.notes)) if one.text else "", "dim"))
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_save()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Disable copying and saving without a text, and letters as commands while a name is typed."""
        if action in ("copy", "save"):
            return self.current is not None and bool(self.current.text) and not self.has_class("-saving")
        return action not in ("tool", "boot") or not self.has_class("-saving")

    def action_tool(self, step: int) -> None:
        """Select the tool above or below."""
        if step < 0:
            self._list.action_cursor_up()
        else:
            self._list.action_cursor_down()

    def action_page(self, step: int) -> None:
        """Scroll the text."""
        if step < 0:
            self._scroll.scroll_page_up(animate=False)
        else:
            self._scroll.scroll_page_down(animate=False)

    def action_copy(self) -> None:
        """Copy the text to the clipboard (by the terminal: OSC 52)."""
        if self.current is not None and self.current.text:
            self.app.copy_to_clipboard(self.current.text)
            self.notify("copied", markup=False)

    def action_boot(self) -> None:
        """Boot a guest of the lab with the probe."""
        self._boot()

    def action_save(self) -> None:
        """Ask for the name of a file."""
        if self.current is not None and self.current.text:
            self._path.value = self.current.file
            self.add_class("-saving")
            self._path.focus()
            self.refresh_bindings()

    @on(Input.Submitted)
    def _named(self, event: Input.Submitted) -> None:
        event.stop()
        one, path = self.current, event.value.strip()
        if one is not None and path:
            if why := self._save(one.text, path):
                text = f"{path}: {why}; choose another name"
                self.notify(text, title="not saved", severity="error", markup=False)
            else:
                self.notify(f"written: {path}", markup=False)
            self._end_saving()

    def action_leave(self) -> None:
        """Leave the file name, else the dialog."""
        if self.has_class("-saving"):
            self._end_saving()
        else:
            self.dismiss(None)

    def _end_saving(self) -> None:
        self.remove_class("-saving")
        self._list.focus()
        self.refresh_bindings()
