"""What the kernel says of a filter on an event: predicates on its fields, `&&`, `||`, `!`, parentheses.

process_preds, calc_stack and predicate_parse in kernel/trace/trace_events_filter.c; one predicate is the matter of
`probes.rules.events.predicate`.
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
    """Check a filter as it is written to an event's `filter`, or behind an event probe's `if`; give its predicates.

    Args:
        text: the filter.
        fields: of the event, without the common ones; None: not known.
        environment: for names of functions.
        dialect: the kernel's parser.
        cpus: how many there are.

    Raises:
        At: its column is one in the filter's text, which is what error_log shows.
    """
    try:
        open_count, count = _count(text)
        if not count:
            raise Refused("ERRNO", 0, text)
        predicates = Predicates(fields, environment, dialect.btf_args, cpus)
        _read(text, open_count, count, predicates, dialect.whole_filters)
    except Refused as error:
        raise RefusedWord(error, command=text) from None
    return predicates.found


def _count(text: str) -> tuple[int, int]:
    """Deepest nesting and number of predicates (calc_stack). Raises Refused."""
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
            continue  # the second one counts as the beginning of the next predicate
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


def _read(text: str, deepest: int, count: int, predicates: Predicates, whole: bool) -> None:
    """Go through the filter like predicate_parse; `whole`: it must not end in `&&`. Raises Refused."""
    at = level = found = 0
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
        if found >= count:
            raise Refused("TOO_MANY_PREDS", at, text[at:])
        at += predicates.read(text[at:], at + 1)
        found += 1
        at, level = _behind(text, at, level)
    if level:
        raise Refused("TOO_MANY_OPEN", size, text)
    if not found:
        raise Refused("NO_FILTER", size, text)
    if whole and text.rstrip().endswith(("&&", "||")):
        raise Refused("INVALID_FILTER", size, text)


def _behind(text: str, at: int, level: int) -> tuple[int, int]:
    """Read what may follow a predicate: `)`, then `&&`, `||` or the end. Gives the next place and the level."""
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
