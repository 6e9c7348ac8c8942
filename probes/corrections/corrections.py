"""Correct a refused text: put similar names in place of wrong ones, and apply the unique remedy of known slips."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from probes.attaching.spellings import RENAMED
from probes.corrections.condition import without_paths as condition_without_paths
from probes.corrections.place import function_as_event_name
from probes.corrections.slip import FILTER, Slip
from probes.corrections.ways_out import takes_more, ways_out
from probes.verdict import Refusal, Verdict

_MAX_TRIED = 40
"""Largest number of texts that are tried; each takes about a millisecond."""
_MAX_SLIPS = 6
"""Largest number of slips corrected in a text."""
_OTHER_FUNCTION = 0.75
"""Least similarity of a function's name; a less similar name is another function."""
_SAME_WORD = 0.6
"""Least similarity of each word of the name: `ext4_write_end` is not `ext4_write_begin`."""
_WORD = re.compile(r"[^\W_]+")
_COMMON_FIELDS = {"pid": "common_pid", "tid": "common_pid"}
_FUNCTION_ERRORS = frozenset(
    {"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "unknown_function", "unknown_tracepoint", "NO_BTF_ENTRY"}
)
_PLACE_ERRORS = _FUNCTION_ERRORS | {"not_traceable"}


def corrected(text: str, verdict: Verdict, check: Callable[[str], Verdict], most: int = _MAX_TRIED) -> str:
    """Return a text similar to the refused one that is accepted; empty: none was found.

    Args:
        text: the refused text.
        verdict: the verdict on the text.
        check: returns the verdict on another text.
        most: largest number of texts that are tried.
    """
    head, word, condition = text.strip().partition(FILTER)
    text = " ".join(head.split()) + word + condition  # in a condition's quotes, blanks are text
    seen = {text}

    def search(text: str, verdict: Verdict, depth: int) -> str:
        """Search depth-first: candidates are in the order of likelihood."""
        for candidate in _candidates(text, verdict):
            if candidate in seen or len(seen) > most:
                continue
            seen.add(candidate)
            candidate_verdict = check(candidate)
            if candidate_verdict.ok:
                return candidate
            # The change may be right and another word wrong, which can be corrected as well.
            if (
                depth < _MAX_SLIPS
                and _error_key(candidate_verdict) != _error_key(verdict)
                and (result := search(candidate, candidate_verdict, depth + 1))
            ):
                return result
        return ""

    return search(text, verdict, 1)


def with_correction(error: Refusal, corrected_text: str) -> Refusal:
    """Return a refusal with the corrected text, and without suggestions that contradict it.

    Where the corrected text has the refused word (`count` of `p:vfs_read count` in `p vfs_read count`), the hint and
    the similar names are about a mistake that was not made.
    """
    if not corrected_text:
        return replace(error, corrected="")
    if error.code in _PLACE_ERRORS and error.token in corrected_text.split():
        return replace(error, hint="", nearest=(), corrected=corrected_text)
    return replace(error, corrected=corrected_text)


def _error_key(verdict: Verdict) -> tuple[str, str]:
    return ("", "") if verdict.error is None else (verdict.error.code, verdict.error.token)


def _candidates(text: str, verdict: Verdict) -> Iterator[str]:
    """Yield texts with a single change, the likeliest first."""
    error = verdict.error
    if error is None:
        return
    column = _typed_column(text, verdict.command, _character_column(verdict.command, error.column))
    slip = Slip(text, error, column)
    if error.code in _PLACE_ERRORS:
        yield from function_as_event_name(slip)  # before functions with names similar to the argument's
    at = None if takes_more(slip) else _place(text, error.token, column)
    if at is not None:
        following = text[at + len(error.token) :]
        for name in _replacements(error):
            yield f"{text[:at]}{name}{following}"
    if error.code == "unknown_filter_field" and not error.nearest and error.token not in _COMMON_FIELDS:
        head, word, condition = text.partition(FILTER)
        yield from (f"{head} {path}{word}{changed}" for path, changed in condition_without_paths(condition))
        yield f"{head} {error.token}{word}{condition.replace(error.token, error.token.removeprefix('$'))}"
    yield from ways_out(slip)


def _replacements(error: Refusal) -> Iterator[str]:
    """Yield the names that may replace the wrong word without losing any part of it."""
    if error.code in _FUNCTION_ERRORS:
        # Further names are those of other functions: `fb_sys_read` after `__x64_sys_read`. A fetcharg is an argument
        # of a pattern, as all of its functions have it.
        yield from itertools.takewhile(lambda name: "=" in name or _is_spelling(error.token, name), error.nearest)
        return
    if error.code in ("unknown_filter_field", "FIELD_NOT_FOUND") and error.token in _COMMON_FIELDS:
        yield _COMMON_FIELDS[error.token]
    if error.code == "ILLEGAL_INTVAL":  # -ENONT is as similar to -ENONET as to -ENOENT
        return
    for name in error.nearest:
        if error.code == "BAD_TYPE" or len(_WORD.findall(name)) >= len(_WORD.findall(error.token)):
            yield name


def _is_spelling(token: str, name: str) -> bool:
    """Return whether a function's name is another spelling: equal or similar words, or a system call's entry."""
    call = re.escape(token.lower().removeprefix("sys_"))
    if re.fullmatch(rf"__(?!ia32|compat)[a-z0-9]+_sys_{call}", name) or name in RENAMED.get(token, ""):
        return True
    token_words, name_words = _WORD.findall(token.lower()), _WORD.findall(name.lower())
    if "".join(token_words) == "".join(name_words):
        return True
    return (
        len(token_words) == len(name_words)
        and _similarity(token.lower(), name.lower()) >= _OTHER_FUNCTION
        and all(
            _same_word(token_word, name_word) for token_word, name_word in zip(token_words, name_words, strict=True)
        )
    )


def _same_word(first: str, second: str) -> bool:
    """Return whether words differ by a slip only: `lock` and `unlock`, `open` and `openat` do not."""
    short, long = sorted((first, second), key=len)
    is_part = long.startswith(short) or long.endswith(short)
    return not (is_part and len(long) > len(short) + 1) and _similarity(first, second) >= _SAME_WORD


def _similarity(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first, second).ratio()


def _typed_column(text: str, command: str, column: int) -> int:
    """Return the column in the text for a column in the command; the text may have more blanks between words."""
    head, word, condition = text.partition(FILTER)
    if word and " ".join(condition.split()) == command:  # only the filter was refused
        return len(head) + len(word) + _typed_column(condition, command, column)
    if text == command:
        return column
    positions = [at for at, sign in enumerate(text) if not (sign.isspace() and text[at - 1 : at].isspace())]
    return positions[column] if column < len(positions) else len(text)


def _character_column(text: str, column: int | None) -> int:
    """Return the column in characters for a column in bytes."""
    return len(text.encode(errors="replace")[: column or 0].decode(errors="ignore"))


def _place(text: str, token: str, column: int) -> int | None:
    """Return where the wrong word begins: at the column, else in the word at the column, else anywhere."""
    if not token:
        return None
    if text.startswith(token, column):
        return column
    begin = text.rfind(" ", 0, column) + 1
    end = text.find(" ", column)
    at = text.find(token, begin, end if end >= 0 else len(text))
    before = text[:column].rstrip()
    if at < 0 and before.endswith(f" {token}"):  # a filter's columns are after the name
        return len(before) - len(token)
    if at < 0 and text.count(token) == 1:
        at = text.find(token)
    return at if at >= 0 else None
