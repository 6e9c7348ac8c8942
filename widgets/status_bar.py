"""The line at the top (where one is, what is armed, what was lost) and the line above live events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from widgets.figures import grouped, rate
from widgets.safe_text import cut, safe, width

Run = tuple[str, str]
"""Text and style."""
_SHORTEST_NOTE: Final = 16
"""Columns of a note below which its beginning says nothing."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Four ways to lose an event; each has another remedy."""

    lost: int = 0
    """Overwritten in the kernel's buffer before they were read."""
    missed: int = 0
    """Hits for which the kernel had no room to record (nmissed)."""
    dropped: int = 0
    """Read, and dropped by our own queue."""
    unread: int = 0
    """Read, and not understood: damaged, or of no known format."""
    gap: int = 0
    """Seconds for which the line was cut: nobody knows how many events there were."""

    def runs(self, quiet: bool) -> Iterator[Run]:
        """`lost 0  missed 0  dropped 0  unread 0`; `quiet`: only what is not 0, and lost."""
        counts = (
            ("lost", self.lost),
            ("missed", self.missed),
            ("dropped", self.dropped),
            ("unread", self.unread),
        )
        for name, count in counts:
            if count:
                yield (f"  ! {name} {grouped(count)}", "bold $text-error")
            elif not quiet or name == "lost":
                yield (f"  {name} 0", "dim")
        if self.gap:
            yield (f"  ! gap {grouped(self.gap)} s", "bold $text-error")


@dataclass(frozen=True, slots=True)
class Status:
    """What the top line says."""

    target: str = ""
    """`lab`, `local`, `ssh://host`, a file's name."""
    kernel: str = ""
    """`Linux 7.2.13 x86-64`."""
    functions: int = 0
    armed: int = 0
    losses: Losses = Losses()
    recording: bool = False
    """Whether events are written to a file."""
    cut: bool = False
    """Whether the line to it is cut."""
    tracing: bool = False
    """Whether calls are traced."""


class TopLine(Widget):
    """Shows a `Status`; gives way from the left where the screen is narrow, never with a loss."""

    DEFAULT_CSS = """
    TopLine { height: 1; width: 1fr; background: $panel; color: $text; padding: 0 1; }
    """

    status: reactive[Status] = reactive(Status())
    """What is shown."""

    def render(self) -> Content:
        """The first of some forms that fits."""
        return top_line(self.status, self.size.width)


def top_line(status: Status, columns: int) -> Content:
    """The top line for that many columns."""
    title, target, kernel = ("probewright", "bold"), safe(status.target), safe(status.kernel)
    functions = f" · {grouped(status.functions)} functions" if status.functions else ""
    of_kernel = f" · {kernel}" if kernel else ""
    # As long as nothing is armed nothing can be lost, and what one looks at is worth more.
    for quiet in (False, True) if status.armed else (True, False):
        right = _right(status, quiet)
        forms: list[list[Run]] = [
            [title, (f"  {target}{of_kernel}{functions}", "")],
            [title, (f"  {target}{of_kernel}", "")],
            [(f"{target}{of_kernel}", "")],
            [(target, "")],
        ]
        for left in forms:
            if _wide(left) + 2 + _wide(right) <= columns:
                return _joined(left, right, columns)
    right = [run for run in right if run[0].strip() != "lost 0"]
    return _joined([(cut(target, max(0, columns - _wide(right) - 2)), "")], right, columns)


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the line above live events says."""

    following: bool = True
    new: int = 0
    """Rows that came since one stopped to follow."""
    per_second: float | None = 0.0
    """None: nothing is happening now."""
    shown: int = 0
    """Events in the store."""
    losses: Losses = Losses()
    note: str = ""
    """`3 probes armed`, `recording to x.pwr`, `the recording has ended`."""
    views: tuple[str, ...] = ()
    """Names of the views there are."""
    view: int = 0
    """Which of them is shown."""


class LiveLine(Widget):
    """`● following   12.3k/s   shown 1,204,332   lost 0  missed 0  dropped 0`."""

    DEFAULT_CSS = """
    LiveLine { height: 1; width: 1fr; background: $surface; color: $text; padding: 0 1; }
    """

    state: reactive[LiveState] = reactive(LiveState())
    """What is shown."""

    def render(self) -> Content:
        """The first of some forms that fits."""
        return live_line(self.state, self.size.width)


def live_line(state: LiveState, columns: int) -> Content:
    """The live line for that many columns."""
    new = f" +{grouped(state.new)} new (end)" if state.new else ""
    paused: Run = (f"‖ paused{new}", "bold $text-warning")
    mark: Run = ("● following", "bold $text-success") if state.following else paused
    pace = [] if state.per_second is None else [f"  {rate(state.per_second)}"]
    figures: list[Run] = [(text, "") for text in (*pace, f"  shown {grouped(state.shown)}")]
    note: list[Run] = [(f"  {safe(state.note)}", "dim")] if state.note else []
    views: list[Run] = [
        (f"[{name}] " if n == state.view else f" {name}  ", "bold" if n == state.view else "dim")
        for n, name in enumerate(state.views)
    ]
    only = views[state.view : state.view + 1]
    noted = [  # the note is worth more than a figure
        [*views, mark, *figures, *note],
        [*views, mark, *note],
        [*only, mark, *figures, *note],
        [*only, mark, *note],
        [mark, *figures, *note],
    ]
    plain = [[*views, mark, *figures], [*views, mark, figures[-1]], [*only, mark, *figures], [mark, *figures]]
    quiet, loud = list(state.losses.runs(True)), list(state.losses.runs(False))
    room = columns - _wide([*only, mark, *quiet]) - 4
    shortened = (
        [*only, mark, (f"  {cut(safe(state.note), room)}", "dim")] if note and room >= _SHORTEST_NOTE else None
    )
    for left, right in (
        *((left, right) for left in (noted if note else ()) for right in (loud, quiet)),
        *([(shortened, quiet)] if shortened else ()),
        *((left, right) for left in plain for right in (loud, quiet)),
        ([mark, figures[0]], quiet),
        ([mark], quiet),
    ):
        if _wide(left) + 2 + _wide(right) <= columns:
            return _joined(left, right, columns)
    lost = [run for run in quiet if run[0].strip() != "lost 0"]
    sign: Run = (mark[0][0], mark[1])
    return _joined([mark if _wide([mark, *lost]) <= columns else sign], lost, columns)


def _right(status: Status, quiet: bool) -> list[Run]:
    armed: Run = (f"armed {status.armed}", "bold $text-success" if status.armed else "dim")
    recording: list[Run] = [("● rec  ", "bold $text-error")] if status.recording else []
    line: list[Run] = [("✗ line cut  ", "bold $text-error")] if status.cut else []
    calls: list[Run] = [("tracing  ", "bold $text-success")] if status.tracing else []
    return [*line, *recording, *calls, armed, *status.losses.runs(quiet)]


def _wide(runs: list[Run]) -> int:
    return sum(width(text) for text, _ in runs)


def _joined(left: list[Run], right: list[Run], columns: int) -> Content:
    blanks = " " * max(0, columns - _wide(left) - _wide(right))
    return Content.assemble(*left, blanks, *right)
