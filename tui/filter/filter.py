"""Filter of the received events: a condition, and the events of each store that pass. Imports no screen code.

All live views, their search and their exports use one object, so that they show the same events.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from events.clocks.boots import ID_MASK, task_key
from events.conditions.comparison import (
    COMM,
    LATENCY,
    PID,
    Comparison,
    InCgroup,
    NumberComparison,
    SymbolComparison,
    TextComparison,
)
from events.conditions.condition_parser import ConditionError, FieldUnknown, ValueRefused, parse_condition
from events.conditions.field_kinds import ValueKind, common_kind
from events.conditions.function_comparison import FunctionComparison
from events.conditions.named_number import NamedNumberComparison, NoNumbers
from events.conditions.time_comparison import TimeComparison, without_interval
from events.names.event_names import event_name
from events.text import UNNAMED
from foreign.count_text import counted
from tui.present.status import remark_of, sorts_of_fields
from tui.present.watched_events import WatchedNumbers, function_source
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.conditions.condition import Condition
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch

_STORES: Final = 2
"""Stores whose passing events are cached: of the probes, and of the tracer."""
_UNITS: Final = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


class PassCount(NamedTuple):
    """Number of rows of a view that pass, and of all rows."""

    passing: int
    of: int
    unit: str = "event"
    """Noun for one row, perhaps with its owner: `event of lab:7.2`."""
    backlog: int = 0
    """Events not yet checked."""
    left_out: int = 0
    """Events that pass and are in no row, as they lack what the view shows: not among `passing`."""

    @property
    def text(self) -> str:
        """Text like `155 of 790 events`."""
        behind = f", {grouped(self.backlog)} to look at" if self.backlog else ""
        noun, of, owner = self.unit.partition(" of ")
        return f"{grouped(self.passing)} of {counted(self.of, noun)}{of}{owner}{behind}"


class Filter:
    """Condition as text; empty: every event passes."""

    def __init__(self, text: str = "", stores: int = _STORES) -> None:
        """Set the condition, and the number of stores whose passing events are cached."""
        self.text = text
        self._stores = stores
        self.error = ""
        """Reason why the condition can't be applied, so that every event passes; empty: it can."""
        self._cached: tuple[FilteredRows, ...] = ()
        self._sorts: dict[str, ValueKind] = {}
        """Fields that ever existed: a condition on a vanished field remains valid."""

    def choose(self, text: str, watch: Watch | None, selected: FilteredRows | None = None) -> None:
        """Set another condition; `selected`: its events from `preview`. Raises ConditionError."""
        text = text.strip()
        if text and watch is not None:
            with _explained_by(watch):
                parse_condition(text, self.sorts(watch), str, numbers=WatchedNumbers(watch))
        self.text, self.error, self._cached = text, "", ()
        if selected is not None and watch is not None and selected.condition.text == text:
            self._cache(self._updated(selected, watch))

    def check(self, text: str, watches: Iterable[Watch]) -> None:
        """Raise ConditionError if a text is no condition on the recorded fields of any of several kernels."""
        all_watches = tuple(watches)
        for watch in all_watches:
            self.sorts(watch)
        with contextlib.ExitStack() as explained:
            if all_watches:
                explained.enter_context(_explained_by(all_watches[0]))
            sorts = {LATENCY: ValueKind.NUMBER, **self._sorts}
            parse_condition(text.strip(), sorts, str, numbers=WatchedNumbers(*all_watches))

    def without_times(self) -> str:
        """Return the condition without an interval of time at its end; empty if it compares other times, too."""
        rest = without_interval(self.text)
        return "" if self.with_text(rest).of_times else rest

    def with_text(self, text: str) -> Filter:
        """Return another filter that knows the same fields."""
        other = Filter(text.strip(), self._stores)
        other._sorts = dict(self._sorts)
        return other

    def sorts(self, watch: Watch) -> dict[str, ValueKind]:
        """Return the kind of value of each field, including those that are no longer recorded."""
        for name, sort in sorts_of_fields(watch).items():
            self._sorts[name] = common_kind((sort, self._sorts.get(name, sort)))
        return {LATENCY: ValueKind.NUMBER, **self._sorts}

    @property
    def of_tasks(self) -> bool:
        """True if the condition uses names of tasks, which the kernel may learn after the first events."""
        return any(isinstance(part, TextComparison) and part.field in COMM for part in self._parts)

    @property
    def of_cgroups(self) -> bool:
        """True if the condition uses cgroups of tasks, which are looked up after the first events."""
        return any(isinstance(part, InCgroup) for part in self._parts)

    @property
    def of_times(self) -> bool:
        """True if the condition compares times, which are of one kernel's clock."""
        return any(isinstance(part, TimeComparison) for part in self._parts)

    @property
    def of_functions(self) -> bool:
        """True if the condition uses names of functions, which the kernel's symbols tell."""
        of_addresses = (ValueKind.SYMBOL, ValueKind.MIXED)
        return any(
            isinstance(part, SymbolComparison | FunctionComparison)
            or (isinstance(part, NamedNumberComparison) and self._sorts.get(part.field) in of_addresses)
            for part in self._parts
        )

    @property
    def of_calls(self) -> bool:
        """True if the condition compares fields of both ends of a call, or its latency."""
        return self._condition is not None and self._condition.of_calls

    @property
    def _parts(self) -> tuple[Comparison, ...]:
        return tuple(self._condition.term.parts()) if self._condition is not None else ()

    @property
    def _condition(self) -> Condition | None:
        """The parsed condition with the kinds of its fields; None: every event passes."""
        sorts = {LATENCY: ValueKind.NUMBER, **self._sorts}
        return parse_condition(self.text, sorts, str, numbers=_ANY_NUMBERS) if self.text else None

    def of(self, watch: Watch, store: Store) -> FilteredRows | None:
        """Return the events of a store that pass, as the same object until the result changes; None: all pass."""
        cached = next((one for one in self._cached if one.store is store), None)
        if cached is not None or not self.text:
            return cached
        try:
            selected = self.preview(self.text, watch, store)
        except ConditionError as error:
            self.error = condition_error_text(error)
            return None
        self.error = ""
        self._cache(selected)
        return selected

    def preview(self, text: str, watch: Watch, store: Store) -> FilteredRows:
        """Return the events that would pass a condition, found by ticks. Raises ConditionError."""
        return _selected(self._parse(text, watch, store), watch, store)

    def _parse(self, text: str, watch: Watch, store: Store) -> Condition:
        with _explained_by(watch):
            return parse_condition(
                text.strip(),
                self.sorts(watch),
                store.task_names.name,
                store.cgroups,
                watch.info.symbols.loaded_of,
                function_source(watch),
                WatchedNumbers(watch),
            )

    def names_changed(self, watch: Watch) -> None:
        """Check all events again if new names or cgroups of tasks, or new kinds of fields, change the result."""
        self._cached = tuple(self._updated(made, watch) for made in self._cached)

    def name_remark(self, watch: Watch) -> str:
        """Return which name of the condition no event can have; empty: there is none."""
        from tui.filter.recordable import name_remark

        condition = self._condition
        return name_remark(condition, watch) if condition is not None else ""

    def remark(self, watch: Watch, store: Store) -> str:
        """Return a remark on the condition for the user; empty: none."""
        selected = self.of(watch, store)
        return remark_on(selected, watch) if selected is not None else ""

    def _updated(self, cached: FilteredRows, watch: Watch) -> FilteredRows:
        try:
            wanted = self._parse(cached.condition.text, watch, cached.store)
        except ConditionError:  # refused by now for a field that a new probe has: what was asked for stays
            wanted = cached.condition
        is_current = cached.is_current and wanted.term == cached.condition.term
        return cached if is_current else _selected(wanted, watch, cached.store)

    def _cache(self, selected: FilteredRows) -> None:
        others = tuple(one for one in self._cached if one.store is not selected.store)
        self._cached = (selected, *others[: self._stores - 1])


