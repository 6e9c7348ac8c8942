"""Completion in a filter: fields, operators, values of recent events and error names. Imports no screen code."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.conditions.comparison import COMM, LATENCY, NUMERIC
from events.conditions.condition import COMMON_FIELDS
from events.conditions.condition_parser import quote_value
from events.conditions.errno_comparison import ERRNO
from events.conditions.field_kinds import ValueKind
from events.conditions.function_comparison import FUNC
from events.conditions.time_comparison import TIME_OPERATORS
from events.names.errnos import errno_name, errno_names, errno_of, error_in, returned_field
from events.names.event_names import CGROUP, event_name
from events.text import FAULT
from probes.completion.choice import Completion, Completions, ItemKind, ranked
from tui.present.value_text import ValueStyle
from tui.present.watched_events import probed_functions

if TYPE_CHECKING:
    from events.names.kallsyms import Symbols
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch

_TOKEN: Final = re.compile(
    r"""(?<!\s)\s*+(?:(?P<sign>&&|\|\||==|!=|<=|>=|[<>~&()!])|(?P<quoted>"[^"]*+"?|'[^']*+'?)"""
    r"""|(?P<word>[^\s&|=!<>~()"']++)|(?P<odd>\S))"""
)
_MOST: Final = 60
_ROWS: Final = 1 << 12
"""Newest events whose values are collected."""
_BUDGET: Final = 0.02
"""Seconds for collecting values."""
_OPERATORS: Final = {
    ValueKind.TEXT: ("==", "!=", "~"),
    ValueKind.NUMBER: ("==", "!=", "<", "<=", ">", ">=", "&"),
    ValueKind.SYMBOL: ("==", "!=", "~", "<", "<=", ">", ">=", "&"),
    **dict.fromkeys((ValueKind.MIXED, ValueKind.UNKNOWN), ("==", "!=", "<", "<=", ">", ">=", "&", "~")),
    ValueKind.TIME: TIME_OPERATORS,
    ValueKind.NEITHER: (),
}
_ABOUT: Final = {"~": "a pattern: * ? [a-z]", "&": "has one of these bits"}
_PROBED: Final = frozenset(("==", "!=", "~", *NUMERIC))


class CandidateValue(NamedTuple):
    """Value that a field may be compared with."""

    text: str
    """Text of the value in a condition."""
    description: str = ""
    """Name of the value, if it has one."""


class _FilterWord(NamedTuple):
    """Last token before the cursor, and the tokens before it."""

    start: int
    typed: str
    before: tuple[str, ...]
    """Words and signs before that token."""


def complete_filter(
    text: str, cursor: int, sorts: Mapping[str, ValueKind], values: Callable[[str], Sequence[CandidateValue]]
) -> Completions:
    """Return the completions at the cursor.

    Args:
        text: condition, see `events.conditions.condition_parser`.
        cursor: position in the text, from 0.
        sorts: kind of value of each recorded field, by name.
        values: returns the values of a field, the most frequent first.
    """
    place = _place(text[:cursor])
    known = {**COMMON_FIELDS, **sorts}
    last = place.before[-1] if place.before else ""
    field = place.before[-2] if len(place.before) > 1 else ""
    if last in ("", "&&", "||", "(", "!"):
        items = _fields(known, place.typed)
    elif last in _PROBED and field in known:
        items = _values(values(field), known[field], place.typed, last)
    elif last in known and (len(place.before) == 1 or field in ("&&", "||", "(", "!")):
        items = tuple(
            Completion(f"{sign} ", ItemKind.WORD, sign, description=_ABOUT.get(sign, ""))
            for sign in _OPERATORS[known[last]]
            if not place.typed
        )
    elif (last == ")" or field in _PROBED) and text[:cursor].endswith(" "):
        items = tuple(Completion(f"{sign} ", ItemKind.WORD, sign) for sign in ("&&", "||"))
    else:
        items = ()
    if any(item.text.strip() == place.typed for item in items):
        items = ()
    return Completions(place.start, cursor, items[:_MOST])


def _place(before: str) -> _FilterWord:
    found = list(_TOKEN.finditer(before))
    last = found[-1] if found else None
    if last is not None and last.end() == len(before):
        kind = last.lastgroup or "odd"
        word = last[kind]
        is_open = kind == "quoted" and (len(word) == 1 or word[0] != word[-1])
        if kind == "word" or is_open:
            return _FilterWord(last.start(kind), word.lstrip("\"'"), tuple(one[0].strip() for one in found[:-1]))
    return _FilterWord(len(before), "", tuple(one[0].strip() for one in found))


def _fields(known: Mapping[str, ValueKind], typed: str) -> tuple[Completion, ...]:
    names = list(dict.fromkeys((*(name for name in known if name not in COMMON_FIELDS), *COMMON_FIELDS)))
    return tuple(
        Completion(f"{names[n]} ", ItemKind.FIELD, names[n], description=_field_note(names[n], known[names[n]]))
        for n in ranked(names, typed)
    )


def _field_note(name: str, sort: ValueKind) -> str:
    notes = {LATENCY: "of a call, a time: 10us, 1.5ms", ERRNO: "the error in a return value: ENOENT, 0 for none"}
    return notes.get(name, sort.value)


