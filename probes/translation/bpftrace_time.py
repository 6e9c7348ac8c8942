"""Clauses of a bpftrace program that take the time between two probes: `@t[tid] = nsecs`, then `nsecs - @t[tid]`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from probes.translation.scan import pieces

TIME: Final = "<lat>"
"""Stands in a clause where bpftrace has the time between the two, which it can't have itself."""
DIVIDED: Final = re.compile(rf"{TIME}(?:\s*+/\s*+(?P<by>[1-9][0-9_]*+))?+")
_KEPT: Final = re.compile(r"@(?P<map>\w*+)\[(?P<keys>[^\]]++)\]\s*+=\s*+nsecs")
_LOCAL: Final = re.compile(rf"(\$\w++)\s*+=\s*+\(?({DIVIDED.pattern.replace('?P<by>', '?:')})\)?")


class Clause(NamedTuple):
    """One clause as it is written."""

    names: tuple[str, ...]
    """Of its probes."""
    condition: str
    body: str


class Timed(NamedTuple):
    """Two clauses without what is there for the time alone, which is `TIME` in the second."""

    begin: Clause
    end: Clause
    keys: tuple[tuple[str, str], ...]
    """By which values of the first and of the second the two belong together."""
    written: str
    """Text that `TIME` stands for."""


def timed(begin: Clause, end: Clause) -> Timed | None:
    """Return two clauses of which the second has the time since the first; None: it has none."""
    statements = [one.strip() for one in pieces(begin.body, ";")]
    kept = next((found for one in statements if (found := _KEPT.fullmatch(one)) is not None), None)
    if kept is None or len(begin.names) != len(end.names):
        return None
    read = rf"@{kept['map']}\[(?P<keys>[^\]]++)\]"
    since = re.search(rf"nsecs\s*+-\s*+{read}", f"{end.body};{end.condition}")
    if since is None:
        return None
    keys = [tuple(key.strip() for key in pieces(text, ",")) for text in (kept["keys"], since["keys"])]
    if len(keys[0]) != len(keys[1]):
        return None
    statements.remove(kept[0])
    conditions = [one.strip() for one in pieces(end.condition.replace("&&", "\0"), "\0")]
    seen = re.compile(rf"{read}(?:\s*+(?:!=|>)\s*+0)?+")  # where there is no time there is no event either
    condition = " && ".join(one for one in conditions if seen.fullmatch(one) is None)
    left = Clause(end.names, _with_time(condition, read), _with_time(end.body, read))
    forgotten = re.compile(rf"delete\s*+\(\s*+@{kept['map']}\b[^)]*+\)")
    body = "; ".join(one.strip() for one in pieces(left.body, ";") if forgotten.fullmatch(one.strip()) is None)
    own = _without_locals(left._replace(body=body))
    return Timed(begin._replace(body=";".join(statements)), own, tuple(zip(*keys, strict=True)), f"({since[0]})")


def _with_time(text: str, read: str) -> str:
    since = rf"nsecs\s*+-\s*+{read}".replace("?P<keys>", "?:")
    return re.sub(rf"(?<!\w)\(\s*+{since}\s*+\)|{since}", TIME, text)


def _without_locals(clause: Clause) -> Clause:
    """Put the time where a variable of the clause has it: `$us = (nsecs - @t[tid]) / 1000`."""
    statements = [one.strip() for one in pieces(clause.body, ";")]
    known = {found[1]: found[2] for one in statements if (found := _LOCAL.fullmatch(one)) is not None}
    body = ";".join(one for one in statements if _LOCAL.fullmatch(one) is None)
    return clause._replace(body=re.sub(r"\$\w++", lambda found: known.get(found[0], found[0]), body))
