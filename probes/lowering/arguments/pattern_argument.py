"""Explain why a name of one function's argument is refused on a pattern of functions, with text that records it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from btf.btf import Btf
from events.names.function_choice import is_choice
from foreign.count_text import counted, shortened
from probes.fetcharg import FetchArg, Variable, innermost
from probes.functions.convention import convention_of
from probes.functions.signature import certain_signature_of
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import Capturer, field_name
from probes.rules.messages.hints import hint_for
from probes.rules.site import Site
from probes.verdict import Refusal

OF_A_PATTERN = "the functions of a pattern have different arguments; $arg1, $arg2, … record them as numbers"
_MAX_FUNCTIONS = 500
"""Largest number of functions of a pattern whose arguments are compared: a tenth of a millisecond each."""


class _Places(NamedTuple):
    """Functions of a pattern by the text that records the value in them."""

    by_word: dict[str, list[str]]
    lacking: list[str]
    """Functions that have no such value."""
    unknown: list[str]
    """Functions whose arguments BTF does not know."""
    names: list[str]
    """Names of arguments, of all functions."""


def explain_pattern_argument(
    refusal: Refusal, arg: FetchArg, pattern: str, names: Sequence[str], btf: Btf, machine: str, site: Site
) -> Refusal:
    """Return the refusal of a name on a pattern with the functions that lack it, and with the text that records it
    where all have it at the same place.

    Args:
        refusal: the refusal of the value.
        arg: the value, as a person wrote it.
        pattern: pattern of function names.
        names: functions that match the pattern.
        btf: types of the target.
        machine: architecture of the target.
        site: end of the call where the value is recorded.
    """
    if len(names) > _MAX_FUNCTIONS:
        return replace(refusal, hint=f"{OF_A_PATTERN[:1].upper()}{OF_A_PATTERN[1:]}")
    wanted = str(arg.expression)
    places = _places(arg, sorted(names), btf, machine, site)
    lacking = [*places.lacking, *places.unknown]
    if not places.by_word:
        hint, nearest = hint_for("", refusal.token, places.names)
        reason = f"None of the {counted(len(names), 'function')} of {pattern} has {wanted}"
        return replace(refusal, hint="; ".join(filter(None, (reason, hint))), nearest=nearest)
    if not lacking and len(places.by_word) == 1:
        (word,) = places.by_word
        which = f"all {len(names)} have" if len(names) > 1 else f"{names[0]} has"
        reason = f"The functions of a pattern share no names; {which} it as"
        return replace(refusal, token=str(arg), hint=f"{reason} {word}", nearest=(word,))
    parts = []
    if places.lacking:
        share = f"{len(places.lacking)} of {counted(len(names), 'function')}"
        parts = [f"{wanted} is not in {share}: {shortened(places.lacking)}"]
    if places.unknown:
        parts.append(f"BTF does not know the arguments of {len(places.unknown)}: {shortened(places.unknown)}")
    if len(places.by_word) > 1:
        parts += [f"{word} in {len(each)}: {shortened(each)}" for word, each in _most(places.by_word)]
    parts.append(_way_out(pattern, places))
    return replace(refusal, hint="; ".join(parts), nearest=())


def _most(by_word: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    return sorted(by_word.items(), key=lambda pair: -len(pair[1]))[:2]


def _way_out(pattern: str, places: _Places) -> str:
    """Return a narrower pattern whose functions all have the value at one place, or some of the functions."""
    word, having = _most(places.by_word)[0]
    if len(having) == 1:
        return f"on {having[0]} itself it can be named"
    found, number = _narrower(pattern, having, places)
    if number > 1:
        return f"f {found} {word} takes {number} of the {counted(len(having), 'function')} that have it"
    return f"{word} on a pattern of those that have it: {shortened(having)}"


def _narrower(pattern: str, having: Sequence[str], places: _Places) -> tuple[str, int]:
    """Return the pattern that most functions match which have the value, and no others; and the number of these."""
    start = pattern.removesuffix("*")
    if is_choice(start):
        return "", 0
    others = {*places.lacking, *places.unknown, *(name for each in places.by_word.values() for name in each)}
    not_wanted = {prefix for name in others.difference(having) for prefix in _prefixes(name, len(start))}
    counts = Counter(prefix for name in having for prefix in _prefixes(name, len(start)))
    found = ((number, -len(prefix), prefix) for prefix, number in counts.items() if prefix not in not_wanted)
    number, _, prefix = max(found, default=(0, 0, ""))
    return f"{prefix}*", number


def _prefixes(name: str, length: int) -> list[str]:
    return [name[:end] for end in range(length + 1, len(name) + 1)]


def _places(arg: FetchArg, names: Sequence[str], btf: Btf, machine: str, site: Site) -> _Places:
    found = _Places({}, [], [], [])
    base, field = innermost(arg.expression), arg.name or field_name(arg, ())
    for name in names:
        signature = certain_signature_of(btf, name.partition(".")[0])
        if signature is None:
            found.unknown.append(name)
            continue
        found.names.extend(param.name for param in signature.params)
        if isinstance(base, Variable) and signature.number_of(base.name) is None:
            found.lacking.append(name)
            continue
        convention = convention_of(btf, signature.params, machine, signature.returns)
        try:
            word = Capturer(site, signature, convention, by_name=False).words(arg, field)[0]
        except ValueUnavailable:
            found.lacking.append(name)
            continue
        found.by_word.setdefault(word, []).append(name)
    return found
