"""Compare one field of events with a value, for a single record or for whole columns."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from dataclasses import field as member
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from events.conditions.field_kinds import ValueKind, value_kind
from events.decode import text_of
from events.format import ErrorForm
from events.names.errnos import error_in, error_numbers
from events.names.event_names import event_name
from events.names.glob import Glob, negated_pattern
from events.record import Record
from events.store.cgroups import Cgroups, matches_cgroup
from events.text import FAULT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from events.format import Field
    from events.names.kallsyms import Symbols
    from events.store.columns import FormatTable, Mask

NO_BIT: Final = "!&"
"""Operator for the negation of `&`, which nobody can type."""
NUMERIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "&": lambda value, bits: (value & bits) != 0,
    NO_BIT: lambda value, bits: (value & bits) == 0,
}
_OPPOSITES: Final = (("==", "!="), ("<", ">="), (">", "<="), ("&", NO_BIT))
_NEGATIONS: Final = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
_ALL_BITS: Final = (1 << 64) - 1

SymbolSource = Callable[[int], "Symbols | None"]
"""Function that returns the kernel's symbols in a boot; None: they are not loaded."""
Comm = Callable[[int], str]
"""Function that returns the name of a task by its `events.clocks.boots.task_key`."""

LATENCY: Final = "latency"
"""Field name for the nanoseconds from entry to exit of a call; see `events.search.joined_ends`."""
CALL_TIMES: Final = ("calltime", "rettime")
"""Fields of the function_graph tracer's exits (ftrace_graph_ret_entry of kernel/trace/trace_entries.h)."""

COMM: Final = ("comm", "COMM")
PID: Final = ("pid", "common_pid")
CPU: Final = ("cpu", "CPU")
"""Names for properties of every event. If an event has a field of its own with the first name, as sched_wakeup has
the woken task's `comm` and `pid`, the second name still denotes the event's property, as in the kernel's filters
(kernel/trace/trace_events.c, trace_define_generic_fields)."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of one field; an `events.conditions.condition.Term` without parts."""

    field: str
    operator: str

    @abstractmethod
    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""

    @abstractmethod
    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison."""

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison, computed by `of`."""
        return of(self)

    def parts(self) -> Iterator[Comparison]:
        """Yield this comparison."""
        yield self

    def negated(self) -> Comparison:
        """Return the comparison that holds where this one does not, of events that have the field."""
        return replace(self, operator=_NEGATIONS[self.operator])


@dataclass(frozen=True)
class NumberComparison(Comparison):
    """Comparison of a single-number field, or of a `PID` or `CPU` name, with a number."""

    number: int
    of_error: bool = False
    """True if the number was given as an error name."""

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        value = record.values.get(self.field)
        if self.field not in record.values:
            value = record.pid if self.field in PID else record.cpu if self.field in CPU else self._duration(record)
        field = next((one for one in record.format.fields if one.name == self.field), None) if record.format else None
        if field is not None and isinstance(value, int) and self._finds_errors(field):
            value = error_in(value, field) or value
        return isinstance(value, int) and bool(NUMERIC[self.operator](value, self._field_number(field)))

    def _duration(self, record: Record) -> int | None:
        """Return the duration of a call whose exit record contains it; None: the record is another one."""
        begin, end = (record.values.get(name) for name in CALL_TIMES)
        has_duration = self.field == LATENCY and isinstance(begin, int) and isinstance(end, int)
        return int(end) - int(begin) if has_duration else None  # type: ignore[arg-type]

    def _duration_mask(self, table: FormatTable) -> Mask:
        """Return a mask of the rows whose duration of the call satisfies the comparison."""
        import numpy as np

        fields = {field.name: field for field in table.layout.format.fields}
        if self.field != LATENCY or not all(name in fields for name in CALL_TIMES):
            return np.zeros(len(table), np.bool_)
        (begin, _), (end, _) = (table.column(fields[name]) for name in CALL_TIMES)
        return self.compare(end.astype(np.int64) - begin.astype(np.int64))

    def _finds_errors(self, field: Field) -> bool:
        """Return whether errors among the numbers of a field are compared as negative numbers: not in an order with a
        number that has the highest bit, as `ret >= 0xfffffffffffff001`, which the kernel's filters take as it is.
        """
        if field.errors is ErrorForm.NONE or self.operator in ("&", NO_BIT):
            return False
        has_highest_bit = self.number >> (8 * field.width - 1) > 0 or (
            self.number > 0 and error_in(self.number, field)
        )
        return self.operator in ("==", "!=") or not has_highest_bit

    def _field_number(self, field: Field | None) -> int:
        """Return the number as it is compared: an error as it appears in the field, also in an unsigned pointer
        (ERR_PTR); among return values, of which errors are negative, below zero.
        """
        if field is not None and self._finds_errors(field):
            return error_in(self.number, field) or self.number
        if not self.of_error or self.operator not in ("==", "!="):
            return self.number
        unsigned = field is not None and not field.signed and field.width in (4, 8)
        return self.number + (1 << 8 * field.width if field and unsigned else 0)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of both
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        from events.store.columns import is_number

        field = next((candidate for candidate in table.layout.format.fields if candidate.name == self.field), None)
        if field is None and self.field in (*PID, *CPU):
            return self.compare(table.pids if self.field in PID else table.cpus)
        if field is None or not is_number(field):
            return self._duration_mask(table)
        values, missing = table.column(field)
        if values.dtype.kind == "b":  # numpy cannot compare bools with numbers above 64 bits
            values = values.view("u1")
        number = self._field_number(field)
        rows = self.compare(values, number)
        if values.dtype.kind == "u" and self._finds_errors(field):
            errors = error_numbers(values, field)
            rows = np.where(errors < 0, self.compare(errors, number), rows)
        return rows if missing is None else rows & ~missing

    def compare(self, values: NDArray[Any], number: int | None = None) -> Mask:
        """Return a mask of the numbers that satisfy the comparison; `number` overrides the comparison's own
        number.
        """
        import numpy as np

        if self.operator in ("&", NO_BIT):  # a negative number has all higher bits set
            wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
            return np.asarray(NUMERIC[self.operator](wide, np.uint64(self.number & _ALL_BITS)))
        found: Mask = NUMERIC[self.operator](values, self.number if number is None else number)
        return found


