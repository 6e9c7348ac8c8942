"""A refusal of a place of a probe, with the reason why nothing can be probed there and the names to take instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from probes.attaching.values import Attachability, ReasonKind
from probes.refusal import own
from probes.rules.messages.hints import too_large
from probes.verdict import Verdict

_OF_PLACE = frozenset({"BAD_PROBE_ADDR", "FAIL_REG_PROBE", "NON_UNIQ_SYMBOL", "not_traceable", "blacklisted"})
_OF_ARGUMENT = "NO_BTF_ENTRY"
"""What the kernel says of an argument, before it looks for the function: it may be that there is none."""
_NEAREST = 3


def refused_function(verdict: Verdict) -> str:
    """The function that is refused as a place; empty where the verdict is about something else."""
    words = verdict.command.split()
    code = "" if verdict.error is None else verdict.error.code
    if verdict.error is None or code not in (*_OF_PLACE, _OF_ARGUMENT) or len(words) < 2 or words[0][0] not in "fpr":
        return ""
    name = re.split(r"[%+]", words[1])[0].rpartition(":")[2]
    if "/" in words[1] or (words[0][0] == "f" and ":" in words[1]):
        return ""  # a path, and what an fprobe takes for a name, are nobody's
    if too_large(code, name):
        return ""  # an address
    return name if name and (code == _OF_ARGUMENT or name in verdict.error.token) else ""


def with_reason(verdict: Verdict, about: Attachability, near: Sequence[str]) -> Verdict:
    """Put the reasons in the place of the general hint.

    Args:
        verdict: that `refused_function` has a name for.
        about: that function.
        near: names like its own, for one that nobody knows.
    """
    error = verdict.error
    if error is None or not about.reasons:
        return verdict
    unknown = about.has(ReasonKind.UNKNOWN)
    if error.code == _OF_ARGUMENT:
        if not unknown:
            return verdict
        error = replace(error, token=about.name)
    if error.code == "not_traceable" and unknown:
        error = own("unknown_function", error.token, error.column)
    names = [str(way.place) for way in about.instead] or (near if unknown else [])
    remedies = (reason.remedy for reason in about.reasons)
    hint = "; ".join(filter(None, (about.text, *remedies)))
    better = replace(error, hint=hint[:1].upper() + hint[1:], nearest=tuple(names[:_NEAREST]) or error.nearest)
    return replace(verdict, error=better)
