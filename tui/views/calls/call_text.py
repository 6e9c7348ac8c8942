"""Decisions of the live place about calls: what is shown of one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from events.calls.pairing import MOST_OPEN, Alone, Call
from events.export.escape import exact_values
from events.kernel_time import seconds
from events.losses import EVENT, Loss
from events.names.event_names import exported_name
from events.record import Record
from events.search.search import Found
from events.store.outage_mark import cut_of_record, is_mark, task_text
from kernel.watch.watch import Watch
from probes.plans.plan import Column, Plan, titles_of
from tui.present.call_ends import ends_of
from tui.present.status import detail_of, rank_of
from widgets.events.call_rows import CallText, Seen
from widgets.events.event_detail import DetailField
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.calls.calls import Calls
    from events.store.store import Store


def note_of_calls(calls: Calls) -> str:
    """For the line above the calls: how far pairing is, and what has no partner."""
    if calls.behind:
        return f"pairing, {grouped(calls.behind)} events to go"
    alone = "".join(
        f", {grouped(count)}: {reason.value}" for reason, count in sorted(calls.alone.items(), key=_by_count)
    )
    unseen = f", {grouped(calls.unseen)} events dropped before" if calls.unseen else ""
    return f"{grouped(calls.paired)} pairs{alone}{unseen}"


def _by_count(item: tuple[Alone, int]) -> tuple[int, str]:
    return -item[1], item[0].value


def detail_of_call(
    watching: Watch, entry: Record | None, leave: Record | None, took: int = -1
) -> tuple[str, tuple[DetailField, ...]]:
    """Title and every field of both ends, each name's beside each other, in the order of
    `tui.present.status.detail_of`.

    `took`: nanoseconds as the list has them (the tracer's own are shorter than the time between its events); -1: the
    time between the ends. Raises IndexError where neither is there.
    """
    last = leave or entry
    if last is None:
        raise IndexError
    if is_mark(last):
        task = task_text(last.comm, last.pid, last.event)
        return f"{seconds(last.ts)}  {last.event} of {task}", tuple(detail_of(watching, last))
    ends = (("entry", entry), ("exit", leave))
    found = [(end, field) for end, record in ends if record for field in detail_of(watching, record)]
    places = {name: n for n, name in enumerate(dict.fromkeys(field.name for _, field in found))}
    found.sort(key=lambda one: (rank_of(one[1].name), places[one[1].name]))
    fields = (field._replace(name=f"{end}: {field.name}") for end, field in found)
    if took < 0 and entry and leave:
        took = leave.ts - entry.ts
    time = f", {duration(took)}" if took >= 0 else ""
    return f"{seconds(last.ts)}  {last.event} of {last.comm}-{last.pid}{time}", tuple(fields)


def detail_of_loss(loss: Loss) -> tuple[str, tuple[DetailField, ...]]:
    """Title and values of a row that stands for lost events."""
    values = values_of_loss(loss)
    fields = (DetailField(name, str(value), "", -1, 0, b"") for name, value in values.items() if value is not None)
    return f"{seconds(loss.ts)}  {EVENT} on CPU {loss.cpu}", tuple(fields)


def values_of_loss(loss: Loss) -> dict[str, Any]:
    """Return how many `events` were lost, None where the kernel did not say, and a `note`."""
    return {"events": loss.number if loss.number >= 0 else None, "note": loss.text}


def object_of_loss(loss: Loss) -> dict[str, Any]:
    """Return lost events as an object for JSON, in the form that the mark of a cut line has."""
    values = values_of_loss(loss)
    shown = {name: str(value) for name, value in values.items() if value is not None}
    return {
        "ts": loss.ts, "cpu": loss.cpu, "pid": None, "comm": "", "event": EVENT, "values": values, "text": shown
    }  # fmt: skip


def object_of_call(watching: Watch, call: CallText, entry: Record | None, leave: Record | None) -> dict[str, Any]:
    """Return a call as an object for JSON: values of both ends by their names, and under `values` as numbers.

    Raises IndexError where neither end is there.
    """
    last = leave or entry
    if last is None:
        raise IndexError
    ends = {"entry": entry, "exit": leave}
    shown = {end: record and dict(watching.known.values(record)) for end, record in ends.items()}
    exact = {end: record and exact_values(record) for end, record in ends.items()}
    return {
        "ts": last.ts,
        "cpu": last.cpu,
        "pid": last.pid,
        "comm": last.comm,
        "call": call.function,
        "latency": call.latency,
        "ret": call.returned or None,
        **shown,
        "values": {
            end: values and {name: values[name] for name in shown[end] or () if name in values}
            for end, values in exact.items()
        },
        "note": call.note or None,
    }


class ShownCalls:
    """Calls as the table shows them."""

    def __init__(self, watching: Watch, store: Store, most_open: int = MOST_OPEN) -> None:
        """Take whose events they are, and how many calls may be open at once."""
        from events.calls.calls import Calls  # numpy comes with it

        self.calls = Calls(store, most_open)
        self.held: Mapping[int, Record] = {}
        """Events that are shown though the store may have dropped them, by their sequence numbers."""
        self._watching = watching
        self._store = store
        self._plans: tuple[Plan, ...] = ()
        self._columns: dict[str, tuple[str, Mapping[str, Column]]] = {}
        """Name of an event, which stays after a cut -> its function, and its columns by their names."""

    @property
    def first(self) -> int:
        return self.calls.first

    @property
    def next(self) -> int:
        return self.calls.next

    def tick(self, budget: float = 0.01) -> int:
        """Look at what came, for at most so many seconds; gives the number of new rows."""
        self.learn()
        return self.calls.tick(budget)

    def learn(self) -> None:
        """Take what was armed since."""
        plans = self._watching.known.plans
        if plans != self._plans:
            self._plans = plans
            self.calls.use(ends_of(plans))
            self._columns = {
                exported_name(event.path): (title, {column.name: column for column in event.columns})
                for plan, title in zip(plans, titles_of(plans), strict=True)
                for event in plan.events
            }

    def records(self, row: int) -> tuple[Record | None, Record | None]:
        """Entry and exit of a row; None: not seen, or dropped. Raises IndexError where the row was dropped."""
        return self._records(self.calls.call(row))

    def loss(self, row: int) -> Loss | None:
        """Return the lost events that a row stands for; None: it is another. Raises IndexError as `records`."""
        return self.calls.call(row).loss

    def _records(self, call: Call) -> tuple[Record | None, Record | None]:
        if call.loss is not None:
            return None, None
        return self._record(call.entry), self._record(call.exit)

    def ends(self, row: int) -> tuple[int | None, int | None]:
        """Return the sequence numbers of entry and exit of a row; None: not seen. Raises IndexError as `records`."""
        call = self.calls.call(row)
        return call.entry, call.exit

    def call(self, row: int) -> CallText:
        """What is shown of a row. Raises IndexError where it was dropped."""
        return self.text_of(self.calls.call(row))

    def text_of(self, call: Call) -> CallText:
        """What is shown of a call. Raises IndexError where both its events were dropped."""
        if (loss := call.loss) is not None:
            return CallText(loss.ts, loss.short, EVENT, None, "", False, (), loss.text, call.exit or 0)
        entry, leave = self._records(call)
        last = leave or entry
        if last is None:
            raise IndexError(call)
        if call.is_mark:
            cut = cut_of_record(last)
            note = cut.text if cut is not None else last.text
            return CallText(last.ts, last.comm, last.event, None, "", False, (), note, last.seq)
        function, columns = self._columns[exported_name(last.event)]
        before, after = self._values(entry), self._values(leave)
        returned = next((name for name, column in columns.items() if column.is_retval), "")
        text = after.pop(returned, "")
        kept = {name for name, column in columns.items() if column.kept}
        names = dict.fromkeys([*after, *before])
        values = (
            Seen(name, before.get(name), None if name in kept and name in before else after.get(name))
            for name in names
        )
        alone = call.alone
        return CallText(
            last.ts,
            f"{last.comm}-{last.pid}",
            function,
            leave.ts - entry.ts if entry and leave else None,
            text,
            text.startswith("-E"),
            tuple(values),
            alone.value if alone else "" if entry else "its entry was dropped",
            last.seq,
        )

    def find(self, text: str, start: int, direction: int, budget: float) -> Found:
        """One bounded step of a search for a text."""
        deadline = time.monotonic() + budget
        row = max(start, self.first) if direction > 0 else min(start, self.next - 1)
        while self.first <= row < self.next:
            with contextlib.suppress(IndexError):  # its events are gone, those of rows around it are not
                if text.lower() in self._text(row).lower():
                    return Found(row, row + direction, True)
            row += direction
            if time.monotonic() >= deadline:
                return Found(None, row, False)
        return Found(None, row, True)

    def _text(self, row: int) -> str:
        call = self.call(row)
        values = "  ".join(seen.text for seen in call.values)  # as it is shown
        return f"{call.task} {call.function} {call.returned} {call.note} {values}"

    def _values(self, record: Record | None) -> dict[str, str]:
        return dict(self._watching.known.values(record)) if record else {}

    def _record(self, seq: int | None) -> Record | None:
        if seq is None:
            return None
        try:
            return self._store.record(seq)
        except IndexError:
            return self.held.get(seq)
