"""Calls as lines of a tree: function, arguments, result, duration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.table_rows import FoundRow
from widgets.number_format import DECADES, decade_bar, duration
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width

_TASK, _RETURNED, _TOOK, _BAR = 20, 20, 8, 8
"""Columns that a task and a result take at most, a duration, and its bar."""
_TIME = 14
"""Columns of a time in seconds of the kernel; a time of day in front needs as many more of the screen."""
_GUIDE = "│ "
"""Line of each call around, from it down to its last callee."""
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
        self._sizes = {"time": len("time"), "task": len("task"), "ret": 0, "self": 0}
        """Columns of the widest text so far of each column whose width depends on them; 0: there was none."""

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
        """Format rows to be drawn; return True if columns became wider, so that all rows look different."""
        self._cached = {place: self._cached.get(place) or self._text(place) for place in range(first, after)}
        before = self._sizes
        self._sizes = dict(before)
        for line in self._cached.values():
            self._see("time", width(self.stamp(line.ts, line.seq)))
            self._see("task", min(_TASK, width(safe(line.task))))
            self._see("ret", min(_RETURNED, width(safe(line.returned))))
            self._see("self", _TOOK if line.self_time is not None else 0)
        return self._sizes != before

    def _see(self, title: str, size: int) -> None:
        if size:
            self._sizes[title] = max(self._sizes[title], size, len(title))

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
                yield Piece(decade_bar(line.duration or 0, size), "warn" if slow else "mark")

    def arrow(self, row: int, columns: int) -> int | None:
        """Return the place of a row's sign for folded or unfolded; None: it has none, or there is no such row."""
        line = self._cached.get(row) or self._text(row)
        if line.folded is None:
            return None
        left, _ = self._sides(columns)
        return sum(size + 1 for _, size in left) + width(_indent(line.level, self._room(columns)))

    def _sides(self, columns: int) -> tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]]:
        """Return titles and widths of the columns left and right of the tree."""
        sizes = self._sizes
        is_wide = columns >= _WIDE + max(0, sizes["time"] - _TIME)
        left = [("time", sizes["time"])] if is_wide else []
        left += [("task", sizes["task"])] if self.source.all_tasks else []
        right = [("ret", sizes["ret"])] if sizes["ret"] else []
        right += [("took", _TOOK)] + ([("self", _TOOK)] if is_wide and sizes["self"] else []) + [(DECADES, _BAR)]
        return left, right

    def _room(self, columns: int) -> int:
        """Return the columns for the tree."""
        left, right = self._sides(columns)
        return max(8, columns - sum(size + 1 for _, size in (*left, *right)))

    def _call(self, line: GraphText, room: int) -> Iterable[Piece]:
        """Return the indented call, in `room` columns."""
        sign = " " if line.folded is None else "▸" if line.folded else "▾"
        head = _indent(line.level, room) + sign + " "
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


def _indent(level: int, room: int) -> str:
    """Return the guides before the sign of a line; narrow ones where the name would have no room."""
    levels = min(level, _DEEPEST)
    guide = _GUIDE if len(_GUIDE) * levels <= room // 2 else _GUIDE.strip()
    return guide * levels + (f"{level}:" if level > _DEEPEST else "")
