"""Find probes of a bpftrace program that measure the time between two: `@t[tid] = nsecs`, then `nsecs - @t[tid]`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from probes.translation.bpftrace_value import KINDS, Untranslatable
from probes.translation.scan import pieces

TIME: Final = "<lat>"
"""Placeholder for the measured time in a clause; bpftrace's syntax has no such text."""
DIVIDED: Final = re.compile(rf"{TIME}(?:\s*+/\s*+(?P<by>[1-9][0-9_]*+))?+")
_STORED: Final = re.compile(r"@(?P<map>\w*+)\[(?P<keys>[^\]]++)\]\s*+=\s*+nsecs")
_SINCE: Final = re.compile(r"nsecs\s*+-\s*+@(?P<map>\w*+)\[(?P<keys>[^\]]++)\]")
_LOCAL: Final = re.compile(rf"(\$\w++)\s*+=\s*+\(?({DIVIDED.pattern.replace('?P<by>', '?:')})\)?")
_ASSIGNED: Final = re.compile(r"(\$\w++)\s*+[-+*/%&|^<>]*+=(?!=)|(\$\w++)(?:\+\+|--)")
_ENDS: Final = {"kprobe": "kretprobe", "fentry": "fexit", "uprobe": "uretprobe"}


class ProbeClause(NamedTuple):
    """Probe of a program as written."""

    name: str
    condition: str
    body: str


class TimedClauses(NamedTuple):
    """Two clauses without the statements that only measure the time, which is `TIME` in the second."""

    begin: ProbeClause
    end: ProbeClause
    keys: tuple[tuple[str, str], ...]
    """Pairs of values, of the first and the second probe, by which the two are matched."""
    written: str
    """Text that `TIME` stands for."""


def pair_times(clauses: Sequence[ProbeClause]) -> Iterator[ProbeClause | TimedClauses | Untranslatable]:
    """Yield the probes of a program in order, two with a time between them as a pair at the first one's place.

    Where the probes of a map can't be paired with certainty, an Untranslatable replaces all of them.
    """
    begins: dict[str, list[int]] = defaultdict(list)
    ends: dict[str, list[int]] = defaultdict(list)
    for at, clause in enumerate(clauses):
        for stored in filter(None, map(_STORED.fullmatch, _statements(clause.body))):
            begins[stored["map"]].append(at)
        for name in dict.fromkeys(since["map"] for since in _SINCE.finditer(f"{clause.body};{clause.condition}")):
            ends[name].append(at)
    replaced: dict[int, ProbeClause | TimedClauses | Untranslatable] = dict(enumerate(clauses))
    for name in [item for item in begins if item in ends]:
        used = {*begins[name], *ends[name]}
        if any(replaced.get(at) is not clauses[at] for at in used):
            continue  # the probe uses another map as well; its remaining statements are rejected later
        rest = {at: item for at, item in replaced.items() if at not in used}
        try:
            pairs = _pairs(clauses, begins[name], ends[name], name)
            replaced = {**rest, **{at: _between(clauses[at], clauses[end], name) for at, end in pairs}}
        except Untranslatable as error:
            replaced = {**rest, min(used): error}
    return (replaced[at] for at in sorted(replaced))


def _statements(body: str) -> list[str]:
    return [statement.strip() for statement in pieces(body, ";")]


def _pairs(clauses: Sequence[ProbeClause], first: list[int], second: list[int], name: str) -> list[tuple[int, int]]:
    """Return the indices of the two probes of each time. Raises Untranslatable for ambiguous pairs."""
    if len(first) == len(second) == 1 and first != second:
        return [(first[0], second[0])]
    by_name = {_canonical(clauses[at].name): at for at in second}
    pairs = [(at, by_name.get(_end_of(clauses[at].name), at)) for at in first]
    if len({end for _, end in pairs} - {*first}) == len(first) == len(second):
        return pairs
    names = [", ".join(dict.fromkeys(clauses[at].name for at in indices)) for indices in (first, second)]
    raise Untranslatable(
        f"@{name} begins at {names[0]} and ends at {names[1]}: paste one begin with its end at a time"
    )


def _canonical(name: str) -> str:
    word, _, place = name.partition(":")
    return f"{KINDS.get(word, word)}:{place}"


def _end_of(name: str) -> str:
    """Return the probe at the other end: the return of a function, the exit of a system call."""
    kind, _, place = _canonical(name).partition(":")
    return f"{_ENDS.get(kind, kind)}:{place.replace(':sys_enter', ':sys_exit')}"


def _between(begin: ProbeClause, end: ProbeClause, name: str) -> TimedClauses:
    """Return the time between two probes by a map. Raises Untranslatable."""
    if "*" in begin.name or "*" in end.name:
        raise Untranslatable(f"{begin.name} to {end.name}: a time is of one function; write its name for the pattern")
    statements = _statements(begin.body)
    stored = next(match for match in map(_STORED.fullmatch, statements) if match is not None and match["map"] == name)
    since = next(part for part in _SINCE.finditer(f"{end.body};{end.condition}") if part["map"] == name)
    keys = [tuple(key.strip() for key in pieces(text, ",")) for text in (stored["keys"], since["keys"])]
    if len(keys[0]) != len(keys[1]):
        raise Untranslatable(f"{since[0]}: it is kept by {stored['keys']}, and has to be read by as many keys")
    statements.remove(stored[0])
    read = rf"@{name}\[\s*+{re.escape(since['keys'].strip())}\s*+\]"
    condition = end.condition
    if f"@{name}[" in condition and len(list(pieces(condition, "||"))) > 1:
        raise Untranslatable(f"/{condition}/: || beside a time; paste it with one side alone, or put || in brackets")
    time_test = re.compile(rf"{read}(?:\s*+(?:!=|>)\s*+0)?+")  # without a stored time there is no event either
    parts = (part.strip() for part in pieces(condition, "&&"))
    condition = " && ".join(part for part in parts if time_test.fullmatch(part) is None)
    deletion = re.compile(rf"delete\s*+\(\s*+@{name}\b[^)]*+\)")
    body = "; ".join(part for part in _statements(end.body) if deletion.fullmatch(part) is None)
    timed_end = _without_locals(end._replace(condition=_with_time(condition, read), body=_with_time(body, read)))
    return TimedClauses(
        begin._replace(body=";".join(statements)), timed_end, tuple(zip(*keys, strict=True)), f"({since[0]})"
    )


def _with_time(text: str, read: str) -> str:
    """Replace the difference by `TIME`. A following `/` divides only the stored value unless there are brackets."""
    since = rf"nsecs\s*+-\s*+{read}"
    return re.sub(rf"(?<!\w)\(\s*+{since}\s*+\)|{since}(?!\s*+[/*%])", TIME, text)


def _without_locals(clause: ProbeClause) -> ProbeClause:
    """Replace local variables that hold the time: `$us = (nsecs - @t[tid]) / 1000`."""
    statements = _statements(clause.body)
    assignments = Counter(match[1] or match[2] for match in _ASSIGNED.finditer(clause.body))
    time_locals = [
        match
        for statement in statements
        if (match := _LOCAL.fullmatch(statement)) is not None and assignments[match[1]] == 1
    ]
    times_by_name = {match[1]: match[2] for match in time_locals}
    body = ";".join(statement for statement in statements if all(statement != match[0] for match in time_locals))
    return clause._replace(body=re.sub(r"\$\w++", lambda match: times_by_name.get(match[0], match[0]), body))
