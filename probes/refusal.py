"""Refusals of our own: what is missing on a target, in one place."""

from __future__ import annotations

from probes.verdict import Refusal

_MESSAGES = {
    "missing_capability": "This kernel can't do that",
    "not_traceable": "This function can't be traced on this kernel",
    "unknown_function": "This kernel has no such function",
    "blacklisted": "This function is on the kernel's kprobe blacklist",
    "unknown_filter_field": "The filter names a field that is not recorded",
    "filter_spans_events": "The filter names fields that no single event records",
    "too_many_functions": "The pattern fits too many functions",
    "unreadable_program": "The symbols of this file can't be read",
    "no_symbols": "The symbols of this file are not known",
    "no_such_symbol": "The file has no such symbol",
    "ambiguous_symbol": "The symbol is not unique",
    "indirect_symbol": "The symbol is no function itself",
    "imported_symbol": "The function is not in this file",
    "no_function": "The symbol is no function",
    "outside_function": "No instruction of the function begins there",
    "not_code": "The symbol is no code of this file",
}


class CannotLower(Exception):
    """A probe that this target can't do.

    Attributes:
        refusal: why; its column is in `str(probe)`.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.hint or refusal.message)
        self.refusal = refusal


def own(
    code: str, token: str = "", column: int | None = None, hint: str = "", nearest: tuple[str, ...] = ()
) -> Refusal:
    """Build a refusal with a code of our own."""
    return Refusal(code, _MESSAGES[code], column, token, hint, nearest)
