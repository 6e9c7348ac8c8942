"""A refused text put right: the nearest names in the place of wrong ones, and the slips that have one way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from probes.verdict import Refusal, Verdict

_MOST_TRIED = 40
"""Texts that are looked at; each takes about a millisecond."""
_FILTER = " if "
_BARE_VALUE = re.compile(r"(==|!=|~)\s*([^\s\"'&|()]+)")
_QUOTES_WANTED = frozenset({"EXPECT_STRING", "INVALID_VALUE"})
_TEXT_WANTED = frozenset({"BAD_STRING", "BAD_TYPE4STR"})
_WRONG_STEP = frozenset({"NO_PTR_STRCT", "BAD_BTF_TID", "NOSUP_DAT_ARG", "BAD_HYPHEN"})


def corrected(text: str, verdict: Verdict, check: Callable[[str], Verdict]) -> str:
    """Give a text like the refused one that is accepted; empty: none was found.

    Args:
        text: what was refused.
        verdict: on it.
        check: gives the verdict on any other text.
    """
    waiting = [(" ".join(text.split()), verdict)]
    seen = {waiting[0][0]}
    while waiting:
        text, verdict = waiting.pop(0)
        for candidate in _candidates(text, verdict.error) if verdict.error is not None else ():
            if candidate in seen:
                continue
            if len(seen) > _MOST_TRIED:
                return ""
            seen.add(candidate)
            found = check(candidate)
            if found.ok:
                return candidate
            if _wrong(found) != _wrong(verdict):  # this is right now, and another word is not
                waiting.append((candidate, found))
    return ""


def _wrong(verdict: Verdict) -> tuple[str, str]:
    return ("", "") if verdict.error is None else (verdict.error.code, verdict.error.token)


def _candidates(text: str, error: Refusal) -> Iterator[str]:
    """Texts with one change, the likeliest first."""
    column = _characters(text, error.column)
    at = _place(text, error.token, column)
    if error.code == "unknown_filter_field":
        head, word, condition = text.rpartition(_FILTER)
        yield f"{head} {error.token}{word}{condition}"
    if at is not None:
        behind = text[at + len(error.token) :]
        yield from (f"{text[:at]}{name}{behind}" for name in error.nearest)
    yield from _by_code(text, error, column)


def _characters(text: str, column: int | None) -> int:
    """The column counts bytes."""
    return len(text.encode(errors="replace")[: column or 0].decode(errors="ignore"))


def _place(text: str, token: str, column: int) -> int | None:
    """Where the wrong word is: at the column, else in the word that the column is in, else where it is at all."""
    if not token:
        return None
    if text.startswith(token, column):
        return column
    begin = text.rfind(" ", 0, column) + 1
    end = text.find(" ", column)
    at = text.find(token, begin, end if end >= 0 else len(text))
    if at < 0 and text.count(token) == 1:
        at = text.find(token)
    return at if at >= 0 else None


def _by_code(text: str, error: Refusal, column: int) -> Iterator[str]:
    """What goes wrong in one way only."""
    head, _, rest = text.partition(" ")
    place, blank, arguments = rest.partition(" ")
    if error.code == "RETVAL_ON_PROBE":
        yield f"{head} {place}%return{blank}{arguments}"
    elif error.code == "BAD_ADDR_SUFFIX":
        yield f"{head} {place.partition('%')[0]}%return{blank}{arguments}"
    elif error.code == "BAD_TP_NAME":
        yield f"{head} {re.split('[/.:]', place)[-1]}{blank}{arguments}"
    elif error.code in _QUOTES_WANTED:
        before, word, condition = text.rpartition(_FILTER)
        yield f"{before}{word}{_BARE_VALUE.sub(_quoted, condition)}"
    elif error.code in _WRONG_STEP:
        yield from _other_step(text, column)
    elif error.code in _TEXT_WANTED:
        yield from _dereferenced(text, column)


def _quoted(match: re.Match[str]) -> str:
    return f'{match[1]} "{match[2]}"'


def _other_step(text: str, column: int) -> Iterator[str]:
    """`.` for `->` and the other way round, at the column or the step before it."""
    begin = text.rfind(" ", 0, column) + 1
    steps = [step for step in re.finditer(r"->|\.|-", text) if begin <= step.start() <= column]
    for step in reversed(steps):
        yield f"{text[: step.start()]}{'.' if step[0] == '->' else '->'}{text[step.end() :]}"


def _dereferenced(text: str, column: int) -> Iterator[str]:
    """`%di:string` is `+0(%di):string`."""
    begin = text.rfind(" ", 0, column) + 1
    end = text.find(" ", column)
    word = text[begin : end if end >= 0 else len(text)]
    name, equals, body = word.rpartition("=")
    expression, colon, kind = body.partition(":")
    if colon:
        yield f"{text[:begin]}{name}{equals}+0({expression}):{kind}{text[begin + len(word) :]}"
