"""A refused text put right: the nearest names in the place of wrong ones, and the slips that have one way out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from probes.slips.slip import FILTER, Slip
from probes.slips.ways_out import ways_out
from probes.verdict import Refusal, Verdict

_MOST_TRIED = 40
"""Texts that are looked at; each takes about a millisecond."""
_DEEPEST = 6
"""Slips in one text."""
_OTHER_FUNCTION = 0.75
"""A function whose name is less alike is another one, not the one that was meant."""
_OF_FUNCTION = frozenset({"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "unknown_function", "NO_BTF_ENTRY"})


def corrected(text: str, verdict: Verdict, check: Callable[[str], Verdict], most: int = _MOST_TRIED) -> str:
    """Give a text like the refused one that is accepted; empty: none was found.

    Args:
        text: what was refused.
        verdict: on it.
        check: gives the verdict on any other text.
        most: texts that are tried.
    """
    seen = {" ".join(text.split())}

    def search(text: str, verdict: Verdict, depth: int) -> str:
        """Follow each way to its end before the next, which is less likely."""
        for candidate in _candidates(text, verdict.error) if verdict.error is not None else ():
            if candidate in seen or len(seen) > most:
                continue
            seen.add(candidate)
            found = check(candidate)
            if found.ok:
                return candidate
            # Where this is right now, and another word is not, that may be put right as well.
            if (
                depth < _DEEPEST
                and _wrong(found) != _wrong(verdict)
                and (right := search(candidate, found, depth + 1))
            ):
                return right
        return ""

    return search(" ".join(text.split()), verdict, 1)


def _wrong(verdict: Verdict) -> tuple[str, str]:
    return ("", "") if verdict.error is None else (verdict.error.code, verdict.error.token)


def _candidates(text: str, error: Refusal) -> Iterator[str]:
    """Texts with one change, the likeliest first."""
    column = _characters(text, error.column)
    at = _place(text, error.token, column)
    if at is not None:
        behind = text[at + len(error.token) :]
        for name in error.nearest:
            if error.code not in _OF_FUNCTION or _alike(error.token, name):
                yield f"{text[:at]}{name}{behind}"
    if error.code == "unknown_filter_field" and not error.nearest:
        head, word, condition = text.rpartition(FILTER)
        yield f"{head} {error.token}{word}{condition}"
    yield from ways_out(Slip(text, error, column))


def _alike(token: str, name: str) -> bool:
    return difflib.SequenceMatcher(None, token.lower(), name.lower()).ratio() >= _OTHER_FUNCTION


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