def _values(recent: Sequence[CandidateValue], sort: ValueKind, typed: str, sign: str) -> tuple[Completion, ...]:
    errors = [CandidateValue(f"-{name}", str(errno_of(f"-{name}"))) for name in errno_names()]
    is_number = sort not in (ValueKind.TEXT, ValueKind.TIME) and sign != "~"
    by_text = {one.text: one for one in (*(errors if is_number and typed.startswith("-") else ()), *recent)}
    low = typed.lower()
    found = [
        Completion(one.text, ItemKind.VALUE, one.text, description=one.description)
        for one in (*recent, *(one for text, one in by_text.items() if text.startswith("-E")))
        if low in one.text.lower() or low in one.description.lower()
    ]
    return tuple(dict.fromkeys(sorted(found, key=lambda item: not item.text.strip("\"'").lower().startswith(low))))


def values_seen(watch: Watch, store: Store, field: str) -> tuple[CandidateValue, ...]:
    """Return the values of a field among the newest events, the most frequent first, with their names."""
    own_fields = {one.name for fmt in store.decoder.formats.values() for one in fmt.fields}
    # An event may have a field of its own by this name; all others have the property then.
    others = _values_of_any_event(store, field) if field in COMM or field == "event" or field in CGROUP else ()
    if others and field not in own_fields:
        return others
    shown = ValueStyle(watch.event_fields)
    functions = probed_functions(watch.event_fields.plans) if field == FUNC else {}
    named = _numbers(watch, store, field)
    addresses = {fmt.path: watch.event_fields.address_fields(fmt) for fmt in store.decoder.formats.values()}
    counts: dict[CandidateValue, int] = {}
    deadline = time.monotonic() + _BUDGET
    for seq in range(store.next_seq - 1, max(store.first_seq, store.next_seq - _ROWS) - 1, -1):
        record = store.record(seq)
        value = record.values.get(field)
        if value is None and field not in record.values:
            value = functions.get(record.event) if field != ERRNO else _error_of(record)
        function = record.format.function if record.format is not None else None
        if function is not None and function.name == field:  # a condition takes the name, which people know
            name = dict(shown.values(record, at_once=True)).get(field, "").partition(" [")[0]
            value = value if name.startswith("0x") else name or value
        elif isinstance(value, int) and field in addresses.get(record.event, ()):
            value = _symbol(watch.info.symbols.loaded_of(record.boot), value) or value
        text = dict(shown.values(record, at_once=True)).get(field, "")
        if text in named and isinstance(value, int):
            one: CandidateValue | None = CandidateValue(text, str(named[text]))
        else:
            file = watch.event_fields.file(record, field, at_once=True)
            one = _value(value if file is None else file, text) if value is not None else None
        if one is not None:
            counts[one] = counts.get(one, 0) + 1
        if time.monotonic() >= deadline:
            break
    seen = sorted(counts, key=lambda one: (-counts[one], one.text))
    names = (CandidateValue(name, str(number)) for name, number in named.items())
    return tuple(dict.fromkeys((*seen, *others, *names)))


def _symbol(symbols: Symbols | None, address: int) -> str:
    """Return `vfs_read` or `vfs_read+0x10`, as conditions have them; empty: none is known there."""
    place = symbols.find(address) if symbols is not None else None
    return "" if place is None else f"{place.name}{f'+0x{place.offset:x}' * bool(place.offset)}"


def _numbers(watch: Watch, store: Store, field: str) -> dict[str, int]:
    """Return the numbers of fields of this name by their names, in any event of a store."""
    found: dict[str, int] = {}
    for fmt in store.decoder.formats.values():
        for one in fmt.fields:
            if one.name == field:
                found |= watch.event_fields.numbers(fmt, one)
    return found


def _values_of_any_event(store: Store, field: str) -> tuple[CandidateValue, ...]:
    if field in CGROUP:
        paths = store.cgroups.paths
        names: list[str] = [*paths, *(part for path in paths for part in path.split("/") if part)]
    elif field == "event":
        names = [event_name(store.event(number)) for number, count in store.totals.items() if count]
    else:
        tables = store.columns(store.next_seq - _ROWS, store.next_seq).tables.values()
        names = [store.task_names.name(key) for table in tables for key in sorted(set(table.task_keys.tolist()))]
    found = (_value(name, "") for name in sorted(dict.fromkeys(names)) if not name.startswith("<"))
    return tuple(one for one in found if one is not None)


def _error_of(record: Record) -> str | None:
    """Return the error that an event returned: `ENOENT`; None: none, or one without a name."""
    field = returned_field(record.format) if record.format is not None else None
    value = record.values.get(field.name) if field is not None else None
    name = errno_name(error_in(value, field)) if field is not None and isinstance(value, int) else None
    return name and name[1:]


def _value(value: object, shown: str) -> CandidateValue | None:
    if isinstance(value, str):
        try:
            return CandidateValue(quote_value(value)) if value != FAULT and value.isprintable() else None
        except ValueError:
            return None
    if not isinstance(value, int):
        return None
    number = str(int(value))
    if errno_of(shown) is not None:  # also of a number without a sign
        return CandidateValue(shown, number)
    if (name := errno_name(value)) is not None and shown.startswith(name):
        return CandidateValue(name, number)
    return CandidateValue(number, shown if shown not in (number, hex(value)) else "")
