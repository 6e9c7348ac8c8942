"""Decisions of the compose place about the text of a probe; no screen."""

from __future__ import annotations

from kernel.connection import Connection
from probes.parse import ParseError, parse_probe
from probes.probe import Probe, When
from probes.verdict import Refusal, Verdict
from widgets.spec_text import Specification


def specification_of(connection: Connection, probe: Probe, by_kernel: Verdict | None = None) -> Specification:
    """What the specification pane shows of a probe: its text, the verdict, the lines, and what is worth knowing.

    Args:
        connection: the kernel that is asked.
        probe: what was picked.
        by_kernel: what the kernel itself said when this very probe was armed; it goes before what we compute.
    """
    verdict, plan = connection.check(probe)
    lowered = tuple(event.line for event in plan.events) if plan else ()
    notes = plan.losses if plan else ()
    if by_kernel is not None:
        # The kernel judged a line that was lowered: its caret belongs under that line.
        return Specification((by_kernel.command,), by_kernel, lowered, notes, probe.filter)
    if probe.when is When.EXIT and any("->" in str(arg) for arg in probe.fetchargs):
        notes += ("fields are read after the call; b reads them at both ends",)
    text = str(probe)
    if probe.filter:
        text = text.removesuffix(f" if {probe.filter}")
    return Specification((text,), verdict, lowered, notes, probe.filter)


def fixed(probe: Probe, refusal: Refusal, name: str) -> Probe | None:
    """The probe with the wrong token replaced by a name; None where that gives no probe."""
    text = str(probe)
    at = refusal.column if refusal.column is not None else text.find(refusal.token)
    if at < 0 or not refusal.token or not text.startswith(refusal.token, at):
        at = text.find(refusal.token)
    if at < 0 or not refusal.token:
        return None
    try:
        return parse_probe(text[:at] + name + text[at + len(refusal.token) :])
    except ParseError:
        return None
