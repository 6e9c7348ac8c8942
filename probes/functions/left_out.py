"""Write notes on how many functions of a pattern are probed, and on those that are left out."""

from __future__ import annotations

from collections.abc import Mapping

from events.names.function_choice import choice_or_any
from foreign.count_text import counted, shortened

_PROBED = (" function is probed", " functions are probed")


def probed_note(pattern: str, number: int) -> str:
    """Return the note with the number of functions that a probe is on."""
    return f"{choice_or_any(pattern).short_text}: {counted(number, 'function is', 'functions are')} probed"


def is_probed_note(note: str) -> bool:
    """Return whether a note is one of `probed_note`."""
    return note.endswith(_PROBED)


def left_out_notes(reasons: Mapping[str, str]) -> list[str]:
    """Return a note for each reason, with the functions that are left out for it; `reasons`: by function."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"{len(names):,} left out, {reason}: {shortened(names)}" for reason, names in by_reason.items()]
