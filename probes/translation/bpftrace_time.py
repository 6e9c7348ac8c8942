"""Probes of a bpftrace program that take the time between two: `@t[tid] = nsecs`, then `nsecs - @t[tid]`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from probes.translation.bpftrace_value import KINDS, Untranslatable
from probes.translation.scan import pieces

TIME: Final = "<lat>"
"""Stands in a clause where bpftrace has the time between the two, which it can't have itself."""
DIVIDED: Final = re.compile(rf"{TIME}(?:\s*+/\s*+(?P<by>[1-9][0-9_]*+))?+")
_KEPT: Final = re.compile(r"@(?P<map>\w*+)\[(?P<keys>[^\]]++)\]\s*+=\s*+nsecs")
_SINCE: Final = re.compile(r"nsecs\s*+-\s*+@(?P<map>\w*+)\[(?P<keys>[^\]]++)\]")
_LOCAL: Final = re.compile(rf"(\$\w++)\s*+=\s*+\(?({DIVIDED.pattern.replace('?P<by>', '?:')})\)?")
_ASSIGNED: Final = re.compile(r"(\$\w++)\s*+[-+*/%&|^<>]*+=(?!=)|(\$\w++)(?:\+\+|--)")
_ENDS: Final = {"kprobe": "kretprobe", "fentry": "fexit", "uprobe": "uretprobe"}


class ProbeClause(NamedTuple):
    """One probe as it is written."""

    name: str
    condition: str
    body: str


class TimedClauses(NamedTuple):
    """Two clauses without what is there for the time alone, which is `TIME` in the second."""

    begin: ProbeClause
    end: ProbeClause
    keys: tuple[tuple[str, str], ...]
    """By which values of the first and of the second the two belong together."""
    written: str
    """Text that `TIME` stands for."""


def timed(clauses: Sequence[ProbeClause]) -> Iterator[ProbeClause | TimedClauses | Untranslatable]:
    """Give the probes of a program in their order, two with a time between them as one, at the place of the first.

    Where it isn't certain which probes of a map belong together, an Untranslatable is in the place of all of them.
    """
    begins: dict[str, list[int]] = defaultdict(list)
    ends: dict[str, list[int]] = defaultdict(list)
    for at, clause in enumerate(clauses):
        for kept in filter(None, map(_KEPT.fullmatch, _statements(clause.body))):
            begins[kept["map"]].append(at)
        for name in dict.fromkeys(since["map"] for since in _SINCE.finditer(f"{clause.body};{clause.condition}")):
            ends[name].append(at)
    given: dict[int, ProbeClause | TimedClauses | Untranslatable] = dict(enumerate(clauses))
    for name in [one for one in begins if one in ends]:
        used = {*begins[name], *ends[name]}
        if any(given.get(at) is not clauses[at] for at in used):
            continue  # of another map, too: what is left of it is refused as it is read
        rest = {at: one for at, one in given.items() if at not in used}
        try:
            pairs = _pairs(clauses, begins[name], ends[name], name)
            given = {**rest, **{at: _between(clauses[at], clauses[end], name) for at, end in pairs}}
        except Untranslatable as why:
            given = {**rest, min(used): why}
    return (given[at] for at in sorted(given))


def _statements(body: str) -> list[str]:
    return [one.strip() for one in pieces(body, ";")]


def _pairs(clauses: Sequence[ProbeClause], first: list[int], second: list[int], name: str) -> list[tuple[int, int]]:
    """Return the places of the two probes of each time. Raises Untranslatable: several don't pair by function."""
    if len(first) == len(second) == 1 and first != second:
        return [(first[0], second[0])]
    by_name = {_canonical(clauses[at].name): at for at in second}
    found = [(at, by_name.get(_end_of(clauses[at].name), at)) for at in first]
    if len({end for _, end in found} - {*first}) == len(first) == len(second):
        return found
    names = [", ".join(dict.fromkeys(clauses[at].name for at in each)) for each in (first, second)]
    raise Untranslatable(
        f"@{name} begins at {names[0]} and ends at {names[1]}: paste one begin with its end at a time"
    )


def _canonical(name: str) -> str:
    word, _, place = name.partition(":")
    return f"{KINDS.get(word, word)}:{place}"


def _end_of(name: str) -> str:
    """Return the probe that ends what begins at one: the return of a function, the exit of a system call."""
    kind, _, place = _canonical(name).partition(":")
    return f"{_ENDS.get(kind, kind)}:{place.replace(':sys_enter', ':sys_exit')}"


def _between(begin: ProbeClause, end: ProbeClause, name: str) -> TimedClauses:
    """Return the time between two probes that a map has. Raises Untranslatable."""
    if "*" in begin.name or "*" in end.name:
        raise Untranslatable(f"{begin.name} to {end.name}: a time is of one function; write its name for the pattern")
    statements = _statements(begin.body)
    kept = next(found for found in map(_KEPT.fullmatch, statements) if found is not None and found["map"] == name)
    since = next(one for one in _SINCE.finditer(f"{end.body};{end.condition}") if one["map"] == name)
    keys = [tuple(key.strip() for key in pieces(text, ",")) for text in (kept["keys"], since["keys"])]
    if len(keys[0]) != len(keys[1]):
        raise Untranslatable(f"{since[0]}: it is kept by {kept['keys']}, and has to be read by as many keys")
    statements.remove(kept[0])
    read = rf"@{name}\[\s*+{re.escape(since['keys'].strip())}\s*+\]"
    condition = end.condition
    if f"@{name}[" in condition and len(list(pieces(condition, "||"))) > 1:
        raise Untranslatable(f"/{condition}/: || beside a time; paste it with one side alone, or put || in brackets")
    seen = re.compile(rf"{read}(?:\s*+(?:!=|>)\s*+0)?+")  # where there is no time there is no event either
    parts = (one.strip() for one in pieces(condition, "&&"))
    condition = " && ".join(one for one in parts if seen.fullmatch(one) is None)
    forgotten = re.compile(rf"delete\s*+\(\s*+@{name}\b[^)]*+\)")
    body = "; ".join(one for one in _statements(end.body) if forgotten.fullmatch(one) is None)
    own = _without_locals(end._replace(condition=_with_time(condition, read), body=_with_time(body, read)))
    return TimedClauses(
        begin._replace(body=";".join(statements)), own, tuple(zip(*keys, strict=True)), f"({since[0]})"
    )


def _with_time(text: str, read: str) -> str:
    """Put the time where a text has it; without brackets `/` belongs to what was read alone, and is no time."""
    since = rf"nsecs\s*+-\s*+{read}"
    return re.sub(rf"(?<!\w)\(\s*+{since}\s*+\)|{since}(?!\s*+[/*%])", TIME, text)


def _without_locals(clause: ProbeClause) -> ProbeClause:
    """Put the time where a variable of the clause has it: `$us = (nsecs - @t[tid]) / 1000`."""
    statements = _statements(clause.body)
    times = Counter(found[1] or found[2] for found in _ASSIGNED.finditer(clause.body))
    local = [found for one in statements if (found := _LOCAL.fullmatch(one)) is not None and times[found[1]] == 1]
    known = {found[1]: found[2] for found in local}
    body = ";".join(one for one in statements if all(one != found[0] for found in local))
    return clause._replace(body=re.sub(r"\$\w++", lambda found: known.get(found[0], found[0]), body))
