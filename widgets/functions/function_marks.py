"""Mark functions in the list of them: marks, their number, and which can't be armed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from events.names.function_marks import FunctionMarks, marks_summary
from events.names.place_kinds import PlaceKind, kind_of_place
from widgets.functions.function_rows import Describe
from widgets.functions.object_rows import ObjectRows
from widgets.number_format import grouped


class MarkedPlaces(Protocol):
    """Places that stand for several functions of a target (`tui.compose.functions.function_index.Functions`)."""

    kind: PlaceKind | None
    """The only kind of places that is found; None: all are."""

    @property
    def kinds(self) -> Sequence[PlaceKind]:
        """Kinds of which there are places; none where all are functions."""

    def is_place(self, query: str) -> bool:
        """Return whether a text is such a place."""

    def reason(self, query: str) -> str:
        """Return why a place stands for no function, or not yet; empty: it stands for some."""

    def matching(self, query: str) -> tuple[str, Sequence[str]]:
        """Return a place for all functions that a text fits, empty where there is none, and their names."""

    def traceable(self, name: str) -> bool:
        """Return whether a probe can be on a place, on a function as one of several."""

    def object_rows(self, query: str) -> ObjectRows | str | None:
        """Return the rows of the compiled object that a text names, or why there are none; None: it names none."""

    def program_rows(self, query: str) -> ProgramRows | None:
        """Return the places of the program that a text names, with other places of that name; None: it names none."""


class ProgramRows(NamedTuple):
    """Places of a program, or files of a folder, that a text finds."""

    names: Sequence[str]
    total: int
    part: str
    """The part of the text that the names are like."""
    note: str = ""
    """Why there are none, or not yet."""
    unread: bool = False
    """True while they are being read."""


class NoPlaces:
    """Places before a target is open: there are none."""

    kind: PlaceKind | None = None
    kinds: Sequence[PlaceKind] = ()

    def is_place(self, query: str) -> bool:  # noqa: ARG002 - the protocol's
        """Return False."""
        return False

    def reason(self, query: str) -> str:  # noqa: ARG002 - the protocol's
        """Return nothing."""
        return ""

    def matching(self, query: str) -> tuple[str, Sequence[str]]:  # noqa: ARG002 - the protocol's
        """Return no functions."""
        return "", ()

    def traceable(self, name: str) -> bool:  # noqa: ARG002 - the protocol's
        """Return True: nothing is known yet."""
        return True

    def object_rows(self, query: str) -> None:
        """Return None: no object can be attached yet."""

    def program_rows(self, query: str) -> None:
        """Return None: no file can be read yet."""


class MarkedFunctions:
    """The marks of a list of functions."""

    def __init__(self) -> None:
        self.places: MarkedPlaces = NoPlaces()
        """Places of the target that is open."""
        self._marks = FunctionMarks()

    @property
    def names(self) -> frozenset[str]:
        """Marked functions."""
        return self._marks.names

    def toggle(self, name: str) -> None:
        """Mark a place, or unmark it."""
        self._marks = self._marks.toggled(name)

    def toggle_all(self, query: str) -> int:
        """Mark all functions that a text fits, or unmark them where all are marked; return their number."""
        text, names = self.places.matching(query)
        self._marks = self._marks.with_all(text, names)
        return len(names)

    def clear(self) -> None:
        """Unmark all functions."""
        self._marks = FunctionMarks()

    @property
    def place(self) -> str:
        """The place that stands for all marked functions that can be armed; empty: there is none."""
        return self._marks.place(lambda name: _is_function(name) and self.places.traceable(name))

    @property
    def others(self) -> tuple[str, ...]:
        """Marked places that are no functions of the kernel, and can be armed, in order."""
        return tuple(sorted(name for name in self.names if not _is_function(name) and self.places.traceable(name)))

    @property
    def title(self) -> str:
        """`12 marked, 3 can't`; empty: none is marked."""
        if not self.names:
            return ""
        without = sum(1 for name in self.names if not self.places.traceable(name))
        return f"{grouped(len(self.names))} marked" + (f", {grouped(without)} can't" if without else "")

    def summary(self, describe: Describe) -> str:
        """Return the number of marks, and of those without probes with the reasons."""
        return marks_summary(self.names, self.places.traceable, lambda name: describe(name).word)

    @property
    def rows(self) -> list[str]:
        """Names of all that is marked, in order, those that can't be armed first."""
        return sorted(self.names, key=lambda name: (self.places.traceable(name), name))


def _is_function(name: str) -> bool:
    return kind_of_place(name) is PlaceKind.FUNCTION
