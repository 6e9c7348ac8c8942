"""Comparisons of one field of events with a value, of a record or of whole columns."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as member
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from events.decode import text_of
from events.names.event_names import event_name
from events.record import Record
from events.search.glob import Glob
from events.store.cgroups import Cgroups, is_within
from events.text import FAULT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from events.format import Field
    from events.store.columns import FormatTable, Mask

NUMERIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "&": lambda value, bits: (value & bits) != 0,
}
_ALL_BITS: Final = (1 << 64) - 1

Comm = Callable[[int], str]
"""Thread id -> name of the task."""

LATENCY: Final = "latency"
"""Of a call from its entry to its exit, in nanoseconds; see `events.search.joined_ends`."""
_CALLED: Final = ("calltime", "rettime")
"""Fields of the function_graph tracer's exits (ftrace_graph_ret_entry of kernel/trace/trace_entries.h)."""
RETVAL: Final = "retval"
"""What a call returned, as that tracer has it: a register, in which an error of 32 bits has no sign."""
_LAST_ERROR: Final = -4095
_OF_TRACER: Final = "ftrace/funcgraph_"
"""Begins the paths of that tracer's exits, and of its entries."""

COMM: Final = ("comm", "COMM")
PID: Final = ("pid", "common_pid")
CPU: Final = ("cpu", "CPU")
"""Words for what every event has. Events with a field of their own with the first one, as sched_wakeup has `comm` and
`pid` of who is woken, have the second one, too: as in the kernel's filters (kernel/trace/trace_events.c,
trace_define_generic_fields).
"""


@dataclass(frozen=True)
class Comparison:
    """An `events.search.condition.Term` that stands for itself."""

    field: str
    operator: str

    @abstractmethod
    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""

    @abstractmethod
    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Of which rows it holds."""

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Of which rows it holds."""
        return of(self)

    def parts(self) -> Iterator[Comparison]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class NumberComparison(Comparison):
    """A field that is one number, or a word of `PID` or `CPU`, compared with a number."""

    number: int
    of_error: bool = False
    """It was given by the name of an error."""

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        value = record.values.get(self.field)
        if value is None:
            value = record.pid if self.field in PID else record.cpu if self.field in CPU else self._took(record)
        is_returned = self.field == RETVAL and record.event.startswith(_OF_TRACER)
        if is_returned and isinstance(value, int):
            value = _returned(value)
        number = self.number if is_returned else self._meant(record.format.fields if record.format else ())
        return isinstance(value, int) and bool(NUMERIC[self.operator](value, number))

    def _took(self, record: Record) -> int | None:
        """Duration of a call whose exit record holds it."""
        begin, end = (record.values.get(name) for name in _CALLED)
        told = self.field == LATENCY and isinstance(begin, int) and isinstance(end, int)
        return int(end) - int(begin) if told else None  # type: ignore[arg-type]

    def _took_of_table(self, table: FormatTable) -> Mask:
        """Return the stacks of several rows."""
        import numpy as np

        fields = {one.name: one for one in table.layout.format.fields}
        if self.field != LATENCY or not all(name in fields for name in _CALLED):
            return np.zeros(len(table), np.bool_)
        (begin, _), (end, _) = (table.column(fields[name]) for name in _CALLED)
        return self.compare(end.astype(np.int64) - begin.astype(np.int64))

    def _returned_of(self, values: NDArray[Any]) -> Mask:
        """Return a mask of the tracer's values that satisfy it; errors are negative numbers."""
        import numpy as np

        values = values.astype(np.uint64)
        wide = np.where((values >> np.uint64(31)) == 1, values | np.uint64(0xFFFFFFFF00000000), values).view(np.int64)
        return np.where((wide >= _LAST_ERROR) & (wide < 0), self.compare(wide), self.compare(values))

    def _meant(self, fields: Iterable[Field]) -> int:
        """The number as the field has it: an error is below zero in a pointer (ERR_PTR), too, which has no sign."""
        if not self.of_error or self.operator not in ("==", "!="):
            return self.number
        field = next((one for one in fields if one.name == self.field), None)
        unsigned = field is not None and not field.signed and field.width in (4, 8)
        return self.number + (1 << 8 * field.width if field and unsigned else 0)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of both
        """Of which rows it holds."""
        from events.store.columns import is_number

        field = next((one for one in table.layout.format.fields if one.name == self.field), None)
        if field is None and self.field in (*PID, *CPU):
            return self.compare(table.pids if self.field in PID else table.cpus)
        if field is None or not is_number(field):
            return self._took_of_table(table)
        values, missing = table.column(field)
        if values.dtype.kind == "b":  # numpy compares these with nothing above 64 bits
            values = values.view("u1")
        if self.field == RETVAL and table.layout.format.path.startswith(_OF_TRACER):
            return self._returned_of(values)
        rows = self.compare(values, self._meant([field]))
        return rows if missing is None else rows & ~missing

    def compare(self, values: NDArray[Any], number: int | None = None) -> Mask:
        """Of which numbers it holds; `number`: another than its own is meant."""
        import numpy as np

        if self.operator == "&":  # below zero all higher bits count as set
            wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
            return np.asarray((wide & np.uint64(self.number & _ALL_BITS)) != 0)
        found: Mask = NUMERIC[self.operator](values, self.number if number is None else number)
        return found


