"""Print calls for a preset that shows calls: entry and exit of a call in one line, with its duration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from events.kernel_time import seconds
from events.losses import LOSS_EVENT
from events.record import Record
from events.store.outage_mark import is_mark
from events.text import join_values
from kernel.guards.row_bounds import HEADLESS
from kernel.watch.watch import Watch
from tui.cli.console.output import emit, line
from tui.present.event_times import ClockFace, day_in_front, exported_times

if TYPE_CHECKING:
    from events.losses import Loss
    from tui.views.calls.call_text import CallTexts
    from widgets.events.call_rows import CallText


_MOST_BEHIND = 1 << 13
"""Events that may wait to be paired; a batch takes a few milliseconds."""


class CallPrinter:
    """Printer of calls from their events; an event that is no end of a call is passed on to the printer of events."""

    def __init__(
        self,
        watch: Watch,
        show: Callable[[Record], None],
        requested: Collection[str],
        leasts: Mapping[str, int],
        *,
        as_json: bool,
        face: ClockFace = ClockFace.KERNEL,
        passes: Callable[[int], bool] | None = None,
        most: int = 0,
    ) -> None:
        """Set what to print.

        Args:
            watch: source of the events.
            show: prints events that are no end of a call.
            requested: paths of the requested events; a recording holds others too.
            leasts: minimum duration in nanoseconds by function; shorter calls are not printed.
            as_json: True: one JSON object a line.
            face: clock of the printed times.
            passes: filter by the sequence number of an event; a call passes with one of its ends. None: all pass.
            most: number of calls to print; 0: all.
        """
        self.printed = 0
        """Number of calls that were printed."""
        self.of = 0
        """Number of calls before the filter."""
        self._passes = passes
        self._most = most
        self._passed: set[int] = set()
        """Sequence numbers of entries that pass, of open calls: their rows may be dropped before those calls end."""
        self._watch = watch
        self._other = show
        self._leasts = leasts
        self._json = as_json
        self._face = face
        self._calls: CallTexts | None = None
        self._row = 0
        self._dropped = 0
        self._requested = requested

    @property
    def has_reached_count(self) -> bool:
        """True if as many calls were printed as were requested."""
        return bool(self._most) and self.printed >= self._most

    @property
    def dropped(self) -> int:
        """Number of calls, and of events not yet paired, that were dropped before they could be printed."""
        return self._dropped + (self._calls.calls.skipped_events if self._calls else 0)

    def show(self, record: Record) -> None:
        """Take one event: print it, or the calls that it ends."""
        from tui.views.calls.call_text import CallTexts

        if self._calls is None:
            if self._watch.store is None:
                return
            self._calls = CallTexts(self._watch, self._watch.store, HEADLESS.calls)
        ends = {event.path for plan in self._watch.event_fields.plans for event in plan.events if event.frame}
        is_end = record.event in ends or is_mark(record)  # a mark has its row between the calls
        if not is_end and (self._passes is None or self._passes(record.seq)):
            self._other(record)
        # Needed where ends are rare, too: unpaired events would be dropped for later ones.
        if is_end or self._is_far_behind(self._calls):
            self._catch_up(self._calls)

    def _is_far_behind(self, calls: CallTexts) -> bool:
        """Tell whether the unpaired events are many, or take up much of the store."""
        store, behind = self._watch.store, calls.calls.backlog
        return behind > _MOST_BEHIND or (
            store is not None and behind * store.bytes > len(store) * store.limit_bytes // 4
        )

    def _catch_up(self, calls: CallTexts) -> None:
        """Print all calls that have ended by now: after the last event there is no later one that would do it."""
        behind = calls.calls.backlog > 0
        if not behind:
            return
        while behind:
            calls.tick()
            behind = calls.calls.backlog > 0
            self._dropped += max(0, calls.first - self._row)
            for row in range(max(self._row, calls.first), calls.next):
                self._print(calls, row)
            self._row = calls.next
        self._hold_open(calls)

    def _hold_open(self, calls: CallTexts) -> None:
        """Keep the entry events of open calls: their rows are dropped before long calls end."""
        store = self._watch.store
        if store is not None:
            known, first = calls.held, store.first_seq
            calls.held = {
                seq: known.get(seq) or store.record(seq)
                for seq in calls.calls.open_entries
                if seq in known or seq >= first
            }
            if (passes := self._passes) is not None:
                self._passed = {
                    seq for seq in calls.held if seq in self._passed or (seq not in known and passes(seq))
                }

    def _print(self, calls: CallTexts, row: int) -> None:
        try:
            entry, exit_record = calls.records(row)
            call = calls.call(row)
            ends, loss = calls.ends(row), calls.loss(row)
        except IndexError:  # dropped meanwhile
            self._dropped += 1
            return
        last = exit_record or entry
        if self.has_reached_count:
            return
        if loss is not None:
            self._print_loss(loss)
            return
        if last is not None and is_mark(last):
            self._other(last)
            return
        if (
            last is None
            or last.event not in self._requested
            or (call.latency or 0) < self._leasts.get(call.function, 0)
        ):
            return
        self.of += 1
        if (passes := self._passes) is not None and not any(
            seq in self._passed or passes(seq) for seq in ends if seq is not None
        ):
            return
        self.printed += 1
        if self._json:
            from tui.views.calls.call_text import object_of_call

            times = exported_times(self._watch, last.ts, last.seq, self._face)
            emit({**times, **object_of_call(self._watch, call, entry, exit_record)})
        else:
            self._print_call(call, last, (entry, exit_record))

    def _print_call(self, call: CallText, last: Record, ends: tuple[Record | None, Record | None]) -> None:
        """Print a call in one line, with the time and CPU of its last event."""
        took = "?" if call.latency is None else f"{call.latency / 1000:.1f}us"
        owners = {
            name: owner
            for end in ends
            if end is not None
            for name, owner in self._watch.event_fields.owners(end.event).items()
        }
        values = join_values(((seen.name, _value(seen.before, seen.after)) for seen in call.values), owners)
        note = f" ({call.note})" if call.note else ""
        day = day_in_front(self._watch, last.ts, last.seq, self._face)
        head = f"{day}{seconds(last.ts)} [{last.cpu:03}] {call.task} {call.function} {took}"
        print(line(f"{head} ret={call.returned} {values}{note}"))

    def _print_loss(self, loss: Loss) -> None:
        if self._json:
            from tui.views.calls.call_text import object_of_loss

            emit({**exported_times(self._watch, loss.ts, loss.seq, self._face), **object_of_loss(loss)})
            return
        day = day_in_front(self._watch, loss.ts, loss.seq, self._face)
        print(line(f"{day}{seconds(loss.ts)} [{loss.cpu:03}] {loss.short} {LOSS_EVENT} {loss.text}"))


def _value(before: str | None, after: str | None) -> str:
    if before is None or after is None or before == after:
        return str(before if before is not None else after)
    return f"{before}→{after}"
