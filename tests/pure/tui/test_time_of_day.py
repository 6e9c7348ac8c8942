"""Times of day of one kernel's events: offsets that are measured, boots and sleep between, where they are told."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.clocks.clock_offset import ClockOffset, ClockReading
from events.clocks.time_of_day import META_KEY, WallClock, boots_after
from events.export.catalogue import format_named
from events.export.job import writer_of
from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.recording.target import RecordingTarget
from kernel.watch.watch import Watch
from tests.pure.fake_hosts import AnyProbe, FakeHost
from tests.pure.kernel.test_watch import probe
from tests.replays import replay_of
from tui.__main__ import main
from tui.output.event_source import source_of, timed_source_of
from tui.present.event_times import ClockFace, day_in_front, day_of, stamp_of, wall_clock, wall_date

SECOND = 10**9


def at(near: int, far: int, round_trip: int = 1000) -> ClockReading:
    """A look at a far clock, in the midst of its round trip."""
    return ClockReading(near - round_trip // 2, far, near + round_trip // 2)


TIMES = st.integers(0, 10**6)


@given(st.lists(st.tuples(TIMES, st.booleans()), max_size=30), st.integers(1, 40_000))
def test_an_event_has_the_time_of_the_clock_that_stood_or_slept(steps: list[tuple[int, bool]], trip: int) -> None:
    """Each step lets milliseconds go by, awake or asleep; an event follows the measurement at its end."""
    wall, near, far = WallClock(), 10**18, 5 * SECOND
    events: list[tuple[int, int]] = []
    for millis, asleep in steps:
        near += millis * 10**6
        far += 0 if asleep else millis * 10**6
        far += 1
        near += 1
        wall.measured([at(near, far, trip)])
        events.append((near, far))
    shown = [wall.offset(ts) for _, ts in events]
    for (near, ts), offset in zip(events, shown, strict=True):
        assert offset is not None
        assert abs(ts + offset.ns - near) <= offset.uncertainty, "the error that is told holds"


def test_what_agrees_changes_no_time_and_the_surest_reading_counts() -> None:
    wall = WallClock()
    assert not wall and wall.offset(7) is None and wall.pack() == [[]]
    wall.measured([at(1000 * SECOND, SECOND, 80_000), at(1000 * SECOND, SECOND, 2_000)])
    first = wall.offset(5)
    assert first is not None and first.uncertainty < 110_000
    wall.measured([at(1010 * SECOND + 30_000, 11 * SECOND, 2_000)])
    assert wall.offset(12 * SECOND) == first
    wall.measured([])
    assert wall.offset(12 * SECOND) == first


def test_behind_a_boot_times_are_of_the_clock_that_began_again() -> None:
    wall = WallClock()
    wall.measured([at(1000 * SECOND, 900 * SECOND)])
    wall.booted()
    assert wall.offset(3 * SECOND) is None, "what is known of another boot is not taken for it"
    wall.measured([at(1060 * SECOND, 2 * SECOND)])
    after, before = wall.offset(3 * SECOND), wall.offset(900 * SECOND, boots_after((40,), 39))
    assert after is not None and before is not None
    assert (before.ns, after.ns) == (100 * SECOND, 1058 * SECOND)
    assert boots_after((40,), 40) == 0


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_damaged_values_of_a_recording_are_no_clock(values: object) -> None:
    wall = WallClock.unpack(values)
    wall.booted()
    for offset in (wall.offset(0), wall.offset(1 << 60, 1)):
        assert offset is None or isinstance(offset, ClockOffset)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**18)), max_size=5))
def test_a_recording_gives_back_what_was_measured(readings: list[tuple[int, int]]) -> None:
    wall = WallClock()
    for far, near in readings:
        wall.measured([at(near, far)])
    again = WallClock.unpack(json.loads(json.dumps(wall.pack())))
    assert all(again.offset(far) == wall.offset(far) for far, _ in readings)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("here")
def test_a_time_of_day_is_that_of_here_or_of_utc() -> None:
    ns = 1_700_000_000_123_456_789
    assert wall_clock(ns) == "00:13:20.123457"
    assert wall_clock(ns, utc=True) == "22:13:20.123457"
    assert wall_date(ns) == "2023-11-15 +0200"
    assert wall_date(ns, utc=True) == "2023-11-14 +0000"
    assert [ClockFace.KERNEL.after, ClockFace.LOCAL.after, ClockFace.UTC.after] == [
        ClockFace.LOCAL,
        ClockFace.UTC,
        ClockFace.KERNEL,
    ]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """A host whose trace clock counts from 1,000 s before now."""
    host = FakeHost("one", behind=time.time_ns() - 1000 * SECOND)
    made = Watch(AnyProbe(KernelInfo(host)))
    made.armed.arm(probe("vfs_read"))
    host.event(time.time_ns())
    while made.store is None or not len(made.store):
        made.tick()
        if made.store is not None:
            made.store.flush()
    yield made
    made.close()


def test_events_are_shown_by_the_clock_that_was_measured(watch: Watch) -> None:
    assert watch.store is not None
    record = watch.store.record(0)
    assert not watch.clock.is_known
    assert stamp_of(lambda: watch, ClockFace.UTC)(record.ts, 0) == stamp_of(lambda: watch, ClockFace.KERNEL)(
        record.ts, 0
    )
    assert day_of(watch, record.ts, 0) == "" == day_in_front(watch, record.ts, 0, ClockFace.UTC)
    watch.measure_clock()
    offset = watch.clock.offset(watch.store, record.ts, 0)
    assert offset is not None and abs(record.ts + offset.ns - time.time_ns()) < 600 * SECOND
    text = wall_clock(record.ts + offset.ns, utc=True)
    assert stamp_of(lambda: watch, ClockFace.UTC)(record.ts, 0).startswith(f"{text} 1000.")
    assert offset.uncertainty_text in day_of(watch, record.ts, 0)
    assert day_in_front(watch, record.ts, 0, ClockFace.KERNEL) == ""


def test_exports_have_it_in_a_column_and_only_where_it_is_wanted(watch: Watch) -> None:
    watch.measure_clock()
    assert watch.store is not None
    record = watch.store.record(0)
    offset = watch.clock.offset(watch.store, record.ts, 0)
    assert offset is not None

    def given_out(form: str, *, timed: bool) -> str:
        out = io.BytesIO()
        found = format_named(form)
        assert found is not None
        writer = writer_of(found, (timed_source_of if timed else source_of)(watch), out)
        writer.take(record)
        writer.finish()
        return out.getvalue().decode()

    wanted = {"time": record.ts + offset.ns, "uncertainty": offset.uncertainty}
    line = json.loads(given_out("jsonl", timed=True))
    assert {name: int(line[name]) for name in wanted} == wanted
    row = next(csv.DictReader(io.StringIO(given_out("csv", timed=True))))
    assert {name: int(row[name]) for name in wanted} == wanted
    for form in ("jsonl", "csv"):
        assert "uncertainty" not in given_out(form, timed=False)


def test_a_recording_holds_it_and_gives_it_out(watch: Watch, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("kernel.watch.recorder._text_symbols", lambda _: b"")
    assert watch.store is not None
    path = tmp_path / "timed.pwr"
    watch.record_to(path)
    host = watch.info.target
    assert isinstance(host, FakeHost)
    host.event(time.time_ns())
    while len(watch.store) < 2:
        watch.tick()
        watch.store.flush()
    assert watch.stop_recording() == path
    assert Recording.open(path).meta[META_KEY][0]
    replayed = replay_of(path)
    assert replayed.store is not None and replayed.clock.is_known
    last = replayed.store.record(replayed.store.next_seq - 1)
    offset = watch.clock.offset(watch.store, last.ts, 1)
    assert replayed.clock.offset(replayed.store, last.ts, last.seq) == offset and offset is not None
    replayed.close()
    assert main([str(path), "--export", "jsonl", "--clock", "utc"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert int(lines[-1]["time"]) == last.ts + offset.ns
    assert main([str(path), "--export", "jsonl"]) == 0
    assert "uncertainty" not in capsys.readouterr().out


def test_an_old_recording_says_that_it_has_none(capsys) -> None:
    old = shipped_recording()  # tests have an old one in its place
    assert old is not None
    planner = Planner(KernelInfo(RecordingTarget(Recording.open(old), str(old))))
    assert not Watch(planner).clock.is_known
    assert main([str(old), "--export", "csv", "--clock", "local"]) == 0
    told = capsys.readouterr()
    assert "does not say at what time of day it was made" in told.err
    assert told.out.splitlines()[0].startswith('"time","uncertainty",')
