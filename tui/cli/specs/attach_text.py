"""Print why a function can't be probed, and alternatives, as text or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kernel.attach.explain import AttachExplainer
from kernel.connection.kernel_info import KernelInfo
from probes.attaching.callers import Callers, all_reasons
from probes.attaching.explain import explain_refusal, refused_function
from probes.attaching.values import Alternative, Attachability, ReasonKind
from probes.check import refuse_unknown_tracepoint
from probes.command import CommandText
from probes.corrections.corrections import corrected, with_correction
from probes.verdict import Verdict
from tui.cli.console.output import plain

_SHOWN = 12
"""Alternatives that are printed; --json has them all."""


def find_callers(attaching: AttachExplainer, name: str) -> Callers:
    """Search for callers of a function; on a terminal, show the share of the code that was read."""

    def progress(share: float) -> bool:
        if sys.stderr.isatty():
            print(f"\r\x1b[Kreading the kernel's code {share:.0%}", end="", file=sys.stderr, flush=True)
        return True

    found = attaching.callers(name, progress)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return found or Callers(name)


def with_attach_reason(info: KernelInfo, verdict: Verdict) -> Verdict:
    """Add to a rejected function's verdict the reason and alternatives, as far as they are found quickly."""
    name = refused_function(verdict)
    if not name:
        return verdict
    attaching = AttachExplainer(info)
    about = attaching.attachability(name) if attaching.near else info.catalog.attachability(name)
    return explain_refusal(verdict, about, info.catalog.near(name) if about.has(ReasonKind.UNKNOWN) else ())


def with_corrections(info: KernelInfo, spec: str, verdict: Verdict, check: Callable[[str], Verdict]) -> Verdict:
    """Add to a rejection the reason, the nearest names and a corrected text.

    Args:
        info: kernel info of the target.
        spec: rejected text.
        verdict: verdict on that text.
        check: returns the verdict on another text.
    """
    verdict = with_attach_reason(info, verdict)
    if verdict.error is None:
        return verdict

    def judged(text: str) -> Verdict:
        return with_attach_reason(info, refuse_unknown_tracepoint(CommandText.parse(text), check(text), info.facts))

    return replace(verdict, error=with_correction(verdict.error, corrected(spec, verdict, judged)))


def as_json(about: Attachability, callers: Callers | None) -> dict[str, Any]:
    """Return the reasons, alternatives and callers as keys of a JSON object."""
    found: dict[str, Any] = {
        "reasons": [
            {"code": reason.kind.name.lower(), "text": reason.text, "remedy": reason.remedy or None}
            for reason in all_reasons(about, callers)
        ],
        "instead": [_way(way) for way in (*about.alternatives, *(callers.alternatives if callers else ()))],
    }
    if callers is not None:
        found["callers"] = {
            "searched": callers.searched or None,
            "not_probeable": list(callers.hidden),
            "trouble": callers.error or None,
        }
    return found


def _way(way: Alternative) -> dict[str, Any]:
    kinds = sorted(str(kind) for kind in way.kinds)
    return {"place": str(way.place), "how": way.relation.name.lower(), "note": way.note or None, "kinds": kinds}


def lines(about: Attachability, callers: Callers | None) -> Iterator[str]:
    """Yield the reasons and alternatives as lines of text; none where every probe can attach."""
    for reason in all_reasons(about, callers):
        yield plain(f"{reason.kind}: {reason.text}")
        if reason.remedy:
            yield plain(f"  way out: {reason.remedy}")
    ways = (*about.alternatives, *(callers.alternatives if callers else ()))
    if ways:
        yield "instead:"
    for way in ways[:_SHOWN]:
        kinds = " ".join(sorted(str(kind) for kind in way.kinds))
        yield plain(f"  {way.place!s:<40} {kinds:<6} {way.relation:<12} {way.note}".rstrip())
    if len(ways) > _SHOWN:
        yield f"  and {len(ways) - _SHOWN} more (--json has them all)"
    if callers is not None and callers.text:
        yield plain(callers.text)
