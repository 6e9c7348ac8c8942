"""The functions, tracepoints and events of a target as the list has them: found by words, described when drawn."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from events.names.function_choice import is_called, is_typed_place
from events.names.place_kinds import IN_PROGRAMS, TRACEPOINT_LETTER, PlaceKind, kind_of_place, place_label
from widgets.functions.function_marks import ProgramRows
from widgets.functions.function_rows import Attachable
from widgets.highlight import has_words

# The first paint shows the functions; what searches them is imported after it.
if TYPE_CHECKING:
    from btf.search import Search
    from kernel.attach.program_files import ProgramFiles
    from kernel.connection.planner import Planner
    from widgets.functions.object_rows import ObjectRows

MOST_FOUND = 5_000
"""Rows a search gives at the most; nobody scrolls farther, and typing one more letter is quicker."""


class NameOnly(NamedTuple):
    """The row of a function before its kernel is open."""

    module: str = ""
    kinds: tuple[str, ...] = ("…",)
    reason: str = ""
    word: str = ""


NOT_YET = NameOnly()
SOURCE_LETTER = "s"
"""Letter of sources in the list."""


class PlaceMeaning(NamedTuple):
    """Functions that a place stands for."""

    names: Sequence[str] = ()
    reason: str = ""
    """Reason why there are none, or not yet."""


_NOWHERE = PlaceMeaning()


class Functions:
    """Names, and what is known of each."""

    def __init__(
        self,
        names: Sequence[str],
        describe: Callable[[str], Attachable] = lambda _: NOT_YET,
        planner: Planner | None = None,
        look_up_later: Callable[[Callable[[], object]], object] = lambda _: None,
    ) -> None:
        """Take the functions of a target.

        Args:
            names: sorted names.
            describe: returns the row of one.
            planner: of the target, for its tracepoints and events, and for places that stand for several functions;
                None: it is not open yet.
            look_up_later: runs in a worker what takes long; then the list is asked for anew.
        """
        self._functions = names
        self._kinds = _source_kinds(planner, names)
        self._places = planner.info.places if planner is not None else None
        listed = self._places.names if self._places is not None else names
        self.names = [*listed, *self._kinds] if self._kinds else listed
        """Functions, events, tracepoints, then sources."""
        self.kind: PlaceKind | None = None
        """The only kind of places that is found; None: all are."""
        self._describe = describe
        self._planner = planner
        self._look_up_later = look_up_later
        self._known: dict[str, Attachable] = {}
        self._programs = planner.info.programs if planner is not None else None
        """Programs of the target; None: its files can't be read."""
        self._in_program = ""
        """The text that named a program last; empty: the last one named none."""
        self._learnt: set[str] = set()
        """Texts that a worker was asked to read what they name for."""
        self._last = "", _NOWHERE
        """The last place that was looked up, and its functions."""
        self._object: tuple[str, ObjectRows | str] = ("", "")
        """The last object that was looked at."""
        self._asked: dict[str, PlaceMeaning] = {}
        """Functions of the places that a worker looks up."""

    def find(self, query: str) -> tuple[Sequence[int], int]:
        """Return the indices of the names that fit, best first and at most MOST_FOUND, and their number."""
        if self.is_place(query):
            names = self._names_meant(query.strip())
            return [bisect_left(self._functions, name) for name in names], len(names)
        if self.kind is None or self._places is None:
            found = self._search.find(query, MOST_FOUND)
            return found.indices, found.total
        of_kind = self._places.ranges.get(self.kind, range(0))
        first, end = of_kind.start, of_kind.stop
        indices = [index for index in self._search.find(query).indices if first <= index < end]
        return indices[:MOST_FOUND], len(indices)

    @property
    def kinds(self) -> Sequence[PlaceKind]:
        """Kinds of which there are places, of a program those in it; none where all are functions."""
        if self._in_program and self._programs is not None:
            return self._programs.kinds(self._in_program)
        found = [kind for kind, indices in self._places.ranges.items() if indices] if self._places is not None else []
        return found if len(found) > 1 else ()

    def is_place(self, query: str) -> bool:
        """Return whether a text is a place that stands for several functions: `vfs_*`, `[struct file *]`."""
        is_path = kind_of_place(query.strip()) is PlaceKind.PROGRAM
        return self._planner is not None and is_typed_place(query) and not is_path

    def matching(self, query: str) -> tuple[str, Sequence[str]]:
        """Return a place for all functions that a text fits, empty where there is none, and their names; of another
        kind that is listed alone, and of a program, the names of all that fit.
        """
        query = query.strip()
        if self._in_program and self._programs is not None:
            found = self._programs.search(self._in_program, MOST_FOUND, self.kind)
            return "", [name for name in found.names if has_words(name, query)] if found is not None else ()
        if self.kind not in (None, PlaceKind.FUNCTION):
            return "", [name for name in map(self.names.__getitem__, self.find(query)[0]) if has_words(name, query)]
        if self.is_place(query):
            return query, self._names_meant(query)
        indices = self._search.find(query).indices
        listed = (self.names[index] for index in indices)
        names = [name for name in listed if self.is_function(name) and has_words(name, query)]
        return self._words_place(query, names), names

    def traceable(self, name: str) -> bool:
        """Return whether a probe can be on a place, on a function as one of several."""
        from probes.functions.function_index import index_of

        if (kind := kind_of_place(name)) is not PlaceKind.FUNCTION:
            return kind is not PlaceKind.PROGRAM
        return self._planner is None or bool(index_of(self._planner.info.facts).count(name))

    def object_rows(self, query: str) -> ObjectRows | str | None:
        """Return the rows of the compiled object that a text names, or why there are none; None: it names none.

        The rows of one text stay the same, with their marks.
        """
        if self._planner is None or not query.strip():
            return None
        from probes.objects.request import is_object

        if not is_object(query):
            return None
        if self._object[0] != query:
            from tui.compose.functions.object_rows import object_rows

            self._object = query, object_rows(self._planner, query)
        return self._object[1]

    def program_rows(self, query: str) -> ProgramRows | None:
        """Return the places of the program that a text names, with other places of that name; None: it names none.

        What was not read yet is read in a worker.
        """
        text, programs = query.strip(), self._programs
        self._in_program = ""
        if programs is None or not text or self.is_place(text):
            return None
        if text not in self._learnt and programs.is_unknown(text):
            self._learnt.add(text)
            self._look_up_later(lambda: self._learn(programs, text))
        kind = self.kind if self.kind in IN_PROGRAMS else None
        found = programs.search(text, MOST_FOUND, kind)
        if found is None:
            return None
        if found.of_program:
            self._in_program = text
            return ProgramRows(found.names, found.total, found.part, found.note, found.unread)
        return self._with_others(text, found.names) if self.kind is None else None

    def _learn(self, programs: ProgramFiles, text: str) -> None:
        """Read what a text names, for a worker; a text that stays unknown is not read again."""
        from kernel.errors import KernelError

        with contextlib.suppress(KernelError):  # a lost connection is told by what comes next
            programs.learn(text)
        if not programs.is_unknown(text):
            self._learnt.discard(text)

    def _with_others(self, text: str, programs: Sequence[str]) -> ProgramRows:
        """Return the programs of a name behind what has just that name, and before what merely has it in its own."""
        indices, total = self.find(text)
        names = [self.names[index] for index in indices]
        exact = next((at for at, name in enumerate(names) if not _is_named(name, text)), len(names))
        return ProgramRows([*names[:exact], *programs, *names[exact:]], total + len(programs), text)

    def _words_place(self, query: str, names: Sequence[str]) -> str:
        from events.names.function_marks import words_place

        return words_place(query, names, lambda choice: self._names_meant(choice.text)) if self._planner else ""

    def reason(self, query: str) -> str:
        """Return why a place stands for no function, or not yet; empty: it stands for some, or none has the words."""
        return self._meant_by(query.strip()).reason if self.is_place(query) else ""

    def _names_meant(self, text: str) -> Sequence[str]:
        return self._meant_by(text).names

    def _meant_by(self, text: str) -> PlaceMeaning:
        """Return the functions that a place stands for; what takes long is looked up in a worker."""
        planner = self._planner
        if planner is None:
            return _NOWHERE
        if is_called(text) or "0x" in text:
            if text not in self._asked:
                self._asked[text] = PlaceMeaning((), "reading the kernel's code …")
                self._look_up_later(lambda: self._asked.update({text: _looked_up(planner, self._functions, text)}))
            return self._asked[text]
        if self._last[0] != text or text.startswith("@"):
            self._last = text, _looked_up(planner, self._functions, text)
        return self._last[1]

    def describe(self, name: str) -> Attachable:
        """Return the row of a function in the list."""
        function = self._known.get(name)
        if function is None:
            function = self._known[name] = self._kinds.get(name) or self._described(name)
        return function

    def _described(self, name: str) -> Attachable:
        if kind_of_place(name) is PlaceKind.FUNCTION:
            return self._describe(name)
        from probes.attaching.places import place_row

        return place_row(name, self._programs.arguments_text(name) if self._programs is not None else "")

    def is_function(self, name: str) -> bool:
        """Return whether a row is a function."""
        return name not in self._kinds and kind_of_place(name) is PlaceKind.FUNCTION

    def is_source(self, name: str) -> bool:
        """Return whether a row is a kind of source, and no function."""
        return name in self._kinds

    def forget(self) -> None:
        """Forget all descriptions: more is known of the kernel now."""
        self._known.clear()

    @cached_property
    def _search(self) -> Search:
        if self._places is not None:
            return self._places.search_with(self._kinds)
        from btf.search import Search

        return Search(self.names)


