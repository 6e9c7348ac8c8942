"""A remote host that owes an answer: when it is silent, how a quiet connection avoids that, and where it is said."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.loss_counts import LossTotals
from kernel.connection.kernel_info import KernelInfo
from kernel.remote import silence as rules
from kernel.remote.protocol.agent_client import _RemoteOutput
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.silence import PING_INTERVAL, SILENT_AFTER, silence, words
from kernel.remote.target import RemoteTarget
from kernel.target import Stream
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side
from tests.pure.kernel.test_watch import Anything, probe
from tests.pure.remote_hosts import KINDS, Instance, RemoteHost, eventually, remote_host
from tests.pure.tui.test_cli_waiting import Terminal
from tui.cli.console.silence import reporting_silence
from tui.cli.follow.follow import follow
from tui.present.losses_model import sheet_of
from tui.present.status import rates_of
from widgets.events.status_bar import live_line, top_line
from widgets.events.values import LiveState, Status

TIMES = st.floats(0, 1e6)


@given(TIMES, TIMES, TIMES)
def test_silent_is_who_owes_an_answer_and_says_nothing(heard: float, asked: float, later: float):
    now = max(heard, asked) + later
    assert silence(heard, None, now) is None, "nothing has to come"
    found = silence(heard, asked, now)
    if now - heard < SILENT_AFTER or now - asked < SILENT_AFTER - PING_INTERVAL:
        assert found is None
    else:
        assert found == now - heard >= SILENT_AFTER


@given(st.floats(0, SILENT_AFTER - PING_INTERVAL - 0.001), st.floats(0, 1e4))
def test_an_answer_has_its_time_however_long_nobody_asked(answer: float, quiet: float):
    """A probe that is never hit: nothing was to come before it was asked for."""
    asked = 1e4
    assert silence(asked - quiet, asked, asked + answer) is None


def test_asked_every_beat_a_frozen_line_shows_at_once():
    """It freezes right after a word; the next question is due a beat later."""
    heard = 100.0
    assert silence(heard, heard + PING_INTERVAL, heard + SILENT_AFTER) == SILENT_AFTER
    assert words(silence(heard, heard + PING_INTERVAL, heard + 5.4) or 0) == "last heard 5 s ago"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    made = Instance(tmp_path)
    os.mkfifo(tmp_path / "trace_pipe")
    made.pipes.append(os.open(tmp_path / "trace_pipe", os.O_RDWR | os.O_NONBLOCK))
    yield made
    made.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_quiet_stream_is_asked_for_a_word(kind: str, instance: Instance):
    """Nobody else asks; as nothing is streamed any more, nobody does."""
    with remote_host(kind) as far:
        stream = _stream(far, instance)
        for _ in range(3):
            assert eventually(partial(_heard_after, far, far.dialect.last_received))
        stream.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_remote_host_that_stands_still_is_silent_until_it_goes_on(kind: str, instance: Instance):
    with remote_host(kind) as far:
        target = RemoteTarget(RemoteConnection(far.dialect, kind), "ssh://far")
        stream = _stream(far, instance)
        assert target.overdue_seconds is None
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            assert eventually(lambda: (target.overdue_seconds or 0) >= SILENT_AFTER)
        finally:
            os.kill(far.process.pid, signal.SIGCONT)
        assert eventually(lambda: target.overdue_seconds is None)
        stream.close()


def _heard_after(far: RemoteHost, time: float) -> bool:
    return far.dialect.last_received > time


def _stream(far: RemoteHost, instance: Instance) -> Stream:
    return far.dialect.stream(instance.path)


def test_events_are_heard_though_the_other_shell_waits(instance: Instance):
    """What comes by one line says that it is not frozen."""
    with remote_host("dash") as far:
        stream = _stream(far, instance)
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            assert eventually(lambda: far.dialect.unanswered is not None)
            before = far.dialect.last_received
            os.write(instance.pipes[-1], b"a line\n")
            assert eventually(lambda: stream.read(0.2) is not None)
            assert far.dialect.last_received > before
        finally:
            os.kill(far.process.pid, signal.SIGCONT)
        stream.close()


def test_a_part_of_a_long_answer_is_heard():
    """A pass over a slow connection takes longer than an answer may."""
    source, sink = os.pipe()
    raw = _RemoteOutput(source)
    before = raw.last_received = raw.last_received - 100
    os.write(sink, b"half a frame")
    with io.BufferedReader(raw, 1 << 10) as reader:
        assert reader.peek(1)
        assert raw.last_received > before
        after = raw.last_received
        os.close(sink)
        assert reader.read() == b"half a frame"
        assert raw.last_received == after, "the end is no word"


@pytest.mark.parametrize("columns", [120, 78, 60])
def test_it_stands_in_the_place_of_following(columns: int):
    said = words(7)
    live = live_line(
        LiveState(overdue_text=said, per_second=None, row_count=4, views=("events", "calls")), columns
    ).plain
    assert f"✗ {said}" in live and "following" not in live and "/s" not in live
    paused = live_line(LiveState(overdue_text=said, following=False, new=3, per_second=None), columns).plain
    assert "‖ paused +3 new" in paused
    status = Status("ssh://box", "Linux 7.2.13 x86-64", 43859, 1, LossTotals(3), overdue_text=said)
    assert f"✗ {said}" in top_line(status, columns).plain
    assert "last heard" not in top_line(Status("ssh://box", armed=1), columns).plain


class _Silent:
    """A watch of a remote host that falls silent as a test says."""

    def __init__(self) -> None:
        self.side = Side()
        self.watch = Watch(Anything(KernelInfo(self.side.target)))
        self.watch.armed.arm(probe("vfs_read"))

    def fall_silent(self) -> None:
        self.side.last_received = time.monotonic() - 9
        self.side.unanswered = self.side.last_received

    def answer(self) -> None:
        self.side.last_received, self.side.unanswered = time.monotonic(), None


@pytest.fixture
def silent() -> Iterator[_Silent]:
    made = _Silent()
    yield made
    made.answer()
    made.watch.close()


def test_only_where_something_is_armed(silent: _Silent):
    idle = Watch(Anything(KernelInfo(silent.side.target)))
    silent.fall_silent()
    assert (silent.watch.overdue_seconds or 0) >= 9
    assert idle.overdue_seconds is None, "nothing is expected of it"
    silent.side.cut()
    assert eventually(lambda: silent.watch.error is not None)
    assert silent.watch.overdue_seconds is None, "what becomes of the line is said instead"


def test_no_place_tells_the_pace_of_what_nobody_hears(silent: _Silent):
    assert rates_of(silent.watch) == {"vfs_read": 0.0}
    assert [one.rate for one in sheet_of(silent.watch, None, 0, 0).probes] == [0.0]
    silent.fall_silent()
    assert rates_of(silent.watch) == {"vfs_read": None}
    assert [one.rate for one in sheet_of(silent.watch, None, 0, 0).probes] == [None]


def test_a_command_says_it_once_in_a_file(silent: _Silent, capfd: pytest.CaptureFixture[str]):
    told = ""

    def says(text: str) -> bool:
        nonlocal told
        told += capfd.readouterr().err
        return text in told

    with reporting_silence(silent.watch):
        silent.fall_silent()
        assert eventually(lambda: says("last heard"))
        silent.answer()
        assert eventually(lambda: says("heard again"))
    lines = [line for line in told.splitlines() if "heard" in line]
    assert [line.rstrip("0123456789 s").rstrip() for line in lines[1:]] == [
        "probewright: ssh://box: heard again after"
    ]
    assert lines[0].startswith("probewright: ssh://box: last heard ")


def test_a_terminal_has_it_in_the_line_of_progress(silent: _Silent, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with reporting_silence(silent.watch):
        silent.fall_silent()
        assert eventually(lambda: terminal.getvalue().count("last heard") >= 2)
    assert terminal.getvalue().endswith("\r\x1b[K"), "nothing stays"
    assert "\n" not in terminal.getvalue()


def test_run_says_it_while_it_waits_for_the_remote_host(
    silent: _Silent, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """The thread that prints events is the one that waits."""
    names, told = silent.watch.names, [""]

    def says() -> bool:
        told[0] += capfd.readouterr().err
        return "last heard" in told[0]

    def frozen(*, cgroups: bool = True) -> dict[int, str]:
        silent.fall_silent()
        assert eventually(says)
        silent.answer()
        return names(cgroups=cgroups)

    monkeypatch.setattr(silent.watch, "names", frozen)
    follow(silent.watch, argparse.Namespace(seconds=0.2, count=None), frozenset(), lambda _: None)
    assert says()


def test_the_rule_has_one_place():
    """Who asks oftener than an answer may take is not fooled by his own question."""
    assert rules.PING_INTERVAL + rules._ANSWER == rules.SILENT_AFTER
