"""A recording whose list of probes is damaged: its replay says so, and probes are written on it as on any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import TargetUnusable
from kernel.recording.plans import readable_plans, recorded_plans
from kernel.recording.replay import is_recorded
from kernel.recording.target import RecordingTarget
from tests.fuzz import material

_NESTED = {**material.parts().meta["plans"][0], "probe": "f record_read " + "+0(" * 3_000 + "$arg1" + ")" * 3_000}
_LONG = {**material.parts().meta["plans"][0], "probe": f"f record_read $arg{'9' * 5_000}"}
_DAMAGED: list[object] = [_NESTED, _LONG, 1, None, {"probe": "f record_read"}, "x", [], {"events": 5}]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "x.pwr"
    meta = material.parts().meta
    path.write_bytes(material.recording(meta={**meta, "plans": [*_DAMAGED, *meta["plans"]]}))
    return path


@pytest.mark.parametrize("plan", _DAMAGED)
def test_each_damaged_plan_refuses_the_replay(plan):
    meta = {**material.parts().meta, "plans": [plan]}
    with pytest.raises(TargetUnusable, match="the probes of this recording are damaged"):
        recorded_plans(Recording.open(material.recording(meta=meta)))


def test_questions_about_a_probe_pass_over_damaged_plans(damaged):
    recording = Recording.open(damaged)
    with pytest.raises(TargetUnusable, match="the probes of this recording are damaged"):
        recorded_plans(recording)
    plans = readable_plans(recording)
    assert len(plans) == len(material.parts().meta["plans"])
    assert is_recorded(recording, plans[0])
    planner = Planner(KernelInfo(RecordingTarget(recording, str(damaged))))
    assert planner.check("f record_read n").verdict.ok
    assert planner.check_typed("f record_read n").verdict.ok
