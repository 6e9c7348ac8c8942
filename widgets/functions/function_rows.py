"""Functions as list rows: name, mark of an armed one, module or reason, kinds. Imports no screen code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from events.names.event_names import exported_name
from events.names.place_kinds import IN_PROGRAMS, PlaceKind, kind_of_place, place_label
from widgets.highlight import highlighted, matched
from widgets.number_format import rate
from widgets.rows import Piece
from widgets.safe_text import ELLIPSIS, cut, fit, safe, width

KIND_NAMES = {"f": "fprobe", "p": "kprobe", "t": "tracepoint", "e": "event", "s": "source", "u": "uprobe"}
"""Names of the letters of the kinds."""
_ON_FILES: Final = {*IN_PROGRAMS, PlaceKind.PROGRAM}
_MARK: Final = "✓ "
_NOTE = 12
"""Columns for a reason or a module beside the name."""
_KINDS = 3


class Attachable(Protocol):
    """Facts about a function in the list (`probes.attaching.catalog.Function` has them)."""

    @property
    def module(self) -> str | None:
        """Module; None or empty: the kernel itself."""

    @property
    def kinds(self) -> Collection[str]:
        """Letters of the kinds of probe that can attach."""

    @property
    def reason(self) -> str:
        """Reason why none can attach, in one line."""

    @property
    def word(self) -> str:
        """Reason in a word or two."""


Describe = Callable[[str], Attachable]
"""Name -> kinds that can attach; called for visible rows only."""


class FunctionRows:
    """Matching names, in the order of the search."""

    first = 0

    def __init__(
        self,
        names: Sequence[str],
        indices: Sequence[int],
        describe: Describe,
        query: str,
        armed: Mapping[str, float | None],
        marked: Collection[str] = (),
    ) -> None:
        self._names = names
        self._indices = indices
        self._describe = describe
        self._query = query
        self.armed = armed
        self.marked = marked
        """Marked functions."""
        self.next = len(indices)

    def name(self, row: int) -> str:
        """Return the function's name."""
        return self._names[self._indices[row]]

    def details(self, row: int) -> str:
        """Return name, module and kinds of a function, or the reason why none can attach."""
        name = self.name(row)
        about = self._describe(name)
        kinds = ", ".join(KIND_NAMES[kind] for kind in sorted(about.kinds) if kind in KIND_NAMES)
        if not kinds:
            return about.reason  # which needs every column
        where = f" [{about.module}]" if about.module else ""
        return f"{name}{where}: {kinds}" + (f"; {about.reason}" if about.reason else "")

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return mark; name; rate of an armed one, or module, or reason; kinds."""
        name = self.name(row)
        if self.marked:
            yield Piece(_MARK if name in self.marked else " " * len(_MARK), "mark")
            columns -= len(_MARK)
        about = self._describe(name)
        letters = shown_kinds(about.kinds)
        note = self._note(name, about, min(_NOTE, columns // 3))
        kind = kind_of_place(name)
        if kind in _ON_FILES or exported_name(name) != name:
            name = place_label(name)  # the line below shows its path, or the group that a session had
        room = columns - _KINDS - 1 - (width(note.text) + 1 if note.text else 0)
        if note.look == "dim" and width(safe(name)) > room:  # the name is worth more; the line below shows the reason
            room, note = columns - _KINDS - 1, Piece("")
        if width(safe(name)) > room and kind is not PlaceKind.FUNCTION:
            name = name.rpartition("/")[2]  # the line below shows its group
        shown = cut(safe(name), room)
        runs = matched(shown.removesuffix(ELLIPSIS), self._query)
        yield from highlighted(shown, runs, "" if letters else "dim")
        yield Piece(" " * (room - width(shown)))
        if note.text:
            yield Piece(" ")
            yield note
        yield Piece(" " + fit(letters or "–", _KINDS), "" if letters else "dim")

    def _note(self, name: str, about: Attachable, columns: int) -> Piece:
        if name in self.armed:
            per_second = self.armed[name]
            return Piece("●" if per_second is None else f"● {rate(per_second)}", "mark")
        if not about.kinds:
            return Piece(cut(safe(about.word), columns), "dim")
        kind = kind_of_place(name)
        if kind is PlaceKind.SYMBOL:
            return Piece("")
        if kind is PlaceKind.PROGRAM:
            return Piece(cut(f"[{safe(name.rpartition('/')[0]) or '/'}]", columns), "dim")
        if kind is not PlaceKind.FUNCTION:  # its letter says it, too
            return Piece(f"[{kind}]" if len(kind) + 2 <= columns else "", "dim")
        where = about.module
        return Piece(cut(f"[{safe(where)}]", columns) if where else "", "dim")


def shown_kinds(kinds: Collection[str]) -> str:
    """Return the letters of kinds, `f p`; a return probe is implied by an entry probe."""
    letters = {str(kind) for kind in kinds}
    if "p" in letters:
        letters.discard("r")
    return " ".join(sorted(letters))
