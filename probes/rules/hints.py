"""The kernel's errors in plain words, with the way out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from probes.rules.ways_out import WAYS_OUT

_NEAREST = 3


def hint_for(code: str, token: str, names: Sequence[str] = (), better: str = "") -> tuple[str, tuple[str, ...]]:
    """Give the hint for an error and up to three of `names` that are like the token, never the token itself.

    Args:
        code: of the error.
        token: the wrong word.
        names: that would do instead.
        better: a hint that goes before the general one.
    """
    others = [name for name in dict.fromkeys(names) if name and name != token]
    nearest = difflib.get_close_matches(token, others, _NEAREST, 0.5) if token else []
    hint = better or WAYS_OUT.get(code, "")
    if nearest:
        hint = f"{hint}; did you mean {nearest[0]}?" if hint else f"Did you mean {nearest[0]}?"
    return hint, tuple(nearest)
