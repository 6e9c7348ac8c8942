"""Find the operand of a typecast in its text (kernel/trace/trace_probe.c, from 7.3)."""

from __future__ import annotations

import re

from probes.syntax.refused import Refused

PER_CPU = ("this_cpu_ptr(", "this_cpu_read(")


def operand_of(text: str, at: int) -> tuple[str, int]:
    """Return a cast's operand, which begins at column `at`, and its end in the text. Raises Refused."""
    if text.startswith(("(", "+", "-", *PER_CPU)):
        opening = text.find("(")
        closing = _closing(text, opening)
        if closing is None:
            raise Refused(
                "DEREF_OPEN_BRACE" if opening >= 0 else "DEREF_NEED_BRACE",
                at + len(text) if opening > 0 else at,
                text,
            )
        return (text[1:closing] if opening == 0 else text[: closing + 1]), closing + 1
    end = text.find("-")
    end = end if end >= 0 and text.startswith("->", end) else len(text)
    if text.startswith("@") and re.search(r"[+-]", text[:end]):
        raise Refused("TYPECAST_SYM_OFFSET", at, text)
    return text[:end], end


def _closing(text: str, opening: int) -> int | None:
    """Return the index at which the parenthesis at `opening` is closed; None: it isn't."""
    depth = 0
    for at in range(max(opening, 0), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at if opening >= 0 else None
    return None
