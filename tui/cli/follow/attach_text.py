"""Why a function can't be probed, and what can be taken instead, for the commands: as text and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kernel.attach.explain import AttachExplainer
from kernel.connection.planner import Connection
from probes.attaching.callers import Callers, all_reasons
from probes.attaching.explain import refused_function, with_reason
from probes.attaching.values import Alternative, Attachability, ReasonKind
from probes.check import as_there
from probes.corrections.corrections import corrected, with_correction
from probes.verdict import Verdict
from tui.cli.console.output import plain

_SHOWN = 12
"""Ways out that are printed; --json has them all."""


def find_callers(attaching: AttachExplainer, name: str) -> Callers:
    """Look for the callers; where a person watches, with the share of the code that was read."""

    def progress(share: float) -> bool:
        if sys.stderr.isatty():
            print(f"\r\x1b[Kreading the kernel's code {share:.0%}", end="", file=sys.stderr, flush=True)
        return True

    found = attaching.callers(name, progress)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return found or Callers(name)


def explained(connection: Connection, verdict: Verdict) -> Verdict:
    """Say of a function that is refused why, and what can be taken instead; looked at as closely as is quick."""
    name = refused_function(verdict)
    if not name:
        return verdict
    attaching = AttachExplainer(connection)
    about = attaching.about(name) if attaching.near else connection.catalog.attachability(name)
    return with_reason(verdict, about, connection.catalog.near(name) if about.has(ReasonKind.UNKNOWN) else ())


def told(connection: Connection, spec: str, verdict: Verdict, check: Callable[[str], Verdict]) -> Verdict:
    """A refusal with all that helps: why, the nearest names, the text put right.

    Args:
        connection: to the target.
        spec: what was refused.
        verdict: on it.
        check: gives the verdict on another text.
    """
    verdict = explained(connection, verdict)
    if verdict.error is None:
        return verdict

    def judged(text: str) -> Verdict:
        return explained(connection, as_there(text, check(text), connection.facts))

    return replace(verdict, error=with_correction(verdict.error, corrected(spec, verdict, judged)))


def as_json(about: Attachability, callers: Callers | None) -> dict[str, Any]:
    """Keys for a JSON object."""
    found: dict[str, Any] = {
        "reasons": [
            {"code": reason.why.name.lower(), "text": reason.text, "remedy": reason.remedy or None}
            for reason in all_reasons(about, callers)
        ],
        "instead": [_way(way) for way in (*about.instead, *(callers.instead if callers else ()))],
    }
    if callers is not None:
        found["callers"] = {
            "searched": callers.searched or None,
            "not_probeable": list(callers.hidden),
            "trouble": callers.trouble or None,
        }
    return found


def _way(way: Alternative) -> dict[str, Any]:
    kinds = sorted(str(kind) for kind in way.kinds)
    return {"place": str(way.place), "how": way.how.name.lower(), "note": way.note or None, "kinds": kinds}


def lines(about: Attachability, callers: Callers | None) -> Iterator[str]:
    """Text, a line at a time; nothing where everything can attach."""
    for reason in all_reasons(about, callers):
        yield plain(f"{reason.why}: {reason.text}")
        if reason.remedy:
            yield plain(f"  way out: {reason.remedy}")
    ways = (*about.instead, *(callers.instead if callers else ()))
    if ways:
        yield "instead:"
    for way in ways[:_SHOWN]:
        kinds = " ".join(sorted(str(kind) for kind in way.kinds))
        yield plain(f"  {way.place!s:<40} {kinds:<6} {way.how:<12} {way.note}".rstrip())
    if len(ways) > _SHOWN:
        yield f"  and {len(ways) - _SHOWN} more (--json has them all)"
    if callers is not None and callers.text:
        yield plain(callers.text)
