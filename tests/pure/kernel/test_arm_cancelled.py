"""Arming that is stopped at any of its steps leaves the kernel, which here is made of a dict, as it was before."""

from __future__ import annotations

from itertools import count

import pytest

from kernel.errors import ArmingCancelled
from kernel.guards.arm_progress import MEASURING, ArmProgress
from kernel.guards.limits import Limits
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_target import FakeTarget

LINES = 40


class StoppedAt(ArmProgress):
    """Progress that a person stops at the N-th place where that is possible."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number
        self.steps: list[str] = []

    def begin(self, step: str) -> None:
        self.steps.append(step)
        super().begin(step)

    def check(self) -> None:
        self.left -= 1
        if not self.left:
            self.cancel()
        super().check()


def plan(group: str, name: str) -> Plan:
    """A probe with a line for each of several functions, and a filter."""
    lines = [f"f:{group}/{name} vfs_{number}" for number in range(LINES)]
    event = PlannedEvent(group, name, lines[0], f"-:{group}/{name}", filter="count > 1", more=tuple(lines[1:]))
    return Plan(Probe(ProbePlace("vfs_*")), (event,))


def test_nothing_is_left_wherever_it_is_stopped() -> None:
    limits = Limits(1_000_000)
    stopped: list[str] = []
    for number in count(1):
        target = FakeTarget()
        with open_session(target) as session:
            kept = session.probes.arm(plan(session.group, "kept"))
            before, guarded = dict(target.files), list(target.guarded)
            progress = StoppedAt(number)
            try:
                session.probes.arm(plan(session.group, "other"), limits, progress=progress)
            except ArmingCancelled:
                stopped.append(progress.steps[-1])
            else:
                break
            assert session.probes.armed == (kept,)
            session.probes.disarm(kept)  # events that were switched off go with the last probe that records
            assert not [line for line in target.traces if "/other" in line]
            session.probes.arm(plan(session.group, "kept"))
            assert len(target.guarded) == len(guarded) and target.files.keys() >= before.keys()
            session.probes.arm(plan(session.group, "other"), limits)
        assert not target.traces and not target.guarded
    assert len(stopped) > LINES and MEASURING in stopped and "switching it on" in stopped
    assert f"writing its lines: {LINES - 1} of {LINES}" in stopped


def test_a_measurement_ends_as_soon_as_it_is_stopped() -> None:
    progress = ArmProgress()
    progress.cancel()
    with pytest.raises(ArmingCancelled):
        progress.wait(1000)
