"""The rate of a probe as commands print it before the first event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel.guards.limits import MeasuredRate
from probes.command import parse_armable
from probes.plans.cost_estimate import EventRate
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from tui.cli.specs.measured_rate import rate_lines

EVENT = PlannedEvent("g", "a", "p:g/a vfs_read", "-:g/a")
ALONE = Plan(parse_armable("f vfs_read"), (EVENT,))
SEVERAL = Plan(parse_armable("f vfs_*"), (replace(EVENT, columns=(PlanColumn("func", "func", functions="vfs_*"),)),))


def measured(hits: float, **by_function: float) -> MeasuredRate:
    return MeasuredRate({EVENT.path: EventRate(hits, hits)}, 0.1, by_function=by_function)


def test_the_most_frequent_of_several_functions_are_named_and_left_out() -> None:
    first, second = rate_lines(SEVERAL, measured(1020, vfs_read=1000, vfs_open=20))
    assert first.startswith("vfs_*: about 1,000 events a second")
    assert first.endswith("the most frequent: vfs_read 1,000 a second, vfs_open 20")
    assert second == "without the most frequent: 'f vfs_*,!vfs_read'"


@pytest.mark.parametrize(
    ("plan", "rate", "lines"),
    [
        (SEVERAL, measured(0), 1),  # that there was no call is said, too
        (SEVERAL, measured(7, vfs_read=7), 1),
        (ALONE, measured(7), 1),
        (ALONE, measured(0), 0),
        (SEVERAL, None, 0),
    ],
)
def test_what_was_not_measured_is_not_told(plan: Plan, rate: MeasuredRate | None, lines: int) -> None:
    assert len(rate_lines(plan, rate)) == lines
