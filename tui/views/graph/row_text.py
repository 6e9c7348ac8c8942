"""Text of one row of a call graph: name, arguments, result, and notes on missing ends."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

from events.calls.call_values import Call, probe_and_address
from events.clocks.boots import task_key
from events.graph.begin_end_columns import RowKind
from events.graph.decode import is_graph
from events.graph.tree import CallRow, CallRowFlag
from events.store.outage_mark import task_text
from probes.plans.plan import titles_of
from tui.views.graph.names import GraphNames, whole_text
from widgets.events.graph_rows import GraphText
from widgets.events.values import DetailField

if TYPE_CHECKING:
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.views.calls.call_text import CallTexts
    from widgets.events.call_rows import CallText

_NOTES: Final = {
    CallRowFlag.NO_ENTRY: "its entry was not seen",
    CallRowFlag.NO_EXIT: "its exit was not seen",
    CallRowFlag.LOST: "events were lost here",
}
_REGISTER: Final = re.compile(r"arg\d+")
"""Name of the field of a probe with `$arg1`."""
_DROPPED: Final = "its event was dropped"
"""Note on a row whose event the store has dropped; a tree may hold more rows than the store holds events."""


class GraphRowText:
    """Texts of the rows of a tree."""

    def __init__(
        self, watch: Watch, store: Store, names: GraphNames, call_text: CallTexts | None, *, traced: bool
    ) -> None:
        """Set the source of the rows.

        Args:
            watch: watch of the rows.
            store: store of their events.
            names: names of functions.
            call_text: texts of the values that our own probes recorded; None: these are not shown.
            traced: True: the function_graph tracer made the rows.
        """
        self._watch = watch
        self._store = store
        self._names = names
        self._call_text = call_text
        self._traced = traced
        formats = store.decoder.formats.values()
        self._gives = any("args" in fmt.names for fmt in formats if is_graph(fmt))
        """True if the tracer records arguments of calls."""

    def names(self, boot: int) -> GraphNames:
        """Return the names of functions and values in a boot."""
        return self._names.of(boot)

    def names_of(self, row: CallRow) -> GraphNames:
        """Return the names of functions and values in the boot in which a row was recorded."""
        return self._names.of(self._store.boots.of(row.seq))

    def records(self, row: CallRow) -> tuple[Record | None, Record | None]:
        """Return the first and last event of a row; None: not received, or dropped."""
        leave = None if row.leave < 0 else self._record(row.leave)
        if row.flags & CallRowFlag.NO_ENTRY:
            return None, leave
        return self._record(row.seq), leave

    def lacks_values(self, row: CallRow) -> bool:
        """Return True if values of a row can't be shown because the store has dropped their event."""
        has_values = row.kind == RowKind.COMMENT
        if row.kind == RowKind.CALL:
            recorded = self._gives and not row.flags & CallRowFlag.NO_ENTRY
            has_values = recorded if self._traced else self._call_text is not None
        return has_values and row.seq < self._store.first_seq

    def _record(self, seq: int) -> Record | None:
        with contextlib.suppress(IndexError):
            return self._store.record(seq)
        return None

    def line(self, row: CallRow, folded: bool | None) -> GraphText:
        """Return the line of a row; `folded`: True if the rows inside are hidden, None: there are none inside."""
        notes = ("" if row.kind == RowKind.SWITCH else _note(row.flags), _DROPPED if self.lacks_values(row) else "")
        note = ", ".join(filter(None, notes))
        line = GraphText(
            row.ts,
            self.task(row.task, self._store.boots.of(row.seq)),
            row.level,
            folded,
            self.name(row),
            duration=row.duration if row.duration >= 0 else None,
            self_time=row.self_time if row.self_time >= 0 and folded is not None else None,
            note=note,
            seq=row.seq,
        )
        if row.kind != RowKind.CALL:
            return line._replace(kind=_KINDS[row.kind])
        return self._with_values(line, row)

    def _with_values(self, line: GraphText, row: CallRow) -> GraphText:
        """Add the arguments and the result of a call."""
        if not self._traced:
            return self._with_pair(line, row)
        names = self.names_of(row)
        returned, failed = names.returned(line.name, row)
        given = self.arguments_text(row)
        kind = "interrupt" if names.enters_interrupt(row.function) else ""
        return line._replace(arguments=given, returned=returned, failed=failed, kind=kind)

    def arguments_text(self, row: CallRow) -> str:
        """Return the arguments of a call that the tracer recorded, with brackets; empty: it recorded none."""
        first = None if row.flags & CallRowFlag.NO_ENTRY else self._record(row.seq)
        return self.names_of(row).arguments(self.name(row), first) if first else ""

    def probed_text(self, row: CallRow) -> str:
        """Return the values that our own probes recorded of a call, with brackets; empty: none.

        Where these are the registers of its arguments they have the names of the parameters.
        """
        call = self._pair(row)
        if call is None or not call.values:
            return ""
        if all(_REGISTER.fullmatch(seen.name) for seen in call.values):
            return self.arguments_text(row)
        return _values_text(call)

    def given_values(self, row: CallRow) -> tuple[int, ...]:
        """Return the recorded arguments of a call as signed numbers; empty: none, or BTF lacks the function."""
        first = None if row.flags & CallRowFlag.NO_ENTRY else self._record(row.seq)
        return self.names_of(row).given_values(self.name(row), first) if first else ()

    def traced_fields(self, row: CallRow) -> tuple[DetailField, ...]:
        """Return the arguments of a call that the tracer recorded, by their names, and its result; empty: neither."""
        if not self._traced or row.kind != RowKind.CALL:
            return ()
        names, function = self.names_of(row), self.name(row)
        first = None if row.flags & CallRowFlag.NO_ENTRY else self._record(row.seq)
        given = names.recorded_arguments(function, first).values if first else ()
        shown = [(one.name or f"register {n}", whole_text(one.text, one.value)) for n, one in enumerate(given)]
        if returned := names.returned(function, row)[0]:
            shown.append(("result", whole_text(returned, row.retval)))
        return tuple(DetailField(name, text, "", -1, 0, b"") for name, text in shown)

    def has(self, row: CallRow, text: str) -> bool:
        """Return True if the arguments or the result of a call contain a lower-case text."""
        line = self.line(row, None)
        return text in line.arguments.lower() or text in line.returned.lower()

    def _with_pair(self, line: GraphText, row: CallRow) -> GraphText:
        """Add the values that our own probes recorded at both ends."""
        call = self._pair(row)
        if call is None:
            return line
        return line._replace(arguments=_values_text(call), returned=call.returned, failed=call.failed)

    def _pair(self, row: CallRow) -> CallText | None:
        """Return the texts of what our own probes recorded at both ends; None: they were dropped, or no probe did."""
        ends = (None if row.flags & CallRowFlag.NO_ENTRY else row.seq), (row.leave if row.leave >= 0 else None)
        with contextlib.suppress(IndexError, KeyError):
            return self._call_text.text_of(Call(*ends)) if self._call_text is not None else None
        return None

    def name(self, row: CallRow) -> str:
        """Return the name of a function, interrupt, thread or event."""
        number = row.function
        match row.kind:
            case RowKind.CALL:
                return self.name_of(number, self._store.boots.of(row.seq))
            case RowKind.SOFTIRQ:
                return self._names.softirq(number)
            case RowKind.SWITCH:
                return f"then {self.task(number, self._store.boots.of(row.seq))}"
            case RowKind.COMMENT:
                record = self._record(row.seq)
                values = self._watch.event_fields.values(record) if record else []
                return " ".join((self._store.event(number), *(f"{name}={value}" for name, value in values)))
        return str(number) if number < 1 << 63 else ""

    def name_of(self, number: int, boot: int) -> str:
        """Return the name of a function by its address, or by the number of
        `events.calls.call_values.function_key`, in a boot.
        """
        return self.title_of(number, boot)[0]

    def title_of(self, number: int, boot: int) -> tuple[str, int]:
        """Return the name of a function as `name_of` does, and the number of its probe; 0 for those of the tracer."""
        if self._traced:
            return self.names(boot).function(number), 0
        probe, address = probe_and_address(number)
        if address:
            return self.names(boot).function(address), probe
        plans = self._watch.event_fields.plans
        return (titles_of(plans)[probe] if probe < len(plans) else str(probe)), probe

    def task(self, task: int, boot: int) -> str:
        """Return the name of a task: `cat-812`, or `idle on cpu 1`."""
        return (
            task_text(self._store.task_names.name(task_key(task, boot)), task, "")
            if task > 0
            else f"idle on cpu {max(-1 - task, 0)}"
        )


def _values_text(call: CallText) -> str:
    """Return the values of a call with brackets; those that it changed as they were before and after it."""
    values = (
        f"{seen.name}={seen.before} → {seen.after}" if seen.changed else f"{seen.name}={seen.before or seen.after}"
        for seen in call.values
    )
    return f"({', '.join(values)})"


def _note(flags: CallRowFlag) -> str:
    """Return the note on a call's missing data."""
    if flags & CallRowFlag.OPEN:
        return "runs"
    return next((text for flag, text in _NOTES.items() if flags & flag), "")


_KINDS: Final = {
    RowKind.IRQ: "interrupt",
    RowKind.SOFTIRQ: "softirq",
    RowKind.SWITCH: "off the CPU,",
    RowKind.COMMENT: "event",
}
