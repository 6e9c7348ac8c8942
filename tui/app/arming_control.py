"""Arm, change and disarm probes for the application; ask where a person has to decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App
from textual.notifications import SeverityLevel

from tui.app.arming_patience import ArmingPatience
from tui.app.keyboard import Keyboard
from tui.app.places import AppPlaces
from tui.app.target_control import TargetControl
from tui.app.undo_list import TakeBackList
from tui.dialogs import dialogs
from tui.messages import Disarmed, ProbeArmed, ProbeRejected, ProbeTooFast, Remedied
from tui.notifications import Notices

# The kernel's side is imported when it is asked for, as in `tui.app.target_control`.
if TYPE_CHECKING:
    from textual.worker import Worker

    from kernel.session.armed import Armed
    from kernel.session.rearm import ArmedState
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.plan import Plan
    from tui.hosts.control import HostControl


class ArmingControl:
    """The probes of the target that is open; each change waits for the kernel in a worker (`tui.kernel_jobs`) and is
    reported by a message.
    """

    def __init__(
        self,
        app: App[None],
        notices: Notices,
        keyboard: Keyboard,
        undo: TakeBackList,
        target: TargetControl,
        places: AppPlaces,
        hosts: HostControl | None,
        changed: Callable[[], None],
    ) -> None:
        """Take the parts that arming needs.

        Args:
            app: runs the workers, and shows the dialogs.
            notices: notifies.
            keyboard: holds letters while a probe is being armed.
            undo: keeps the steps that can be undone.
            target: has the watch.
            places: show the events of a probe.
            hosts: several of them; None: there is one target.
            changed: asks for counts, and shows the places anew.
        """
        self._app = app
        self._notices = notices
        self._keyboard = keyboard
        self._undo = undo
        self._target = target
        self._places = places
        self._hosts = hosts
        self._changed = changed
        self._being_armed: tuple[Armable, ...] = ()
        """Probes that a worker is about to arm."""
        self._patience = ArmingPatience(app, notices)

    # -- arming ----------------------------------------------------------------------------------------------------

    def arm_all(self, probes: Sequence[Armable]) -> None:
        """Arm probes, and go to their events; ask about one that is armed already, or stands there twice."""
        from probes.plans.duplicates import split_duplicates, under_another_name

        watching = self._target.current_watch
        if watching is None:
            return
        # A recording has what it holds: nothing is armed there, and nothing twice.
        running = watching.armed.probes if watching.info.target.is_kernel else ()
        plans = [armed.plan for armed in running]
        fresh, again = split_duplicates(probes, [*(plan.probe for plan in plans), *self._being_armed])
        for probe in fresh:
            self.arm(probe)
        if again and fresh:
            self._notices.notify(f"armed already: {', '.join(map(str, again))}", topic="again")
        if fresh or not again:
            return
        taken = {event.path.rpartition("/")[2] for plan in plans for event in plan.events}
        others = [other for probe in again if (other := under_another_name(probe, taken)) is not None]

        def answered(answer: str) -> None:
            if answer == "show":
                there = [
                    plan for plan in plans if any(not split_duplicates([probe], [plan.probe]).new for probe in again)
                ]
                self._places.show_newest_of({event.path for plan in there for event in plan.events})
            for other in others if answer == "again" else ():
                self.arm(other)

        dialogs.ask_armed_already(self._app, again, others, answered)

    def show_recorded(self, path: str) -> None:
        """Go to the events of a recording, filtered to one."""
        self._places.show_event(path)

    def arm(
        self, probe: Armable, *, at_any_rate: bool = False, rate_shown: bool = False, count_only: bool = False
    ) -> None:
        """Arm a probe, and go to its events; ask about one that is too fast, or on several functions.

        `rate_shown`: of several functions a person has seen the rates.
        """
        watching = self._target.current_watch
        if watching is None:
            return
        self._notices.notify_until_forgotten(f"arming {probe} …", f"arm {probe}")
        self._keyboard.begins(f"arm {probe}")
        self._being_armed = (*self._being_armed, probe)
        progress = self._patience.begin(probe)
        triggers = self._places.compose.specification.triggers.of(probe)

        def arm() -> None:
            from tui import kernel_jobs

            done = kernel_jobs.arm(
                watching,
                probe,
                at_any_rate=at_any_rate,
                rate_shown=rate_shown,
                count_only=count_only,
                triggers=triggers,
                progress=progress,
            )
            self._app.post_message(done)

        self._app.run_worker(arm, thread=True, group="arm")

    def armed(self, event: ProbeArmed) -> None:
        """Notify of what the kernel could not give, and go to the events of the probe."""
        self._no_longer_arming(event.probe)
        self._notices.forget("arming")
        self._target.read_symbols()  # details of each event have addresses
        for loss in event.losses:
            self._notices.notify(loss)
        if note := self._armed_here_only(event.probe):
            self._notices.notify(note, topic="elsewhere")
        if event.rate:
            from probes.command import short_subject

            self._notices.notify(event.rate, title=short_subject(event.probe), topic="rate")
        self._changed()
        self._places.show_armed(event.there)

    def _armed_here_only(self, probe: Armable) -> str:
        """Return the text about other hosts on which a probe was not armed; empty: there are none."""
        planner = self._target.planner
        here = planner.info.target.name if planner is not None else ""
        built = probe == self._places.compose.specification.current
        return self._hosts.not_elsewhere(here, built=built) if self._hosts is not None else ""

    def _no_longer_arming(self, probe: Armable) -> None:
        self._keyboard.ends(f"arm {probe}")
        self._patience.end(probe)
        self._being_armed = tuple(one for one in self._being_armed if one != probe)
        self._notices.forget(f"arm {probe}")

    def too_fast(self, event: ProbeTooFast) -> None:
        """Ask whether a probe is to be armed that exceeds the limit of its rate, or is on several functions."""
        self._no_longer_arming(event.probe)

        def chosen(answer: str) -> None:
            if answer == "filter":
                self._places.edit_filter(event.probe)
            elif answer == "quieter" and event.quieter is not None:
                self.arm(event.quieter, rate_shown=True)
            else:
                self.arm(event.probe, at_any_rate=True, count_only=answer == "count")

        dialogs.ask_too_fast(self._app, event, chosen)

    def rejected(self, event: ProbeRejected) -> None:
        """Notify of why a probe was not armed, with a correction where one is known."""
        self._no_longer_arming(event.probe)
        specification, verdict = self._places.compose.specification, event.verdict
        better = specification.refused(event.probe, verdict) if verdict is not None else ""
        self._notices.notify_not_armed(better or f"{event.text}\n{event.remedy}".strip())

    # -- changes ---------------------------------------------------------------------------------------------------

    def remedy(self, action: Callable[[Watch], Remedied]) -> Worker[None]:
        """Change an armed probe or the buffer, in a worker; see `tui.kernel_jobs`."""

        def change() -> None:
            if self._target.current_watch is not None:
                self._app.post_message(action(self._target.current_watch))

        return self._undo.follow(self._app.run_worker(change, thread=True, group="arm"))

    def remedied(self, event: Remedied) -> None:
        """Notify of a change, and offer to undo it where that can be."""
        severity: SeverityLevel = "error" if event.failed else "information"
        if (back := event.undo) is not None and not event.failed:
            self._undo.add(event.text, lambda: self.remedy(lambda watching: back(watching).for_good()))
        else:
            self._notices.notify(event.text, severity=severity, topic="remedy")
        self._changed()

    def disarm(self, probes: Sequence[Armed]) -> Worker[None]:
        """Disarm probes, in a worker; their events stay on the screen."""

        def disarm() -> None:
            from tui import kernel_jobs

            if self._target.current_watch is not None:
                self._app.post_message(kernel_jobs.disarm(self._target.current_watch, probes))

        return self._undo.follow(self._app.run_worker(disarm, thread=True, group="arm"))

    def disarmed(self, event: Disarmed) -> None:
        """Notify of what could not be disarmed, and offer to arm the other probes again."""
        for failure in event.failures:
            self._notices.notify(failure, title="left behind", severity="error")
        watching = self._target.current_watch
        if watching is not None and (gone := event.gone) and event.watch is watching:
            from probes.plans.plan import titles_of  # what is first seen needs no probes

            plans = [plan for plan, _ in gone]
            names = ", ".join(titles_of(plans, beside=[one.plan for one in watching.armed.probes]))
            self._undo.add(f"disarmed: {names}", lambda: self._arm_back(gone))
        self._changed()

    def _arm_back(self, gone: Sequence[tuple[Plan, ArmedState]]) -> Worker[None]:
        from tui import kernel_jobs

        return self.remedy(lambda watching: kernel_jobs.arm_back(watching, gone))
