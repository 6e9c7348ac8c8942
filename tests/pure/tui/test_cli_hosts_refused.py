"""What several hosts refuse is told as by one and leaves no file; a lost host has a way out of its kind."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import tui.cli.commands.hosts
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import Progress, choose, shipped_recording
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.guards.limits import Limits
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.watch.reconnect import effects_note
from tests.pure.fake_hosts import AnyProbe, FakeHost, Lan, ReturningHost
from tui.__main__ import main
from tui.cli.args.parser import parse
from tui.cli.main import run
from tui.cli.status import USAGE

HOSTS = ["-t", "ssh://one", "-t", "ssh://two"]


class Judging(AnyProbe):
    """Says of a probe what the kernel of the recording says that comes with the application."""

    def __init__(self, info: KernelInfo) -> None:
        super().__init__(info)
        recorded = Planner(KernelInfo(choose(str(shipped_recording())).target))
        self.check = recorded.check  # type: ignore[method-assign]
        info.catalog = recorded.info.catalog


class Judges(Lan):
    def open(self, spec: str, progress: Progress, cancel: threading.Event) -> Planner:
        planner = super().open(spec, progress, cancel)
        assert isinstance(planner.info.target, FakeHost)
        return Judging(KernelInfo(planner.info.target))


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lan]:
    made = Judges(FakeHost("one"), FakeHost("two"))
    monkeypatch.setattr(tui.cli.commands.hosts, "Fleet", partial(Fleet, opener=made.open))
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def of_any_kernel(text: str) -> str:
    """Why a function may not be there is known of a kernel that runs in more words than of a recording."""
    return re.sub(r"(No such function on this target).*", r"\1", text)


@pytest.mark.parametrize("spec", ["f vfs_raed count", "f vfs_read cuont", "f  vfs_raed"])
def test_several_refuse_in_the_words_of_one_and_once(spec: str, hosts: Lan, capsys: pytest.CaptureFixture[str]):
    assert main(["run", spec, "-t", str(shipped_recording())]) == 1
    block = of_any_kernel(capsys.readouterr().err)
    assert "\n    did you mean vfs_read" in block or "\n    did you mean count" in block
    assert "\n    put right: " in block
    assert run(parse(["run", spec, *HOSTS])) == 1
    told = of_any_kernel(capsys.readouterr().err)
    assert told.count(block) == 1 and told.count("did you mean") == 1, told
    assert told.count("probewright: one: refused: ") == told.count("probewright: two: refused: ") == 1


def test_of_two_wrong_probes_several_tell_as_many_as_one(hosts: Lan, capsys: pytest.CaptureFixture[str]):
    words = ["run", "f vfs_raed", "f vfs_wirte"]
    assert main([*words, "-t", str(shipped_recording())]) == 1
    alone = of_any_kernel(capsys.readouterr().err)
    assert run(parse([*words, *HOSTS])) == 1
    told = of_any_kernel(capsys.readouterr().err)
    assert told.count("put right: ") == alone.count("put right: ") and alone in told


@pytest.mark.parametrize("place", ["-o m.csv", "--export jsonl:row/"])
def test_where_nothing_was_armed_no_file_is_left(
    place: str, hosts: Lan, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the corrected command would find its place free as well
        assert run(parse(["run", "f vfs_raed", *HOSTS, *place.split()])) == 1
        told = capsys.readouterr().err
        assert "0 events, lost 0" in told and "m.csv" not in told and "already" not in told
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_was_there_stays_where_nothing_was_armed(hosts: Lan, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    path = tmp_path / "m.csv"
    path.write_text("mine")
    assert run(parse(["run", "f vfs_raed", *HOSTS, "-o", str(path), "--overwrite"])) == 1
    assert path.read_text() == "mine"
    capsys.readouterr()


@pytest.mark.parametrize("word", [str(shipped_recording()), "auto"])
def test_what_can_be_a_target_alone_only_is_wrong_usage_before_any_is_opened(
    word: str, hosts: Lan, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tui.cli.commands.hosts, "Fleet", lambda *_, **__: pytest.fail("it goes on"))
    assert run(parse(["run", "f vfs_read", "-t", word, *HOSTS])) == USAGE
    assert f"{word}: " in capsys.readouterr().err


def test_a_guest_that_has_ended_has_nothing_to_be_cleaned():
    ended = False
    guest = RemoteTarget(RemoteConnection(ReturningHost("guest"), "agent"), "lab:6.12 (a note)", ended=lambda: ended)
    assert "`clean` there checks again" in effects_note(guest), "its connection alone is lost"
    ended = True
    said = "the guest has ended, and nothing is left of it; `-t lab:6.12` starts a new one"
    assert effects_note(guest) == said
    assert "`clean` there checks again" in effects_note(
        RemoteTarget(RemoteConnection(FakeHost("far"), "agent"), "ssh://far")
    )

    host = Host("lab:6.12", "lab:6.12", Limits())
    host.open(lambda *_: Planner(KernelInfo(guest)), lambda: 0, threading.Event())
    assert host.watch is not None, host.reason
    host.mark_lost(TargetLost("lab:6.12 has ended"))
    assert (str(host.state), host.remedy) == ("lost", said)
    host.close()