def _is_named(name: str, text: str) -> bool:
    """Return whether a place has just that name, as an event of a system call has the call's."""
    own = place_label(name).removeprefix(TRACEPOINT_LETTER)
    return own == text or own.removeprefix("sys_enter_").removeprefix("sys_exit_") == text


def renewed(planner: Planner, look_up_later: Callable[[Callable[[], object]], object]) -> Functions | None:
    """Return the functions and events of a kernel, ready to be searched, where others are there than before.

    Folders and names of programs are read anew when they are searched next. May wait for the target. Raises
    KernelError.
    """
    info = planner.info
    if info.programs is not None:
        info.programs.forget()
    if not info.target.is_kernel or not info.renew_places():
        return None
    functions = Functions(info.catalog.names, info.function, planner, look_up_later)
    _ = functions._search
    return functions


def _source_kinds(planner: Planner | None, names: Sequence[str]) -> Mapping[str, Attachable]:
    """Return the rows of the kinds of sources on a kernel; one whose name is a function's has none."""
    if planner is None or not planner.info.target.is_kernel:
        return {}
    from probes.lowering.sources.lower_source import missing_reason
    from probes.sources.kinds import KINDS

    rows: dict[str, Attachable] = {}
    for kind in KINDS.values():
        at = bisect_left(names, kind.name)
        if at == len(names) or names[at] != kind.name:
            reason = missing_reason(kind, planner.info.facts)
            rows[kind.name] = NameOnly("", () if reason else (SOURCE_LETTER,), reason or kind.title, "no tracer")
    return rows


def _looked_up(planner: Planner, names: Sequence[str], text: str) -> PlaceMeaning:
    """Return the functions of a target that a place stands for. May wait for the target."""
    from events.names.function_choice import ChoiceError
    from foreign.refusal import InputRefusal
    from kernel.errors import KernelError
    from probes.functions.chosen_functions import names_meant
    from probes.refusal import CannotLower

    info = planner.info
    try:
        return PlaceMeaning(names_meant(text, names, info.btf, info.facts, planner.lookups.choices()))
    except CannotLower as error:
        return PlaceMeaning((), error.refusal.hint or error.refusal.message)
    except (ChoiceError, InputRefusal, KernelError) as error:
        return PlaceMeaning((), str(error))
