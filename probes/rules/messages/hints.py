"""The kernel's errors in plain words, with the way out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from foreign.text import whole_number
from probes.rules.messages.ways_out import WAYS_OUT
from probes.syntax.text import LONG_MAX, ULONG_MAX

_NEAREST = 3
_LISTED = frozenset({"FIELD_NOT_FOUND", "NO_BTFARG", "NO_EVENT_FIELD", "BAD_ATTACH_ARG", "unknown_filter_field"})
"""Errors where the names that there are can be told: they are few."""
_MOST_LISTED = 6
_ALIKE = 0.6
"""Share of letters; what is less alike was not meant."""


_REGISTERS: Final[Mapping[str, str]] = {"%pc": "%ip"}
"""What other tools call a register: a name that is merely like its own is another register."""
_WORD = re.compile(r"[^\W_]+")
_A_NUMBER = re.compile(r"(?:^|(?<=[^\w]))(?:([+-])?u?)(0[xX][0-9a-fA-F]++|[0-9]++)(?![\w])", re.ASCII)
_MOST: Final[Mapping[str, int]] = {
    "BAD_DEREF_OFFS": LONG_MAX,
    "BAD_FILE_OFFS": LONG_MAX,
    "BAD_IMM": ULONG_MAX,
    "BAD_MEM_ADDR": ULONG_MAX,
    "BAD_PROBE_ADDR": ULONG_MAX,
    "BAD_REFCNT": ULONG_MAX,
    "BAD_UPROBE_OFFS": ULONG_MAX,
    "ILLEGAL_INTVAL": ULONG_MAX,
}
"""Errors of a text that is no number, and the largest: kstrtol() and kstrtoul() refuse larger ones as no numbers."""
_NUMBERED = re.compile(r"([a-z]+)([0-9]+)", re.ASCII)


_OFFERED = frozenset(
    {"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "NO_BTF_ENTRY", "BAD_ADDR_SUFFIX", "BAD_TP_NAME", "no_event_field", ""}
)
"""Errors where another name is offered all the same; it is not put right without a look
(`probes.corrections.corrections`)."""


def _as_much(token: str, name: str) -> bool:
    """Whether nothing of a token goes: `count>5` is more than `count`, `prev_pid` than `prev`."""
    if "$" in token and re.findall(r"\d+", token) != re.findall(r"\d+", name):
        return False
    return len(_WORD.findall(name)) >= len(_WORD.findall(token))


def _as_wide(token: str, name: str) -> bool:
    """Whether a type's name like the token cuts nothing off the value, and shows it in the same way."""
    wanted, has = _NUMBERED.fullmatch(token), _NUMBERED.fullmatch(name)
    if has is None or wanted is None:
        return has is wanted
    return wanted[1] == has[1] and int(wanted[2]) <= int(has[2])


def _letters(name: str) -> str:
    """Return a name without what is easily mistyped: `F_pos` and `fpos` are `f_pos`."""
    return name.lower().replace("_", "")


def too_large(code: str, token: str) -> str:
    """Return what is said of a number that is none for the kernel only because it is too large; empty: it is not."""
    most = _MOST.get(code)
    number = _A_NUMBER.search(token) if most is not None else None
    if most is None or number is None:
        return ""
    sign, digits = number[1] or "", number[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    text = digits.removeprefix("0x").lstrip("0") or "0"
    if text.strip("01234567" if base == 8 else "0123456789abcdef"):
        return ""
    value = whole_number(text, base)  # none: it has more digits than anybody reads
    most = LONG_MAX + 1 if sign == "-" else most
    told = f"below the least, -{most:#x}" if sign == "-" else f"too large: at most {most:#x}"
    return "" if value is not None and value <= most else f"The number is {told}"


def hint_for(
    code: str, token: str, names: Sequence[str] = (), better: str = "", meant: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Give the hint for an error and up to three of `names` that are like the token, never the token itself.

    Args:
        code: of the error.
        token: the wrong word.
        names: that would do instead.
        better: a hint that goes before the general one.
        meant: what the token surely stands for, however it is spelt; before all names.
    """
    others = {name.lower(): name for name in names if name and name != token}
    close = difflib.get_close_matches(token.lower(), others, _NEAREST, _ALIKE) if token else []
    if code == "BAD_REG_NAME":
        known = _REGISTERS.get(token.lower()) or re.sub("^%[re]", "%", token.lower())
        close = [known] if known in others else []
    elif code == "BAD_TYPE":
        close = [name for name in close if _as_wide(token.lower(), name)]
    elif code not in _OFFERED:
        close = [name for name in close if _as_much(token, name)]
    same = [others[name] for name in close if _letters(name) == _letters(token)]
    nearest = tuple(dict.fromkeys((*same, *meant, *(others[name] for name in close))))[:_NEAREST]
    hint = too_large(code, token) or better or WAYS_OUT.get(code, "")
    if code in _LISTED and not (nearest or better) and others:
        told = [name for name in others.values() if not name.startswith(("__", "common_"))]
        hint = f"{hint}: there are {', '.join(told[:_MOST_LISTED])}{', …' if len(told) > _MOST_LISTED else ''}"
    if nearest:
        hint = f"{hint}; did you mean {nearest[0]}?" if hint else f"Did you mean {nearest[0]}?"
    return hint, nearest
