"""Changes the kernel in workers of the application: values in, a message out; no widget is touched."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from events.search.condition_parser import joined
from kernel.cleanup.undo import words_of
from kernel.connection.text_note import text_note
from kernel.errors import KernelError, ProbeRefused, TooFast
from kernel.session.arm_steps import Mode
from kernel.session.rearm import ArmedState
from kernel.session.session import Armed
from kernel.watch.watch import Watch
from probes.command import Armable, UserProbe
from probes.hist.unfiltered import trigger_note
from probes.plans.cost_estimate import percent
from probes.plans.plan import Plan, PlannedEvent, titles_of
from probes.probe import Probe
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.live.losses_model import MOST_ACTIVE, maxactive_of, with_maxactive
from tui.messages import Disarmed, ProbeArmed, ProbeRejected, ProbeTooFast, RecordingChanged, Remedied


def arm(
    watching: Watch,
    probe: Armable,
    *,
    at_any_rate: bool = False,
    count_only: bool = False,
    triggers: Sequence[str] = (),
) -> ProbeArmed | ProbeRejected | ProbeTooFast:
    """Arm a probe, with triggers for its events; waits for the kernel."""
    there = armed_but_for_its_filter(watching, probe)
    try:
        if there is not None and isinstance(probe, Probe | UserProbe):
            watching.change_filter(there, probe.filter)
            return ProbeArmed(probe, ("it was armed already: only its filter is another one now",))
        armed = watching.arm(
            probe,
            at_any_rate=at_any_rate or count_only,
            mode=Mode.COUNT if count_only else Mode.RECORD,
            triggers=triggers,
        )
    except TooFast as error:
        found, plan = error.measured, error.plan
        return ProbeTooFast(probe, found.text(plan), percent(found.cost(plan, counting=True)))
    except CannotLower as error:
        return ProbeRejected(probe, Verdict(str(probe), error.refusal), str(error))
    except ProbeRefused as error:
        return ProbeRejected(probe, error.verdict, str(error), error.remedy)
    except KernelError as error:
        return ProbeRejected(probe, None, str(error), error.remedy)
    rate = armed.measured.text(armed.plan) if armed.measured is not None and armed.measured.hits else ""
    losses = (*armed.plan.losses, *text_note(watching.connection.target, armed))
    if watching.connection.holds_events:
        losses = (*losses, f"nothing is armed: this is a recording, which holds {armed.plan.probe}")
    return ProbeArmed(probe, losses, rate, there=armed.plan.probe)


def armed_but_for_its_filter(watching: Watch, probe: Armable) -> Armed | None:
    """Return the armed probe that differs from a probe in its filter alone; None: there is none."""
    if not isinstance(probe, Probe | UserProbe):
        return None
    plain = replace(probe, filter="")
    for armed in watching.armed:
        other = armed.plan.probe
        if isinstance(other, Probe | UserProbe) and other != probe and replace(other, filter="") == plain:
            return armed
    return None


def disarm(watching: Watch, probes: Sequence[Armed]) -> Disarmed:
    """Take probes away; waits for the kernel."""
    failures: list[str] = []
    gone: list[tuple[Plan, ArmedState]] = []
    for armed in probes:
        try:
            was = watching.told_to(armed)
            failures += words_of(watching.disarm(armed))
            gone.append((armed.plan, was))
        except KernelError as error:
            failures.append(str(error))
    return Disarmed(tuple(failures), tuple(gone), watching)


def arm_back(watching: Watch, gone: Sequence[tuple[Plan, ArmedState]]) -> Remedied:
    """Arm probes again that were disarmed, with what they were told; waits for the kernel."""
    refused: list[str] = []
    for plan, was in gone:
        try:
            again = watching.arm_back(plan, was)
            refused += [f"{text}: {error}" for text, error in again.refused]
        except KernelError as error:
            refused.append(f"{plan.probe.subject}: {error}")
    names = ", ".join(titles_of([plan for plan, _ in gone], beside=[one.plan for one in watching.armed]))
    return Remedied("; ".join(refused) or f"armed again: {names}", failed=bool(refused))


def record(watching: Watch, path: Path) -> RecordingChanged:
    """Write events to a recording from now on."""
    try:
        watching.record_to(path)
    except (OSError, KernelError) as error:
        return RecordingChanged(f"not recorded: {error}", failed=True)
    return RecordingChanged(f"recording to {path}")


def stop_recording(watching: Watch) -> RecordingChanged:
    """Finish the recording; asks the kernel for the last names and counts."""
    try:
        path = watching.stop_recording()
    except OSError as error:
        return RecordingChanged(f"the recording has no end: {error.strerror}", failed=True)
    return RecordingChanged(f"written: {path.resolve()}" if path else "nothing was recorded")


def buffer_of(watching: Watch) -> int:
    """KB of the ring buffer of each CPU; 0: there is none, or it can't be known."""
    with contextlib.suppress(KernelError):
        return watching.session.buffer_kb if watching.session is not None else 0
    return 0


