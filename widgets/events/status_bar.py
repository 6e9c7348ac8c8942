"""Status line at the top (target, armed probes, losses), and the line above the live events."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from events.durations import seconds_text
from events.loss_counts import LossTotals
from foreign.count_text import counted
from widgets.events.values import LiveState, Status
from widgets.number_format import grouped, rate, short
from widgets.safe_text import cut, cut_parts, safe, width

Run = tuple[str, str]
"""Text, and the style of it."""
FOLLOW_PART: Final = "follow"
LOSS_PART: Final = "losses"
_SHORTEST_NOTE: Final = 12
"""Columns below which the beginning of a note is useless."""


class TopLine(Widget):
    """Line with a `Status`; on a narrow screen the left part is shortened, never a loss."""

    DEFAULT_CSS = """
    TopLine { height: 1; width: 1fr; background: $panel; color: $text; padding: 0 1; }
    """

    status: reactive[Status] = reactive(Status())
    """Status that is shown."""

    def render(self) -> Content:
        """Return the longest form that fits."""
        return top_line(self.status, self.size.width)

    def on_click(self, event: events.Click) -> None:
        """Press the key that chooses another target, or shows losses, for what was clicked."""
        offset = event.get_content_offset(self)
        if offset is not None and (key := top_key(self.status, self.size.width, offset.x)):
            event.stop()
            self.app.simulate_key(key)


def top_key(status: Status, columns: int, x: int) -> str:
    """Return the key for the part of the top line at a place: of the target, or of a loss; empty: it has none."""
    runs, losses, after = _top_runs(status, columns), list(loss_runs(status.losses, quiet=False)), 0
    right = next(n for n, run in enumerate(runs) if not run[0].strip())
    for n, run in enumerate(runs):
        after += width(run[0])
        if x < after:
            return "f4" if n < right else "L" if run in losses else ""
    return ""


def top_line(status: Status, columns: int) -> Content:
    """Return the top line for a number of columns."""
    return Content.assemble(*_top_runs(status, columns))


def _top_runs(status: Status, columns: int) -> list[Run]:
    """Return the target, blanks, and what is armed and lost."""
    title, target, kernel = ("probewright", "bold"), safe(status.target), safe(status.kernel)
    functions = f" · {counted(status.functions, 'function')}" if status.functions else ""
    of_kernel = f" · {kernel}" if kernel else ""
    # While nothing is armed nothing can be lost, and the target's description is worth more.
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


class LiveLine(Widget):
    """Line like `[events] graph summary  ● following   12.3k/s   shown 1,204,332   recording to x.pwr`."""

    DEFAULT_CSS = """
    LiveLine { height: 1; width: 1fr; background: $surface; color: $text; padding: 0 1; }
    """

    state: reactive[LiveState] = reactive(LiveState())
    """State that is shown."""

    class ViewClicked(Message):
        """The name of a view was clicked."""

        def __init__(self, view: int) -> None:
            super().__init__()
            self.view = view
            """Number of the view among `LiveState.views`."""

    class FollowClicked(Message):
        """The word for following, or for paused, was clicked."""

    class LossesClicked(Message):
        """A loss was clicked."""

    def render(self) -> Content:
        """Return the longest form that fits."""
        return live_line(self.state, self.size.width)

    def on_click(self, event: events.Click) -> None:
        """Tell which part was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        part = live_part(self.state, self.size.width, offset.x)
        if isinstance(part, int):
            self.post_message(self.ViewClicked(part))
        elif part:
            self.post_message(self.FollowClicked() if part == FOLLOW_PART else self.LossesClicked())


def live_part(state: LiveState, columns: int, x: int) -> int | str:
    """Return the part of the live line at a place: the number of a view, `FOLLOW_PART`, `LOSS_PART`; empty: none."""
    views, marks = [text.strip() for text, _ in _view_runs(state)], _marks(state)
    losses = list(loss_runs(state.losses, quiet=False)) if state.losses else []
    after = 0
    for run in _live_runs(state, columns):
        after += width(run[0])
        if x < after:
            if run[0].strip() in views:
                return views.index(run[0].strip())
            return FOLLOW_PART if run in marks else LOSS_PART if run in losses else ""
    return ""


def _view_runs(state: LiveState) -> list[Run]:
    return [
        (f"[{name}] " if n == state.view else f" {name}  ", "bold" if n == state.view else "dim")
        for n, name in enumerate(state.views)
    ]


def live_line(state: LiveState, columns: int) -> Content:
    """Return the live line for a number of columns: figures are dropped first, then blanks and the word for a
    recording, then the note's last parts, at last other views.

    The end of an urgent note is dropped last, after the name of the view, which stays where that saves no part of it.
    """
    return Content.assemble(*_live_runs(state, columns))


