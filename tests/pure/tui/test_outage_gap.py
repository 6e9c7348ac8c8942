"""The gap that a lost connection leaves: measured no longer than it was, and in each export and view the same."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

import kernel.watch.recorder
from events.batch import Batch, Chunk
from events.decode import Decoder
from events.durations import seconds_text
from events.export.formats.otlp import LogEncoder
from events.format import HeaderPage
from events.recording.chunks import pack_batch, unpack_batches
from events.recording.reader import Recording, RecordingWriter
from events.store.outage_mark import OUTAGE_EVENT, Outage, outage_of_batch, outage_of_record, total_outage_text
from events.store.store import Store
from events.summary.summary import Summary
from kernel.connection.kernel_info import KernelInfo
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side, at_once, cut, shown, side
from tests.pure.kernel.test_watch import Anything, id_of, probe
from tests.pure.remote_hosts import Instance, remote_host
from tests.pure.tui.test_otlp import value_of
from tests.replays import replay_of
from tui.__main__ import main
from tui.output.event_source import source_of
from tui.present.first_rows import first_rows
from tui.present.loss_totals import losses_of
from tui.present.status import detail_of, status_of
from tui.views.summary.text import _head
from widgets.events.status_bar import loss_runs

__all__ = ["at_once", "side"]

TIMES = st.one_of(st.none(), st.integers(0, 2**62))
CUTS = st.builds(lambda cut, missing: cut._replace(missing=missing), st.one_of(
    st.builds(Outage.between, st.integers(0, 2**62), st.integers(0, 2**62)),
    st.builds(lambda ms, booted, back: Outage.lasting(ms / 1000, booted=booted, back=back),
              st.integers(-5, 10**9), st.booleans(), TIMES),
), st.booleans())  # fmt: skip
OLD = '\n  5.8 s lost-0 [000] 1000: line_cut: seconds=5.8 note="the line was cut for 5.8 s; events are lost"\n'
SECOND = 10**9


# -- the mark as bytes -----------------------------------------------------------------------------------------------


@given(CUTS, st.integers(0, 2**62))
def test_a_mark_is_read_back_from_a_recording_and_from_a_store(gap: Outage, ts: int) -> None:
    batch = gap.batch(ts)
    assert list(unpack_batches(pack_batch(batch))) == [batch]
    file = io.BytesIO()
    writer = RecordingWriter(file)
    writer.pages(batch)
    writer.close()
    (kept,) = Recording.open(file.getvalue()).batches()
    assert outage_of_batch(kept) == gap
    store = Store(Decoder({}, HeaderPage("little")))
    store.feed(kept)
    store.flush()
    (record,) = (store.record(seq) for seq in range(store.next_seq))
    assert outage_of_record(record) == gap and record.ts == max(ts, gap.lost or 0)


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_no_length_is_longer_than_what_it_is_of(lost: int, back: int) -> None:
    gap = Outage.between(lost, back)
    assert gap.lost == lost and gap.back == max(lost, back)
    assert 0 <= gap.seconds * SECOND <= max(0, back - lost) * (1 + 1e-15)
    assert float(gap.duration_text.removesuffix(" s").replace(",", "")) <= gap.seconds + 1e-6


def test_a_mark_of_an_older_recording_has_its_seconds() -> None:
    batch = Batch((Chunk(-1, OLD.encode(), text=True),), drained=False, after_gap=True)
    assert outage_of_batch(batch) == Outage(5.8)


@given(st.binary(max_size=200), st.booleans())
def test_nothing_else_is_a_mark(text: bytes, after_gap: bool) -> None:
    assert outage_of_batch(Batch((Chunk(-1, text, text=True),), drained=False, after_gap=after_gap)) is None
    assert outage_of_batch(Batch((), drained=False, after_gap=after_gap)) is None
    assert outage_of_batch(Batch((Chunk(0, text),), drained=False, after_gap=after_gap)) is None


# -- the measure -----------------------------------------------------------------------------------------------------


class Clocked(Side):
    """Its kernel tells what time it is, and something happens as soon as a probe is on."""

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        data = super().read(path, limit, offset)
        if path.endswith("/stats"):
            data += b"now ts: %d.%06d\n" % divmod(time.monotonic_ns() // 1000, 10**6)
        return data

    def happens_when_on(self, *, slow: float) -> None:
        """Have an event at each step after which a probe is recorded, which takes some time."""

        def after(step: object) -> None:
            on = [path for path, data in self.files.items() if path.endswith("/enable") and data == b"1"]
            if not on:
                return
            folder = on[0].partition("/events/")[0]
            if self.files[f"{folder}/tracing_on"].strip() == b"1":
                text = self.files[on[0].replace("/enable", "/format")]
                self.event(time.monotonic_ns(), int(text.split(b"ID: ")[1].split(b"\n")[0]))
            time.sleep(slow)

        self.after = after


@pytest.mark.parametrize("kind", [Clocked, Side])
@pytest.mark.parametrize("triggered", [False, True])
def test_a_gap_is_no_longer_than_the_events_around_it_are_apart(kind: type[Side], triggered: bool) -> None:
    """Probes are armed one by one over a slow connection: the first one sees events before the last is there."""
    side = kind()
    watch = Watch(Anything(KernelInfo(side.target)))
    try:
        armed = [watch.armed.arm(probe(name)) for name in ("vfs_read", "vfs_write", "vfs_open")]
        if triggered:
            watch.armed.add_trigger(armed[0], armed[0].plan.events[0], "stacktrace")
        side.last_received = time.monotonic()
        side.event(time.monotonic_ns(), id_of(armed[0]))
        side.last_received = time.monotonic()
        shown(watch, 1)
        cut(side, watch)
        Clocked.happens_when_on(side, slow=0.1)  # type: ignore[arg-type]
        back = ReconnectAttempt(watch).run()
        assert shown(watch, 3)[1] == OUTAGE_EVENT
        store = watch.store
        assert store is not None
        before, mark, after = (store.record(seq) for seq in range(3))
        gap = outage_of_record(mark)
        assert gap == back.outage == watch.outages[0]
        assert 0 < gap.seconds * SECOND <= after.ts - before.ts
        if kind is Clocked:
            assert gap.lost is not None and gap.back is not None
            assert before.ts <= gap.lost <= gap.back <= after.ts, "both times are right"
        assert store.loss_spans.latest.may_lack_ends(before.ts, after.ts)
        on = [step.path.rpartition("/")[2] for step in side.steps if step.data == b"1"]
        assert on[-4:] == ["enable", "enable", "enable", "tracing_on"], "all are recorded from one time on"
    finally:
        watch.close()


def test_where_the_clock_began_again_only_its_end_is_known(side: Side) -> None:
    made = Clocked()
    watch = Watch(Anything(KernelInfo(made.target)))
    armed = watch.armed.arm(probe("vfs_read"))
    made.event(90_000, id_of(armed))
    shown(watch, 1)
    cut(made, watch)
    made.files["/proc/sys/kernel/random/boot_id"] = b"two\n"
    gap = ReconnectAttempt(watch).run().outage
    assert gap.booted and gap.lost is None and gap.back is not None and gap.seconds >= 0
    watch.close()


def test_what_a_shell_reads_for_us_is_heard(tmp_path: Path) -> None:
    """Its text comes through a shell of its own: what it gave last was there before the connection was lost."""
    (tmp_path / "i").mkdir()
    instance = Instance(tmp_path / "i", cpus=0)
    (tmp_path / "i/trace_pipe").write_text(" cat-812 [000] 1.000000: vfs_read: count=1\n")
    with remote_host("dash") as far:
        stream = far.dialect.stream(instance.path)
        asked = far.dialect._shell.last_received  # type: ignore[union-attr]
        assert stream.read(60.0) is not None
        assert far.dialect.last_received >= stream.last_received > asked  # type: ignore[union-attr]
        stream.close()


# -- what is given out -----------------------------------------------------------------------------------------------


@pytest.fixture
def taped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Path, Outage]]:
    """A recording with an event before a cut and one after it."""
    monkeypatch.setattr(kernel.watch.recorder, "_text_symbols", lambda _: b"")
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))
    made = Clocked()
    watch = Watch(Anything(KernelInfo(made.target)))
    armed = watch.armed.arm(probe("vfs_read"))
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    made.event(time.monotonic_ns(), id_of(armed))
    shown(watch, 1)
    cut(made, watch)
    made.happens_when_on(slow=0.0)
    gap = ReconnectAttempt(watch).run().outage
    shown(watch, 3)
    watch.stop_recording()
    watch.close()
    yield path, gap


def test_a_recording_that_ends_while_the_line_is_cut_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever becomes of the line: for what comes after it there is another file."""
    monkeypatch.setattr(kernel.watch.recorder, "_text_symbols", lambda _: b"")
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))
    made = Clocked()
    watch = Watch(Anything(KernelInfo(made.target)))
    try:
        armed = watch.armed.arm(probe("vfs_read"))
        watch.record_to(tmp_path / "one.pwr")
        made.event(time.monotonic_ns(), id_of(armed))
        shown(watch, 1)
        cut(made, watch)
        watch.stop_recording()
        kept = [gap for batch in Recording.open(tmp_path / "one.pwr").batches() if (gap := outage_of_batch(batch))]
        assert [gap.for_good for gap in kept] == [True]
        made.happens_when_on(slow=0.0)
        ReconnectAttempt(watch).run()
        watch.record_to(tmp_path / "two.pwr")
        assert shown(watch, 3)[:3] == ["vfs_read", OUTAGE_EVENT, "vfs_read"]
        watch.stop_recording()
        assert watch.end_mark is None and len(watch.outages) == 1
        kept = [gap for batch in Recording.open(tmp_path / "two.pwr").batches() if (gap := outage_of_batch(batch))]
        assert not any(gap.for_good for gap in kept)
    finally:
        watch.close()


