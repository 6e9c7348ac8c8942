"""What a call graph was asked for stands in its recording, and is said where that is opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from probes.plans.graph_plan import KEY, GraphPlan
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main
from tui.filter.filter import Filter
from tui.views.graph.view import GraphView

PLAN = GraphPlan(("vfs_read", "do_sys_*"), max_depth=3, threshold_us=20, pids=(7, 8), switches=True)


def _opened(path: Path) -> Watch:
    return Watch(Planner(KernelInfo(open_target(str(path)))))


def _recorded_again(path: Path, to: Path, plan: GraphPlan | None) -> Path:
    """Record what a recording holds, as a tracer's watch with a plan does."""
    watch = _opened(path)
    if plan is not None:
        watch.queue.source.graph_plan = plan
    watch.begin()
    watch.record_to(to)
    while not watch.ended:
        watch.tick()
    watch.stop_recording()
    return to


def test_what_was_followed_is_said_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = graph_recording(tmp_path / "old.pwr")
    new = _recorded_again(old, tmp_path / "new.pwr", PLAN)
    again = _recorded_again(new, tmp_path / "again.pwr", None)
    assert _opened(old).graph_plan is None
    assert _opened(new).graph_plan == _opened(again).graph_plan == PLAN
    view = GraphView(Filter())
    assert view.note(_opened(again)).startswith("vfs_read, do_sys_*, depth 3, from 20 us on: ")
    assert not view.note(_opened(old)).startswith("vfs_read")
    told = {}
    for path in (old, new):
        main(["graph", "-t", str(path)])
        told[path] = capsys.readouterr().err
    assert "probewright: recorded of vfs_read, do_sys_*, depth 3, from 20 us on\n" in told[new]
    assert "recorded of" not in told[old]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["roots", "max_depth", "pids", "args", "of a later version"]), VALUES) | VALUES
)
def test_a_damaged_plan_is_none(plain: object) -> None:
    plan = GraphPlan.of_meta({KEY: plain})
    assert plan is None or str(plan)


def test_a_plan_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    meta = {KEY: {**PLAN.meta[KEY], "later": [1]}}
    del meta[KEY]["left_out"]
    assert GraphPlan.of_meta(meta) == replace(PLAN, left_out=())
