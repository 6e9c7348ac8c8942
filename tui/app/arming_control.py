"""The part of the application that arms, changes and takes away probes, and records what comes of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.notifications import SeverityLevel

from tui.app.target_control import TargetApp
from tui.dialogs import dialogs
from tui.messages import Disarmed, ProbeArmed, ProbeRejected, ProbeTooFast, RecordingChanged, Remedied

# The kernel's side is imported when it is asked for, as in `tui.app.target_control`.
if TYPE_CHECKING:
    from textual.worker import Worker

    from kernel.session.rearm import ArmedState
    from kernel.session.session import Armed
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.plan import Plan
    from probes.verdict import Verdict


_WHOLE_DAY = 86400.0
"""Seconds; longer than anything takes that is waited for."""


class ArmingApp(TargetApp):
    """Each of its doings waits for the kernel in a worker (`tui.kernel_jobs`) and is told by a message."""

    _taping = ""
    """What is being done about a recording; empty: nothing is."""
    beginning: Path | None = None
    """Recording that is being begun; its types and symbols go in first."""
    _to_end: Watch | None = None
    """Watch of the recording that is being begun, where that shall end as soon as it can; None: it goes on."""
    _being_armed: tuple[Armable, ...] = ()
    """Probes that a worker is about to arm."""

    @abstractmethod
    def look(self) -> None:
        """Ask the kernel for counts now."""

    @abstractmethod
    def refresh_places(self) -> None:
        """What is armed or lost has changed."""

    @abstractmethod
    def edit_filter(self, probe: Armable) -> None:
        """Go where the filter of a probe is written."""

    @abstractmethod
    def show_newest_of(self, events: Collection[str]) -> None:
        """Go to the newest event of some, by their paths."""

    @abstractmethod
    def refused(self, probe: Armable, verdict: Verdict) -> str:
        """Show that the kernel said no to a probe; gives what puts its text right, empty: nobody knows."""

    @abstractmethod
    def show_armed(self, probe: Armable) -> None:
        """Go where the events of a probe come that was armed just now."""

    @abstractmethod
    def triggers_of(self, probe: Armable) -> tuple[str, ...]:
        """Return the hist triggers that are armed with a probe."""

    def not_elsewhere(self, probe: Armable) -> str:  # noqa: ARG002 - one target is all there is, here
        """What is to be said of other machines on which a probe was not armed; empty: nothing."""
        return ""

    def arm_all(self, probes: Sequence[Armable]) -> None:
        """Arm probes, and go where their events come; one that is there already, or twice, is asked about."""
        from probes.plans.duplicates import apart, under_another_name

        if self.watching is None:
            return
        # A recording has what it holds: nothing is armed there, and nothing twice.
        running = self.watching.armed if self.watching.connection.target.is_kernel else ()
        plans = [armed.plan for armed in running]
        fresh, again = apart(probes, [*(plan.probe for plan in plans), *self._being_armed])
        for probe in fresh:
            self.arm(probe)
        if again and fresh:
            self.notify(f"armed already: {', '.join(map(str, again))}", markup=False, topic="again")
        if fresh or not again:
            return
        taken = {event.path.rpartition("/")[2] for plan in plans for event in plan.events}
        others = [other for probe in again if (other := under_another_name(probe, taken)) is not None]

        def answered(answer: str) -> None:
            if answer == "show":
                there = [plan for plan in plans if any(not apart([probe], [plan.probe]).fresh for probe in again)]
                self.show_newest_of({event.path for plan in there for event in plan.events})
            for other in others if answer == "again" else ():
                self.arm(other)

        dialogs.ask_armed_already(self, again, others, answered)

    def arm(self, probe: Armable, *, at_any_rate: bool = False, count_only: bool = False) -> None:
        """Arm a probe, and go where its events come; one that is too fast is asked about first."""
        if self.watching is not None:
            self._say_until(f"arming {probe} …", f"arm {probe}")
            self.keyboard.begins(f"arm {probe}")
            self._being_armed = (*self._being_armed, probe)
            triggers = self.triggers_of(probe)
            self._arm(self.watching, probe, at_any_rate=at_any_rate, count_only=count_only, triggers=triggers)

    def _say_until(self, doing: str, topic: str) -> None:
        """Say what a worker does, for as long as it does it: who hears of its end forgets the topic, or has news."""
        self.notify(doing, markup=False, timeout=_WHOLE_DAY, topic=topic)

    @work(thread=True, group="arm")
    def _arm(
        self, watching: Watch, probe: Armable, *, at_any_rate: bool, count_only: bool, triggers: Sequence[str]
    ) -> None:
        from tui import kernel_jobs

        found = kernel_jobs.arm(watching, probe, at_any_rate=at_any_rate, count_only=count_only, triggers=triggers)
        self.post_message(found)

    @on(ProbeArmed)
    def _armed(self, event: ProbeArmed) -> None:
        self._no_longer_arming(event.probe)
        self.forget("arming")
        for loss in event.losses:
            self.notify(loss, markup=False)
        if where := self.not_elsewhere(event.probe):
            self.notify(where, markup=False, topic="elsewhere")
        if event.rate:
            self.notify(event.rate, title=event.probe.subject, markup=False, topic="rate")
        self.look()
        self.show_armed(event.there)

    def _no_longer_arming(self, probe: Armable) -> None:
        self.keyboard.ends(f"arm {probe}")
        self._being_armed = tuple(one for one in self._being_armed if one != probe)
        self.forget(f"arm {probe}")

    @on(ProbeTooFast)
    def _found_too_fast(self, event: ProbeTooFast) -> None:
        self._no_longer_arming(event.probe)

        def chosen(answer: str) -> None:
            if answer == "filter":
                self.edit_filter(event.probe)
            else:
                self.arm(event.probe, at_any_rate=True, count_only=answer == "count")

        dialogs.ask_too_fast(self, event.probe.subject, event.rate, event.cost_of_counting, chosen)

    @work(thread=True, group="arm")
    def remedy(self, action: Callable[[Watch], Remedied]) -> None:
        """Do something about what is armed, in a worker; see `tui.kernel_jobs`."""
        if self.watching is not None:
            self.post_message(action(self.watching))

    @on(Remedied)
    def _remedied(self, event: Remedied) -> None:
        severity: SeverityLevel = "error" if event.failed else "information"
        if (back := event.back) is not None and not event.failed:
            self.can_take_back(event.text, lambda: self.remedy(lambda watching: back(watching).for_good()))
        else:
            self.notify(event.text, severity=severity, markup=False, topic="remedy")
        self.look()
        self.refresh_places()

    @on(ProbeRejected)
    def _rejected(self, event: ProbeRejected) -> None:
        self._no_longer_arming(event.probe)
        better = self.refused(event.probe, event.verdict) if event.verdict is not None else ""
        text = better or f"{event.text}\n{event.remedy}".strip()
        self.say_not_armed(text)

    def say_not_armed(self, why: str) -> None:
        """Until something is."""
        self.notify(why, title="not armed", severity="error", markup=False, topic="arming")

    @work(thread=True, group="arm")
    def disarm(self, probes: Sequence[Armed]) -> None:
        """Take probes away; their events stay on the screen."""
        from tui import kernel_jobs

        if self.watching is not None:
            self.post_message(kernel_jobs.disarm(self.watching, probes))

    @on(Disarmed)
    def _disarmed(self, event: Disarmed) -> None:
        for failure in event.failures:
            self.notify(failure, title="left behind", severity="error", markup=False)
        watching = self.watching
        if watching is not None and (gone := event.gone) and event.watching is watching:
            from probes.plans.plan import titles_of  # what is first seen needs no probes

            plans = [plan for plan, _ in gone]
            names = ", ".join(titles_of(plans, beside=[one.plan for one in watching.armed]))
            self.can_take_back(f"disarmed: {names}", lambda: self._arm_back(gone))
        self.look()
        self.refresh_places()

    def _arm_back(self, gone: Sequence[tuple[Plan, ArmedState]]) -> Worker[None]:
        from tui import kernel_jobs

        return self.remedy(lambda watching: kernel_jobs.arm_back(watching, gone))

    def toggle_recording(self, path: Path, watching: Watch) -> None:
        """Write events to a recording from now on, or finish the one that is written; one of both at a time."""
        if not self._taping:
            recorder = watching.recorder
            begins = f"beginning {path}: types and symbols go in first …"
            self._taping = begins if recorder is None else f"finishing {recorder.path.name} …"
            self.beginning = path if recorder is None else None
            self._tape(self.beginning, watching)
        self._say_until(self._taping, "recording")

    def end_recording(self, watching: Watch) -> None:
        """Finish the recording that is written, or that is being begun as soon as it is."""
        if self.beginning is not None:
            self._to_end = watching
            self._taping = f"{self.beginning.name} ends as soon as its types and symbols are in …"
            self._say_until(self._taping, "recording")
        elif self.say_taping() or watching.recorder is not None:
            self.toggle_recording(Path(), watching)
        else:
            self.notify("nothing is recorded any more", markup=False, topic="recording")

    def say_taping(self) -> bool:
        """Say what is being done about a recording; return whether anything is."""
        if self._taping:
            self._say_until(self._taping, "recording")
        return bool(self._taping)

    @work(thread=True, group="arm")
    def _tape(self, path: Path | None, watching: Watch) -> None:
        from tui import kernel_jobs

        self.post_message(kernel_jobs.record(watching, path) if path else kernel_jobs.stop_recording(watching))

    @on(RecordingChanged)
    def _recorded(self, event: RecordingChanged) -> None:
        self._taping, self.beginning = "", None
        to_end, self._to_end = self._to_end, None
        severity: SeverityLevel = "error" if event.failed else "information"
        self.notify(event.text, severity=severity, markup=False, topic="recording")
        self.refresh_places()
        if to_end is not None and to_end.recorder is not None:
            self.toggle_recording(Path(), to_end)
