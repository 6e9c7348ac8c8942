"""A stack that a trigger by hand records belongs to its event, live and in its recording."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.recording.target import RecordingTarget
from kernel.session.armed import Armed
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from tests.pure.kernel.test_reboot_names import Kernel, Pattern, exported, id_of_probe, store_of
from tests.pure.kernel.test_ssh_reconnect import cut, shown
from tests.pure.kernel.test_watch import probe
from tests.replays import replay_of
from tui.output.event_source import have_stacks
from tui.present.first_rows import first_rows
from tui.present.status import detail_of


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


def record_hit(side: Kernel, watch: Watch, rows: int = 1) -> None:
    """Hit the probe, and end the recording when the store has that many rows."""
    side.hit(1000, id_of_probe(watch))
    shown(watch, rows)
    watch.stop_recording()


def test_a_trigger_by_hand_is_in_the_recording(side: Kernel, watch: Watch, tmp_path: Path) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    shown(watch, 0)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    with_stacks(watch, armed)
    record_hit(side, watch)
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
    record_hit(side, watch)
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
    record_hit(side, watch, rows=2)
    assert rows(replay_of(path)) == rows(watch) == [("line_cut", 0), ("vfs_read", 1)]


@pytest.mark.parametrize("by_hand", [True, False])
def test_columns_are_the_same_when_the_recording_is_opened(
    side: Kernel, watch: Watch, tmp_path: Path, by_hand: bool
) -> None:
    if by_hand:
        with_stacks(watch, watch.armed.arm(probe("vfs_read")))
    else:
        watch.armed.arm(probe("vfs_read"), triggers=("stacktrace",))
    shown(watch, 0)
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    record_hit(side, watch)
    replayed = replay_of(path)
    live, opened = ([column_names(one, form) for form in ("csv", "parquet")] for one in (watch, replayed))
    assert live == opened and all("stack" in names for names in live)
    live_detail, opened_detail = (
        [row.name for row in detail_of(one, store_of(one).record(0))] for one in (watch, replayed)
    )
    assert live_detail == opened_detail and "stack" in live_detail
    assert exported(watch, "jsonl", (0,)) == exported(replayed, "jsonl", (0,))


def column_names(watch: Watch, form: str) -> list[str]:
    data = exported(watch, form, (0,))
    if form == "csv":
        return next(csv.reader(io.StringIO(data.decode())))
    return list(pyarrow.parquet.read_table(io.BytesIO(data)).column_names)