class _AnyFields(dict[str, ValueKind]):
    """Fields before any is known: every name is accepted."""

    def get(self, name: str, default: object = None) -> ValueKind:  # noqa: ARG002
        return ValueKind.UNKNOWN


class _AnyName(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


_ANY_NUMBERS: Final = NoNumbers(_AnyName(), "")
"""Names of numbers in a condition that was parsed before: every name is one."""


def check_form(text: str) -> None:
    """Raise ConditionError if a text is no condition, whatever fields will exist."""
    if text.strip():
        with contextlib.suppress(ValueRefused):
            parse_condition(text, _AnyFields(), str)


def slower_than(least: int) -> str:
    """Return the condition for calls that took at least `least` nanoseconds."""
    unit, size = next((unit, size) for unit, size in _UNITS if least % size == 0)
    return f"{LATENCY} >= {least // size}{unit}"


def of_events(paths: Iterable[str]) -> str:
    """Return the condition for some events, by their paths."""
    names = dict.fromkeys(map(event_name, paths))
    return " || ".join(f"event == {name}" if name.isidentifier() else f'event == "{name}"' for name in names)


def condition_error_text(error: ConditionError) -> str:
    """Return the place and the reason of an error in a condition."""
    return f"at {error.at + 1}: {error}"


def remark_on(selected: FilteredRows, watch: Watch) -> str:
    """Return a remark on the condition of rows for the user; empty: none."""
    from tui.filter.recordable import name_remark

    condition = selected.condition
    remarks = (task_remark(condition, selected.store), remark_of(condition), name_remark(condition, watch))
    return ", ".join(filter(None, remarks))


def task_remark(condition: Condition, store: Store) -> str:
    """Return the names of the tasks that a condition has as numbers, in the newest boot; empty: there are none."""
    parts = (one for one in condition.term.parts() if isinstance(one, NumberComparison))
    numbers = dict.fromkeys(one.number for one in parts if one.field in PID and one.operator in ("==", "!="))
    named = (
        (pid, store.task_names.name(task_key(pid, store.boots.latest))) for pid in numbers if 0 <= pid <= ID_MASK
    )
    return ", ".join(f"{pid} is {name}" for pid, name in named if name != UNNAMED)


@contextlib.contextmanager
def _explained_by(watch: Watch) -> Iterator[None]:
    """Explain a field that no event has by a probe that could record it."""
    try:
        yield
    except FieldUnknown as error:
        from tui.filter.recordable import field_hint

        hint = field_hint(error.name, watch)
        if not hint:
            raise
        raise FieldUnknown(f"no field {error.name}: {hint}", error.at, error.name) from None


def _selected(wanted: Condition, watch: Watch, store: Store) -> FilteredRows:
    from events.search.filtered_rows import FilteredRows  # imports numpy
    from tui.present.call_ends import ends_of

    return FilteredRows(store, wanted, lambda: ends_of(watch.event_fields.plans))
