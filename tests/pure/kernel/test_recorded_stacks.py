"""A stack that a trigger by hand records belongs to its event, live and in its recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.recording.target import RecordingTarget
from kernel.session.armed import Armed
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from tests.pure.kernel.test_reboot_names import Kernel, Pattern, id_of_probe, store_of
from tests.pure.kernel.test_ssh_reconnect import cut, shown
from tests.pure.kernel.test_watch import probe, replay_of
from tui.output.event_source import have_stacks
from tui.present.first_rows import first_rows


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))
    return Kernel()


@pytest.fixture
def watch(side: Kernel) -> Iterator[Watch]:
    made = Watch(Pattern(KernelInfo(side.target)))
    yield made
    made.close()


def rows(watch: Watch) -> list[tuple[str, int]]:
    """Name of each event, and the number of its stacks."""
    store = store_of(watch)
    records = map(store.record, range(store.next_seq))
    return [(record.event.rpartition("/")[2], len(record.stacks)) for record in records]


def with_stacks(watch: Watch, armed: Armed) -> None:
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")


def test_a_trigger_by_hand_is_in_the_recording(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    shown(watch, 0)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    with_stacks(watch, armed)
    side.hit(1000, id_of_probe(watch))
    shown(watch, 1)
    watch.stop_recording()
    replayed = replay_of(path)
    assert rows(replayed) == rows(watch) == [("vfs_read", 1)]
    assert have_stacks(replayed) and have_stacks(watch)
    preview = first_rows(RecordingTarget(Recording.open(path), "a"))
    assert [row.event.rpartition("/")[2] for row in preview.rows] == ["vfs_read"]


def test_a_trigger_of_before_the_recording_is_in_it(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    with_stacks(watch, watch.armed.arm(probe("vfs_read")))
    shown(watch, 0)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    side.hit(1000, id_of_probe(watch))
    shown(watch, 1)
    watch.stop_recording()
    assert rows(replay_of(path)) == rows(watch) == [("vfs_read", 1)]


def test_a_trigger_after_a_reconnect(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    watch.armed.arm(probe("vfs_read"))
    shown(watch, 0)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    cut(side, watch)
    ReconnectAttempt(watch).run()
    shown(watch, 1)
    with_stacks(watch, watch.armed.probes[0])
    side.hit(1000, id_of_probe(watch))
    shown(watch, 2)
    watch.stop_recording()
    assert rows(replay_of(path)) == rows(watch) == [("line_cut", 0), ("vfs_read", 1)]
