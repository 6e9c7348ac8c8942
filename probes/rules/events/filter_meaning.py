"""Find predicates that the kernel accepts but by which it matches other events than they say.

A number is cut to the width of the field (DEFINE_COMPARISON_PRED, DEFINE_EQUALITY_PRED); of an array only the leading
bytes are compared, or none (select_comparison_fn); `CPU` has no operator `&` (filter_pred_cpu); a pattern that begins
with a digit is a text (MATCH_INDEX in filter_parse_regex), and in an array of characters `*end` is searched at the
end of the array (regex_match_end); of several functions of a name only the first is compared (kallsyms_lookup_name in
parse_pred). All in kernel/trace/trace_events_filter.c, 6.1 to 7.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from probes.facts.lookups import StaticEventField
from probes.refusal import own_refusal
from probes.remedies import FILTER_SHOWN
from probes.rules.events.predicate import Predicate, is_text
from probes.verdict import Refusal

MISREAD = frozenset({"number_too_wide", "array_compared", "cpu_mask", "pattern_misread", "ambiguous_function"})
"""Codes of predicates refused here although the kernel would accept them."""
_WIDTHS = (8, 16, 32, 64)
_OWN_TYPE = re.compile(r"[us](8|16|32|64)")
"""Pattern for the type of a field whose type the user chose and can change."""
_SPECIAL = re.compile(r"[*?\[\\]")
_INVERTED = re.compile(r"\[!.[^\]]*\]", re.DOTALL)

_CONSTANT: Final[Mapping[str, Callable[[int, int, int], tuple[bool, bool]]]] = {
    "==": lambda number, low, high: (not low <= number <= high, False),
    "!=": lambda number, low, high: (False, not low <= number <= high),
    "<": lambda number, low, high: (number <= low, number > high),
    "<=": lambda number, low, high: (number < low, number >= high),
    ">": lambda number, low, high: (number >= high, number < low),
    ">=": lambda number, low, high: (number > high, number <= low),
    "&": lambda number, low, high: (number & ((1 << (high - low).bit_length()) - 1) == 0, False),
}
"""By operator, whether a comparison with a number holds never, and always, for values between two bounds."""


def misread(
    predicates: Sequence[Predicate], newer: bool = True, count: Callable[[str], int] = lambda _: 1
) -> Refusal | None:
    """Return why the kernel would match other events than the predicates say; None: it would not.

    Args:
        predicates: predicates of a filter.
        newer: the kernel has `CPUS{…}`, and `[!a]` in a pattern does not match the end of a text (seen in 6.12 and
            7.2; in 6.1 it does, and the kernel reads on past the text).
        count: returns how many symbols a name has.
    """
    for predicate in predicates:
        refusal = _ambiguous(predicate, count) if predicate.is_function else _misread(predicate, newer)
        if refusal is not None:
            return refusal
    return None


def constant_notes(predicates: Sequence[Predicate]) -> tuple[str, ...]:
    """Return a note on each comparison that holds for no value of its field, or for all of them."""
    return tuple(filter(None, map(_constant_note, predicates)))


def _constant_note(predicate: Predicate) -> str:
    field, operator, value = predicate.field, predicate.operator, predicate.value
    bits, limits = _bits(field), _CONSTANT.get(operator)
    if predicate.is_function or limits is None or not bits or value[:1] in ("'", '"'):
        return ""
    low, high = _span(bits, field.signed)
    never, always = limits(_written_number(value), low, high)
    if not (never or always):
        return ""
    return f"{field.name} {operator} {value} {'never' if never else 'always'} holds: it is from {low} to {high}"


def _bits(field: StaticEventField) -> int:
    """Return the width of an integer field in bits, those of a bit-field; 0: it is no integer."""
    if not field.type or field.type == "cpu" or _is_array(field) or is_text(field):
        return 0
    return field.bits or (field.size * 8 if field.size * 8 in _WIDTHS else 0)


def _written_number(value: str) -> int:
    return int(value, 8 if re.match("-?0[0-7]", value) else 0)


def kernel_pattern(pattern: str, field: StaticEventField) -> str:
    """Return the kernel's pattern that matches what `events.names.glob` matches for a pattern on this field."""
    negated, body = pattern[:1] == "!", pattern.removeprefix("!")
    if body[:1].isdigit() and body.isascii() and _SPECIAL.search(body):
        body = f"[{body[0]}]{body[1:]}"
    # In an array of fixed size, the end is that of the array, and the kernel also searches the bytes after the text.
    elif _is_in_record(field) and body[:1] == "*" and _is_plain(body[1:].removesuffix("*")):
        body = f"*{body}"
    return f"!{body}" if negated else body


