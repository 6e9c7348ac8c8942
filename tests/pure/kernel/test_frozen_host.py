"""A remote host that stands still: a command that is to end ends, whatever the host owed by then, and says so."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.recording.reader import Recording
from kernel.cleanup.undo import UndoFailure, failure_lines
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import FileRefused, KernelError, TargetLost
from kernel.graph.watch import graph_watch
from kernel.remote import answer_limit, bootstrap
from kernel.remote.answer_limit import ENDING_LIMIT, PROGRESS_LIMIT, SILENCE_LIMIT, AnswerLimit, write_with_checks
from kernel.remote.protocol import second_shell, shell_client
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from kernel.watch.watch import Watch
from probes.plans.graph_plan import GraphPlan
from tests.fake_target import FakeTarget
from tests.pure.kernel.test_disconnect_anywhere import Counting, command  # noqa: F401 - a fixture
from tests.pure.remote_hosts import KINDS, SHELLS, eventually, remote_host
from tests.real.processes import descendants
from tui.cli.follow.disarming import disarm_all

TIMES = st.floats(0, 1e6)
Run = Callable[[Counting, Sequence[str]], int]


@given(TIMES, TIMES, TIMES, TIMES, st.one_of(st.none(), TIMES))
def test_an_answer_is_waited_for_as_long_as_its_bytes_come_and_less_at_the_end(
    asked: float, progress: float, heard: float, later: float, ends: float | None
) -> None:
    progress = max(asked, progress)
    now = max(progress, heard) + later
    one = AnswerLimit()
    if ends is not None:
        one.set_deadline(ends)
        one.set_deadline(ends + 1)
        assert one.ends == ends, "nothing takes a bound back"
    waited = one.exhausted(now, asked, progress, heard)
    silent = now - max(asked, heard)
    over = silent >= (ENDING_LIMIT if ends is not None and now >= ends else SILENCE_LIMIT)
    assert (waited is not None) == (over or now - progress >= PROGRESS_LIMIT)
    assert waited is None or waited >= ENDING_LIMIT


@pytest.fixture
def beating(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that says many words a second while a request takes long."""
    source = bootstrap.agent_source()
    assert source.count(b"\nBEAT = 1.0\n") == 1
    monkeypatch.setattr(bootstrap, "agent_source", lambda: source.replace(b"\nBEAT = 1.0\n", b"\nBEAT = 0.01\n"))


