"""Names of the keys of groups, and their values for exports. Imports no screen code."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from events.aggregates.event_columns import KeyKind
from events.aggregates.table_columns import cgroup_path
from events.clocks.boots import ID_MASK
from events.conditions.errno_comparison import NO_ERROR
from events.names.errnos import errno_name
from events.names.event_names import event_name, exported_name
from events.stacks.stack import stack_frames
from events.store.columns import is_number
from events.store.outage_mark import task_text
from events.text import UNNAMED, show
from tui.present.summary_values import ValueNames
from tui.present.watched_events import probed_functions

if TYPE_CHECKING:
    from events.aggregates.aggregate import GroupKey
    from events.decode import Value
    from events.store.store import Store
    from kernel.watch.watch import Watch

NO_STACK: Final = "no stack"
_UNKNOWN: Final = "unknown"
_CALLER: Final = " < "
"""Stands between a function of a stack and its caller."""
_NUMBERED: Final = (KeyKind.FIELD, KeyKind.ERRNO)
"""Kinds of keys whose number may have a name."""


class KeyLabels:
    """Names of keys, for one watch and store."""

    def __init__(self, watch: Watch, store: Store, *, unnamed: str = "") -> None:
        """Take the watch, its store, and the name of all tasks without a name; empty: each has its thread id."""
        self._unnamed = unnamed
        self._watch = watch
        self._store = store
        self.names = lru_cache(maxsize=256)(self._names_of)
        self.functions = probed_functions(watch.event_fields.plans)
        """Probed function by path, of events on one function."""

    def event_name(self, path: str) -> str:
        """Return the name of an event, with its group where events of several groups have it."""
        name, group = event_name(path), exported_name(path)
        alike = (fmt.path for fmt in self._store.decoder.formats.values() if event_name(fmt.path) == name)
        return group if any(exported_name(other) != group for other in alike) else name

    def _names_of(self, path: str, field: str, boot: int) -> ValueNames:
        return ValueNames(self._watch, path, field, boot)

    def label(self, key: GroupKey, *, exact: bool = False) -> str:
        """Return the name of a key, foreign text; `exact`: all digits of a time."""
        source, value = key
        if source.kind is not KeyKind.FIELD:
            return self._property(key)
        if value is None or source.fmt is None or source.field is None:
            return show(value)
        number = source.field if is_number(source.field) else None
        return self.names(source.path, source.field.name, source.fmt.boot).of(value, number, exact=exact)

    def _property(self, key: GroupKey) -> str:
        source, value = key
        if source.kind is KeyKind.STACK:
            return _CALLER.join(self.frames(key)) or NO_STACK
        if source.kind is KeyKind.EVENT:
            return self.event_name(source.path)
        if source.kind is KeyKind.FUNCTION:
            return self.functions.get(source.path, "") or event_name(source.path)
        if not isinstance(value, int):  # received as text
            return show(value) or _UNKNOWN
        if source.kind is KeyKind.COMM:
            name = self._store.task_names.name(value)
            return name if name != UNNAMED else self._unnamed or task_text(name, value & ID_MASK, "")
        if source.kind is KeyKind.CGROUP:
            return cgroup_path(value, self._store) or _UNKNOWN
        if source.kind is KeyKind.ERRNO:
            return errno_name(-value) or (f"-{value}" if value else NO_ERROR)
        return str(value)

    def frames(self, key: GroupKey) -> list[str]:
        """Return the functions of a stack, the innermost first; empty for another key, or without a stack."""
        source, value = key
        if source.kind is not KeyKind.STACK or value is None:
            return []
        boot = source.fmt.boot if source.fmt is not None else 0
        return [frame.function for frame in stack_frames(value, self._watch.info.symbols.loaded_of(boot))]

    def exported(self, key: GroupKey) -> Value | list[str]:
        """Return a key for exports: a plain number as such, a stack as its functions, other keys by name."""
        label = self.label(key, exact=True)
        if key.source.kind is KeyKind.STACK:
            return self.frames(key)
        value = key.value
        if key.source.kind in (KeyKind.PID, KeyKind.CPU) and isinstance(value, int):
            return value
        return value if isinstance(value, int) and not isinstance(value, bool) and label == str(value) else label

    def number(self, key: GroupKey) -> int | None:
        """Return the recorded number of a key with another name; None: there is none."""
        source, value = key
        if not isinstance(value, int) or isinstance(value, bool) or source.kind not in _NUMBERED:
            return None
        number = -value if source.kind is KeyKind.ERRNO else value
        return number if self.label(key, exact=True) != str(number) else None