def resize(watching: Watch, kb: int) -> Remedied:
    """Make the ring buffer of each CPU so large; waits for the kernel."""
    session = watching.session
    if session is None:
        return Remedied("nothing is armed", failed=True)
    try:
        before = session.buffer_kb
        watching.resize(kb)
        text = f"the buffer of each CPU has {session.buffer_kb} KB now"
        return Remedied(text, back=lambda watching: resize(watching, before))
    except KernelError as error:
        return Remedied(f"the buffer stays as it is: {error}", failed=True)


def switch(watching: Watch, armed: Armed, mode: Mode) -> Remedied:
    """Let a probe record, or only count; waits for the kernel."""
    name = armed.plan.probe.subject
    before = watching.session.mode(armed) if watching.session is not None else mode
    try:
        failures = watching.switch(armed, mode)
    except KernelError as error:
        return Remedied(f"{name}: {error}", failed=True)
    if failures:
        return Remedied(f"{name}: {failures[0].error}", failed=True)
    text = f"{name} {'is only counted' if mode is Mode.COUNT else 'is recorded'} from now on"
    return Remedied(text, back=lambda watching: switch(watching, _as_it_is(watching, armed), before))


def _as_it_is(watching: Watch, armed: Armed) -> Armed:
    """Return the same probe as it is armed now: with another filter or another plan it is another value."""
    return next((one for one in watching.armed if one.key == armed.key), armed)


def change_filter(watching: Watch, armed: Armed, text: str) -> Remedied:
    """Record of a probe only what passes a filter; waits for the kernel."""
    probe = armed.plan.probe
    name, before = probe.subject, probe.filter if isinstance(probe, Probe | UserProbe) else ""
    try:
        watching.change_filter(armed, text)
    except (KernelError, CannotLower) as error:
        return Remedied(f"{name}: {error}", failed=True)
    return Remedied(
        f"{name} records only {text} from now on" if text else f"{name} records everything from now on",
        back=lambda watching: change_filter(watching, _as_it_is(watching, armed), before),
    )


def add_to_filter(watching: Watch, armed: Armed, clause: str) -> Remedied:
    """Record of a probe only what passes its filter and another condition; waits for the kernel."""
    there = armed.plan.probe.filter if isinstance(armed.plan.probe, Probe | UserProbe) else ""
    return change_filter(watching, armed, joined(there, clause))


def more_active(watching: Watch, armed: Armed, number: int) -> Remedied:
    """Set the maxactive of a probe's kretprobes; waits for the kernel."""
    name, before = armed.plan.probe.subject, maxactive_of(armed.plan)
    try:
        watching.rearm(armed, with_maxactive(armed.plan, number))
    except KernelError as error:
        return Remedied(f"{name}: {error}", failed=True)
    return Remedied(
        f"{name} follows {min(number, MOST_ACTIVE)} calls at once from now on",
        back=lambda watching: more_active(watching, _as_it_is(watching, armed), before or number),
    )


def add_trigger(watching: Watch, armed: Armed, event: PlannedEvent, text: str) -> Remedied:
    """Give an event of a probe a trigger; waits for the kernel."""
    try:
        watching.add_trigger(armed, event, text)
    except KernelError as error:
        return Remedied(f"{text}: {error}", failed=True)
    note = trigger_note(text, event.filter)
    return Remedied(f"{event.event} has the trigger {text}{f'; {note}' if note else ''}")


def remove_trigger(watching: Watch, armed: Armed, event: PlannedEvent, text: str) -> Remedied:
    """Take a trigger away; waits for the kernel."""
    if watching.session is None:
        return Remedied("nothing is armed", failed=True)
    try:
        watching.session.remove_trigger(armed, event, text)
    except KernelError as error:
        return Remedied(f"{text}: {error}", failed=True)
    return Remedied(
        f"{event.event} has the trigger {text} no more",
        back=lambda watching: add_trigger(watching, _as_it_is(watching, armed), event, text),
    )