@dataclass(frozen=True)
class _GlobComparison(Comparison):
    """Comparison with a text; `~` compares with an `events.names.glob`."""

    text: str

    @cached_property
    def _glob(self) -> Glob:
        return Glob(self.text)

    def negated(self) -> Comparison:
        """Return the comparison that holds where this one does not, of events that have the field."""
        return replace(self, text=negated_pattern(self.text)) if self.operator == "~" else super().negated()


@dataclass(frozen=True)
class TextComparison(_GlobComparison):
    """Comparison of a string field, of a `COMM` name or of `event` with a text."""

    def holds(self, value: str) -> bool:
        """Return whether the comparison holds for a value."""
        return self._glob.matches(value) if self.operator == "~" else (value == self.text) != (self.operator == "!=")

    def of_event(self, path: str) -> bool:
        """Return whether the comparison holds for an event's name with or without group, or in its displayed form."""
        names = (path,) if "/" in self.text else (path.rpartition("/")[2], event_name(path))
        every = self.operator == "!=" or (self.operator == "~" and self._glob.negated)
        return (all if every else any)(self.holds(name) for name in names)

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        value = record.values.get(self.field)
        if value is None and self.field not in record.values:
            if self.field == "event":
                return self.of_event(record.event)
            value = record.comm if self.field in COMM else None
        elif value is None:
            value = FAULT
        return isinstance(value, str) and _may_be_text(record, self.field) and self.holds(value)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        from events.store.columns import is_string

        fmt = table.layout.format
        field = next((candidate for candidate in fmt.fields if candidate.name == self.field), None)
        if field is None:
            if self.field == "event":
                return np.full(len(table), self.of_event(fmt.path))
            if self.field in COMM:
                keys = table.task_keys
                return np.isin(keys, [key for key in np.unique(keys).tolist() if self.holds(comm(key))])
            return np.zeros(len(table), np.bool_)
        if not is_string(field):
            return np.zeros(len(table), np.bool_)
        data, begins, missing = table.string_bytes(field)
        results: dict[bytes, bool] = {}
        found = np.zeros(len(table), np.bool_)
        for row, (begin, fault) in enumerate(zip(begins.tolist(), missing.tolist(), strict=True)):
            raw = FAULT.encode() if fault else data[begin : data.index(0, begin)]
            holds = results.get(raw)
            if holds is None:
                holds = results[raw] = self.holds(text_of(raw))
            found[row] = holds
        return found


