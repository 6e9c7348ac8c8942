"""Kernel operations for workers of the application: each takes values and returns a message, and touches no
widget.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from events.conditions.condition_parser import and_condition
from kernel.cleanup.undo import failure_lines
from kernel.connection.text_note import text_note
from kernel.errors import KernelError, ProbeRefused
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import TooFast
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.rearm import ArmedState
from kernel.watch.watch import Watch
from probes.command import Armable, UserProbe, short_subject
from probes.hist.unfiltered import trigger_note
from probes.plans.cost_estimate import percent
from probes.plans.plan import Plan, PlannedEvent, titles_of
from probes.probe import Probe
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.messages import Disarmed, ProbeArmed, ProbeRejected, ProbeTooFast, RecordingChanged, Remedied
from tui.present.losses_model import MOST_ACTIVE, maxactive_of, with_maxactive


def arm(
    watch: Watch,
    probe: Armable,
    *,
    at_any_rate: bool = False,
    rate_shown: bool = False,
    count_only: bool = False,
    triggers: Sequence[str] = (),
    progress: ArmProgress | None = None,
) -> ProbeArmed | ProbeRejected | ProbeTooFast:
    """Arm a probe, with triggers for its events; waits for the kernel. `progress`: gets each step, may stop it."""
    armed_before = armed_with_other_filter(watch, probe)
    try:
        if armed_before is not None and isinstance(probe, Probe | UserProbe):
            watch.armed.change_filter(armed_before, probe.filter)
            return ProbeArmed(probe, ("it was armed already: only its filter is another one now",))
        armed = watch.armed.arm(
            probe,
            at_any_rate=at_any_rate or count_only,
            rate_shown=rate_shown,
            mode=Mode.COUNT if count_only else Mode.RECORD,
            triggers=triggers,
            progress=progress,
        )
    except TooFast as error:
        found, plan = error.measured, error.plan
        most = found.most_frequent() if found.by_function else ""
        counting = percent(found.cost(plan, counting=True))
        return ProbeTooFast(probe, found.text(plan), counting, error.quieter, most, error.exceeded)
    except CannotLower as error:
        return ProbeRejected(probe, Verdict(str(probe), error.refusal), str(error))
    except ProbeRefused as error:
        return ProbeRejected(probe, error.verdict, str(error), error.remedy)
    except KernelError as error:
        return ProbeRejected(probe, None, str(error), error.remedy)
    rate = armed.measured.text(armed.plan) if armed.measured is not None and armed.measured.hits else ""
    losses = (*armed.plan.losses, *text_note(watch.info.target, armed))
    if watch.info.holds_events:
        losses = (*losses, f"nothing is armed: this is a recording, which holds {armed.plan.probe}")
    return ProbeArmed(probe, losses, rate, there=armed.plan.probe)


def armed_with_other_filter(watch: Watch, probe: Armable) -> Armed | None:
    """Return an armed probe that differs from a probe only in its filter; None: there is none."""
    if not isinstance(probe, Probe | UserProbe):
        return None
    plain = replace(probe, filter="")
    for armed in watch.armed.probes:
        other = armed.plan.probe
        if isinstance(other, Probe | UserProbe) and other != probe and replace(other, filter="") == plain:
            return armed
    return None


def disarm(watch: Watch, probes: Sequence[Armed]) -> Disarmed:
    """Disarm probes; waits for the kernel."""
    failures: list[str] = []
    disarmed: list[tuple[Plan, ArmedState]] = []
    for armed in probes:
        try:
            state = watch.armed.armed_state(armed)
            failures += failure_lines(watch.armed.disarm(armed))
            disarmed.append((armed.plan, state))
        except KernelError as error:
            failures.append(str(error))
    return Disarmed(tuple(failures), tuple(disarmed), watch)


def arm_back(watch: Watch, gone: Sequence[tuple[Plan, ArmedState]]) -> Remedied:
    """Arm disarmed probes again, with their former state; waits for the kernel."""
    refused: list[str] = []
    for plan, state in gone:
        try:
            again = watch.armed.arm_back(plan, state)
            refused += [f"{text}: {error}" for text, error in again.rejected_triggers]
        except KernelError as error:
            refused.append(f"{short_subject(plan.probe)}: {error.with_remedy}")
    if (failed := watch.histograms.take_failure()) is not None:
        refused.append(f"not counted in the kernel: {failed.with_remedy}")
    names = ", ".join(titles_of([plan for plan, _ in gone], beside=[one.plan for one in watch.armed.probes]))
    return Remedied("; ".join(refused) or f"armed again: {names}", failed=bool(refused))


def record(watch: Watch, path: Path) -> RecordingChanged:
    """Write events to a recording from now on."""
    try:
        watch.record_to(path)
    except (OSError, KernelError) as error:
        return RecordingChanged(f"not recorded: {error}", failed=True)
    return RecordingChanged(f"recording to {path}")


def stop_recording(watch: Watch) -> RecordingChanged:
    """End the recording; reads the last names and counts from the kernel."""
    try:
        path = watch.stop_recording()
    except OSError as error:
        return RecordingChanged(f"the recording has no end: {error.strerror}", failed=True)
    return RecordingChanged(f"written: {path.resolve()}" if path else "nothing was recorded")


def buffer_of(watch: Watch) -> int:
    """Return the KB of each CPU's ring buffer; 0: there is none, or its size can't be read."""
    with contextlib.suppress(KernelError):
        return watch.session.buffer_kb if watch.session is not None else 0
    return 0


def resize(watch: Watch, kb: int) -> Remedied:
    """Resize the ring buffer of each CPU; waits for the kernel."""
    session = watch.session
    if session is None:
        return Remedied("nothing is armed", failed=True)
    try:
        before = session.buffer_kb
        watch.queue.resize(kb)
        text = f"the buffer of each CPU has {session.buffer_kb} KB now"
        return Remedied(text, undo=lambda watch: resize(watch, before))
    except KernelError as error:
        return Remedied(f"the buffer stays as it is: {error.with_remedy}", failed=True)


def switch(watch: Watch, armed: Armed, mode: Mode) -> Remedied:
    """Let a probe record, or only count; waits for the kernel."""
    name = short_subject(armed.plan.probe)
    before = watch.session.probes.mode(armed) if watch.session is not None else mode
    counted = before is not mode and watch.histograms.is_counted(armed)
    own = watch.histograms.own_mode(armed, before) if counted else before
    try:
        failures = watch.armed.switch(armed, mode)
    except KernelError as error:
        return Remedied(f"{name}: {error.with_remedy}", failed=True)
    if failures:
        return Remedied(f"{name}: {failures[0].error}", failed=True)
    text = f"{name} {'is only counted' if mode is Mode.COUNT else 'is recorded'} from now on"
    return Remedied(text, undo=lambda watch: _switch_back(watch, _current(watch, armed), own, counted=counted))


def _switch_back(watch: Watch, armed: Armed, mode: Mode, *, counted: bool) -> Remedied:
    """Let a probe do what it did, and count it again where its values were counted in the kernel."""
    done = switch(watch, armed, mode)
    if done.failed or not counted:
        return done
    name = short_subject(armed.plan.probe)
    try:
        watch.histograms.include(armed)
    except KernelError as error:
        return Remedied(f"{name}: {error.with_remedy}", failed=True)
    return Remedied(f"{name} is counted in the kernel again")


def _current(watch: Watch, armed: Armed) -> Armed:
    """Return a probe in its current form: with another filter or plan it is another value."""
    return next((one for one in watch.armed.probes if one.key == armed.key), armed)


def change_filter(watch: Watch, armed: Armed, text: str) -> Remedied:
    """Record only events of a probe that pass a filter; waits for the kernel."""
    probe = armed.plan.probe
    name, before = short_subject(probe), probe.filter if isinstance(probe, Probe | UserProbe) else ""
    try:
        watch.armed.change_filter(armed, text)
    except KernelError as error:
        return Remedied(f"{name}: {error.with_remedy}", failed=True)
    except CannotLower as error:
        return Remedied(f"{name}: {error}", failed=True)
    return Remedied(
        f"{name} records only {text} from now on" if text else f"{name} records everything from now on",
        undo=lambda watch: change_filter(watch, _current(watch, armed), before),
    )


def add_to_filter(watch: Watch, armed: Armed, clause: str) -> Remedied:
    """Record only events of a probe that pass its filter and another condition; waits for the kernel."""
    there = armed.plan.probe.filter if isinstance(armed.plan.probe, Probe | UserProbe) else ""
    return change_filter(watch, armed, and_condition(there, clause))


def raise_maxactive(watch: Watch, armed: Armed, number: int) -> Remedied:
    """Let the kretprobes of a probe follow `number` calls at once; waits for the kernel."""
    name, before = short_subject(armed.plan.probe), maxactive_of(armed.plan)
    try:
        watch.armed.rearm(armed, with_maxactive(armed.plan, number))
    except KernelError as error:
        return Remedied(f"{name}: {error.with_remedy}", failed=True)
    return Remedied(
        f"{name} follows {min(number, MOST_ACTIVE)} calls at once from now on",
        undo=lambda watch: raise_maxactive(watch, _current(watch, armed), before or number),
    )


def add_trigger(watch: Watch, armed: Armed, event: PlannedEvent, text: str) -> Remedied:
    """Give an event of a probe a trigger; waits for the kernel."""
    try:
        watch.armed.add_trigger(armed, event, text)
    except KernelError as error:
        return Remedied(f"{text}: {error.with_remedy}", failed=True)
    note = trigger_note(text, event.filter)
    return Remedied(f"{event.event} has the trigger {text}{f'; {note}' if note else ''}")


def remove_trigger(watch: Watch, armed: Armed, event: PlannedEvent, text: str) -> Remedied:
    """Remove a trigger; waits for the kernel."""
    if watch.session is None:
        return Remedied("nothing is armed", failed=True)
    try:
        watch.session.probes.remove_trigger(armed, event, text)
    except KernelError as error:
        return Remedied(f"{text}: {error.with_remedy}", failed=True)
    return Remedied(
        f"{event.event} has the trigger {text} no more",
        undo=lambda watch: add_trigger(watch, _current(watch, armed), event, text),
    )
