"""Make the condition for the events behind a row of a table by keys: it passes no others. Imports no screen code.

A word in a condition is, in each event, the field of that name if there is one, else the property of every event, as
a key is. So the word for a key is the key's own name, wherever that can be compared. Events in which the word is
something else than the key is, or has another name for the same number, are excluded by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from events.aggregates.aggregate import GroupKey
from events.aggregates.event_columns import EVENT, KeyKind, key_source, property_kind
from events.aggregates.table_columns import cgroup_path
from events.clocks.boots import ID_MASK
from events.conditions.comparison import COMM, CPU, PID
from events.conditions.condition import COMMON_FIELDS
from events.conditions.condition_parser import free_word, function_clause, quote_value
from events.conditions.field_kinds import ValueKind, value_kind, value_kinds
from events.conditions.function_comparison import FUNC
from events.names.errnos import MAX_ERRNO, errno_name, error_in, returned_field
from events.names.event_names import CGROUP
from events.stacks.events_beside import is_counted
from events.store.columns import is_number
from events.text import UNNAMED

if TYPE_CHECKING:
    from events.aggregates.event_columns import EventColumns
    from events.format import EventFormat, Field
    from events.store.store import Store
    from tui.views.aggregate.labels import KeyLabels

_MOST_CLAUSES: Final = 8
"""Greatest number of groups, and of events that are named, in one condition."""
_GLOB: Final = frozenset("*?[\\!")
_WORDS: Final = {KeyKind.COMM: COMM, KeyKind.PID: PID, KeyKind.CPU: CPU, KeyKind.CGROUP: CGROUP}
"""Words for a property of every event by the kind of key."""

Keys = tuple[GroupKey, ...]


class RowConditions:
    """Conditions for rows with the keys of a request."""

    def __init__(
        self, names: Sequence[str], labels: KeyLabels, store: Store, columns_of: Callable[[str], EventColumns]
    ) -> None:
        """Take the names of the keys, the labels of their values, the store, and what fields of events mean."""
        self._names = names
        self._labels = labels
        self._store = store
        self._columns_of = columns_of
        formats = tuple(store.decoder.formats.values())
        self._formats = {fmt.path: fmt for fmt in formats if is_counted(fmt.path, None)}
        self._own: Mapping[str, ValueKind] = value_kinds(formats, {name for fmt in formats for name in fmt.names})

    def of(self, groups: Iterable[Keys], left_out: Container[str] = (), *, by_event: bool = False) -> str | None:
        """Return the condition for the events of some groups; None: none is possible.

        Args:
            groups: keys of the groups.
            left_out: paths of events that the condition excludes elsewhere.
            by_event: True: the groups have values, which other events with the same keys may lack.
        """
        found: dict[str, list[Keys]] = {}
        for keys in groups:
            clauses = [self._clause(name, key) for name, key in zip(self._names, keys, strict=True)]
            if not all(clauses):
                return None
            if keys and by_event:
                clauses.append(self._event_clause("==", keys[0].source.path))
            found.setdefault(" && ".join(dict.fromkeys(clauses)), []).append(keys)
        if not found or len(found) > _MOST_CLAUSES:
            return None
        every = [text if by_event else self._without_others(text, own, left_out) for text, own in found.items()]
        texts = [text for text in every if text is not None]
        if len(texts) < len(every):
            return None
        return texts[0] if len(texts) == 1 else " || ".join(f"({text})" for text in texts)

    def _without_others(self, text: str, groups: list[Keys], left_out: Container[str]) -> str | None:
        """Return a clause without the events in which it does not mean the keys of its groups; None: too many."""
        own = {key.source.path for keys in groups for key in keys}
        apart = [fmt for path, fmt in self._formats.items() if path not in own and path not in left_out]
        others = [fmt.path for fmt in apart if self._is_mistaken(groups[0], fmt)]
        if min(len(own), len(others)) > _MOST_CLAUSES:
            return None
        if len(own) < len(others):
            events = " || ".join(self._event_clause("==", path) for path in sorted(own))
            return f"{text} && ({events})" if len(own) > 1 else f"{text} && {events}"
        return " && ".join((text, *(self._event_clause("!=", path) for path in others)))

    def _event_clause(self, sign: str, path: str) -> str:
        return f"event {sign} {quote_value(self._labels.event_name(path))}"

    def _is_mistaken(self, keys: Keys, fmt: EventFormat) -> bool:
        """Return whether the clauses for keys may hold for events of another format that are of another row."""
        named = list(zip(self._names, keys, strict=True))
        return all(self._is_compared(name, key, fmt) for name, key in named) and not all(
            self._has_key(name, key, fmt) for name, key in named
        )

    def _is_compared(self, name: str, key: GroupKey, fmt: EventFormat) -> bool:
        """Return whether the clause for a key compares something of the events of a format."""
        word = self._word(name, key)
        if (field := _field(word, fmt)) is not None:
            return value_kind(field) is not ValueKind.NEITHER
        return word != EVENT and self._property(word, fmt) is not None

    def _has_key(self, name: str, key: GroupKey, fmt: EventFormat) -> bool:
        """Return whether the events of a format for which the clause for a key holds have this key."""
        word = self._word(name, key)
        theirs = key_source(name, fmt, self._columns_of(fmt.path))
        if theirs is None:
            return False
        if word == FUNC:  # names are compared
            return theirs.kind in (KeyKind.FIELD, KeyKind.FUNCTION)
        if (field := _field(word, fmt)) is None:
            return theirs.kind is self._property(word, fmt) and theirs.kind is not KeyKind.ERRNO
        if theirs.field is not field:
            return False
        if KeyKind.ERRNO in (key.source.kind, theirs.kind):
            return theirs.kind is key.source.kind
        return self._is_named_alike(key, GroupKey(theirs, None), field)

    def _property(self, word: str, fmt: EventFormat) -> KeyKind | None:
        """Return the kind of the property that a word in a condition is of the events of a format; None: of none."""
        kind = property_kind(word, self._columns_of(fmt.path))
        return None if kind is KeyKind.ERRNO and returned_field(fmt) is None else kind

    def _is_named_alike(self, key: GroupKey, theirs: GroupKey, field: Field) -> bool:
        """Return whether the value of a key has the same name in a field of another event."""
        label, value = self._labels.label(key), key.value
        if key.source.kind is KeyKind.COMM:
            value = label
        if isinstance(value, int) != is_number(field):
            return False
        values = [value] if not isinstance(value, int) else _numbers_in(field, value, key.source.field)
        return all(self._labels.label(theirs._replace(value=one)) == label for one in values)

    def _word(self, name: str, key: GroupKey) -> str:
        """Return the word for a key in a condition."""
        source = key.source
        if source.kind in (KeyKind.FIELD, KeyKind.ERRNO) and source.field is not None:
            return source.field.name
        if source.kind is KeyKind.FUNCTION and source.path in self._labels.functions:
            return FUNC
        words = _WORDS.get(source.kind)
        if words is None:
            return EVENT
        own = self._own.get(name)  # a group is compared by its own rules, and by no field's
        is_compared = own is None or (own is COMMON_FIELDS.get(name) and source.kind is not KeyKind.CGROUP)
        return name if is_compared else free_word(words, self._own)

    def _clause(self, name: str, key: GroupKey) -> str:
        """Return the comparison for a key; empty: none is possible."""
        source, value = key
        if source.fmt is None:
            return ""
        try:
            if source.kind is KeyKind.FIELD and source.field is not None:
                if isinstance(value, str) and is_number(source.field):
                    return ""  # the file of a descriptor, whose number changes
                number = source.field if is_number(source.field) else None
                return self._labels.names(source.path, source.field.name, source.fmt.boot).clause(value, number)
            return self._property_clause(name, key)
        except ValueError:  # a text with both kinds of quotes
            return ""

    def _property_clause(self, name: str, key: GroupKey) -> str:
        source, word = key.source, self._word(name, key)
        number = key.value if isinstance(key.value, int) else 0
        if source.kind is KeyKind.COMM:
            return self._task_clause(word, number)
        if source.kind in (KeyKind.PID, KeyKind.CPU):
            return f"{word} == {number}"
        if source.kind is KeyKind.CGROUP:
            path = cgroup_path(number, self._store)
            sign = "==" if _GLOB & set(path) else "~"
            return f"{word} {sign} {quote_value(path)}" if path else ""
        if word == FUNC:
            return function_clause(FUNC, "==", self._labels.functions[source.path])
        if source.kind in (KeyKind.EVENT, KeyKind.FUNCTION):
            return self._event_clause("==", source.path)
        if source.kind is KeyKind.ERRNO and source.field is not None:
            return _errno_clause(source.field, number)
        return ""

    def _task_clause(self, word: str, task: int) -> str:
        """Return the comparison for the name of a task, or for its thread id if it has none."""
        if (name := self._store.task_names.name(task)) != UNNAMED:
            return f"{word} == {quote_value(name)}"
        alone = f"{free_word(PID, self._own)} == {task & ID_MASK}"
        return f"{word} == {quote_value(UNNAMED)} && {alone}" if word in self._own else alone


def _field(name: str, fmt: EventFormat) -> Field | None:
    return next((field for field in fmt.fields if field.name == name), None)


def _numbers_in(field: Field, number: int, of: Field | None) -> list[int]:
    """Return the numbers of a field that a comparison with a number of another one may find: an error has several."""
    error = error_in(number, of) if of is not None else 0
    signed = error or number
    widths = {8 * field.width, 32} if signed < 0 and not field.signed else set()
    low = -(1 << 8 * field.width - 1) if field.signed else 0
    every = {number, signed, *(signed + (1 << bits) for bits in widths)}
    return [one for one in every if low <= one < low + (1 << 8 * field.width)]


def _errno_clause(field: Field, number: int) -> str:
    """Return the condition for a return value that is an error, or none for number 0."""
    if number:
        return f"{field.name} == {errno_name(-number) or -number}"
    if field.signed:
        return f"({field.name} >= 0 || {field.name} < {-MAX_ERRNO})"
    return f"{field.name} >= 0"
