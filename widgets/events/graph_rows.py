"""Calls as lines of a tree: function, arguments, result, duration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.table_rows import FoundRow
from widgets.number_format import bar, duration
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width

_TIME, _TASK, _RETURNED, _TOOK, _BAR = 14, 16, 12, 8, 8
_DAY = _TIME + 16
"""Columns of the time with a time of day in front."""
_WIDE = 100
"""Columns from which on the time, and a call's own duration, are shown."""
_DEEPEST = 24
"""Indented levels; deeper lines show their level as a number."""


class GraphText(NamedTuple):
    """Line of the tree."""

    ts: int
    """Nanoseconds."""
    task: str
    level: int
    folded: bool | None
    """True if the lines inside are hidden; None: there are none inside."""
    name: str
    arguments: str = ""
    """Arguments with brackets, as they follow the name."""
    returned: str = ""
    failed: bool = False
    """True if the result is an error."""
    duration: int | None = None
    """Nanoseconds; None: one of its ends is missing."""
    self_time: int | None = None
    """Nanoseconds spent outside of calls inside."""
    kind: str = ""
    """Kind, as `interrupt`, `softirq`, `off the CPU`; empty: a call."""
    note: str = ""
    """Missing data and the reason."""
    seq: int = -1
    """Sequence number of its first event."""


class GraphTree(Protocol):
    """Source of lines: places `first` to `next - 1`, which can be folded and selected."""

    @property
    def first(self) -> int:
        """Oldest place in memory."""

    @property
    def next(self) -> int:
        """Number of the next place."""

    @property
    def all_tasks(self) -> bool:
        """True if lines of several tasks are mixed."""

    @property
    def slow(self) -> int:
        """Nanoseconds from which on a call is slow; 0: none is."""

    def text(self, place: int) -> GraphText:
        """Return a line. Raises IndexError if it was dropped."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Search for a text for at most `budget` seconds; a hit is unfolded."""

    # -- each returns the new place of the cursor

    def fold(self, place: int, folded: bool) -> int:
        """Fold or unfold a line; if it already is, go to its parent, or to its first child."""

    def unfold_to(self, place: int, levels: int) -> int:
        """Show `levels` levels; 0: all."""

    def only_task(self, place: int) -> int:
        """Show only the task of a line, or all again."""

    def next_slow(self, place: int, direction: int) -> int | None:
        """Return the next slow line; None: there is none."""


class GraphRows:
    """Rows of a `GraphTable`."""

    def __init__(self, source: GraphTree) -> None:
        self.search = ""
        self.source = source
        self.stamp: Stamp = kernel_stamp
        self._cached: dict[int, GraphText] = {}
        self._longest = 1
        self._returns = False

    @property
    def first(self) -> int:
        """Oldest row."""
        return self.source.first

    @property
    def next(self) -> int:
        """Number of the next row."""
        return self.source.next

    def forget(self) -> None:
        """Discard formatted rows."""
        self._cached.clear()

    def total(self, available: int) -> int:
        """Return the available columns: long rows are cut."""
        return available

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Search for a text for at most `budget` seconds."""
        return self.source.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows to be drawn; return True if the scale of the bars has changed."""
        self._cached = {place: self._cached.get(place) or self._text(place) for place in range(first, after)}
        longest = max((line.duration or 0 for line in self._cached.values()), default=1) or 1
        returns = self._returns or any(line.returned for line in self._cached.values())
        changed = (longest, returns) != (self._longest, self._returns)
        self._longest, self._returns = longest, returns
        return changed

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        left, right = self._sides(columns)
        titles = [fit(title, size) for title, size in left] + [fit("calls", self._room(columns))]
        titles += [fit(title, size, title in ("took", "self")) for title, size in right]
        yield Piece(" ".join(titles))

    def column_at(self, x: int, columns: int) -> int | None:  # noqa: ARG002 - by the protocol
        """Return 0: a tree has one order."""
        return 0

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return time, task, indented call, result, duration and bar."""
        line = self._cached.get(row) or self._text(row)
        left, right = self._sides(columns)
        for title, size in left:
            text = self.stamp(line.ts, line.seq) if title == "time" else safe(line.task)
            yield Piece(fit(text, size, title == "time") + " ", "dim")
        yield from self._call(line, self._room(columns))
        slow = bool(self.source.slow) and line.duration is not None and line.duration >= self.source.slow
        for title, size in right:
            yield Piece(" ")
            if title == "ret":
                yield Piece(fit(safe(line.returned), size), "bad" if line.failed else "type")
            elif title == "took":
                text = "" if line.duration is None else duration(line.duration)
                yield Piece(fit(text, size, True), "warn" if slow else "")
            elif title == "self":
                yield Piece(fit("" if line.self_time is None else duration(line.self_time), size, True), "dim")
            else:
                yield Piece(bar((line.duration or 0) / self._longest, size), "warn" if slow else "mark")

    def arrow(self, row: int, columns: int) -> int | None:
        """Return the place of a row's sign for folded or unfolded; None: it has none, or there is no such row."""
        line = self._cached.get(row) or self._text(row)
        if line.folded is None:
            return None
        left, _ = self._sides(columns)
        return sum(size + 1 for _, size in left) + width(_indent(line.level))

    def _sides(self, columns: int) -> tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]]:
        """Return titles and widths of the columns left and right of the tree."""
        time = _TIME if self.stamp is kernel_stamp else _DAY
        left = [("time", time)] if columns >= _WIDE + time - _TIME else []
        left += [("task", _TASK)] if self.source.all_tasks else []
        right = [("ret", _RETURNED)] if self._returns else []
        right += [("took", _TOOK)] + ([("self", _TOOK)] if columns >= _WIDE else []) + [("", _BAR)]
        return left, right

    def _room(self, columns: int) -> int:
        """Return the columns for the tree."""
        left, right = self._sides(columns)
        return max(8, columns - sum(size + 1 for _, size in (*left, *right)))

    def _call(self, line: GraphText, room: int) -> Iterable[Piece]:
        """Return the indented call, in `room` columns."""
        sign = " " if line.folded is None else "▸" if line.folded else "▾"
        head = _indent(line.level) + sign + " "
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
            yield from self._with_matches(text, look)
        yield Piece(" " * (room - used))

    def _with_matches(self, text: str, look: str) -> Iterable[Piece]:
        pattern = self.search.lower()
        at = text.lower().find(pattern) if pattern else -1
        return highlighted(text, [(at, at + len(pattern))], look) if at >= 0 else (Piece(text, look),)

    def _text(self, place: int) -> GraphText:
        try:
            return self.source.text(place)
        except IndexError:
            return GraphText(0, "", 0, None, "(dropped)")


def _indent(level: int) -> str:
    """Return the text before the sign of a line."""
    return "  " * min(level, _DEEPEST) + (f"{level}:" if level > _DEEPEST else "")
