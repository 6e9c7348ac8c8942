"""Check an event's filter by the kernel's rules: predicates on fields, `&&`, `||`, `!`, parentheses.

process_preds, calc_stack and predicate_parse in kernel/trace/trace_events_filter.c; `probes.rules.events.predicate`
parses a single predicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.facts.dialect import Dialect
from probes.facts.lookups import Environment, StaticEventField
from probes.rules.events.predicate import Predicate, Predicates
from probes.syntax.refused import Refused, RefusedWord

_SPACE = " \t\n\v\f\r"


def check_filter(
    text: str, fields: Mapping[str, StaticEventField] | None, environment: Environment, dialect: Dialect, cpus: int
) -> Sequence[Predicate]:
    """Check a filter as written to an event's `filter` file, or after an event probe's `if`; return its predicates.

    Args:
        text: the filter.
        fields: the event's fields, without the common ones; None: unknown.
        environment: for names of functions.
        dialect: the kernel's parser.
        cpus: number of CPUs.

    Raises:
        RefusedWord: the kernel rejects the filter; the column is in the filter's text, which error_log shows.
    """
    try:
        open_count, count = _count(text)
        if not count:
            raise Refused("ERRNO", 0, text)
        predicates = Predicates(fields, environment, dialect.function_filters, cpus)
        _parse(text, open_count, count, predicates, dialect.whole_filters)
    except Refused as error:
        raise RefusedWord(error, command=text) from None
    return predicates.parsed


def _count(text: str) -> tuple[int, int]:
    """Return the deepest nesting and the number of predicates (calc_stack). Raises Refused."""
    opened: list[int] = []
    count = deepest = last_quote = 0
    inside, quote = False, ""
    for at, char in enumerate(text):
        if char in _SPACE:
            continue
        if quote:
            quote = "" if char == quote else quote
            continue
        if char in "'\"":
            quote, last_quote = char, at
        elif char in "|&" and text[at + 1 : at + 2] == char:
            inside = False
            continue  # the second character counts as the beginning of the next predicate
        elif char == "(":
            inside = False
            opened.append(at)
            deepest = max(deepest, len(opened))
            continue
        elif char == ")":
            inside = False
            if not opened:
                raise Refused("TOO_MANY_CLOSE", at, char)
            opened.pop()
            continue
        if not inside:
            count, inside = count + 1, True
    if quote:
        raise Refused("MISSING_QUOTE", last_quote, text[last_quote:])
    if opened:
        raise Refused("TOO_MANY_OPEN", opened[-1], text[opened[-1] :])
    return deepest, count


def _parse(text: str, deepest: int, count: int, predicates: Predicates, whole: bool) -> None:
    """Parse the filter as predicate_parse does; `whole`: it must not end in `&&` or `||`. Raises Refused."""
    at = level = parsed = 0
    size = len(text)
    while at < size:
        char = text[at]
        if char in _SPACE or (char == "!" and text[at + 1 : at + 2] not in ("=", "~")):
            at += 1
            continue
        if char == "(":
            if level > deepest:
                raise Refused("ERRNO", 0, text)
            level, at = level + 1, at + 1
            continue
        if parsed >= count:
            raise Refused("TOO_MANY_PREDS", at, text[at:])
        at += predicates.read(text[at:], at + 1)
        parsed += 1
        at, level = _after_predicate(text, at, level)
    if level:
        raise Refused("TOO_MANY_OPEN", size, text)
    if not parsed:
        raise Refused("NO_FILTER", size, text)
    if whole and text.rstrip().endswith(("&&", "||")):
        raise Refused("INVALID_FILTER", size, text)


def _after_predicate(text: str, at: int, level: int) -> tuple[int, int]:
    """Parse what may follow a predicate: `)`, then `&&`, `||` or the end. Returns the next column and the level."""
    while True:
        char = text[at : at + 1]
        if not char:
            return at, level
        if char in _SPACE:
            at += 1
        elif char == ")":
            if not level:
                raise Refused("TOO_MANY_CLOSE", at + 1, char)
            level, at = level - 1, at + 1
        elif char in "&|" and text[at + 1 : at + 2] == char:
            return at + 2, level
        else:
            raise Refused("TOO_MANY_PREDS", at, text[at:])
