"""The one filter of what came: a condition, and the events of each store that pass it; no screen.

All views of the live place, its search and its exports ask the same object, so that they show the same events.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from events.search.comparison import COMM, LATENCY, Comparison, InCgroup, TextComparison
from events.search.condition_parser import ConditionError, ValueRefused, condition
from events.search.field_kinds import ValueKind
from tui.present.status import remark_of, sorts_of_fields
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.search.condition import Condition
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch

_STORES: Final = 2
"""Stores of which the passing events are kept: of the probes, and of the tracer."""
_UNITS: Final = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


class PassCount(NamedTuple):
    """Rows of a view that pass, of all."""

    passing: int
    of: int
    unit: str = "events"
    behind: int = 0
    """Events that were not looked at yet."""

    @property
    def text(self) -> str:
        """`155 of 790 events`."""
        behind = f", {grouped(self.behind)} to look at" if self.behind else ""
        return f"{grouped(self.passing)} of {grouped(self.of)} {self.unit}{behind}"


class _Made(NamedTuple):
    """The events of one store that pass."""

    store: Store
    selected: FilteredRows
    named: frozenset[tuple[int, int]]
    """The tasks that its comparisons of names and cgroups held of."""


class Filter:
    """A condition as text; empty: every event passes."""

    def __init__(self, text: str = "", stores: int = _STORES) -> None:
        """Take the condition, and of how many stores the passing events are kept."""
        self.text = text
        self._stores = stores
        self.error = ""
        """Why the condition can't be applied, so that every event passes; empty: it can."""
        self._made: tuple[_Made, ...] = ()
        self._sorts: dict[str, ValueKind] = {}
        """Fields that were ever there: a condition on one that went goes on to hold of nothing else."""
        self._mixed: set[str] = set()
        """Fields that two hosts have in two ways, or one had in another way before."""

    def choose(self, text: str, watching: Watch | None, selected: FilteredRows | None = None) -> None:
        """Take another condition; `selected`: its events as `preview` gave them. Raises ConditionError."""
        text = text.strip()
        if text and watching is not None:
            condition(text, self.sorts(watching), str)
        self.text, self.error, self._made = text, "", ()
        if selected is not None and selected.condition.text == text:
            self._keep(selected)

    def check(self, text: str, watches: Iterable[Watch]) -> None:
        """Raise ConditionError where a text is no condition on what any of several kernels records."""
        for watching in watches:
            self.sorts(watching)
        condition(text.strip(), {LATENCY: ValueKind.NUMBER, **self._sorts}, str)

    def with_text(self, text: str) -> Filter:
        """Return another filter that knows the same fields."""
        other = Filter(text.strip(), self._stores)
        other._sorts, other._mixed = dict(self._sorts), set(self._mixed)
        return other

    def sorts(self, watching: Watch) -> dict[str, ValueKind]:
        """Return what each field can be compared with, also of those that are not recorded any more."""
        for name, sort in sorts_of_fields(watching).items():
            before = self._sorts.get(name, sort)
            if sort is not before and ValueKind.UNKNOWN not in (sort, before):
                self._mixed.add(name)
            self._sorts[name] = ValueKind.UNKNOWN if name in self._mixed else sort
        return {LATENCY: ValueKind.NUMBER, **self._sorts}

    @property
    def of_tasks(self) -> bool:
        """Whether it asks for names of tasks, which the kernel may learn after their first events."""
        return any(isinstance(part, TextComparison) and part.field in COMM for part in self._parts)

    @property
    def of_cgroups(self) -> bool:
        """Whether it asks for cgroups of tasks, which are looked up after their first events."""
        return any(isinstance(part, InCgroup) for part in self._parts)

    @property
    def of_calls(self) -> bool:
        """Whether it compares what both ends of a call have, or the time between them."""
        return self._condition is not None and self._condition.of_calls

    @property
    def _parts(self) -> tuple[Comparison, ...]:
        return tuple(self._condition.term.parts()) if self._condition is not None else ()

    @property
    def _condition(self) -> Condition | None:
        """The condition with the kinds of its fields; None: every event passes."""
        return condition(self.text, {LATENCY: ValueKind.NUMBER, **self._sorts}, str) if self.text else None

    def of(self, watching: Watch, store: Store) -> FilteredRows | None:
        """Return the events of a store that pass, the same object until they are others; None: all do."""
        made = next((one for one in self._made if one.store is store), None)
        if made is not None or not self.text:
            return made.selected if made is not None else None
        try:
            selected = self.preview(self.text, watching, store)
        except ConditionError as error:
            self.error = told(error)
            return None
        self.error = ""
        self._keep(selected)
        return selected

    def preview(self, text: str, watching: Watch, store: Store) -> FilteredRows:
        """Return the events that would pass a condition, to be looked for by ticks. Raises ConditionError."""
        return _selected(condition(text.strip(), self.sorts(watching), store.comm, store.cgroups), watching, store)

    def names_changed(self, watching: Watch) -> None:
        """Tasks have names, or cgroups, that they had not: where that matters all events are looked at again."""
        self._made = tuple(self._renamed(made, watching) for made in self._made)

    def remark(self, watching: Watch, store: Store) -> str:
        """Return what is to be known of the condition; empty: nothing."""
        selected = self.of(watching, store)
        return remark_of(selected.condition) if selected is not None else ""

    def _renamed(self, made: _Made, watching: Watch) -> _Made:
        wanted = made.selected.condition
        named = wanted.tasks(made.store.cmdlines)
        return made if named == made.named else _Made(made.store, _selected(wanted, watching, made.store), named)

    def _keep(self, selected: FilteredRows) -> None:
        store = selected.store
        kept = tuple(one for one in self._made if one.store is not store)[: self._stores - 1]
        self._made = (_Made(store, selected, selected.condition.tasks(store.cmdlines)), *kept)


class _AnyFields(dict[str, ValueKind]):
    """Fields before any is known: each name may be one."""

    def get(self, name: str, default: object = None) -> ValueKind:  # noqa: ARG002
        return ValueKind.UNKNOWN


def check_form(text: str) -> None:
    """Raise ConditionError where a text is no condition, whatever fields there will be."""
    if text.strip():
        with contextlib.suppress(ValueRefused):
            condition(text, _AnyFields(), str)


def slower_than(least: int) -> str:
    """Return the condition of calls that took at least so many nanoseconds."""
    unit, size = next((unit, size) for unit, size in _UNITS if least % size == 0)
    return f"{LATENCY} >= {least // size}{unit}"


def told(error: ConditionError) -> str:
    """Return where a condition is wrong, and why."""
    return f"at {error.at + 1}: {error}"


def _selected(wanted: Condition, watching: Watch, store: Store) -> FilteredRows:
    from events.search.filtered_rows import FilteredRows  # numpy comes with it
    from tui.present.call_ends import ends_of

    return FilteredRows(store, wanted, lambda: ends_of(watching.known.plans))
