"""A line that is cut at any message: tried again as it was asked for, and what came is in a file that opens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import kernel.watch.recorder
from events.recording.reader import Recording
from events.store.outage_mark import OUTAGE_EVENT, is_mark
from kernel.connection.open_target import TargetChoice
from kernel.errors import HostUnreachable, TargetLost, TargetUnusable
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Step
from kernel.watch import reconnect
from tests.pure.kernel.test_ssh_reconnect import Fed
from tests.pure.kernel.test_watch import Anything, probe
from tests.pure.tui.test_outage_gap import Clocked
from tests.replays import replay_of
from tui.__main__ import main
from tui.cli.commands import record, run
from tui.cli.console import output

_OPENING = ("connecting", "greeting", "starting the agent")


class Counting(Clocked):
    """Counts the messages of the connection, and cuts it before one of them; a probe that is on sees an event.

    Where it was cut nothing that was not guarded stays, and the same goes for what was done half.
    """

    def __init__(self, cut_at: int, answered: bool = False) -> None:
        self.messages = 0
        self.cut_at = cut_at
        self.answered = answered
        """The message arrived, and its answer did not."""
        self.passed: list[str] = []
        super().__init__()

    def message(self, what: str) -> None:
        self._alive()
        self.passed.append(what)
        self.messages += 1
        if self.messages == self.cut_at:
            self.cut()
            raise TargetLost(f"the connection was lost at {what}")

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        self.message(f"read {path}")
        return super().read(path, limit, offset)

    def list(self, path: str) -> Sequence[str]:
        self.message(f"list {path}")
        return super().list(path)

    def perform(self, step: Step) -> None:
        if self.answered and self.messages + 1 == self.cut_at:
            self._alive()
            super().perform(step)
            self._happens(step)
        self.message(f"{step.effect.value} {step.path} {step.data!r}")
        super().perform(step)
        self._happens(step)

    def guard(self, undo: Step) -> None:
        self.message(f"guard {undo.path}")
        super().guard(undo)

    def unguard(self, undo: Step) -> None:
        self.message(f"unguard {undo.path}")
        super().unguard(undo)

    def hold(self, path: str) -> None:
        self.message(f"hold {path}")
        super().hold(path)

    def stream(self, instance: str) -> Fed:
        self.message(f"stream {instance}")
        return super().stream(instance)

    def _happens(self, step: Step) -> None:
        if step.path.endswith("/enable") and step.data == b"1":
            text = self.files[step.path.replace("/enable", "/format")]
            self.event(time.monotonic_ns(), int(text.split(b"ID: ")[1].split(b"\n")[0]))

    def open(self) -> TargetChoice:
        """As a command opens it."""
        for what in _OPENING:
            try:
                self.message(what)
            except TargetLost as error:
                self.lost = False
                raise HostUnreachable(str(error), was_connected=True) from None
        facts = self._facts
        self.target = RemoteTarget(RemoteConnection(self, "agent"), "ssh://box", again=self._again)
        self.message("facts")
        self.target._facts = facts
        return TargetChoice(self.target)

    def _again(self, cancel: object, asking: bool) -> RemoteConnection:  # type: ignore[override]
        self.lost = False
        self.last_received = time.monotonic()
        self._be(self.pid + 100)
        return self._reached()


Command = Callable[..., int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[Counting, Sequence[str]], int]]:
    """Return a function that runs a command on a remote host."""
    monkeypatch.setattr(kernel.watch.recorder, "_text_symbols", lambda _: b"")
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))

    def probes(specs: list[str], planner: Anything) -> list[object]:
        planner.info.target.list("/sys/kernel/tracing")
        return [probe(spec.split()[1]) for spec in specs]

    for module in (record, run):
        monkeypatch.setattr(module, "Planner", Anything)
        monkeypatch.setattr(module, "probes_of", probes)

    def go(side: Counting, words: Sequence[str]) -> int:
        def opened(_: str) -> TargetChoice:
            side.lost = False
            return side.open()

        monkeypatch.setattr(output, "take_target", opened)
        return main([*words, "-t", "ssh://box"])

    yield go


def recorded(side: Counting, path: Path, command: Callable[[Counting, Sequence[str]], int], *words: str) -> int:
    return command(side, ["record", "f vfs_read", "f vfs_write", "-o", str(path), "--count", "2", *words])


def messages(tmp_path: Path, command: Callable[[Counting, Sequence[str]], int]) -> list[str]:
    """Those of a recording that nothing disturbs."""
    side = Counting(0)
    assert recorded(side, tmp_path / "whole.pwr", command) == 0
    assert not side.traces
    return side.passed


def test_a_recording_is_whole_wherever_its_line_is_cut(tmp_path, command, capsys) -> None:
    passed = messages(tmp_path, command)
    ended = next(at for at, what in reversed(list(enumerate(passed))) if "b'1'" in what and "/enable" in what) + 1
    assert ended > 20, passed
    for answered in (False, True):
        for at in range(1, len(passed) + 1):
            if answered and " b'" not in passed[at - 1]:
                continue  # what only asks is the same then
            side = Counting(at, answered)
            path = tmp_path / f"{at}{answered}.pwr"
            status = recorded(side, path, command)
            where = f"{at}: {passed[at - 1]}, {answered}: {capsys.readouterr().err}"
            assert status == 0 or (status == 1 and at > ended), where
            assert path.exists() and not Recording.open(path).truncated, where
            watch = replay_of(path)
            store = watch.store
            assert store is not None
            rows = [store.record(seq) for seq in range(store.next_seq)]
            names = [row.event.rpartition("/")[2] for row in rows]
            assert {"vfs_read", "vfs_write"} & set(names), where
            assert sum(map(is_mark, rows)) <= 1 and names.count(OUTAGE_EVENT) == len(watch.outages), where
            stamps = [row.ts for row in rows]
            assert stamps == sorted(stamps), where
            assert not side.traces, where
            watch.close()


def test_nothing_is_tried_again_where_nobody_asked_for_it(tmp_path, command, capsys) -> None:
    for at in range(1, 12):
        path = tmp_path / f"{at}.pwr"
        assert recorded(Counting(at), path, command, "--reconnect", "0") == 3, capsys.readouterr().err
        assert not path.exists()


class Gone(Counting):
    """Its connection is lost while its events are followed, and stays away."""

    def __init__(self, passed: Sequence[str]) -> None:
        super().__init__(0)
        on = [at for at, what in enumerate(passed, 1) if "b'1'" in what and "/enable" in what]

        def lost(step: Step) -> None:
            if step.path.endswith("/enable") and "vfs_read" in step.path:
                self.cut_at = self.messages + len(passed) - on[-1]  # some seconds later: it is being followed

        self.after = lost

    def _again(self, cancel: object, asking: bool) -> RemoteConnection:
        raise TargetUnusable("no route to box")


@pytest.mark.parametrize("patience", ["0", "1"])
def test_what_came_is_in_the_file_also_where_the_line_stays_away(tmp_path, command, capsys, patience) -> None:
    side, path = Gone(messages(tmp_path, command)), tmp_path / "x.pwr"
    words = ["record", "f vfs_read", "f vfs_write", "-o", str(path), "--count", "100", "--reconnect", patience]
    assert command(side, words) == 3
    assert f"{path}: " in capsys.readouterr().out
    assert not Recording.open(path).truncated
    watch = replay_of(path)
    store = watch.store
    assert store is not None
    rows = [store.record(seq) for seq in range(store.next_seq)]
    assert [is_mark(row) for row in rows] == [*[False] * (len(rows) - 1), True], "it stands behind all events"
    (gap,) = watch.outages
    assert gap.for_good and gap.lost is not None and rows[-2].ts <= gap.lost <= time.monotonic_ns()
    watch.close()


def test_what_is_given_out_ends_with_the_cut_of_a_line_that_stays_away(tmp_path, command, capsys) -> None:
    passed, out = messages(tmp_path, command), tmp_path / "x.jsonl"
    words = ["run", "f vfs_read", "f vfs_write", "--count", "100", "--reconnect", "0"]
    for more in (["--json"], ["--export", f"jsonl:{out}"]):
        capsys.readouterr()
        assert command(Gone(passed), [*words, *more]) == 3
        told = out.read_text() if out.exists() else capsys.readouterr().out
        rows = [json.loads(line) for line in told.splitlines()]
        assert len(rows) > 1 and [row["event"] for row in rows].index(OUTAGE_EVENT) == len(rows) - 1, more
        values = rows[-1]["values"]
        assert "not reconnected" in values["note"] and values["lost"] >= rows[-2]["ts"] and "back" not in values


def test_events_are_printed_wherever_the_line_is_cut(tmp_path, command, capsys) -> None:
    words = ["run", "f vfs_read", "f vfs_write", "--count", "2", "--json"]
    whole = Counting(0)
    assert command(whole, words) == 0
    capsys.readouterr()
    for at in range(1, len(whole.passed) + 1):
        side = Counting(at)
        status = command(side, words)
        told = capsys.readouterr()
        assert status in (0, 1), (at, whole.passed[at - 1], told.err)
        events = [json.loads(line)["event"] for line in told.out.splitlines()]
        assert len(events) == 2 and {"vfs_read", "vfs_write"} & set(events), (at, whole.passed[at - 1], told)
        assert not side.traces


def test_a_host_that_was_never_reached_is_not_waited_for(command, capsys) -> None:
    class Away(Counting):
        def open(self) -> TargetChoice:
            self.messages += 1
            raise HostUnreachable("box: Connection refused")

    side = Away(0)
    assert command(side, ["run", "f vfs_read"]) == 3
    assert side.messages == 1 and "trying again" not in capsys.readouterr().err