def given_out(path: Path, form: str, out: Path, capsys: pytest.CaptureFixture[str]) -> bytes:
    capsys.readouterr()
    assert main([str(path), "--export", f"{form}:{out}"]) == 0
    return out.read_bytes()


def test_json_lines_have_the_gap(taped, tmp_path, capsys) -> None:
    path, gap = taped
    rows = [json.loads(line) for line in given_out(path, "jsonl", tmp_path / "x.jsonl", capsys).splitlines()]
    assert [row["event"] for row in rows] == ["vfs_read", OUTAGE_EVENT, "vfs_read"]
    before, mark, after = rows
    assert mark["values"] == {"lost": gap.lost, "back": gap.back, "seconds": gap.seconds, "note": gap.text}
    assert before["ts"] <= gap.lost <= gap.back <= after["ts"] and mark["ts"] == gap.lost


def test_csv_has_the_gap(taped, tmp_path, capsys) -> None:
    path, gap = taped
    rows = list(csv.DictReader(io.StringIO(given_out(path, "csv", tmp_path / "x.csv", capsys).decode())))
    before, mark, after = rows
    assert (mark["event"], mark["lost"], mark["back"]) == (OUTAGE_EVENT, str(gap.lost), str(gap.back))
    assert float(mark["seconds"]) == gap.seconds and mark["note"] == gap.text
    assert not any(row[name] for row in (before, after) for name in ("lost", "back", "seconds", "note"))


