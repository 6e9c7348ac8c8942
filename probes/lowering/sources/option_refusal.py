"""Build the refusal of one option of a source; apart, as several modules lower sources."""

from __future__ import annotations

from probes.refusal import CannotLower, own_refusal
from probes.sources.kinds import MONITOR
from probes.sources.source import Source


def option_refusal(
    source: Source, option: str, reason: str, token: str = "", code: str = "", nearest: tuple[str, ...] = ()
) -> CannotLower:
    """Return the error of an option, at its place in the source's text; `token`: its value, or a part of that."""
    value = source.value(option)
    code = code or ("not_sampled" if source.name == MONITOR.name else "bad_option")
    word = f"{option}={value}"
    column = max(str(source).find(word), 0) + (len(option) + 1 if token == value else 0)
    return CannotLower(own_refusal(code, token or word, column, reason, nearest))