def _returned(value: int) -> int:
    """An error as what it is below zero, also one of 32 bits: as print_graph_retval of the kernel has it."""
    signed = value - (1 << 32) if value >> 31 == 1 else value - (1 << 64) if value >> 63 else value
    return signed if _LAST_ERROR <= signed < 0 else value


@dataclass(frozen=True)
class TextComparison(Comparison):
    """A field that is one string, or a word of `COMM`, or `event`, compared with a text; `~`: an
    `events.search.glob`.
    """

    text: str

    @cached_property
    def _glob(self) -> Glob:
        return Glob(self.text)

    def holds(self, value: str) -> bool:
        """Whether it holds of a value."""
        return self._glob.matches(value) if self.operator == "~" else (value == self.text) != (self.operator == "!=")

    def of_event(self, path: str) -> bool:
        """Whether it holds of an event, by its name with or without the group, or as the screen has it."""
        names = (path,) if "/" in self.text else (path.rpartition("/")[2], event_name(path))
        every = self.operator == "!=" or (self.operator == "~" and self._glob.negated)
        return (all if every else any)(self.holds(name) for name in names)

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        value = record.values.get(self.field)
        if value is None and self.field not in record.values:
            if self.field == "event":
                return self.of_event(record.event)
            value = record.comm if self.field in COMM else None
        elif value is None:
            value = FAULT
        return isinstance(value, str) and self.holds(value)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Of which rows it holds."""
        import numpy as np

        from events.store.columns import is_string

        fmt = table.layout.format
        field = next((one for one in fmt.fields if one.name == self.field), None)
        if field is None:
            if self.field == "event":
                return np.full(len(table), self.of_event(fmt.path))
            if self.field in COMM:
                pids = [pid for pid in np.unique(table.pids).tolist() if self.holds(comm(pid))]
                return np.isin(table.pids, pids)
            return np.zeros(len(table), np.bool_)
        if not is_string(field):
            return np.zeros(len(table), np.bool_)
        data, begins, missing = table.string_bytes(field)
        known: dict[bytes, bool] = {}
        found = np.zeros(len(table), np.bool_)
        for row, (begin, fault) in enumerate(zip(begins.tolist(), missing.tolist(), strict=True)):
            raw = FAULT.encode() if fault else data[begin : data.index(0, begin)]
            holds = known.get(raw)
            if holds is None:
                holds = known[raw] = self.holds(text_of(raw))
            found[row] = holds
        return found


@dataclass(frozen=True)
class InCgroup(Comparison):
    """The cgroup of the task: `==` one that is meant (`events.store.cgroups.is_within`), `~` a pattern of the whole
    path.

    Where it is not known nothing holds, as of a field that an event does not have.
    """

    text: str
    cgroups: Cgroups = member(compare=False, repr=False)

    @cached_property
    def _glob(self) -> Glob:
        return Glob(self.text)

    def holds(self, path: str) -> bool:
        """Whether it holds of a path."""
        if self.operator == "~":
            return self._glob.matches(path)
        return is_within(path, self.text) == (self.operator == "==")

    @property
    def paths(self) -> list[str]:
        """Those that are known that it holds of."""
        return [path for path in self.cgroups.paths if self.holds(path)]

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        path = self.cgroups.path_of(record.pid, record.ts, record.seq)
        return path is not None and self.holds(path)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of all
        """Of which rows it holds."""
        import numpy as np

        numbers = self.cgroups.numbers_of(table.pids, table.stamps, table.seqs)
        holds = np.array([self.holds(path) for path in self.cgroups.paths] + [False])
        found: Mask = holds[numbers]  # -1: the last, of what is not known
        return found
