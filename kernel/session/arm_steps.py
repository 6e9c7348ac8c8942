"""Perform the steps that put one probe's events into the kernel, each with its undo; switch their mode."""

from __future__ import annotations

import contextlib
import errno
import itertools

from events.format import EventFormat, FormatError, parse_format
from kernel.agent.journal import needs_journal
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, ProbeRefused
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.trampoline_guard import note_start, refuse_second_start
from kernel.session.filter_steps import FilterSteps, count_hits
from kernel.session.probe_steps import Mode, ProbeSteps
from kernel.session.rejection import read_log, rejection_error
from kernel.target import Step, Target
from kernel.tracefs import Instance, Tracefs
from kernel.tracers.tracer_steps import TracerSteps
from probes.hist.stack_triggers import REMOVAL, records_stacks, within_filter
from probes.hist.trigger import changes_existing_histogram
from probes.plans.plan import Plan, PlannedEvent
from probes.user_events.kernel_reading import PREFIX
from probes.verdict import Refusal, Verdict

_STACK_EVENTS = ("ftrace/kernel_stack", "ftrace/user_stack")
"""Events that triggers such as `stacktrace` write to the buffer beside their own event."""
_TRACER_NOTES = ("ftrace/print",)
"""Events with which a tracer says that it stopped."""


