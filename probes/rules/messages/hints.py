"""Explain the kernel's errors in plain words, with a remedy and similar names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from foreign.text import whole_number
from probes.rules.messages.error_remedies import WAYS_OUT
from probes.syntax.text import LONG_MAX, ULONG_MAX

_NEAREST = 3
_LISTED = frozenset({"FIELD_NOT_FOUND", "NO_BTFARG", "NO_EVENT_FIELD", "BAD_ATTACH_ARG", "unknown_filter_field"})
"""Errors for which all existing names can be listed, because they are few."""
_MAX_LISTED = 6
_LEAST_SIMILARITY = 0.6
"""Least similarity of names, as a share of letters."""


_REGISTERS: Final[Mapping[str, str]] = {"%pc": "%ip"}
"""Registers by the names of other tools: a similar kernel name would be another register."""
_WORD = re.compile(r"[^\W_]+")
_A_NUMBER = re.compile(r"(?:^|(?<=[^\w]))(?:([+-])?u?)(0[xX][0-9a-fA-F]++|[0-9]++)(?![\w])", re.ASCII)
_LARGEST_NUMBERS: Final[Mapping[str, int]] = {
    "BAD_DEREF_OFFS": LONG_MAX,
    "BAD_FILE_OFFS": LONG_MAX,
    "BAD_IMM": ULONG_MAX,
    "BAD_MEM_ADDR": ULONG_MAX,
    "BAD_PROBE_ADDR": ULONG_MAX,
    "BAD_REFCNT": ULONG_MAX,
    "BAD_UPROBE_OFFS": ULONG_MAX,
    "ILLEGAL_INTVAL": ULONG_MAX,
}
"""Largest numbers by error: kstrtol() and kstrtoul() reject larger ones as if they were no numbers."""
_NUMBERED = re.compile(r"([a-z]+)([0-9]+)", re.ASCII)


_SUGGESTED = frozenset(
    {"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "NO_BTF_ENTRY", "BAD_ADDR_SUFFIX", "BAD_TP_NAME", "no_event_field", ""}
)
"""Errors for which another name is suggested, but not put in without a look (`probes.corrections.corrections`)."""


def _has_all_parts(token: str, name: str) -> bool:
    """Return whether a name has all parts of a token: `count>5` is more than `count`, `prev_pid` than `prev`."""
    if "$" in token and re.findall(r"\d+", token) != re.findall(r"\d+", name):
        return False
    return len(_WORD.findall(name)) >= len(_WORD.findall(token))


def _is_as_wide(token: str, name: str) -> bool:
    """Return whether a type name is like the token, no narrower, and of the same format."""
    wanted, candidate = _NUMBERED.fullmatch(token), _NUMBERED.fullmatch(name)
    if candidate is None or wanted is None:
        return candidate is wanted
    return wanted[1] == candidate[1] and int(wanted[2]) <= int(candidate[2])


def _letters(name: str) -> str:
    """Return a name without easily mistyped parts: `F_pos` and `fpos` are `f_pos`."""
    return name.lower().replace("_", "")


def too_large(code: str, token: str) -> str:
    """Return a sentence on a number that the kernel rejects only because it is too large; empty: it is not."""
    largest = _LARGEST_NUMBERS.get(code)
    number = _A_NUMBER.search(token) if largest is not None else None
    if largest is None or number is None:
        return ""
    sign, digits = number[1] or "", number[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    text = digits.removeprefix("0x").lstrip("0") or "0"
    if text.strip("01234567" if base == 8 else "0123456789abcdef"):
        return ""
    value = whole_number(text, base)  # none: the number has too many digits to be converted
    largest = LONG_MAX + 1 if sign == "-" else largest
    problem = f"below the least, -{largest:#x}" if sign == "-" else f"too large: at most {largest:#x}"
    return "" if value is not None and value <= largest else f"The number is {problem}"


def hint_for(
    code: str, token: str, names: Sequence[str] = (), better: str = "", meant: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the hint for an error and up to three of `names` similar to the token, never the token itself.

    Args:
        code: code of the error.
        token: the wrong word.
        names: names that are valid in place of the token.
        better: a hint that replaces the general one.
        meant: certain meanings of the token, however spelled; listed before all names.
    """
    others = {name.lower(): name for name in names if name and name != token}
    close = difflib.get_close_matches(token.lower(), others, _NEAREST, _LEAST_SIMILARITY) if token else []
    if code == "BAD_REG_NAME":
        register = _REGISTERS.get(token.lower()) or re.sub("^%[re]", "%", token.lower())
        close = [register] if register in others else []
    elif code == "BAD_TYPE":
        close = [name for name in close if _is_as_wide(token.lower(), name)]
    elif code not in _SUGGESTED:
        close = [name for name in close if _has_all_parts(token, name)]
    same = [others[name] for name in close if _letters(name) == _letters(token)]
    nearest = tuple(dict.fromkeys((*same, *meant, *(others[name] for name in close))))[:_NEAREST]
    hint = too_large(code, token) or better or WAYS_OUT.get(code, "")
    if code in _LISTED and not (nearest or better) and others:
        existing = [name for name in others.values() if not name.startswith(("__", "common_"))]
        hint = f"{hint}: there are {', '.join(existing[:_MAX_LISTED])}{', …' if len(existing) > _MAX_LISTED else ''}"
    if nearest:
        hint = f"{hint}; did you mean {nearest[0]}?" if hint else f"Did you mean {nearest[0]}?"
    return hint, nearest
