"""The functions, tracepoints and events of a target as the list has them: found by words, described when drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from events.names.function_choice import is_called, is_typed_place
from events.names.place_kinds import PlaceKind, kind_of_place
from widgets.fields.function_rows import Attachable
from widgets.highlight import has_words

# The first paint shows the functions; what searches them is imported after it.
if TYPE_CHECKING:
    from btf.search import Search
    from kernel.connection.planner import Planner
    from widgets.fields.object_rows import ObjectRows

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
        of_kind = self._places.ranges[self.kind]
        first, end = of_kind.start, of_kind.stop
        indices = [index for index in self._search.find(query).indices if first <= index < end]
        return indices[:MOST_FOUND], len(indices)

    @property
    def kinds(self) -> Sequence[PlaceKind]:
        """Kinds of which there are places; none where all are functions."""
        found = [kind for kind, indices in self._places.ranges.items() if indices] if self._places is not None else []
        return found if len(found) > 1 else ()

    def is_place(self, query: str) -> bool:
        """Return whether a text is a place that stands for several functions: `vfs_*`, `[struct file *]`."""
        return self._planner is not None and is_typed_place(query)

    def matching(self, query: str) -> tuple[str, Sequence[str]]:
        """Return a place for all functions that a text fits, empty where there is none, and their names."""
        query = query.strip()
        if self.is_place(query):
            return query, self._names_meant(query)
        found = self._search.find(query).indices
        listed = (self.names[index] for index in found)
        names = [name for name in listed if self.is_function(name) and has_words(name, query)]
        return self._words_place(query, names), names

    def traceable(self, name: str) -> bool:
        """Return whether a probe on several functions can be on a function."""
        from probes.functions.function_index import index_of

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
            from tui.compose.object_rows import object_rows

            self._object = query, object_rows(self._planner, query)
        return self._object[1]

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

        return place_row(name)

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


def renewed(planner: Planner, look_up_later: Callable[[Callable[[], object]], object]) -> Functions | None:
    """Return the functions and events of a kernel, ready to be searched, where others are there than before.

    May wait for the target. Raises KernelError.
    """
    info = planner.info
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