class ArmSteps:
    """Creator of events on one target; switches them in one instance."""

    def __init__(
        self, target: Target, tracefs: Tracefs, instance: Instance, long_size: int, tracers: TracerSteps
    ) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._long_size = long_size
        self._tracers = tracers
        self._group = GROUP_PREFIX + instance.path.rpartition(INSTANCE_PREFIX)[2]
        self._numbers = itertools.count()
        self.filters = FilterSteps(target, instance)
        """Filters of the events."""

    def holding(self, plan: Plan) -> ProbeSteps:
        """Return the steps of a new probe, all still empty."""
        name = f"{self._group}__{next(self._numbers)}"
        enabled = self._tracers.undo_list() if plan.tracer is not None else UndoList(self._target)
        return ProbeSteps(UndoList(self._target), UndoList(self._target), enabled, name)

    def define(self, plan: Plan, undo: UndoList, progress: ArmProgress | None = None) -> None:
        """Create the events, with all their probes. Raises ProbeRefused, TargetLost.

        `progress`: gets the number of lines, and may stop between two of them, by its error.
        """
        progress, written, lines = progress or ArmProgress(), 0, len(plan.lines)
        for event in plan.events:
            line = event.line
            if not line:
                continue  # an event that the kernel already has
            if event.is_of_programs:
                self._register(line, undo)
                continue
            try:
                progress.begin(f"writing its lines: {written:,} of {lines:,}")
                remove = self._tracefs.define(event.remove)
                self._require_free_name(event, remove)
                undo.do(self._tracefs.define(line), remove)
                self._make_undo_conditional(event, remove, undo)
                for line in event.more:  # removing the event removes these probes too
                    written += 1
                    progress.begin(f"writing its lines: {written:,} of {lines:,}")
                    self._target.perform(self._tracefs.define(line))
                written += 1
            except FileRefused as error:
                raise rejection_error(line, error, read_log(self._tracefs)) from None

    def _register(self, line: str, undo: UndoList) -> None:
        """Register an event of programs, joining those that have registered it. Raises ProbeRefused, TargetLost."""
        definition = line.removeprefix(PREFIX)
        try:
            undo.do(self._tracefs.register(definition), self._tracefs.release(definition))
        except FileRefused as error:
            present = self._registered_line(definition) if error.errno == errno.EADDRINUSE else ""
            hint = f"the kernel has it with other fields: {present}" if present else ""
            raise rejection_error(line, error, (), hint=hint) from None

    def _registered_line(self, definition: str) -> str:
        """Return the line of dynamic_events about the event of a name; empty: there is none."""
        head = PREFIX + definition.partition(" ")[0]
        lines = self._tracefs.read("dynamic_events").splitlines()
        return next((line for line in lines if line.partition(" ")[0] == head), "")

    def _require_free_name(self, event: PlannedEvent, remove: Step) -> None:
        """Raise ProbeRefused for a synthetic event whose user-chosen name is already in use.

        The kernel would reject it too, but until its answer arrives our undo step is registered on the remote host,
        and would remove the other event.
        """
        if (
            event.line.startswith("s:")
            and needs_journal(remove.path.encode(), remove.data)
            and self._listed_line(event)
        ):
            raise rejection_error(event.line, FileRefused(remove.path, errno.EEXIST), ())

    def _listed_line(self, event: PlannedEvent) -> str:
        """Return the newest line about an event in the kernel's list; empty: there is none."""
        head = f"{event.line.partition(':')[0]}:{event.path}"
        lines = self._tracefs.read("dynamic_events").splitlines()
        return next((line for line in reversed(lines) if line.split()[:1] == [head]), "")

    def _make_undo_conditional(self, event: PlannedEvent, remove: Step, undo: UndoList) -> None:
        """Make the undo step of an event with a shareable name conditional: it removes only the event created
        here.
        """
        if not needs_journal(remove.path.encode(), remove.data):
            return
        if line := self._listed_line(event):
            undo.amend(remove, remove._replace(expects=line.encode()))

    def add_trigger(self, event: PlannedEvent, text: str, steps: ProbeSteps) -> None:
        """Write a trigger with its undo step: triggers keep their event in use. A trigger that clears another needs
        none.

        A trigger that records stacks is written only while its event is recorded, see
        `probes.hist.stack_triggers`. Raises ProbeRefused, TargetLost.
        """
        if records_stacks(text):
            if steps.mode is Mode.RECORD:
                self._record_stacks(event, text, steps)
            steps.triggers.append((event, text))
            return
        effect, undo = self._instance.trigger(event.path, text), self._instance.trigger(event.path, f"!{text}")
        clears_other = changes_existing_histogram(text)  # its undo step would remove that other histogram
        try:
            if clears_other:
                self._target.perform(effect)
            else:
                steps.defined.do(effect, undo)
        except FileRefused as error:
            raise rejection_error(text, error, read_log(self._instance)) from None
        if not clears_other:
            steps.triggers.append((event, text))

    def _record_stacks(self, event: PlannedEvent, text: str, steps: ProbeSteps) -> None:
        filtered_text = within_filter(text, event.filter)
        try:
            effect = self._instance.trigger(event.path, filtered_text)
            steps.enabled.do(effect, self._instance.trigger(event.path, REMOVAL))
        except FileRefused as error:
            raise rejection_error(filtered_text, error, read_log(self._instance)) from None

    def remove_trigger(self, event: PlannedEvent, text: str, steps: ProbeSteps) -> None:
        """Remove a trigger; a missing one is no error. Raises FileRefused, TargetLost."""
        # By path: the event may have another filter by now.
        trigger = next((entry for entry in steps.triggers if (entry[0].path, entry[1]) == (event.path, text)), None)
        if trigger is not None:
            step = self._instance.trigger(event.path, REMOVAL if records_stacks(text) else f"!{text}")
            try:
                self._target.perform(step)
            except FileRefused as error:
                if error.errno != errno.ENOENT:
                    raise
            steps.triggers.remove(trigger)
            if trigger in steps.by_hand:
                steps.by_hand.remove(trigger)
            steps.defined.forget(step)
            steps.enabled.forget(step)

    def enable(self, plan: Plan, undo: UndoList) -> None:
        """Enable the recorded events, in our instance only. Raises ProbeRefused, TargetUnusable, TargetLost."""
        # The exit first: an exit without an entry can be recognised, an entry without an exit cannot.
        for event in reversed([event for event in plan.events if event.recorded and not event.is_by_tracer]):
            needs_trampoline = event.at_exit and event.line.startswith("f")
            if needs_trampoline:
                refuse_second_start(self._target, self._tracefs)
            try:
                undo.do(self._instance.enable(event.path, True), self._instance.enable(event.path, False))
            except FileRefused as error:
                # Since Linux 6.17 an fprobe is registered only here, and error_log has no entry.
                raise rejection_error(event.line, error, ()) from None
            if needs_trampoline:
                note_start(self._target)
        if plan.tracer is not None:
            try:
                self._tracers.start(plan.tracer, undo)
            except FileRefused as error:
                raise rejection_error(str(plan.probe), error, read_log(self._instance)) from None

    def switch(self, plan: Plan, steps: ProbeSteps, mode: Mode) -> list[UndoFailure]:
        """Switch a probe from any mode to another; definitions stay, so that no data in the buffer is lost.

        If the kernel rejects it, a part may be done: see `ProbeSteps.only`.

        Raises:
            ProbeRefused: it could not be enabled.
            FileRefused: this kernel can't count.
            TargetUnusable: the kernel might crash (`kernel.guards.trampoline_guard`).
            TargetLost: the connection is lost.
        """
        # Start the new mode before ending the old one: an event in use throughout is not patched out and in again.
        # Decide by the mode, not by the undo lists: one of its events may still be on because it could not be
        # disabled.
        if mode is Mode.RECORD and steps.mode is not Mode.RECORD:
            self.enable(plan, steps.enabled)
            for event, text in steps.triggers:
                if records_stacks(text):
                    self._record_stacks(event, text, steps)
        if mode is Mode.COUNT and plan.tracer is not None:
            refusal = Refusal("not_counted", "A tracer records its events, and counts nothing", 0, plan.probe.subject)
            raise ProbeRefused(Verdict(str(plan.probe), refusal))
        if mode is Mode.COUNT and not steps.counted:
            count_hits(self._instance, plan.events, steps)
        failures = steps.only(mode)
        steps.mode = mode
        return failures

    def _format_text(self, event: PlannedEvent) -> str:
        # Events of tracers have a format at the top alone.
        return (self._tracefs if event.is_by_tracer else self._instance).read(f"events/{event.path}/format")

    def read_formats(self, plan: Plan, *, stacks: bool = False) -> dict[int, EventFormat]:
        """Read the formats of the recorded events, by id; `stacks`: also of the stack events. Raises FileRefused,
        TargetLost.
        """
        events = {event.path: event for event in plan.events if event.recorded}
        texts = {path: self._format_text(event) for path, event in events.items()}
        if stacks or any(records_stacks(text) for event in plan.events for text in event.triggers):
            for path in (*_STACK_EVENTS, *(_TRACER_NOTES if plan.tracer is not None else ())):
                with contextlib.suppress(FileRefused):
                    texts[path] = self._tracefs.read(f"events/{path}/format")
        formats: dict[int, EventFormat] = {}
        for path, text in texts.items():
            with contextlib.suppress(FormatError):  # the store counts their records as undecodable
                parsed = parse_format(text, path.split("/")[0], self._long_size)
                formats[parsed.id] = events[path].describe(parsed) if path in events else parsed
        return formats
