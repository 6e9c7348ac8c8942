"""Choose by which means probes on functions are recorded from now on, and whether with kernel stacks."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from textual.screen import Screen

from kernel.errors import KernelError
from tui.compose.messages import ProgramsTried
from tui.compose.specification_control import SpecificationControl
from tui.workbench import Workbench, open_planner

if TYPE_CHECKING:
    from kernel.connection.planner import Planner


class RecordingMeans:
    """The means of the target that is open; the probe on the screen is judged by them."""

    def __init__(self, screen: Screen[None], bench: Workbench, specification: SpecificationControl) -> None:
        self._screen = screen
        self._bench = bench
        self._specification = specification

    def choose_next(self) -> None:
        """Have probes on functions recorded by BPF programs, by tracefs, or by what each needs."""
        from probes.plans.plan import Via

        planner, means = open_planner(self._bench), list(Via)
        planner.via = means[(means.index(planner.via) - 1) % len(means)]
        if planner.info.knows_programs:
            self._specification.judge_anew()
        else:  # what the kernel attaches programs to is tried before, once
            self._screen.run_worker(lambda: self._try_programs(planner), thread=True, group="programs")
        by = {
            Via.AUTO: "tracefs, and BPF programs where it can't, record",
            Via.TRACEFS: "tracefs records",
            Via.BPF: "BPF programs record",
        }
        self._notify(f"{by[planner.via]} the probes on functions")

    def _try_programs(self, planner: Planner) -> None:
        with contextlib.suppress(KernelError):  # a lost connection is told by what comes next
            planner.info.try_programs()
        self._screen.post_message(ProgramsTried(planner))

    def programs_tried(self, event: ProgramsTried) -> None:
        """Judge what is on the screen, where its target is still open."""
        if event.planner is open_planner(self._bench):
            self._specification.judge_anew()

    def switch_stacks(self) -> None:
        """Have the kernel stack of each event recorded with the probes that are armed from now on, or of none."""
        triggers = self._specification.triggers
        triggers.with_stacks = not triggers.with_stacks
        self._specification.judge_anew()
        which = "the kernel stack of each event is" if triggers.with_stacks else "no kernel stacks are"
        self._notify(f"{which} recorded with the probes")

    def _notify(self, text: str) -> None:
        """Notify of what changed for the probes that are armed from now on; on a recording none is armed."""
        from_now_on = " that are armed from now on" if open_planner(self._bench).info.target.is_kernel else ""
        self._screen.notify(f"{text}{from_now_on}", markup=False)
