"""The two lines above the views: the target with its probes and losses, and the current view with its rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from events.loss_counts import NO_LOSSES, LossTotals
from tui.filter.hidden_rows import hidden_by_filter
from tui.live.registry import EXTRA_LABELS, LABELS
from tui.live.view_switch import ViewSwitch
from tui.present.loss_totals import losses_of
from tui.present.status import (
    note_of_nothing,
    note_of_preview,
    silence_of,
    status_of,
    status_of_preview,
)
from tui.present.ways_out import GIVE_UP
from tui.workbench import Workbench
from widgets.events.status_bar import LiveLine, TopLine
from widgets.events.values import LiveState, Status

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.present.first_row import FirstRows, Preview

_TRACED: Final = "calls are traced: g; no probe is armed"


class StatusLines:
    """The widgets `top` and `line`, filled from the application and the current view."""

    def __init__(self, bench: Workbench, views: ViewSwitch) -> None:
        self._bench = bench
        self._views = views
        self.top = TopLine()
        self.line = LiveLine()
        self.shown_at = 0.0
        """Time at which the line was filled last, in seconds of `time.monotonic`."""
        self.preview: tuple[Preview, FirstRows] | None = None
        """A recording and its first rows, until they are in the store."""

    def show_top(self) -> None:
        """Show the target, its probes and their losses."""
        bench = self._bench
        if self.preview is not None:
            self.top.status = status_of_preview(*self.preview)
        elif bench.planner is None:
            self.top.status = Status(bench.opening.spec, "opening")
        else:
            self.top.status = status_of(
                bench.planner.info, bench.current_watch, bench.counts, tracing=bench.tracing.runs
            )

    def show_line(self) -> None:
        """Show the current view, its rows, their rate, and what is to be said of them."""
        self.shown_at = time.monotonic()
        watching = self._views.watch
        store = watching.store if watching else None
        if self.preview is not None:
            self.line.state = replace(self._state(note_of_preview(self.preview[1])), is_recording=True)
            return
        if watching is None or store is None:
            hosts = self._bench.hosts.note if self._bench.hosts is not None else ""
            planner = self._bench.planner
            note = _TRACED if self._only_traced else hosts or note_of_nothing(planner.info if planner else None)
            beginning = self._beginning
            state = LiveState(row_count=None, note=note)
            self.line.state = replace(self._state(beginning), urgent=True) if beginning else state
            return
        from tui.present.activity import mark_of

        view = self._views.current
        beginning = self._beginning
        lacking = view.empty_reason(watching) or hidden_by_filter(view.filter.text, view.filtered)
        lacking = "" if beginning else lacking
        silent = silence_of(watching.info, live=watching.live)
        self.line.state = replace(
            self._state(beginning or (_TRACED if self._only_traced else lacking or view.note(watching))),
            overdue_text=silent,
            per_second=sum(store.rates().values()) if watching.has_pace else None,
            losses=self.losses(watching),
            urgent=watching.error is not None or bool(lacking or beginning),
            no_events_text=mark_of(watching),
            is_recording=watching.info.target.recording is not None,
        )

    def _state(self, note: str) -> LiveState:
        """Return the view and its rows, with a note and no figures."""
        view, labels = self._views.current, self._labels
        place = view.place
        return LiveState(
            views=tuple(labels.values()),
            view=list(labels).index(view.name),
            following=place.following,
            new=place.new,
            per_second=None,
            row_count=place.row_count,
            total=place.total,
            note=note,
        )

    @property
    def _labels(self) -> dict[str, str]:
        """Labels of the views in the line, by their names."""
        current = self._views.current.name
        return LABELS | {name: label for name, label in EXTRA_LABELS.items() if name == current}

    def view_at(self, number: int) -> str:
        """Return the name of a view, by its number in the line."""
        return list(self._labels)[number]

    def losses(self, watching: Watch) -> LossTotals | None:
        """Return the losses of the tracer, None where it has none; those of the probes are in the top line."""
        tracing = self._bench.tracing
        losses = losses_of(watching, tracing.counts) if watching is tracing.current_watch else NO_LOSSES
        return losses if losses.gap or any(loss.number for loss in losses.counts) else None

    @property
    def _beginning(self) -> str:
        """Text about a tracer that is being started, in a view of its calls, with the key that gives it up."""
        text = self._bench.tracing.beginning_text if self._views.current.of_graph else ""
        return f"{text}; {GIVE_UP}" if text else ""

    @property
    def _only_traced(self) -> bool:
        """True where calls are traced, no probe is armed, and the view shows the events of probes."""
        armed = self._bench.current_watch is not None and bool(self._bench.current_watch.armed.probes)
        return self._bench.tracing.runs and not self._views.current.of_graph and not armed
