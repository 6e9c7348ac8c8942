"""A refused text put right: the nearest names in the place of wrong ones, and the slips that have one way out."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from probes.attaching.spellings import RENAMED
from probes.corrections.place import named
from probes.corrections.slip import FILTER, Slip
from probes.corrections.ways_out import takes_more, ways_out
from probes.verdict import Refusal, Verdict

_MOST_TRIED = 40
"""Texts that are looked at; each takes about a millisecond."""
_DEEPEST = 6
"""Slips in one text."""
_OTHER_FUNCTION = 0.75
"""A function whose name is less alike is another one, not the one that was meant."""
_SAME_WORD = 0.6
"""Likewise for each word of the name: `ext4_write_end` is not `ext4_write_begin`."""
_WORD = re.compile(r"[^\W_]+")
_IN_EVERY_EVENT = {"pid": "common_pid", "tid": "common_pid"}
_OF_FUNCTION = frozenset(
    {"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "unknown_function", "unknown_tracepoint", "NO_BTF_ENTRY"}
)
_OF_PLACE = _OF_FUNCTION | {"not_traceable"}


def corrected(text: str, verdict: Verdict, check: Callable[[str], Verdict], most: int = _MOST_TRIED) -> str:
    """Give a text like the refused one that is accepted; empty: none was found.

    Args:
        text: what was refused.
        verdict: on it.
        check: gives the verdict on any other text.
        most: texts that are tried.
    """
    head, word, condition = text.strip().partition(FILTER)
    text = " ".join(head.split()) + word + condition  # blanks in the quotes of a condition are text
    seen = {text}

    def search(text: str, verdict: Verdict, depth: int) -> str:
        """Follow each way to its end before the next, which is less likely."""
        for candidate in _candidates(text, verdict):
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

    return search(text, verdict, 1)


def with_correction(error: Refusal, right: str) -> Refusal:
    """Return a refusal with the whole text put right, and without offers that contradict it.

    Where the refused word is right in that text (`count` of `p:vfs_read count` in `p vfs_read count`), the reason and
    the names like it are about another mistake than the one that was made.
    """
    if not right:
        return replace(error, corrected="")
    if error.code in _OF_PLACE and error.token in right.split():
        return replace(error, hint="", nearest=(), corrected=right)
    return replace(error, corrected=right)


def _wrong(verdict: Verdict) -> tuple[str, str]:
    return ("", "") if verdict.error is None else (verdict.error.code, verdict.error.token)


def _candidates(text: str, verdict: Verdict) -> Iterator[str]:
    """Texts with one change, the likeliest first."""
    error = verdict.error
    if error is None:
        return
    column = _as_typed(text, verdict.command, _characters(verdict.command, error.column))
    slip = Slip(text, error, column)
    if error.code in _OF_PLACE:
        yield from named(slip)  # before other functions whose names are like the argument's
    at = None if takes_more(slip) else _place(text, error.token, column)
    if at is not None:
        behind = text[at + len(error.token) :]
        for name in _meant(error):
            yield f"{text[:at]}{name}{behind}"
    if error.code == "unknown_filter_field" and not error.nearest and error.token not in _IN_EVERY_EVENT:
        head, word, condition = text.partition(FILTER)
        yield f"{head} {error.token}{word}{condition}"
    yield from ways_out(slip)


def _meant(error: Refusal) -> Iterator[str]:
    """The names that may stand for the wrong word without anything of it being lost."""
    if error.code in _OF_FUNCTION:
        # Behind the best name are others, of other functions: `fb_sys_read` behind `__x64_sys_read`.
        yield from itertools.takewhile(lambda name: _alike(error.token, name), error.nearest)
        return
    if error.code in ("unknown_filter_field", "FIELD_NOT_FOUND") and error.token in _IN_EVERY_EVENT:
        yield _IN_EVERY_EVENT[error.token]
    if error.code == "ILLEGAL_INTVAL":  # -ENONT is as near to -ENONET as to -ENOENT
        return
    for name in error.nearest:
        if error.code == "BAD_TYPE" or len(_WORD.findall(name)) >= len(_WORD.findall(error.token)):
            yield name


def _alike(token: str, name: str) -> bool:
    """Whether a function's name is another spelling: each word of it, or what a system call's entry is called."""
    call = re.escape(token.lower().removeprefix("sys_"))
    if re.fullmatch(rf"__(?!ia32|compat)[a-z0-9]+_sys_{call}", name) or name in RENAMED.get(token, ""):
        return True
    ours, theirs = _WORD.findall(token.lower()), _WORD.findall(name.lower())
    if "".join(ours) == "".join(theirs):
        return True
    return (
        len(ours) == len(theirs)
        and _likeness(token.lower(), name.lower()) >= _OTHER_FUNCTION
        and all(_same_word(one, other) for one, other in zip(ours, theirs, strict=True))
    )


def _same_word(one: str, other: str) -> bool:
    """Whether one is the other with a slip: `lock` and `unlock`, `open` and `openat` are two words."""
    short, long = sorted((one, other), key=len)
    part = long.startswith(short) or long.endswith(short)
    return not (part and len(long) > len(short) + 1) and _likeness(one, other) >= _SAME_WORD


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _as_typed(text: str, command: str, column: int) -> int:
    """Where a column of the command is in the text, which may have more blanks between its words."""
    head, word, condition = text.partition(FILTER)
    if word and " ".join(condition.split()) == command:  # the filter alone is what was refused
        return len(head) + len(word) + _as_typed(condition, command, column)
    if text == command:
        return column
    kept = [at for at, sign in enumerate(text) if not (sign.isspace() and text[at - 1 : at].isspace())]
    return kept[column] if column < len(kept) else len(text)


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
    named = text[:column].rstrip()
    if at < 0 and named.endswith(f" {token}"):  # a filter's columns are behind the name
        return len(named) - len(token)
    if at < 0 and text.count(token) == 1:
        at = text.find(token)
    return at if at >= 0 else None
