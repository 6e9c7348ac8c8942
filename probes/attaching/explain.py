"""Explain the refusal of a probe's place, with the reason why nothing can attach there and alternative names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from events.names.function_choice import is_choice
from probes.attaching.values import Attachability, ReasonKind
from probes.refusal import own_refusal
from probes.rules.messages.hints import too_large
from probes.verdict import Verdict

_PLACE_ERRORS = frozenset({"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "NON_UNIQ_SYMBOL", "not_traceable", "blacklisted"})
_ARGUMENT_ERROR = "NO_BTF_ENTRY"
"""Error that the kernel reports for an argument before it looks for the function, which may not exist."""
_NEAREST = 3


def refused_function(verdict: Verdict) -> str:
    """Return the function refused as a place; empty where the verdict is about something else."""
    words = verdict.command.split()
    code = "" if verdict.error is None else verdict.error.code
    if (
        verdict.error is None
        or code not in (*_PLACE_ERRORS, _ARGUMENT_ERROR)
        or len(words) < 2
        or words[0][0] not in "fpr"
    ):
        return ""
    name = re.split(r"[%+]", words[1])[0].rpartition(":")[2]
    if "/" in words[1] or (words[0][0] == "f" and ":" in words[1]):
        return ""  # neither a path nor a name with a colon for an fprobe is a function
    if too_large(code, name):
        return ""  # an address
    if code in (_ARGUMENT_ERROR, "BAD_PROBE_ADDR") and is_choice(name):
        return ""  # a pattern is no function whose name may be wrong
    return name if name and (code == _ARGUMENT_ERROR or name in verdict.error.token) else ""


def explain_refusal(verdict: Verdict, about: Attachability, near: Sequence[str]) -> Verdict:
    """Return the verdict with the reasons in place of the general hint.

    Args:
        verdict: a verdict for which `refused_function` returns a name.
        about: that function's attachability.
        near: similar names, for an unknown function.
    """
    error = verdict.error
    if error is None or not about.reasons:
        return verdict
    unknown = about.has(ReasonKind.UNKNOWN)
    if error.code == _ARGUMENT_ERROR:
        if not unknown:
            return verdict
        error = replace(error, token=about.name)
    if error.code == "not_traceable" and unknown:
        error = own_refusal("unknown_function", error.token, error.column)
    names = [str(alternative.place) for alternative in about.alternatives] or (near if unknown else [])
    remedies = (reason.remedy for reason in about.reasons)
    hint = "; ".join(filter(None, (about.text, *remedies)))
    explained = replace(error, hint=hint[:1].upper() + hint[1:], nearest=tuple(names[:_NEAREST]) or error.nearest)
    return replace(verdict, error=explained)
