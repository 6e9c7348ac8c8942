"""`probewright record`: what the file holds is what is told of it; presets; a disk that is full."""

from __future__ import annotations

import errno
import json
import os
import signal
import struct
from pathlib import Path

import pytest

import kernel.watch.recorder
from events.batch import Batch, Chunk
from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetLost
from kernel.watch.recording_control import RecordingControl
from kernel.watch.watch import Watch
from tests.pure.kernel.test_watch import Anything, Target, id_of, probe
from tests.pure.tui.test_cli_preset import OWN
from tui.__main__ import main
from tui.cli.commands import record

HERE = str(shipped_recording())
READS = "f vfs_read%return file->f_pos count $retval"


@pytest.fixture(autouse=True)
def without_symbols(monkeypatch):
    """To pack them takes most of the time, and they are no matter here."""
    monkeypatch.setattr(kernel.watch.recorder, "_text_symbols", lambda _: b"")


def exported(path: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Events that a file holds."""
    capsys.readouterr()
    assert main([str(path), "--export", "jsonl"]) == 0
    return len(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("count", "form"), [(4, []), (40, ["--json"])])
def test_what_is_told_is_what_the_file_holds(tmp_path, capsys, count, form):
    path = tmp_path / "x.pwr"
    assert main(["record", READS, "--count", str(count), "-o", str(path), "-t", HERE, *form]) == 0
    told = capsys.readouterr().out
    held = exported(path, capsys)
    assert held > count, "the last of its pages has more"
    if form:
        assert json.loads(told) == {"file": str(path), "events": held, "bytes": path.stat().st_size}
    else:
        assert told.startswith(f"{path}: {held:,} events, ")


def page_of(number: int, first: int, events: int) -> Batch:
    """A page with so many events of one format, a nanosecond apart."""
    data = b"".join(struct.pack("<IHHi", 2 | bool(n) << 5, number, 0, 812) for n in range(events))
    page = struct.pack("<QQ", first, len(data)) + data
    return Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True)


def test_what_waits_in_a_queue_is_counted_and_what_comes_later_is_not_in_the_file(tmp_path, capsys):
    target = Target()
    watch = Watch(Anything(KernelInfo(target)))
    number = id_of(watch.armed.arm(probe("vfs_read")))
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    session = watch.session
    assert session is not None
    for at in range(5):
        target.pages.queue.put(page_of(number, 1000 * at, 9))
        assert session.pump.wait(60.0)
        if at < 2:
            watch.tick()
        while session.pump.received_bytes < 4096 * (at + 1):  # what one pass has given, one after the other
            session.pump.wait(0.01)
    assert record._finish(watch).events == 5 * 9
    target.pages.queue.put(page_of(number, 10_000, 9))
    assert watch.tick() == 0
    assert watch.close() == []
    assert exported(path, capsys) == 5 * 9


def test_where_enough_came_the_file_does_not_hold_what_waits(tmp_path, capsys):
    target = Target()
    watch = Watch(Anything(KernelInfo(target)))
    watch.intake.at_once = 1
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.record_to(tmp_path / "x.pwr")
    session = watch.session
    assert session is not None
    for at in range(5):
        target.pages.queue.put(page_of(number, 1000 * at, 9))
    while session.pump.received_bytes < 5 * 4096:
        session.pump.wait(0.01)
    for _ in range(3):  # the first brings in what was armed
        watch.tick(0.0)
    assert record._finish(watch, enough=True).events == exported(tmp_path / "x.pwr", capsys) == 2 * 9
    assert watch.close() == []


def test_what_could_not_be_written_fast_enough_is_not_told_to_be_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kernel.watch.recorder, "MOST_WAITING", 0)
    target = Target()
    watch = Watch(Anything(KernelInfo(target)))
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.record_to(tmp_path / "x.pwr")
    session = watch.session
    assert session is not None
    target.pages.queue.put(page_of(number, 1000, 9))
    assert session.pump.wait(60.0)
    assert record._finish(watch).events == exported(tmp_path / "x.pwr", capsys) == 0
    assert watch.close() == []


def test_the_command_says_how_many_events_could_not_be_written_fast_enough(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kernel.watch.recorder, "MOST_WAITING", 30_000)
    path = tmp_path / "x.pwr"
    assert main(["record", READS, "-o", str(path), "-t", HERE]) == 0
    dropped = Recording.open(path).meta["counts"]["dropped"]
    assert dropped > 0
    assert f"{dropped:,} events came too fast to be written" in capsys.readouterr().err


def test_a_recording_that_ended_by_itself_ends_the_command(tmp_path, capsys, monkeypatch):
    """There is no bound else: it would go on until somebody asks it to end, and write nothing."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def an_event_comes(*_: object, **__: object) -> dict[int, str]:
        target.event(1000, 1502)
        return {}

    target = Target()
    monkeypatch.setattr(record, "connect", lambda *_, **__: KernelInfo(target))
    monkeypatch.setattr(record, "Planner", Anything)
    monkeypatch.setattr(record, "probes_of", lambda *_: [probe("vfs_read")])
    monkeypatch.setattr(kernel.watch.recorder.Recorder, "_write_pages", full)
    monkeypatch.setattr(Watch, "names", an_event_comes)
    path = tmp_path / "x.pwr"
    assert main(["record", "f vfs_read", "-o", str(path)]) == 1
    assert f"{path}: No space left on device; the recording ends here" in capsys.readouterr().err
    assert not target.traces


@pytest.mark.parametrize(("place", "name", "status"), [(RecordingControl, "prepare", 130), (record, "arm", 0)])
def test_a_signal_before_anything_is_recorded_has_the_status_of_the_documents(
    tmp_path, capsys, monkeypatch, place, name, status
):
    def a_signal_comes(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(record, "connect", lambda *_, **__: KernelInfo(Target()))
    monkeypatch.setattr(record, "Planner", Anything)
    monkeypatch.setattr(record, "probes_of", lambda *_: [probe("vfs_read")])
    monkeypatch.setattr(place, name, a_signal_comes)
    path = tmp_path / "x.pwr"
    assert main(["record", "f vfs_read", "-o", str(path)]) == status
    assert capsys.readouterr().err == "probewright: stopped before anything was recorded\n"
    assert not path.exists()


def test_of_a_recording_that_could_not_be_begun_no_file_stays(tmp_path, monkeypatch):
    def cut(*_: object) -> None:
        raise TargetLost("the connection was lost")

    watch = Watch(Anything(KernelInfo(Target())))
    watch.armed.arm(probe("vfs_read"))
    monkeypatch.setattr(kernel.watch.recorder, "facts_to_dict", cut)
    with pytest.raises(TargetLost):
        watch.record_to(tmp_path / "x.pwr")
    assert list(tmp_path.iterdir()) == []
    assert watch.close() == []


def test_a_preset_is_recorded_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    preset, path = tmp_path / "own.toml", tmp_path / "x.pwr"
    preset.write_text(OWN)
    assert main(["record", str(preset), "-p", "slow=3ms", "-o", str(path), "-t", HERE]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{path}: ") and "calls of any duration" in told.err
    assert exported(path, capsys) > 0
    assert main(["record", "slow-open", "-o", str(tmp_path / "y.pwr"), "-t", HERE]) == 2
    assert "did you mean slow-opens?" in capsys.readouterr().err
    assert not (tmp_path / "y.pwr").exists()