def _may_be_text(record: Record, name: str) -> bool:
    """Return whether a record's field is a text, or none that its format has."""
    fields = record.format.fields if record.format is not None else ()
    return all(value_kind(field) is ValueKind.TEXT for field in fields if field.name == name)


_ADDRESSES = (ValueKind.SYMBOL, ValueKind.NUMBER)
"""Kinds of fields that may have addresses: of pointers a format tells only that they are numbers."""


def _is_function(record: Record, name: str) -> bool:
    """Return whether a record's field has an address in code, or its name."""
    fields = record.format.fields if record.format is not None else ()
    return any(field.name == name and value_kind(field) in _ADDRESSES for field in fields)


@dataclass(frozen=True)
class SymbolComparison(_GlobComparison):
    """Comparison of a field with an address with the name of its function or variable, or with `NAME+0xOFFSET`.

    No comparison holds while the symbols are not loaded, nor for an address without a symbol.
    """

    symbols: SymbolSource = member(compare=False, repr=False)
    _unnamed: set[int] = member(default_factory=set, compare=False, repr=False)
    """Boots of tested events for which there were no symbols yet."""

    @property
    def named_since(self) -> int:
        """Number of boots whose symbols became known after events of them were tested."""
        return sum(self.symbols(boot) is not None for boot in self._unnamed)

    def _symbols(self, boot: int) -> Symbols | None:
        symbols = self.symbols(boot)
        if symbols is None:
            self._unnamed.add(boot)
        return symbols

    def holds(self, name: str) -> bool:
        """Return whether the comparison holds for a name, with its module in brackets or without."""
        name = name.partition(" [")[0]
        return self._glob.matches(name) if self.operator == "~" else (name == self.text) == (self.operator == "==")

    def _holds_at(self, address: int, symbols: Symbols) -> bool:
        """Return whether it holds for a name of the function; `!=`: whether it holds for all of them."""
        names, place = symbols.function_names(address), symbols.find(address)
        offset = f"+0x{place.offset:x}" if place is not None else ""
        texts = [text for name in names for bare in [name.partition(" [")[0]] for text in (bare, f"{bare}{offset}")]
        every = self.operator == "!=" or (self.operator == "~" and self._glob.negated)
        return bool(texts) and (all if every else any)(map(self.holds, texts))

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        value = record.values.get(self.field)
        if record.format is not None and not _is_function(record, self.field):
            return False
        if isinstance(value, str):  # a record that was received as text
            return self.holds(value)
        symbols = self._symbols(record.boot) if isinstance(value, int) else None
        return symbols is not None and isinstance(value, int) and self._holds_at(value, symbols)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of all
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        fmt = table.layout.format
        field = next((candidate for candidate in fmt.fields if candidate.name == self.field), None)
        is_symbol = field is not None and value_kind(field) in _ADDRESSES
        symbols = self._symbols(fmt.boot) if is_symbol else None
        if field is None or symbols is None:
            return np.zeros(len(table), np.bool_)
        values, missing = table.column(field)
        addresses, places = np.unique(values, return_inverse=True)
        holds = np.array([self._holds_at(address, symbols) for address in addresses.tolist()], np.bool_)
        found: Mask = holds[places] if len(addresses) else np.zeros(len(table), np.bool_)
        return found if missing is None else found & ~missing


@dataclass(frozen=True)
class InCgroup(_GlobComparison):
    """Comparison of the task's cgroup: `==` as `events.store.cgroups.matches_cgroup`, `~` by a pattern of the whole
    path.

    For an unknown cgroup no comparison holds, as for a field that an event does not have.
    """

    cgroups: Cgroups = member(compare=False, repr=False)

    def holds(self, path: str) -> bool:
        """Return whether the comparison holds for a path."""
        if self.operator == "~":
            return self._glob.matches(path)
        return matches_cgroup(path, self.text) == (self.operator == "==")

    @property
    def paths(self) -> list[str]:
        """Known cgroup paths that satisfy the comparison."""
        return [path for path in self.cgroups.paths if self.holds(path)]

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        path = self.cgroups.path_of(record.pid, record.ts, record.seq)
        return path is not None and self.holds(path)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of all
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        numbers = self.cgroups.numbers_of(table.pids, table.stamps, table.seqs)
        holds = np.array([self.holds(path) for path in self.cgroups.paths] + [False])
        found: Mask = holds[numbers]  # -1: the last element, for an unknown cgroup
        return found
