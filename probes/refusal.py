"""Build probewright's own refusals: messages for what a target lacks, all in one module."""

from __future__ import annotations

from probes.facts.facts import TargetFacts
from probes.verdict import Refusal

_MESSAGES = {
    "missing_capability": "This kernel can't do that",
    "unseen": "What this kernel can do cannot be seen",
    "not_traceable": "This function can't be traced on this kernel",
    "unknown_function": "This kernel has no such function",
    "blacklisted": "This function is on the kernel's kprobe blacklist",
    "unknown_filter_field": "The filter names a field that is not recorded",
    "filter_spans_events": "The filter names fields that no single event records",
    "no_function_filter": "The filters of this kernel compare no functions",
    "no_choice": "This stands for no functions",
    "not_of_pattern": "The pattern has no function of this name",
    "no_object": "This finds no object to track",
    "no_tracking": "Events of tracefs track no objects",
    "object_by_itself": "A compiled object is loaded as it is",
    "no_program": "No BPF program does this",
    "not_attached": "This kernel attaches no BPF program here",
    "number_too_wide": "The kernel would cut this number to the width of the field",
    "damaged_types": "The kernel's types are damaged where this probe needs them",
    "array_compared": "The kernel compares no arrays: it takes other bytes, or none",
    "cpu_mask": "The kernel tests no bits of this field: nothing would be chosen",
    "pattern_misread": "The kernel reads this pattern otherwise",
    "ambiguous_function": "The kernel would compare only one of several functions of this name",
    "too_many_functions": "The pattern fits too many functions",
    "unreadable_program": "The symbols of this file can't be read",
    "no_symbols": "The symbols of this file are not known",
    "no_such_symbol": "The file has no such symbol",
    "ambiguous_symbol": "The symbol is not unique",
    "indirect_symbol": "The symbol is no function itself",
    "imported_symbol": "The function is not in this file",
    "no_function": "The symbol is no function",
    "outside_function": "No instruction of the function begins there",
    "bad_option": "The kernel takes no such setting",
    "missing_value": "A value is missing here",
    "not_sampled": "This can't be sampled",
    "no_variable": "This kernel has no such variable",
    "no_code": "The code of the function is needed, and can't be read",
    "no_way_out": "The code of the function has no such way out",
    "not_code": "The symbol is no code of this file",
}
_CODES_FROM_TRACEFS = frozenset({"missing_capability", "not_traceable", "NO_MATCHING_TYPE"})
"""Codes of refusals that rest on tracefs' README and its lists of functions."""


class CannotLower(Exception):
    """A probe that this target can't run.

    Attributes:
        refusal: the reason; its column is in `str(probe)`.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.hint or refusal.message)
        self.refusal = refusal


def refuse_if_unseen(refusal: Refusal, facts: TargetFacts) -> Refusal:
    """Return the refusal; where tracefs could not be read, return a refusal that says so instead."""
    if refusal.code not in _CODES_FROM_TRACEFS or (unreadable := facts.unreadable) is None:
        return refusal
    hint = f"{unreadable.what}; {unreadable.remedy}" if unreadable.remedy else unreadable.what
    return own_refusal("unseen", refusal.token, refusal.column, hint[:1].upper() + hint[1:])


def own_refusal(
    code: str, token: str = "", column: int | None = None, hint: str = "", nearest: tuple[str, ...] = ()
) -> Refusal:
    """Build a refusal with one of probewright's own codes."""
    return Refusal(code, _MESSAGES[code], column, token, hint, nearest)