def test_parquet_has_the_gap(taped, tmp_path, capsys) -> None:
    path, gap = taped
    table = pyarrow.parquet.read_table(io.BytesIO(given_out(path, "parquet", tmp_path / "x.parquet", capsys)))
    kinds = {name: str(table.schema.field(name).type) for name in ("lost", "back", "seconds", "note")}
    assert kinds == {"lost": "int64", "back": "int64", "seconds": "double", "note": "string"}
    _, mark, after = table.to_pylist()
    assert (mark["lost"], mark["back"], mark["seconds"], mark["note"]) == (gap.lost, gap.back, gap.seconds, gap.text)
    assert after["lost"] is None and after["seconds"] is None


def test_perfetto_has_the_gap_as_long_as_it_was(taped, tmp_path, capsys) -> None:
    path, gap = taped
    trace = perfetto_trace_pb2.Trace.FromString(given_out(path, "perfetto", tmp_path / "x.pftrace", capsys))
    (line,) = (one.track_descriptor for one in trace.packet if one.track_descriptor.name == "line")
    begin, end = (one for one in trace.packet if one.track_event.track_uuid == line.uuid)
    kinds = perfetto_trace_pb2.TrackEvent
    assert (begin.track_event.type, end.track_event.type) == (kinds.TYPE_SLICE_BEGIN, kinds.TYPE_SLICE_END)
    assert (begin.timestamp, end.timestamp) == (gap.lost, gap.back)
    told = {one.name: one for one in begin.track_event.debug_annotations}
    assert (told["lost"].int_value, told["back"].int_value) == (gap.lost, gap.back)
    assert told["seconds"].double_value == gap.seconds and told["note"].string_value == gap.text


