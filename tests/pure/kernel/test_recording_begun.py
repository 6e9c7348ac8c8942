"""A recording has all events from the moment on in which it is asked for, however long its types take to be read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.errors import TargetLost
from kernel.watch.recorder import Recorder
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side, id_of, shown, side, watch
from tests.pure.kernel.test_watch import probe
from tests.pure.remote_hosts import eventually
from tests.replays import replay_of

__all__ = ["side", "watch"]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Have types and symbols take until this is set."""
    go_on, write = threading.Event(), Recorder.write_kernel

    def write_late(recorder: Recorder, info: object) -> None:
        assert go_on.wait(60)
        write(recorder, info)  # type: ignore[arg-type]

    monkeypatch.setattr(Recorder, "write_kernel", write_late)
    yield go_on
    go_on.set()


def test_events_wait_for_types_and_symbols(side: Side, watch: Watch, held: threading.Event, tmp_path: Path) -> None:
    path = tmp_path / "a.pwr"
    first = watch.armed.arm(probe("vfs_read"))
    side.event(500, id_of(first))
    shown(watch, 1)
    begun = threading.Thread(target=watch.record_to, args=(path,))
    begun.start()
    assert eventually(lambda: watch.recording.recorder is not None)
    side.event(1000, id_of(first))
    shown(watch, 2)
    second = watch.armed.arm(probe("vfs_write"))
    side.event(2000, id_of(second))
    shown(watch, 3)
    held.set()
    begun.join(60)
    side.event(3000, id_of(first))
    shown(watch, 4)
    watch.stop_recording()
    store = replay_of(path).store
    assert store is not None
    assert [(store.record(seq).ts, store.record(seq).event.rpartition("/")[2]) for seq in range(len(store))] == [
        (1000, "vfs_read"),
        (2000, "vfs_write"),
        (3000, "vfs_read"),
    ]


def test_no_more_waits_than_there_is_room_for(
    side: Side, watch: Watch, held: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel.watch.recorder.MOST_WAITING", 1)
    armed = watch.armed.arm(probe("vfs_read"))
    begun = threading.Thread(target=watch.record_to, args=(tmp_path / "a.pwr",))
    begun.start()
    assert eventually(lambda: watch.recording.recorder is not None)
    recorder = watch.recording.recorder
    side.event(1000, id_of(armed))
    shown(watch, 1)
    assert recorder is not None and recorder.dropped == 1
    held.set()
    begun.join(60)
    watch.stop_recording()


def test_a_target_lost_meanwhile_leaves_no_file(
    side: Side, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.pwr"
    watch.armed.arm(probe("vfs_read"))

    def lost(recorder: Recorder, info: object) -> None:
        recorder.discard()
        raise TargetLost("a", "gone")

    monkeypatch.setattr(Recorder, "write_kernel", lost)
    with pytest.raises(TargetLost):
        watch.record_to(path)
    assert watch.recording.recorder is None and not path.exists()
