"""Search among 60,000 functions and events: a search line above the list of all names, filtered at each key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Label

from events.names.place_kinds import PlaceKind, kind_of_place
from widgets.functions.function_marks import MarkedPlaces
from widgets.functions.function_rows import Describe
from widgets.functions.function_search import FunctionSearch, PickKind, Search
from widgets.functions.object_rows import ObjectRows
from widgets.functions.place_list import PlaceList
from widgets.highlight import is_typed_probe
from widgets.lists.line_list import LineList
from widgets.safe_content import safe_content
from widgets.search_line import NameLine


class FunctionList(Vertical):
    """Search line, list, and a line with details of the current row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "list('move', -1)", "Up", show=False, id="functions.up", tooltip="Function above"),
        Binding("down", "list('move', 1)", "Down", show=False, id="functions.down", tooltip="Function below"),
        Binding("pageup", "list('page', -1)", "Page up", show=False, id="functions.page_up",
                tooltip="One screenful up"),
        Binding("pagedown", "list('page', 1)", "Page down", show=False, id="functions.page_down",
                tooltip="One screenful down"),
        Binding("enter", "pick", "Pick", key_display="enter", id="functions.pick",
                tooltip="See the signature of the function, the fields of the event, or the places in the program"),
        Binding("tab", "take", "Take", show=False, id="functions.take", tooltip="Take a similar name"),
        Binding("insert,space", "mark", "Mark", key_display="ins", id="functions.mark",
                tooltip="Mark the function, event or other place, or unmark it: Enter takes all that are marked "
                "(space, behind ↑ or ↓)"),
        Binding("ctrl+g", "mark_all", "Mark all", key_display="^g", id="functions.mark_all",
                tooltip="Mark all functions that match, or unmark them: vfs, vfs_*, /^tcp_(send|recv)/, "
                "[struct file *]; of another kind (ctrl+n) all events that match"),
        Binding("ctrl+o", "marked", "Marked", key_display="^o", show=False, id="functions.marked",
                tooltip="List what is marked, what can't be armed first; again: list what matches"),
        Binding("ctrl+n", "kind", "Kind", key_display="^n", id="functions.kind",
                tooltip="List functions alone, or events, system calls, tracepoints; in a program functions, static "
                "probes; after these all together again"),
        Binding("slash", "search", "Search", key_display="/", id="functions.search", tooltip="Type part of a name"),
        Binding("escape", "clear", "Clear", show=False, id="functions.clear", tooltip="Show all functions again"),
    ]  # fmt: skip

    DEFAULT_CSS = """
    FunctionList {
        background: $surface;
        & > Horizontal { height: 1; background: $surface; }
        & .prompt { width: 2; color: $text-accent; text-style: bold; }
        & .count { width: auto; padding: 0 0 0 1; color: $text-muted; }
        & LineList { height: 1fr; }
        & .about {
            height: auto;
            min-height: 2;
            max-height: 3;
            width: 1fr;
            color: $text-muted;
            background: $surface;
        }
    }
    """

    armed: reactive[Mapping[str, float | None]] = reactive({}, repaint=False)
    """Events per second by name of each armed function (None: unknown yet)."""

    class Picked(Message):
        """Sent for a chosen function, even if nothing can attach to it (its row shows why)."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class PickedTogether(Message):
        """Sent for marked places of which some are no functions: each of those is a probe of its own."""

        def __init__(self, names: tuple[str, ...]) -> None:
            super().__init__()
            self.names = names
            """Names in the list; the first may stand for all functions among them."""

    class Marked(Message):
        """Sent when other places are marked."""

        def __init__(self, number: int, noun: str) -> None:
            super().__init__()
            self.number = number
            self.noun = noun
            """Noun for one of them."""

    class SpecificationWanted(Message):
        """Request to type a specification: `:` was typed first, which begins no name, or a whole probe was typed."""

        def __init__(self, text: str = "") -> None:
            super().__init__()
            self.text = text
            """Typed probe; empty: none yet."""

    def __init__(self, close_first: Callable[[], bool] = lambda: False) -> None:
        """Set the function that closes what Escape belongs to before the search; it returns False if there is
        nothing.
        """
        super().__init__()
        self._close_first = close_first
        self._search = FunctionSearch()
        self._marks = self._search.marks
        self.border_title = self._search.title
        self._input = NameLine("part of a name", lambda: self._search.moved, lambda: bool(self._marks.names))
        self._query = ""
        self._list = PlaceList()
        self._list.cursor_scope = self
        self._count = Label("", classes="count", markup=False)
        self._about = Label("", classes="about", markup=False)

    def compose(self) -> ComposeResult:
        """Yield search line, list, and details."""
        with Horizontal():
            yield Label("> ", classes="prompt", markup=False)
            yield self._input
            yield self._count
        yield self._list
        yield self._about

    def show(
        self, names: Sequence[str], search: Search, describe: Describe, places: MarkedPlaces | None = None
    ) -> None:
        """Show other functions; query and marks stay."""
        self._search.use(names, search, describe, places)
        self.refresh_bindings()
        self._find(self._input.value)

    def find_again(self) -> None:
        """Search for the text again: more is known of the place that it is. Rows that a person moves in stay."""
        if not (self._search.moved and self._list.rows.next):
            self._find(self._input.value)

    def describe_anew(self) -> None:
        """Draw the rows again after more facts about the functions are known."""
        self._list.rows_changed()
        self._about_current()

    @property
    def query_text(self) -> str:
        """Text of the search line; setting it starts a search."""
        return self._input.value

    @query_text.setter
    def query_text(self, text: str) -> None:
        self._input.value = text

    @property
    def current(self) -> str | None:
        """Function under the cursor."""
        return self._list.current

    @property
    def on_screen(self) -> list[str]:
        """Visible names, from the current one on."""
        return self._list.on_screen

    def focus_search(self) -> None:
        """Focus the search line; the next letter starts another name."""
        self.screen.set_focus(self._input)  # focused at once: letters typed ahead belong to the line
        self.begin_search()

    def begin_search(self) -> None:
        """Select the text of the search line: the next letter starts another name."""
        self._input.select_all()

    def watch_armed(self, old: Mapping[str, float | None], new: Mapping[str, float | None]) -> None:
        """Repaint visible rows that are, or were, armed."""
        self._list.show_armed(old, new)

    @on(Input.Changed)
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == ":":
            with self.prevent(Input.Changed):
                self._input.value = self._query
            self.post_message(self.SpecificationWanted())
            return
        self._query, self._search.moved, self._search.lists_marks = event.value, False, False
        self._find(event.value)

    def _find(self, query: str) -> None:
        found = self._search.find(query, self.armed)
        self.border_title = self._search.title
        if found is not None:
            self._list.rows = found.rows
            self._count.update(found.total)
            if found.note is not None:
                self._say(found.note)

    def _say(self, text: str) -> None:
        """Show a text below the list."""
        self._about.update(safe_content(text))

    @on(LineList.Highlighted)
    def _say_more(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._about_current()

    def _about_current(self) -> None:
        row = self._list.cursor
        if programs := self._list.programs:
            if self._search.moved and row < programs.next:
                self._say(programs.details(row))
        elif self._search.takes_place(self._input.value, self.current):
            self._say(f"Enter takes all that fit; tab takes {self.current}")
        elif (places := self._list.places) and row < places.next and not is_typed_probe(self._query.strip()):
            self._say(places.details(row))

    @on(LineList.Selected)
    def action_take(self, event: Message | None = None) -> None:
        """Choose the current function, even if its name is only similar to the typed text."""
        if event is not None:
            event.stop()
        if self._list.programs is not None:
            self.action_pick()
            return
        name = self.current
        if name is not None and kind_of_place(name) is PlaceKind.PROGRAM:
            self._open_program(name)
        elif name is not None:
            self.post_message(self.Picked(name))

    def _open_program(self, path: str) -> None:
        """Search among the places of a program, or the files of a folder."""
        self.screen.set_focus(self._input)
        self._input.value = f"{path}:"
        self._input.cursor_position = len(self._input.value)

    @on(Input.Submitted)
    def action_pick(self, event: Message | None = None) -> None:
        """Choose the current function if its name contains the typed text, or a key chose it."""
        if event is not None:
            event.stop()
        if (programs := self._list.programs) is not None:
            if programs.marked:
                self.post_message(self.SpecificationWanted(programs.text))
            return
        match self._search.taken_by_enter(self._input.value.strip(), self.current):
            case PickKind.SPECIFICATION, text:
                self.post_message(self.SpecificationWanted(text))
            case PickKind.PROGRAM, path:
                self._open_program(path)
            case PickKind.PLACE, place:
                self.post_message(self.Picked(place))
            case PickKind.MARKED, _:
                self._pick_marked()
            case PickKind.ROW, _:
                self.action_take()
            case _, reason:
                self._say(reason)

    def _pick_marked(self) -> None:
        place, others = self._marks.place, self._marks.others
        if others:
            self.post_message(self.PickedTogether((*((place,) if place else ()), *others)))
        elif place:
            self.post_message(self.Picked(place))
            # The specification has them now: the next marks are those of another probe.
            self.clear_marks()
        else:
            self._say(self._search.marks_text)

    def clear_marks(self) -> None:
        """Unmark all."""
        self._marks.clear()
        self._show_marks()

    def action_mark(self) -> None:
        """Mark the current place, or unmark it, and go to the next one; of an object the current program."""
        if (programs := self._list.programs) is not None:
            if programs.next:
                programs.toggle(self._list.cursor)
                self._show_object_marks(programs)
                self.action_list("move", 1)
        elif self.current is not None and kind_of_place(self.current) is not PlaceKind.PROGRAM:
            self._marks.toggle(self.current)
            self._show_marks()
            self.action_list("move", 1)

    def action_mark_all(self) -> None:
        """Mark all functions that match, or all programs, or unmark them where all are marked."""
        if (programs := self._list.programs) is not None:
            programs.toggle_all()
            self._show_object_marks(programs)
        elif self._marks.toggle_all(self._input.value):
            self._show_marks()
            self._say(self._search.marks_text)

    def action_marked(self) -> None:
        """List the marked functions alone, or all that match again."""
        self._search.lists_marks = bool(self._marks.names) and not self._search.lists_marks
        self._find(self._input.value)

    def action_kind(self) -> None:
        """List another kind of places alone, or all together again."""
        self._search.next_kind()
        self._find(self._input.value)

    def _show_marks(self) -> None:
        """Draw marks and their number."""
        self.border_subtitle = safe_content(self._marks.title)
        self._list.show_marks(self._marks.names)
        self.refresh_bindings()
        noun = "place" if self._marks.others else "function"
        self.post_message(self.Marked(len(self._marks.names), noun))

    def _show_object_marks(self, rows: ObjectRows) -> None:
        self._list.rows_changed()
        self._count.update(rows.count)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Enable Tab where Enter would not choose the row, and to choose a kind where there are several."""
        if action == "kind":
            return bool(self._search.places.kinds)
        if action != "take":
            return True
        name = self.current if self._input.has_focus else None
        return name is not None and self._search.offers_tab(self._input.value.strip(), name)

    def action_list(self, what: str, step: int) -> None:
        """Move in the list while the search line has the focus."""
        self._search.moved = True
        (self._list.action_move if what == "move" else self._list.action_page)(step)

    def action_search(self) -> None:
        """Focus the search line."""
        self.focus_search()

    def action_clear(self) -> None:
        """Clear the search line, unless something opened over it is closed first."""
        if self._close_first():
            return
        if self._search.lists_marks:
            self.action_marked()
        if self._search.places.kind is not None:
            self._search.places.kind = None
            self._find("")
        self._input.value = ""
