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
from widgets.fields.function_marks import MarkedFunctions, MarkedPlaces, NoPlaces
from widgets.fields.function_rows import KIND_NAMES, Describe, FunctionRows
from widgets.fields.object_rows import ObjectRows
from widgets.highlight import has_words, is_typed_probe
from widgets.lists.line_list import LineList
from widgets.number_format import grouped
from widgets.rows import NoRows
from widgets.safe_content import safe_content
from widgets.search_line import NameLine

Search = Callable[[str], tuple[Sequence[int], int]]
"""Query -> (indices into the names, best first; number of all matches)."""


class FunctionList(Vertical):
    """Search line, list, and a line with details of the current row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "list('move', -1)", "Up", show=False, id="functions.up", tooltip="Function above"),
        Binding("down", "list('move', 1)", "Down", show=False, id="functions.down", tooltip="Function below"),
        Binding(
            "pageup", "list('page', -1)", "Page up", show=False, id="functions.page_up", tooltip="One screenful up"
        ),
        Binding(
            "pagedown",
            "list('page', 1)",
            "Page down",
            show=False,
            id="functions.page_down",
            tooltip="One screenful down",
        ),
        Binding(
            "enter",
            "pick",
            "Pick",
            key_display="enter",
            id="functions.pick",
            tooltip="See the signature of the function, the fields of the event, or the places in the program",
        ),
        Binding("tab", "take", "Take", show=False, id="functions.take", tooltip="Take a similar name"),
        Binding(
            "insert,space",
            "mark",
            "Mark",
            key_display="ins",
            id="functions.mark",
            tooltip="Mark the function, event or other place, or unmark it: Enter takes all that are marked "
            "(space, behind ↑ or ↓)",
        ),
        Binding(
            "ctrl+g",
            "mark_all",
            "Mark all",
            key_display="^g",
            id="functions.mark_all",
            tooltip="Mark all functions that match, or unmark them: vfs, vfs_*, /^tcp_(send|recv)/, [struct file *]; "
            "of another kind (ctrl+n) all events that match",
        ),
        Binding(
            "ctrl+o",
            "marked",
            "Marked",
            key_display="^o",
            show=False,
            id="functions.marked",
            tooltip="List what is marked, what can't be armed first; again: list what matches",
        ),
        Binding(
            "ctrl+n",
            "kind",
            "Kind",
            key_display="^n",
            id="functions.kind",
            tooltip="List functions alone, or events, system calls, tracepoints; in a program functions, static "
            "probes; after these all together again",
        ),
        Binding("slash", "search", "Search", key_display="/", id="functions.search", tooltip="Type part of a name"),
        Binding("escape", "clear", "Clear", show=False, id="functions.clear", tooltip="Show all functions again"),
    ]

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

        def __init__(self, control: FunctionList, name: str) -> None:
            super().__init__()
            self._control = control
            self.name = name

        @property
        def control(self) -> FunctionList:
            """Sending list."""
            return self._control

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
        self.border_title = "functions"
        self._input = NameLine("part of a name", lambda: self._moved, lambda: bool(self._marks.names))
        self._query = ""
        self._moved = False
        """True if a key chose a row since the text was typed."""
        self._list = LineList()
        self._list.cursor_scope = self
        self._count = Label("", classes="count", markup=False)
        self._about = Label("", classes="about", markup=False)
        self._names: Sequence[str] = ()
        self._search: Search = lambda query: ((), 0)  # noqa: ARG005 - nothing to search yet
        self._describe: Describe | None = None
        self._marks = MarkedFunctions()
        self._unread = False
        """True while a program or folder that is typed is being read."""
        self._lists_marks = False
        """True while only the marked functions are listed."""

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
        self._names, self._search, self._describe = names, search, describe
        kind = self._marks.places.kind
        self._marks.places = places or NoPlaces()
        self._marks.places.kind = kind if kind in self._marks.places.kinds else None
        self._show_kind()
        self._find(self._input.value)

    def find_again(self) -> None:
        """Search for the text again: more is known of the place that it is. Rows that a person moves in stay."""
        if not (self._moved and self._list.rows.next):
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
        rows = self._list.rows
        if isinstance(rows, FunctionRows) and self._list.cursor < rows.next:
            return rows.name(self._list.cursor)
        return None

    @property
    def on_screen(self) -> list[str]:
        """Visible names, from the current one on."""
        rows, cursor = self._list.rows, self._list.cursor
        if not isinstance(rows, FunctionRows):
            return []
        seen = self._list.window.on_screen
        return [rows.name(row) for row in sorted(seen, key=lambda row: (row < cursor, row))]

    def focus_search(self) -> None:
        """Focus the search line; the next letter starts another name."""
        self.screen.set_focus(self._input)  # focused at once: letters typed ahead belong to the line
        self.begin_search()

    def begin_search(self) -> None:
        """Select the text of the search line: the next letter starts another name."""
        self._input.select_all()

    def watch_armed(self, old: Mapping[str, float | None], new: Mapping[str, float | None]) -> None:
        """Repaint visible rows that are, or were, armed."""
        rows = self._list.rows
        if not isinstance(rows, FunctionRows):
            return
        rows.armed = new
        for row in self._list.window.on_screen:
            name = rows.name(row)
            if (name in old) != (name in new) or old.get(name) != new.get(name):
                self._list.repaint_row(row)

    @on(Input.Changed)
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == ":":
            with self.prevent(Input.Changed):
                self._input.value = self._query
            self.post_message(self.SpecificationWanted())
            return
        self._query, self._moved, self._lists_marks = event.value, False, False
        self._find(event.value)

    def _find(self, query: str) -> None:
        if self._describe is None or self._find_object(query):
            return
        names, part, note = self._names, query, ""
        self._unread = False
        program = None if self._lists_marks else self._marks.places.program_rows(query)
        self._keep_kind()
        if program is not None:
            names, total, part, note, self._unread = program
            indices: Sequence[int] = range(len(names))
        elif self._lists_marks:
            names = self._marks.rows
            indices, total = range(len(names)), len(names)
        elif query.strip() or self._marks.places.kind is not None:
            indices, total = self._search(query)
        else:
            indices, total = range(len(names)), len(names)
        self._list.rows = FunctionRows(names, indices, self._describe, part, self.armed, self._marks.names)
        every = grouped(len(self._names))
        of_every = "" if program is not None or total == len(self._names) else f" of {every}"
        self._count.update(f"{grouped(total)}{of_every}")
        if note:
            self._about.update(safe_content(note))
        elif self._typed_program and program is None:
            self._about.update(
                "a program: Enter takes it into the specification, where its functions and marks are offered"
            )
        elif not indices:
            why = self._marks.places.reason(query) or f"no {self._kind_word} matches {query.strip()}"
            self._about.update(safe_content(why) if query.strip() else "")
        if is_typed_probe(query.strip()):
            self._about.update("a whole probe: Enter takes it into the specification")

    def _find_object(self, query: str) -> bool:
        """Show the programs and maps of a compiled object that the text names; return False where it names none."""
        found = self._marks.places.object_rows(query)
        if found is None:
            return False
        if isinstance(found, str):
            self._list.rows = NoRows()
            self._count.update("")
            self._about.update(safe_content(found))
        else:
            self._list.rows = found
            self._count.update(found.count)
            self._about.update("an object: Enter takes it with the marked programs into the specification")
        return True

    @on(LineList.Highlighted)
    def _say_more(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._about_current()

    def _about_current(self) -> None:
        rows, row = self._list.rows, self._list.cursor
        if isinstance(rows, ObjectRows):
            if self._moved and row < rows.next:
                self._about.update(safe_content(rows.about(row)))
        elif self._takes_place:
            self._about.update(safe_content(f"Enter takes all that fit; tab takes {self.current}"))
        elif isinstance(rows, FunctionRows) and row < rows.next and not is_typed_probe(self._query.strip()):
            name, about = rows.name(row), rows.about(row)
            where = f" [{about.module}]" if about.module else ""
            with_ = ", ".join(KIND_NAMES[kind] for kind in sorted(about.kinds) if kind in KIND_NAMES)
            if not with_:  # the reason needs every column
                self._about.update(safe_content(about.reason))
                return
            words = f"{with_}; {about.reason}" if about.reason else with_
            self._about.update(safe_content(f"{name}{where}: {words}"))

    @on(LineList.Selected)
    def action_take(self, event: Message | None = None) -> None:
        """Choose the current function, even if its name is only similar to the typed text."""
        if event is not None:
            event.stop()
        if isinstance(self._list.rows, ObjectRows):
            self.action_pick()
            return
        name = self.current
        if name is not None and kind_of_place(name) is PlaceKind.PROGRAM:
            self._open_program(name)
        elif name is not None:
            self.post_message(self.Picked(self, name))

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
        text, rows = self._input.value.strip(), self._list.rows
        if isinstance(rows, ObjectRows):
            if rows.marked:
                self.post_message(self.SpecificationWanted(rows.text))
        elif is_typed_probe(text):
            self.post_message(self.SpecificationWanted(text))
        elif (program := self._typed_program) and self.current is None and not self._unread:
            self.post_message(self.SpecificationWanted(f"p {program}"))
        elif self._marks.names:
            self._pick_marked()
        elif self._names_program:
            self._open_program(text)
        elif self._takes_place:
            self.post_message(self.Picked(self, text))
        elif self.current is None or self._moved or has_words(self.current, text):
            self.action_take()
        else:
            self._about.update(safe_content(f"no name has {text} in it: Tab takes {self.current}, ↓ chooses"))

    @property
    def _typed_program(self) -> str:
        """The typed place in a program, `/bin/busybox:` or `/bin/busybox:main`; empty: no path is typed."""
        text = self._input.value.strip()
        is_path = text.startswith("/") and len(text) > 1 and not self._marks.places.is_place(text)
        return (text if ":" in text else f"{text}:") if is_path and " " not in text else ""

    @property
    def _names_program(self) -> bool:
        """True if the text is the whole path of a program or folder, of which the places are listed."""
        text = self._input.value.strip()
        is_path = text.startswith("/") and not self._moved
        return is_path and (self.current or "").startswith((f"{text}:", f"{text}/"))

    @property
    def _takes_place(self) -> bool:
        """True if Enter takes all functions that the text stands for."""
        is_all = not (self._moved or self._lists_marks or self._marks.names) and self.current is not None
        return is_all and self._marks.places.is_place(self._input.value)

    def _pick_marked(self) -> None:
        if others := self._marks.others:
            place = self._marks.place
            self.post_message(self.PickedTogether((*((place,) if place else ()), *others)))
        elif place := self._marks.place:
            self.post_message(self.Picked(self, place))
            # The specification has them now: the next marks are those of another probe.
            self.clear_marks()
        elif self._describe is not None:
            self._about.update(safe_content(self._marks.summary(self._describe)))

    def clear_marks(self) -> None:
        """Unmark all."""
        self._marks.clear()
        self._show_marks()

    def action_mark(self) -> None:
        """Mark the current place, or unmark it, and go to the next one; of an object the current program."""
        rows = self._list.rows
        if isinstance(rows, ObjectRows):
            if rows.next:
                rows.toggle(self._list.cursor)
                self._show_object_marks(rows)
                self.action_list("move", 1)
        elif self.current is not None and kind_of_place(self.current) is not PlaceKind.PROGRAM:
            self._marks.toggle(self.current)
            self._show_marks()
            self.action_list("move", 1)

    def action_mark_all(self) -> None:
        """Mark all functions that match, or all programs, or unmark them where all are marked."""
        if isinstance(self._list.rows, ObjectRows):
            self._list.rows.toggle_all()
            self._show_object_marks(self._list.rows)
        elif self._describe is not None and self._marks.toggle_all(self._input.value):
            self._show_marks()
            takes = "; Enter takes them into one probe" if self._marks.place and not self._marks.others else ""
            takes = takes or ("; Enter arms them together" if self._marks.others else "")
            self._about.update(safe_content(self._marks.summary(self._describe) + takes))

    def action_marked(self) -> None:
        """List the marked functions alone, or all that match again."""
        self._lists_marks = bool(self._marks.names) and not self._lists_marks
        self._find(self._input.value)

    def action_kind(self) -> None:
        """List another kind of places alone, or all together again."""
        order = (None, *self._marks.places.kinds)
        self._marks.places.kind = order[(order.index(self._marks.places.kind) + 1) % len(order)]
        self._show_kind()
        self._find(self._input.value)

    @property
    def _kind_word(self) -> str:
        return self._marks.places.kind or ("name" if self._marks.places.kinds else "function")

    def _keep_kind(self) -> None:
        """List all kinds again where none of the one that is listed alone can be found."""
        if self._marks.places.kind not in (None, *self._marks.places.kinds):
            self._marks.places.kind = None
            self._show_kind()

    def _show_kind(self) -> None:
        kind, has_others = self._marks.places.kind, bool(self._marks.places.kinds)
        self.border_title = f"{kind}s alone" if kind else "functions and events" if has_others else "functions"
        self.refresh_bindings()

    def _show_marks(self) -> None:
        """Draw marks and their number."""
        self.border_subtitle = safe_content(self._marks.title)
        if isinstance(self._list.rows, FunctionRows):
            self._list.rows.marked = self._marks.names
            self._list.rows_changed()
        self.refresh_bindings()
        noun = "place" if self._marks.others else "function"
        self.post_message(self.Marked(len(self._marks.names), noun))

    def _show_object_marks(self, rows: ObjectRows) -> None:
        self._list.rows_changed()
        self._count.update(rows.count)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Enable Tab where Enter would not choose the row, and to choose a kind where there are several."""
        if action == "kind":
            return bool(self._marks.places.kinds)
        if action != "take":
            return True
        text = self._input.value.strip()
        takes_row = has_words(self.current or "", text) and not self._marks.places.is_place(text)
        takes_row = takes_row and kind_of_place(self.current or "") is not PlaceKind.PROGRAM
        return self._input.has_focus and self.current is not None and not (takes_row and not self._marks.names)

    def action_list(self, what: str, step: int) -> None:
        """Move in the list while the search line has the focus."""
        self._moved = True
        (self._list.action_move if what == "move" else self._list.action_page)(step)

    def action_search(self) -> None:
        """Focus the search line."""
        self.focus_search()

    def action_clear(self) -> None:
        """Clear the search line, unless something opened over it is closed first."""
        if self._close_first():
            return
        if self._lists_marks:
            self.action_marked()
        if self._marks.places.kind is not None:
            self._marks.places.kind = None
            self._show_kind()
            self._find("")
        self._input.value = ""
