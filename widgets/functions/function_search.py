"""Decide what a text in the search of functions finds, and what Enter takes of it. Imports no screen code."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from events.names.place_kinds import PlaceKind, kind_of_place
from widgets.functions.function_marks import MarkedFunctions, MarkedPlaces, NoPlaces
from widgets.functions.function_rows import Describe, FunctionRows
from widgets.functions.object_rows import ObjectRows
from widgets.highlight import has_words, is_typed_probe
from widgets.number_format import grouped
from widgets.rows import NoRows

Search = Callable[[str], tuple[Sequence[int], int]]
"""Query -> (indices into the names, best first; number of all matches)."""


class FoundFunctions(NamedTuple):
    """Rows that a text finds."""

    rows: FunctionRows | ObjectRows | NoRows
    total: str
    note: str | None = None
    """Text below the rows; None: that of the row under the cursor."""


class PickKind(enum.Enum):
    """Kind of thing that Enter takes."""

    SPECIFICATION = enum.auto()
    PROGRAM = enum.auto()
    """A program or folder, to search in."""
    MARKED = enum.auto()
    PLACE = enum.auto()
    """All functions that the text stands for."""
    ROW = enum.auto()
    REFUSED = enum.auto()


class FunctionSearch:
    """Names of a target, which of them are listed, and the marks."""

    def __init__(self) -> None:
        self.marks = MarkedFunctions()
        self.moved = False
        """True if a key chose a row since the text was typed."""
        self.lists_marks = False
        """True while only what is marked is listed."""
        self.names: Sequence[str] = ()
        self.describe: Describe | None = None
        self._search: Search = lambda query: ((), 0)  # noqa: ARG005 - nothing to search yet
        self._unread = False
        """True while a program or folder that is typed is being read."""

    @property
    def places(self) -> MarkedPlaces:
        """Places of the target that is open."""
        return self.marks.places

    def use(self, names: Sequence[str], search: Search, describe: Describe, places: MarkedPlaces | None) -> None:
        """Search other names; marks stay, and the kind that is listed alone where these have it, too."""
        self.names, self._search, self.describe = names, search, describe
        kind = self.places.kind
        self.marks.places = places or NoPlaces()
        self.places.kind = kind
        self._keep_kind()

    def _keep_kind(self) -> None:
        """List all kinds again where none of the one that is listed alone can be found."""
        if self.places.kind not in self.places.kinds:
            self.places.kind = None

    def next_kind(self) -> None:
        """List another kind of places alone, or all together again."""
        order = (None, *self.places.kinds)
        self.places.kind = order[(order.index(self.places.kind) + 1) % len(order)]

    @property
    def title(self) -> str:
        """Kinds of places that are listed."""
        if kind := self.places.kind:
            return f"{kind}s alone"
        return "functions and events" if self.places.kinds else "functions"

    def find(self, text: str, armed: Mapping[str, float | None]) -> FoundFunctions | None:
        """Return what a text finds; None: there is nothing to search yet."""
        if self.describe is None:
            return None
        found = self.places.object_rows(text)
        if isinstance(found, str):
            return FoundFunctions(NoRows(), "", found)
        if found is not None:
            note = "an object: Enter takes it with the marked programs into the specification"
            return FoundFunctions(found, found.count, note)
        names, part, note = self.names, text, ""
        program = None if self.lists_marks else self.places.program_rows(text)
        self._keep_kind()  # a program has kinds of its own
        if program is not None:
            names, total, part, note, self._unread = program
            indices: Sequence[int] = range(len(names))
        else:
            self._unread = False
            if not self.lists_marks and (text.strip() or self.places.kind is not None):
                indices, total = self._search(text)
            else:
                names = self.marks.rows if self.lists_marks else names
                indices, total = range(len(names)), len(names)
        is_all = program is not None or total == len(self.names)
        count = grouped(total) + ("" if is_all else f" of {grouped(len(self.names))}")
        if program is None and self.typed_program(text):
            note = "a program: Enter takes it into the specification, where its functions and marks are offered"
        if is_typed_probe(text.strip()):
            note = "a whole probe: Enter takes it into the specification"
        rows = FunctionRows(names, indices, self.describe, part, armed, self.marks.names)
        return FoundFunctions(rows, count, note or (None if indices else self._reason(text)))

    def _reason(self, text: str) -> str:
        """Return why a text finds nothing."""
        word = self.places.kind or ("name" if self.places.kinds else "function")
        return (self.places.reason(text) or f"no {word} matches {text.strip()}") if text.strip() else ""

    def taken_by_enter(self, text: str, current: str | None) -> tuple[PickKind, str]:
        """Return what Enter takes of a text and the name under the cursor: the text as written, no similar name."""
        program = self.typed_program(text)
        if is_typed_probe(text):
            return PickKind.SPECIFICATION, text
        if program and current is None and not self._unread:
            return PickKind.SPECIFICATION, f"p {program}"
        if self.marks.names:
            return PickKind.MARKED, ""
        if text.startswith("/") and not self.moved and (current or "").startswith((f"{text}:", f"{text}/")):
            return PickKind.PROGRAM, text
        if self.takes_place(text, current):
            return PickKind.PLACE, text
        if current is None or self.moved or has_words(current, text):
            return PickKind.ROW, ""
        return PickKind.REFUSED, f"no name has {text} in it: Tab takes {current}, ↓ chooses"

    def typed_program(self, text: str) -> str:
        """Return the typed place in a program, `/bin/busybox:` or `/bin/busybox:main`; empty: no path is typed."""
        text = text.strip()
        is_path = text.startswith("/") and len(text) > 1 and not self.places.is_place(text)
        return (text if ":" in text else f"{text}:") if is_path and " " not in text else ""

    def takes_place(self, text: str, current: str | None) -> bool:
        """Return whether Enter takes all functions that a text stands for."""
        is_all = not (self.moved or self.lists_marks or self.marks.names) and current is not None
        return is_all and self.places.is_place(text)

    def offers_tab(self, text: str, current: str) -> bool:
        """Return whether Enter would not choose the name under the cursor."""
        takes_row = has_words(current, text) and not self.places.is_place(text)
        return bool(self.marks.names) or not takes_row or kind_of_place(current) is PlaceKind.PROGRAM

    @property
    def marks_text(self) -> str:
        """Number of marks, those that can't be armed with the reasons, and what Enter does with them."""
        if self.describe is None:
            return ""
        takes = "; Enter takes them into one probe" if self.marks.place else ""
        takes = "; Enter arms them together" if self.marks.others else takes
        return self.marks.summary(self.describe) + takes
