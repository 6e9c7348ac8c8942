"""Calls as lines of a tree: what was called with what, what it returned, how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.tail_table import FoundRow
from widgets.number_format import bar, duration
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width

_TIME, _TASK, _RETURNED, _TOOK, _BAR = 14, 16, 12, 8, 8
_DAY = _TIME + 16
"""Columns of a time of day before that."""
_WIDE = 100
"""Columns from which on there is room for the time, and for what a call spent by itself."""
_DEEPEST = 24
"""Levels that are indented; deeper ones say their level."""


class GraphText(NamedTuple):
    """One line of the tree."""

    ts: int
    """Nanoseconds."""
    task: str
    level: int
    folded: bool | None
    """None: there is nothing inside."""
    name: str
    arguments: str = ""
    """With brackets, as they follow the name."""
    returned: str = ""
    failed: bool = False
    """Whether that is an error."""
    took: int | None = None
    """Nanoseconds; None: one of its ends was not seen."""
    own: int | None = None
    """What was not spent in calls inside."""
    kind: str = ""
    """`interrupt`, `softirq`, `off the CPU`, ...; empty: a call."""
    note: str = ""
    """What is not known of it, and why."""
    seq: int = -1
    """Number in the store of the event it begins with."""


class GraphSource(Protocol):
    """Where lines come from: places `first` to `next - 1`; what changes them is asked for by `GraphTable`."""

    @property
    def first(self) -> int:
        """Oldest place that is kept."""

    @property
    def next(self) -> int:
        """Place that comes next."""

    @property
    def all_tasks(self) -> bool:
        """Whether lines of several tasks stand between each other."""

    @property
    def slow(self) -> int:
        """Nanoseconds from which on a call is slow; 0: nothing is."""

    def text(self, place: int) -> GraphText:
        """A line. Raises IndexError where it was dropped."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """One bounded step of a search; what is found is unfolded."""


class GraphRows:
    """Rows of a `GraphTable`."""

    def __init__(self, source: GraphSource) -> None:
        self.search = ""
        self.source = source
        self.stamp: Stamp = kernel_stamp
        self._kept: dict[int, GraphText] = {}
        self._longest = 1
        self._returns = False

    @property
    def first(self) -> int:
        """Oldest row."""
        return self.source.first

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.source.next

    def forget(self) -> None:
        """Format rows anew."""
        self._kept.clear()

    def total(self, available: int) -> int:
        """All rows fit: what is too long is cut."""
        return available

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """One bounded step of a search for a text."""
        return self.source.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows that will be drawn; True: bars have another scale now."""
        self._kept = {place: self._kept.get(place) or self._text(place) for place in range(first, after)}
        longest = max((line.took or 0 for line in self._kept.values()), default=1) or 1
        returns = self._returns or any(line.returned for line in self._kept.values())
        changed = (longest, returns) != (self._longest, self._returns)
        self._longest, self._returns = longest, returns
        return changed

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles above their columns."""
        left, right = self._sides(columns)
        titles = [fit(title, size) for title, size in left] + [fit("calls", self._room(columns))]
        titles += [fit(title, size, title in ("took", "self")) for title, size in right]
        yield Piece(" ".join(titles))

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Time, task, the call in its tree, return value, duration, bar."""
        line = self._kept.get(row) or self._text(row)
        left, right = self._sides(columns)
        for title, size in left:
            text = self.stamp(line.ts, line.seq) if title == "time" else safe(line.task)
            yield Piece(fit(text, size, title == "time") + " ", "dim")
        yield from self._call(line, self._room(columns))
        slow = bool(self.source.slow) and line.took is not None and line.took >= self.source.slow
        for title, size in right:
            yield Piece(" ")
            if title == "ret":
                yield Piece(fit(safe(line.returned), size), "bad" if line.failed else "type")
            elif title == "took":
                text = "" if line.took is None else duration(line.took)
                yield Piece(fit(text, size, True), "warn" if slow else "")
            elif title == "self":
                yield Piece(fit("" if line.own is None else duration(line.own), size, True), "dim")
            else:
                yield Piece(bar((line.took or 0) / self._longest, size), "warn" if slow else "mark")

    def _sides(self, columns: int) -> tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]]:
        """Titles and widths left and right of the tree."""
        time = _TIME if self.stamp is kernel_stamp else _DAY
        left = [("time", time)] if columns >= _WIDE + time - _TIME else []
        left += [("task", _TASK)] if self.source.all_tasks else []
        right = [("ret", _RETURNED)] if self._returns else []
        right += [("took", _TOOK)] + ([("self", _TOOK)] if columns >= _WIDE else []) + [("", _BAR)]
        return left, right

    def _room(self, columns: int) -> int:
        """Columns for the tree."""
        left, right = self._sides(columns)
        return max(8, columns - sum(size + 1 for _, size in (*left, *right)))

    def _call(self, line: GraphText, room: int) -> Iterable[Piece]:
        """The call in its tree, in so many columns."""
        deep = f"{line.level}:" if line.level > _DEEPEST else ""
        sign = " " if line.folded is None else "▸" if line.folded else "▾"
        head = "  " * min(line.level, _DEEPEST) + deep + sign + " "
        parts = [
            (line.kind + " " if line.kind else "", "warn"),
            (safe(line.name), "" if line.kind else "name" if line.level == 0 else ""),
            (safe(line.arguments), "dim"),
            (f"  {safe(line.note)}" if line.note else "", "warn"),
        ]
        used = min(len(head), room)
        yield Piece(head[:room], "dim")
        for text, look in parts:
            text = cut(text, room - used)
            used += width(text)
            yield from self._marked(text, look)
        yield Piece(" " * (room - used))

    def _marked(self, text: str, look: str) -> Iterable[Piece]:
        needle = self.search.lower()
        at = text.lower().find(needle) if needle else -1
        return highlighted(text, [(at, at + len(needle))], look) if at >= 0 else (Piece(text, look),)

    def _text(self, place: int) -> GraphText:
        try:
            return self.source.text(place)
        except IndexError:
            return GraphText(0, "", 0, None, "(dropped)")
