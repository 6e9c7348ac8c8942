"""What the application says when it is left."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.recording.target import RecordingTarget
from kernel.watch.watch import Watch
from tests.pure.kernel.test_watch import Anything, Target, probe
from tui.cli.commands.app import _take_away


def said(watch: Watch | None, capsys: pytest.CaptureFixture[str]) -> str:
    app = SimpleNamespace(
        current_watch=watch,
        tracing=SimpleNamespace(last=lambda: None, busy=False),
        opening=SimpleNamespace(cancel=threading.Event()),
        planner=None,
        hosts=None,
    )
    assert _take_away(app) == 0
    return capsys.readouterr().err


def test_only_where_a_kernel_has_probes_they_are_said_to_be_taken_away(capsys):
    shipped = shipped_recording()
    assert shipped is not None
    recorded = Watch(Planner(KernelInfo(RecordingTarget(Recording.open(shipped), "x"))))
    recorded.begin()
    assert recorded.armed.probes, "what it was made with"
    assert said(recorded, capsys) == ""
    target = Target()
    assert said(Watch(Anything(KernelInfo(target))), capsys) == ""
    live = Watch(Anything(KernelInfo(target)))
    live.armed.arm(probe("vfs_read"))
    assert said(live, capsys) == "taking the probes away ...\n"
    assert not target.traces