def test_the_kernels_text_has_the_gap(taped, tmp_path, capsys) -> None:
    path, gap = taped
    lines = given_out(path, "text", tmp_path / "x.txt", capsys).decode().splitlines()
    (mark,) = (line for line in lines if f" {OUTAGE_EVENT}: " in line)
    found = re.search(r'lost=(\d+) back=(\d+) seconds=(\S+) note="(.*)"$', mark)
    assert found is not None
    assert (int(found[1]), int(found[2]), float(found[3]), found[4]) == (gap.lost, gap.back, gap.seconds, gap.text)


def test_folded_stacks_say_that_they_have_no_place_for_it(taped, tmp_path, capsys) -> None:
    path, gap = taped
    assert main([str(path), "--export", f"folded:{tmp_path / 'x.folded'}"]) == 1
    told = capsys.readouterr().err
    assert f"disconnected for {gap.duration_text}: folded stacks have no place for that" in told


def test_a_log_record_has_the_gap(taped) -> None:
    path, gap = taped
    watch = replay_of(path)
    store = watch.store
    assert store is not None
    encoder = LogEncoder(source_of(watch), {})
    data = encoder.request([encoder.record(store.record(1), None, 7)])
    request = json_format.Parse(data, ExportLogsServiceRequest())
    (record,) = request.resource_logs[0].scope_logs[0].log_records
    told = {one.key: value_of(one.value) for one in record.attributes}
    assert (told["lost"], told["back"], told["seconds"], told["note"]) == (gap.lost, gap.back, gap.seconds, gap.text)
    assert told["probewright.event"] == OUTAGE_EVENT


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_a_recording_says_of_its_gap_what_was_said_live(taped, capsys) -> None:
    path, gap = taped
    watch = replay_of(path)
    assert watch.outages == (gap,)
    assert losses_of(watch, None).gap == gap.seconds
    status = status_of(watch.info, watch, None, tracing=False)
    assert [text for text, _ in loss_runs(status.losses, quiet=True)][-1] == f"  ! gap {seconds_text(gap.seconds)}"
    assert first_rows(watch.info.target).losses.gap == gap.seconds, "from the first paint on"
    assert f"disconnected for {gap.duration_text}" in _head(watch, Summary(watch.store))
    told = {field.name: field.value for field in detail_of(watch, watch.store.record(1))}
    assert told == {"lost": str(gap.lost), "back": str(gap.back), "seconds": str(gap.seconds), "note": gap.text}
    capsys.readouterr()
    assert main([str(path), "--export", "jsonl"]) == 0
    assert gap.text in capsys.readouterr().err


def test_several_gaps_are_told_in_sum() -> None:
    assert total_outage_text(()) == ""
    assert total_outage_text((Outage(1.25), Outage(2.0))) == "3.2 s, 2 times"
    assert total_outage_text((Outage(1.25), Outage(2.0, booted=True, missing=False))) == "1.2 s", (
        "nothing was recorded then"
    )
    assert total_outage_text((Outage(2.0, booted=True, missing=False),)) == ""