def _ambiguous(predicate: Predicate, count: Callable[[str], int]) -> Refusal | None:
    name = predicate.value
    if (number := count(name)) < 2:
        return None
    hint = f"{number} symbols are named {name}; {FILTER_SHOWN}"
    return own_refusal("ambiguous_function", name, predicate.column, hint)


def _misread(predicate: Predicate, newer: bool) -> Refusal | None:
    field, operator, value, column, _ = predicate
    if not field.type or field.type == "stacktrace":
        return None
    if _is_array(field):
        hint = f"{field.name} has several values: record the one that is meant by itself, and compare that"
        return own_refusal("array_compared", field.name, column, hint)
    if value[:1] in ("'", '"'):
        return _misread_pattern(field, value, column, newer) if operator == "~" else None
    if field.type == "cpu" and operator == "&":
        either = "CPU & CPUS{0,2}" if newer else "CPU == 0 || CPU == 2"
        return own_refusal("cpu_mask", value, column, f"Name the processors: {either}")
    return _width_refusal(field, operator, value, column)


def _misread_pattern(field: StaticEventField, value: str, column: int, newer: bool) -> Refusal | None:
    pattern = kernel_pattern(value[1:-1], field)
    if pattern != value[1:-1]:
        return own_refusal("pattern_misread", value, column, f"Write {value[0]}{pattern}{value[0]}")
    if not newer and _INVERTED.search(pattern):
        hint = "This kernel takes the end of a text for one of [!…]: name those that are meant, as in [b-z]"
        return own_refusal("pattern_misread", value, column, hint)
    return None


def _width_refusal(field: StaticEventField, operator: str, value: str, column: int) -> Refusal | None:
    """Return the refusal of a number that the field can't hold; None: it can. A mask may include the sign bit."""
    number, bits = _written_number(value), field.size * 8
    if bits not in _WIDTHS:
        return None
    low, high = _span(bits, field.signed)
    if low <= number <= high or (operator == "&" and low <= number < 1 << bits):
        return None
    wider = next((width for width in _WIDTHS if _holds(width, field.signed, number)), None)
    hint = f"{field.name} is from {low} to {high}, and {value} would become {_wrapped(number, bits, field.signed)}"
    if _OWN_TYPE.fullmatch(field.type):
        unsigned = next((width for width in _WIDTHS if _holds(width, signed=False, number=number)), None)
        kind = f"s{wider}" if field.signed and wider else f"u{unsigned}" if unsigned else ""
        hint += f": record it as {kind}" if kind else ""
    return own_refusal("number_too_wide", value, column, hint)


def _span(bits: int, signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def _holds(bits: int, signed: bool, number: int) -> bool:
    low, high = _span(bits, signed)
    return low <= number <= high


def _wrapped(number: int, bits: int, signed: bool) -> int:
    cut = number & (1 << bits) - 1
    return cut - (1 << bits) if signed and cut >> bits - 1 else cut


def _is_array(field: StaticEventField) -> bool:
    """Return whether a field has several values, or a size that no comparison has."""
    if is_text(field):
        return re.search(r"\]\[|\[\].*\[", field.type) is not None
    if field.type in ("char *", "const char *", "cpu"):
        return False
    return (
        "[" in field.type or field.type.startswith(("__data_loc", "__rel_loc")) or field.size not in (0, 1, 2, 4, 8)
    )


def _is_plain(words: str) -> bool:
    return bool(words) and not _SPECIAL.search(words)


def _is_in_record(field: StaticEventField) -> bool:
    return is_text(field) and not field.type.startswith(("__data_loc", "__rel_loc"))
