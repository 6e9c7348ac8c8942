"""Texts of a call: table row, details and JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from events.calls.call_values import Call, UnpairedReason
from events.calls.pairing import MOST_OPEN
from events.decode import Value
from events.export.escape import exact_values
from events.kernel_time import seconds
from events.losses import LOSS_EVENT, Loss
from events.names.event_names import exported_name
from events.record import Record
from events.store.outage_mark import is_mark, outage_of_record, task_text
from foreign.count_text import counted
from kernel.watch.watch import Watch
from probes.plans.plan import Plan, PlanColumn, titles_of
from tui.present.call_ends import ends_of
from tui.present.status import detail_of, rank_of
from widgets.events.call_rows import CallText, CallValue
from widgets.events.values import DetailField
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.calls.calls import Calls
    from events.store.store import Store


def note_of_calls(calls: Calls) -> str:
    """Return the progress of pairing and the number of events without partner, for the line above the calls."""
    if calls.backlog:
        return f"pairing, {counted(calls.backlog, 'event')} to go"
    reasons = sorted(calls.unpaired_counts.items(), key=_by_count)
    alone = ", ".join(f"{grouped(count)} {reason.value}" for reason, count in reasons)
    alone = f", {grouped(calls.unpaired_counts.total())} alone: {alone}" if alone else ""
    unseen = f", {counted(calls.skipped_events, 'event')} dropped before" if calls.skipped_events else ""
    return f"{counted(calls.paired, 'pair')}{alone}{unseen}"


def _by_count(item: tuple[UnpairedReason, int]) -> tuple[int, str]:
    return -item[1], item[0].value


def detail_of_call(
    watch: Watch, entry: Record | None, leave: Record | None, took: int = -1
) -> tuple[str, tuple[DetailField, ...]]:
    """Return the title and every field of both ends, equal names beside each other, in the order of
    `tui.present.status.detail_of`.

    `took`: nanoseconds as in the list (the tracer's own durations are shorter than the time between its events); -1:
    the time between the ends. Raises IndexError if both ends are missing.
    """
    last = leave or entry
    if last is None:
        raise IndexError
    task = task_text(last.comm, last.pid, last.event)
    if is_mark(last):
        return f"{seconds(last.ts)}  {last.event} of {task}", tuple(detail_of(watch, last))
    ends = (("entry", entry), ("exit", leave))
    end_fields = [(end, field) for end, record in ends if record for field in detail_of(watch, record)]
    places = {name: n for n, name in enumerate(dict.fromkeys(field.name for _, field in end_fields))}
    end_fields.sort(key=lambda one: (rank_of(one[1].name), places[one[1].name]))
    fields = (field._replace(name=f"{end}: {field.name}") for end, field in end_fields)
    if took < 0 and entry and leave:
        took = leave.ts - entry.ts
    time = f", {duration(took)}" if took >= 0 else ""
    return f"{seconds(last.ts)}  {last.event} of {task}{time}", tuple(fields)


def detail_of_loss(loss: Loss) -> tuple[str, tuple[DetailField, ...]]:
    """Return the title and values of a row for lost events."""
    values = values_of_loss(loss)
    fields = (DetailField(name, str(value), "", -1, 0, b"") for name, value in values.items() if value is not None)
    return f"{seconds(loss.ts)}  {LOSS_EVENT} on CPU {loss.cpu}", tuple(fields)


def values_of_loss(loss: Loss) -> dict[str, Any]:
    """Return the number of lost `events`, None if the kernel gave none, and a `note`."""
    return {"events": loss.number if loss.number >= 0 else None, "note": loss.text}


def object_of_loss(loss: Loss) -> dict[str, Any]:
    """Return lost events as an object for JSON, in the form of an outage's mark."""
    values = values_of_loss(loss)
    shown = {name: str(value) for name, value in values.items() if value is not None}
    return {
        "ts": loss.ts, "cpu": loss.cpu, "pid": None, "comm": "", "event": LOSS_EVENT, "values": values, "text": shown
    }  # fmt: skip


def object_of_call(watch: Watch, call: CallText, entry: Record | None, leave: Record | None) -> dict[str, Any]:
    """Return a call as an object for JSON: texts of both ends by field name, and under `values` their numbers.

    Raises IndexError if both ends are missing.
    """
    last = leave or entry
    if last is None:
        raise IndexError
    ends = {"entry": entry, "exit": leave}
    shown = {end: record and dict(watch.event_fields.values(record)) for end, record in ends.items()}
    exact = {end: record and _exact_values(record, shown[end] or {}) for end, record in ends.items()}
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


def _exact_values(record: Record, shown: Mapping[str, str]) -> Mapping[str, Value]:
    """Return the fields of an end by name as `events.export.source.Source.exact_values`, with the name of the probed
    function as it is displayed.
    """
    values, function = exact_values(record), record.format.function if record.format is not None else None
    return {**values, function.name: shown[function.name]} if function and function.name in shown else values


class CallTexts:
    """Source of the rows of the table of calls."""

    def __init__(self, watch: Watch, store: Store, most_open: int = MOST_OPEN) -> None:
        """Set the watch, its store, and the greatest number of open calls."""
        from events.calls.calls import Calls  # imports numpy

        self.calls = Calls(store, most_open)
        self.held: Mapping[int, Record] = {}
        """Events still shown although the store may have dropped them, by sequence number."""
        self._watch = watch
        self._store = store
        self._plans: tuple[Plan, ...] = ()
        self._columns: dict[str, tuple[str, Mapping[str, PlanColumn]]] = {}
        """Name of an event, which a reconnect preserves -> its function, and its columns by name."""

    @property
    def first(self) -> int:
        return self.calls.first

    @property
    def next(self) -> int:
        return self.calls.next

    def tick(self, budget: float = 0.01) -> int:
        """Pair new events, for at most `budget` seconds; return the number of new rows."""
        self.learn()
        return self.calls.tick(budget)

    def learn(self) -> None:
        """Add the probes armed since the last call."""
        plans = self._watch.event_fields.plans
        if plans != self._plans:
            self._plans = plans
            self.calls.use(ends_of(plans))
            self._columns = {
                exported_name(event.path): (title, {column.name: column for column in event.columns})
                for plan, title in zip(plans, titles_of(plans), strict=True)
                for event in plan.events
            }

    def records(self, row: int) -> tuple[Record | None, Record | None]:
        """Return the entry and exit of a row; None: not received, or dropped. Raises IndexError if the row was
        dropped.
        """
        return self._records(self.calls.call(row))

    def loss(self, row: int) -> Loss | None:
        """Return the lost events that a row stands for; None: the row is a call. Raises IndexError as `records`."""
        return self.calls.call(row).loss

    def _records(self, call: Call) -> tuple[Record | None, Record | None]:
        if call.loss is not None:
            return None, None
        return self._record(call.entry), self._record(call.exit)

    def ends(self, row: int) -> tuple[int | None, int | None]:
        """Return the sequence numbers of a row's entry and exit; None: not received. Raises IndexError as
        `records`.
        """
        call = self.calls.call(row)
        return call.entry, call.exit

    def call(self, row: int) -> CallText:
        """Return the texts of a row. Raises IndexError if the row was dropped."""
        return self.text_of(self.calls.call(row))

    def text_of(self, call: Call) -> CallText:
        """Return the texts of a call. Raises IndexError if both its events were dropped."""
        if (loss := call.loss) is not None:
            return CallText(loss.ts, loss.short, LOSS_EVENT, None, "", False, (), loss.text, call.exit or 0)
        entry, leave = self._records(call)
        last = leave or entry
        if last is None:
            raise IndexError(call)
        if call.is_mark:
            outage = outage_of_record(last)
            note = outage.text if outage is not None else last.text
            return CallText(last.ts, last.comm, last.event, None, "", False, (), note, last.seq)
        title, columns = self._columns[exported_name(last.event)]
        before, after = self._values(entry), self._values(leave)
        named = next((name for name, column in columns.items() if column.functions), "")
        function = before.pop(named, "") or title
        function = after.pop(named, "") or function
        returned = next((name for name, column in columns.items() if column.is_retval), "")
        text = after.pop(returned, "")
        carried = {name for name, column in columns.items() if column.kept}
        names = dict.fromkeys([*after, *before])
        values = (
            CallValue(name, before.get(name), None if name in carried and name in before else after.get(name))
            for name in names
        )
        alone = call.unpaired_reason
        return CallText(
            last.ts,
            task_text(last.comm, last.pid, last.event),
            function,
            leave.ts - entry.ts if entry and leave else None,
            text,
            text.startswith("-E"),
            tuple(values),
            alone.value if alone else "" if entry else "its entry was dropped",
            last.seq,
        )

    def line(self, row: int) -> str:
        """Return a row as one line for searching. Raises IndexError as `call`."""
        call = self.call(row)
        values = "  ".join(seen.text for seen in call.values)  # as the screen has it
        return f"{call.task} {call.function} {call.returned} {call.note} {values}"

    def _values(self, record: Record | None) -> dict[str, str]:
        return dict(self._watch.event_fields.values(record)) if record else {}

    def _record(self, seq: int | None) -> Record | None:
        if seq is None:
            return None
        try:
            return self._store.record(seq)
        except IndexError:
            return self.held.get(seq)