def _live_runs(state: LiveState, columns: int) -> list[Run]:
    views = _view_runs(state)
    only = views[state.view : state.view + 1]
    closer = [*((text[:-1], look) for text, look in views[:-1]), *views[-1:]]
    marks, figures = _marks(state), _figures(state)
    losses = [list(loss_runs(state.losses, quiet)) for quiet in (False, True)] if state.losses else [[]]
    alone = columns - _wide([marks[-1], *losses[-1]]) - 2 - 2 * bool(losses[-1])
    for forms in ((views, closer), (only,), ([],)):
        for left, mark in product(forms, marks):
            for middle in [figures, figures[-1:]] if not state.note else [[*figures, _note(state)], [_note(state)]]:
                for right in losses:
                    if _wide([*left, mark, *middle]) + _wide(right) + 2 * bool(right) <= columns:
                        return _joined([*left, mark, *middle], right, columns)
        left, mark = forms[-1], marks[-1]
        room = columns - _wide([*left, mark, *losses[-1]]) - 2 - 2 * bool(losses[-1])
        if state.note and room >= _SHORTEST_NOTE:
            part = cut_parts(safe(state.note), room)
            if not state.urgent or not left or (left is only and part == cut_parts(safe(state.note), alone)):
                return _joined([*left, mark, (f"  {part}", "dim")], losses[-1], columns)
    for mark in marks:
        if _wide([mark, *losses[-1]]) + 2 <= columns:
            return _joined([mark], losses[-1], columns)
    lost = [run for run in losses[-1] if run[0].strip() != "lost 0"]
    sign: Run = (marks[0][0][0], marks[0][1])
    return _joined([marks[0] if _wide([marks[0], *lost]) <= columns else sign], lost, columns)


def _marks(state: LiveState) -> list[Run]:
    """Return words for following or paused, in a long and a short form."""
    if state.is_recording:
        return [("■ recorded", "bold"), ("■", "bold")]
    if state.following and state.overdue_text:
        return [(f"✗ {state.overdue_text}", "bold $text-error")]
    if state.no_events_text:
        return [(f"■ {safe(state.no_events_text)}", "bold $text-warning")]
    if state.following:
        return [("● following", "bold $text-success")]
    forms = [f" +{grouped(state.new)} new (end)", f" +{short(state.new)} new"] if state.new else [""]
    return [(f"‖ paused{form}", "bold $text-warning") for form in forms]


def _figures(state: LiveState) -> list[Run]:
    pace = [] if state.per_second is None or state.no_events_text else [f"  {rate(state.per_second)}"]
    of = f" of {grouped(state.total)}" if state.total else ""
    shown = [] if state.row_count is None else [f"  shown {grouped(state.row_count)}{of}"]
    return [(text, "") for text in (*pace, *shown)]


def _note(state: LiveState) -> Run:
    return f"  {safe(state.note)}", "dim"


def _right(status: Status, quiet: bool) -> list[Run]:
    armed: Run = (f"armed {status.armed}", "bold $text-success" if status.armed else "dim")
    if status.is_recording:
        armed = (counted(status.armed, "probe") if status.armed else "", "")
    recording: list[Run] = [("● rec  ", "bold $text-error")] if status.recording else []
    connection_note = "disconnected" if status.is_disconnected else status.overdue_text
    line: list[Run] = [(f"✗ {connection_note}  ", "bold $text-error")] if connection_note else []
    calls: list[Run] = [("tracing  ", "bold $text-success")] if status.tracing else []
    return [*line, *recording, *calls, armed, *loss_runs(status.losses, quiet)]


def _wide(runs: list[Run]) -> int:
    return sum(width(text) for text, _ in runs)


def _joined(left: list[Run], right: list[Run], columns: int) -> list[Run]:
    blanks = " " * max(0, columns - _wide(left) - _wide(right))
    return [*left, (blanks, ""), *right]


def loss_runs(losses: LossTotals, quiet: bool) -> Iterator[Run]:
    """Yield `lost 0  missed ?  dropped 0  unread 0`; `quiet`: only `lost`, and counts other than 0."""
    for loss in losses.counts:
        if loss.number:
            yield (f"  ! {loss.name} {loss.text}", "bold $text-error")
        elif not quiet or loss.name == "lost":
            yield (f"  {loss.name} {loss.text}", "dim")
    if losses.gap:
        yield (f"  ! gap {seconds_text(losses.gap)}", "bold $text-error")