@pytest.mark.usefixtures("beating")
def test_an_agent_is_heard_while_the_kernel_takes_its_time(tmp_path: Path) -> None:
    """A pipe that nobody reads is a file of a kernel that does not come back from a write."""
    slow = tmp_path / "current_tracer"
    os.mkfifo(slow)
    with remote_host("agent") as far, ThreadPoolExecutor(2) as pool:
        step = pool.submit(far.dialect.perform, Step(Effect.WRITE, str(slow), b"nop"))
        assert eventually(lambda: far.dialect.unanswered is not None)
        question = pool.submit(far.dialect.list, "/proc/self")  # it waits its turn
        for _ in range(3):
            heard = far.dialect.last_received
            assert eventually(lambda heard=heard: far.dialect.last_received > heard)  # type: ignore[misc]
        assert not step.done() and not question.done()
        assert slow.read_bytes() == b"nop"
        step.result()
        assert "task" in question.result()
        assert b"".join(far.dialect.read("/proc/self/comm", 99).split())
        tasks = far.dialect.list("/proc/self/task")
        assert {far.dialect.pid, *far.dialect.stream_pids()} == set(map(int, tasks)), (
            "all are left out of what is traced"
        )


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A witness that is wanted at once, and a patience that a slow write outlasts."""
    monkeypatch.setattr(shell_client, "CHECK_INTERVAL", 0.02)
    monkeypatch.setattr(shell_client, "AFTER", 0.0)
    monkeypatch.setattr(second_shell, "_BEAT", 0.05)
    monkeypatch.setattr(answer_limit, "SILENCE_LIMIT", 3.0)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("kind", SHELLS)
def test_a_shell_is_heard_while_the_kernel_takes_its_time(kind: str, tmp_path: Path) -> None:
    """Longer than a silent line is waited for; a pipe that nobody reads is a file of such a kernel."""
    slow = tmp_path / "current_tracer"
    os.mkfifo(slow)
    with remote_host(kind) as far, ThreadPoolExecutor(2) as pool:
        step = pool.submit(far.dialect.perform, Step(Effect.WRITE, str(slow), b"nop"))
        assert eventually(lambda: far.dialect.unanswered is not None)
        asked = far.dialect.unanswered
        assert asked is not None
        assert eventually(lambda: far.dialect.last_received > asked + 2 * answer_limit.SILENCE_LIMIT or step.done())
        assert not step.done()
        assert slow.read_bytes() == b"nop"
        step.result()
        assert far.dialect.read("/proc/self/comm", 99)
        beside = far.dialect._shell  # type: ignore[union-attr]
        assert beside._witness is None, "it is sent away with the answer"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("frozen", ["shell", "work"])
@pytest.mark.parametrize("kind", SHELLS)
def test_a_frozen_shell_is_lost_with_a_witness_too(kind: str, frozen: str, tmp_path: Path) -> None:
    slow = tmp_path / "current_tracer"
    os.mkfifo(slow)
    stopped: set[int] = set()
    with remote_host(kind) as far, ThreadPoolExecutor(1) as pool:
        step = pool.submit(far.dialect.perform, Step(Effect.WRITE, str(slow), b"nop"))
        assert eventually(lambda: bool(descendants(far.dialect.pid)))

        def is_over() -> bool:
            # Again and again: for one write a shell starts several processes, one after the other.
            for pid in [far.dialect.pid] if frozen == "shell" else descendants(far.dialect.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)
            return step.done()

        try:
            assert eventually(is_over)
            with pytest.raises(TargetLost, match="did not answer for 3 s"):
                step.result()
        finally:
            for pid in stopped:
                with contextlib.suppress(
                    ProcessLookupError
                ):  # what was begun for the write may have been ended with it
                    os.kill(pid, signal.SIGCONT)
            slow.read_bytes()


def test_what_is_taken_away_leaves_the_patience_with_its_target_as_it_was() -> None:
    """The call graph ends, and the probes beside it go on: only who leaves a target says so."""
    target = FakeTarget()
    said: list[float] = []
    target.set_deadline = said.append  # type: ignore[attr-defined]
    planner = Planner(KernelInfo(target))
    for watch in (Watch(planner), graph_watch(planner, GraphPlan(("vfs_read",)))):
        watch.close()
    assert not said
    disarm_all(Watch(planner))
    assert said


def test_what_is_owed_longer_already_is_lost_as_the_command_ends() -> None:
    """No further ten seconds: the bound of the documentation is for the whole end."""
    one = AnswerLimit()
    assert one.exhausted(60.0, 0.0, 0.0, 0.0) is None
    one.set_deadline(60.0)
    assert one.exhausted(60.0, 0.0, 0.0, 0.0) == 60.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound at the end that a test can wait for; the usual one it can't."""
    monkeypatch.setattr(answer_limit, "ENDING_LIMIT", 0.3)
    monkeypatch.setattr(answer_limit, "SILENCE_LIMIT", 1e9)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", KINDS)
def test_a_question_is_given_up_as_the_command_ends(kind: str) -> None:
    with remote_host(kind) as far:
        target = RemoteTarget(RemoteConnection(far.dialect, kind), "ssh://far")
        assert target.connection_error is None
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            target.set_deadline(time.monotonic())
            with pytest.raises(TargetLost, match="did not answer for"):
                target.list("/proc")
            assert "did not answer for" in str(target.connection_error)
            with pytest.raises(TargetLost):
                target.read("/proc/self/stat")
            target.close()
        finally:
            os.kill(far.process.pid, signal.SIGCONT)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", KINDS)
def test_a_farewell_is_not_waited_for_either(kind: str) -> None:
    with remote_host(kind) as far:
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            far.dialect.close()
        finally:
            os.kill(far.process.pid, signal.SIGCONT)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", KINDS)
