"""Set and change the filters of events in one instance; what counts their hits gets the filters, too."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, KernelError
from kernel.guards.rate_meter import RateMeter
from kernel.session.probe_steps import Mode, ProbeSteps
from kernel.session.rejection import read_log, rejection_error
from kernel.target import Target
from kernel.tracefs import Instance
from probes.hist.stack_triggers import REMOVAL, within_filter
from probes.plans.plan import Plan, PlannedEvent


class FilterSteps:
    """Writer of the filters of events in one instance."""

    def __init__(self, target: Target, instance: Instance) -> None:
        self._target = target
        self._instance = instance

    def set(self, plan: Plan, undo: UndoList) -> None:
        """Set the filters of a plan's events: on ours without undo, on those of the kernel and of programs with one,
        as those stay. Raises ProbeRefused, TargetLost.
        """
        for event in plan.events:
            if not event.filter:
                continue
            effect = self._instance.filter(event.path, event.filter)
            try:
                if event.line and not event.is_of_programs:
                    self._target.perform(effect)
                else:
                    undo.do(effect, self._instance.filter(event.path, "0"))
            except FileRefused as error:
                raise rejection_error(event.filter, error, read_log(self._instance)) from None

    def change(self, before: Plan, after: Plan, steps: ProbeSteps) -> None:
        """Change the filters of enabled events, one after the other; if one is rejected, all are restored.

        Triggers that record stacks get the filters too. Counts of count-only probes restart at 0.

        Raises ProbeRefused, TargetLost.
        """
        changed: list[PlannedEvent] = []
        for old, new in zip(before.events, after.events, strict=True):
            if old.filter == new.filter:
                continue
            # Includes the rejected one: a kernel that can't parse a filter has dropped the previous one
            # (apply_event_filter).
            changed.append(old)
            try:
                self._change_filter(new, steps)
            except FileRefused as error:
                rejection = rejection_error(new.filter, error, read_log(self._instance))
                for event in reversed(changed):
                    # Report the rejection of the filter, not errors of restoring.
                    with contextlib.suppress(KernelError):
                        self._change_filter(event, steps)
                raise rejection from None
        if changed and steps.counted:  # a trigger keeps the filter with which it was written
            self._restart_counts(before.events, after.events, steps)
        steps.know(after.events)

    def _restart_counts(
        self, before: Sequence[PlannedEvent], after: Sequence[PlannedEvent], steps: ProbeSteps
    ) -> None:
        """Restart counting with the new filters; if rejected, the previous state is restored. Raises ProbeRefused,
        TargetLost.
        """
        steps.counted.run()
        try:
            count_hits(self._instance, after, steps)
        except FileRefused as error:
            rejection = rejection_error(
                next(event.filter for event in after if event.filter), error, read_log(self._instance)
            )
            for event in before:
                with contextlib.suppress(KernelError):
                    self._change_filter(event, steps)
            with contextlib.suppress(KernelError):
                steps.counted.run()
                count_hits(self._instance, before, steps)
            raise rejection from None

    def _change_filter(self, event: PlannedEvent, steps: ProbeSteps) -> None:
        texts = steps.stack_triggers(event) if steps.mode is Mode.RECORD else []
        for _ in texts:  # the undo step stays in its list
            with contextlib.suppress(FileRefused):  # it was removed when the other filter was rejected
                self._target.perform(self._instance.trigger(event.path, REMOVAL))
        try:
            self._target.perform(self._instance.filter(event.path, event.filter or "0"))
        except FileRefused:
            texts.clear()  # restoring the previous filter restores them
            raise
        finally:
            for text in texts:
                self._target.perform(self._instance.trigger(event.path, within_filter(text, event.filter)))


def count_hits(instance: Instance, events: Sequence[PlannedEvent], steps: ProbeSteps) -> None:
    """Make the kernel count hits, and those that pass a filter. Raises FileRefused, TargetLost."""
    meter = RateMeter(instance, steps.counted, steps.name)
    meter.start([event for event in events if event.recorded])