def test_a_line_that_takes_nothing_any_more_holds_up_nobody(kind: str) -> None:
    """More bytes than a pipe has room for, as for a filter of all functions."""
    with remote_host(kind) as far:
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            far.dialect.set_deadline(time.monotonic())
            with pytest.raises(TargetLost):
                for _ in range(8):
                    far.dialect.read("/" + "x" * 60_000, 10)
        finally:
            os.kill(far.process.pid, signal.SIGCONT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_that_is_given_up_is_lost_with_its_reason(kind: str) -> None:
    with remote_host(kind) as far:
        os.kill(far.process.pid, signal.SIGSTOP)
        try:
            far.dialect.lose("last heard 9 s ago")
            with pytest.raises(TargetLost, match="last heard 9 s ago"):
                far.dialect.list("/proc")
        finally:
            os.kill(far.process.pid, signal.SIGCONT)


def test_what_is_left_behind_has_its_name() -> None:
    tracer = Step(Effect.WRITE, "/t/instances/x/current_tracer", b"nop")
    events, folder = Step(Effect.APPEND, "/t/kprobe_events", b"-:a/b"), Step(Effect.RMDIR, "/t/instances/x")
    busy = UndoFailure(events, FileRefused("/t/kprobe_events", 16))
    lost = [UndoFailure(step, TargetLost("did not answer for 10 s")) for step in (tracer, tracer, folder)]
    told = failure_lines([lost[0], busy, *lost[1:]])
    assert told == (
        "/t/kprobe_events: Device or resource busy",
        "did not answer for 10 s: the remote host removes by itself /t/instances/x/current_tracer, /t/instances/x",
    )
    assert failure_lines([UndoFailure(tracer, KernelError("no"))]) == ("/t/instances/x/current_tracer: no",)


@given(st.lists(st.integers(0, 5), max_size=20), st.binary(min_size=1, max_size=400_000))
def test_all_bytes_arrive_however_slowly_they_are_read(pauses: list[int], data: bytes) -> None:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    came = bytearray()

    def read(_: float) -> None:
        came.extend(os.read(source, 1 << 16))

    try:
        patience_before = answer_limit.CHECK_INTERVAL
        answer_limit.CHECK_INTERVAL = 0.001  # type: ignore[misc]
        try:
            write_with_checks(sink, data, read)
        finally:
            answer_limit.CHECK_INTERVAL = patience_before  # type: ignore[misc]
        os.close(sink)
        while part := os.read(source, 1 << 16):
            came.extend(part)
    finally:
        os.close(source)
    assert came == data


class Freezing(Counting):
    """Answers no message from one of them on; `stop`: somebody asks the command to end then."""

    def __init__(self, freeze_at: int, *, stop: bool) -> None:
        self.freeze_at = freeze_at
        self.stop = stop
        self.patience = AnswerLimit()
        super().__init__(0)

    def set_deadline(self, ends: float) -> None:
        self.patience.set_deadline(ends)

    def message(self, what: str) -> None:
        super().message(what)
        followed = self.patience.ends < float("inf")
        if not self.freeze_at or self.messages < self.freeze_at or not (self.stop or followed):
            return
        asked, self.freeze_at = time.monotonic(), 0
        if self.stop:
            signal.raise_signal(signal.SIGTERM)
        while (waited := self.patience.exhausted(time.monotonic(), asked, asked, asked)) is None:
            time.sleep(0.005)
        self.cut()
        raise TargetLost(f"the remote host did not answer for {waited:.0f} s")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("what", ["run", "record"])
def test_a_signal_ends_a_command_wherever_its_line_freezes(
    what: str,
    tmp_path: Path,
    command: Run,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_limit, "ENDING_LIMIT", 0.02)

    def words(name: str) -> list[str]:
        return [what, "f vfs_read", *(["-o", str(tmp_path / name)] if what == "record" else ["--json"])]

    whole = Counting(0)
    assert command(whole, [*words("whole.pwr"), "--for", "0.3"]) == 0
    armed = next(at for at, message in enumerate(whole.passed, 1) if "b'1'" in message and "/enable" in message)
    capsys.readouterr()
    for at in range(1, min(len(whole.passed), armed + 12) + 1):
        side = Freezing(at, stop=True)
        status = command(side, words(f"{at}.pwr"))
        told = capsys.readouterr()
        where = f"{at}: {side.passed[-1]}: {status}\n{told.err}"
        assert not side.traces, where
        if side.passed[-1].startswith("unguard /sys/kernel/tracing/instances/") and status in (0, 1):
            continue  # the instance is gone, which was the last effect, and that was heard
        assert status in ((130, 1, 3) if at < armed else (1, 3)), where
        assert "Traceback" not in told.err, where
        if status == 3 and what == "record" and at > armed:
            assert not Recording.open(tmp_path / f"{at}.pwr").truncated, where
        if status in (1, 3) and at > armed:
            assert told.err.count("did not answer for") == 1, where
            assert "removes its probes by itself; `clean` there checks again" in told.err, where


@pytest.mark.usefixtures("quick")
def test_the_time_of_a_command_is_over_also_where_its_line_froze_meanwhile(
    tmp_path: Path,
    command: Run,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What came is in the file, the end is that of a lost connection, and what becomes of the probes is said."""
    for name in ("one.pwr", "two.pwr"):
        path = tmp_path / name
        side = Freezing(1, stop=False)
        assert command(side, ["record", "f vfs_read", "-o", str(path), "--for", "0.5"]) == 3
        told = capsys.readouterr()
        assert f"{path}: " in told.out and not Recording.open(path).truncated
        assert "`clean` there checks again" in told.err
        assert not side.traces
