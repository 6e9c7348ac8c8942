"""Calls as spans and as folded stacks: Perfetto's own classes read the one, sums check the other."""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.calls.call_values import EndRole, UnpairedReason
from events.export.escape import unescape_text
from events.export.formats.folded import FoldedStacks
from events.export.formats.perfetto import PerfettoTrace
from events.export.formats.protobuf import varint
from events.export.source import ExportSource, ProbeNote
from events.export.spans import NOT_OVER, SpanItem, SpanPart, Spans
from events.format import parse_format
from events.names.kallsyms import Symbols
from events.record import Record
from events.stacks.addresses import stack_event_addresses
from tests.pure.export_events import format_of, record_of

TrackEvent = perfetto_trace_pb2.TrackEvent
ENTRIES = [format_of({"sp": "u64", "n": "u64"}, f"g/f{n}_entry", 10 + n) for n in range(2)]
EXITS = [format_of({"sp": "u64", "ret": "s64"}, f"g/f{n}_exit", 20 + n) for n in range(2)]
OTHER = format_of({"v": "u64"}, "g/other", 30)
ENDS = {
    **{fmt.path: EndRole(n, False, "sp", 0, ()) for n, fmt in enumerate(ENTRIES)},
    **{fmt.path: EndRole(n, True, "sp", 0, (), is_filtered_by_result=True) for n, fmt in enumerate(EXITS)},
}
SOURCE = ExportSource(
    {fmt.path: ProbeNote(f"f{n}", frame="sp") for fmts in (ENTRIES, EXITS) for n, fmt in enumerate(fmts)},
    (*ENTRIES, *EXITS, OTHER),
    ENDS,
    title="a kernel",
)


class Step(NamedTuple):
    """What a task does."""

    task: int
    what: str
    """enter, leave, miss (leave unseen), other."""
    function: int = 0


WHAT = st.sampled_from(("enter", "enter", "leave", "leave", "miss", "other"))
STEPS = st.lists(st.builds(Step, st.integers(0, 2), WHAT, st.integers(0, 1)), max_size=60)


class Played(NamedTuple):
    records: list[Record]
    pairs: set[tuple[int, int]]
    """Entry and exit that were both seen."""
    inside: dict[tuple[int, int], tuple[str, ...]]
    """Functions around each pair whose both ends were seen, the outermost first, and its own."""


def play(steps: list[Step]) -> Played:
    """What kernels would record of tasks that call and return; the truth about it by the way."""
    records: list[Record] = []
    stacks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    calls: dict[int, tuple[int, int | None, int]] = {}
    around: dict[int, list[int]] = {}
    for number, (task, what, function) in enumerate(steps):
        ts, pid, stack = 1000 + 10 * number, 100 + task, stacks[task]
        if what == "other":
            records.append(record_of({"v": number}, fmt=OTHER, seq=len(records), ts=ts, pid=pid))
        elif what == "enter":
            seq = len(records)
            around[seq] = [entry for entry, _ in stack]
            stack.append((seq, function))
            values = {"sp": 2**63 + 10_000 - 16 * len(stack), "n": number}
            records.append(record_of(values, fmt=ENTRIES[function], seq=seq, ts=ts, pid=pid))
            calls[seq] = (seq, None, function)
        elif stack:
            entry, function = stack.pop()
            if what == "leave":
                values = {"sp": 2**63 + 10_000 - 16 * (len(stack) + 1), "ret": -2}
                calls[entry] = (entry, len(records), function)
                records.append(record_of(values, fmt=EXITS[function], seq=len(records), ts=ts, pid=pid))
    pairs = {(entry, leave): function for entry, leave, function in calls.values() if leave is not None}
    seen = {entry: function for (entry, _), function in pairs.items()}
    inside = {
        pair: (*(f"f{seen[outer]}" for outer in around[pair[0]] if outer in seen), f"f{function}")
        for pair, function in pairs.items()
    }
    return Played(records, set(pairs), inside)


def items_of(records: list[Record], waiting: int) -> list[SpanItem]:
    spans = Spans(ExportSource(ends=ENDS), waiting)
    found = [item for record in records for item in spans.take(record)]
    return [*found, *spans.finish()]


@given(STEPS, st.sampled_from((1, 2, 5, 1000)))
def test_spans_are_the_calls_and_every_event_comes_once(steps, waiting):
    played = play(steps)
    items = items_of(played.records, waiting)
    open_calls: dict[int, list[int]] = defaultdict(list)
    pairs, came = set(), []
    for item in items:
        seq = item.record.seq
        if item.part is SpanPart.BEGIN:
            open_calls[item.record.pid].append(seq)
        elif item.part is SpanPart.END:
            pairs.add((open_calls[item.record.pid].pop(), seq))
        elif item.part is SpanPart.CALL:
            assert item.leave is not None
            pairs.add((seq, item.leave.seq))
            came.append(item.leave.seq)
        if item.part is not SpanPart.LATE:
            came.append(seq)
    assert not any(open_calls.values())
    assert sorted(came) == list(range(len(played.records)))
    assert pairs == played.pairs
    if waiting == 1000:
        assert came == sorted(came)
        assert not any(item.part in (SpanPart.LATE, SpanPart.CALL) for item in items)


def test_an_end_without_the_other_says_why():
    played = play([Step(0, "enter"), Step(0, "enter", 1), Step(0, "miss"), Step(0, "leave"), Step(1, "enter")])
    alone = [
        (item.record.event, item.unpaired_reason) for item in items_of(played.records, 1000) if item.unpaired_reason
    ]
    assert alone == [("g/f1_entry", UnpairedReason.NO_EXIT.value), ("g/f0_entry", NOT_OVER)]
    leave = played.records[2]
    assert [item.unpaired_reason for item in items_of([leave], 1000)] == [UnpairedReason.NO_ENTRY.value]


def of_two_probes() -> list[Record]:
    """Return events of two probes on one function, whose exits come in the order of the entries, in another call."""
    ends = [(ENTRIES[0], 512), (ENTRIES[0], 256), (ENTRIES[1], 256), (OTHER, 0), (EXITS[0], 256), (EXITS[1], 256)]
    ends.append((EXITS[0], 512))
    return [
        record_of(
            {"v": 1} if fmt is OTHER else {"sp": 2**63 + sp, "n": 0, "ret": 0},
            fmt=fmt,
            seq=seq,
            ts=1000 + 10 * seq,
            pid=7,
        )
        for seq, (fmt, sp) in enumerate(ends)
    ]


@pytest.mark.parametrize("waiting", [1, 2, 1000])
def test_calls_that_cross_are_whole_in_every_format(waiting: int) -> None:
    records = of_two_probes()
    items = items_of(records, waiting)
    whole = {(item.record.seq, item.leave.seq) for item in items if item.leave is not None}
    assert (1, 4) in whole
    once = [item for item in items if item.part is not SpanPart.LATE]
    seqs = [item.record.seq for item in once] + [item.leave.seq for item in once if item.leave is not None]
    assert sorted(seqs) == list(range(7))
    trace = trace_of(records, waiting=waiting)
    assert slices(trace) == {("f0", 1010, 1040), ("f1", 1020, 1050), ("f0", 1000, 1060)}
    names = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    apart = [one for one in names.values() if one.name == "f0_entry"]
    assert [names[one.parent_uuid].name for one in apart] == ["head-7"]
    assert sum(folded(records, waiting=waiting).values()) == 60


def trace_of(records: list[Record], source: ExportSource = SOURCE, waiting: int = 1 << 14) -> Any:
    out = io.BytesIO()
    writer = PerfettoTrace(source, out, waiting)
    for record in records:
        writer.take(record)
    writer.finish()
    return perfetto_trace_pb2.Trace.FromString(out.getvalue())


def slices(trace: Any) -> set[tuple[str, int, int]]:
    """Name, begin and end of each slice, as Perfetto puts them together: in the order of time, a stack a track."""
    found, open_slices = set(), defaultdict(list)
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append((event.name, packet.timestamp))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            name, began = open_slices[event.track_uuid].pop()
            found.add((name, began, packet.timestamp))
    assert not any(open_slices.values())
    return found


def test_calls_of_another_boot_at_the_same_times_are_on_tracks_of_their_own() -> None:
    first = of_two_probes()
    later = [
        replace(one, seq=one.seq + 100, ts=one.ts + 5, comm="tail", format=replace(one.format, boot=1))
        for one in first
        if one.format is not None
    ]
    trace = trace_of([*first, *later])
    calls = {("f0", 1010, 1040), ("f1", 1020, 1050), ("f0", 1000, 1060)}
    assert slices(trace) == calls | {(name, begin + 5, end + 5) for name, begin, end in calls}
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    above = {one.name: tracks[one.parent_uuid].name for one in tracks.values() if one.name in ("head-7", "tail-7")}
    assert above == {"head-7": "a kernel", "tail-7": "a kernel, boot 2"}


@given(STEPS, st.sampled_from((1, 3, 1000)))
def test_perfetto_reads_the_calls(steps, waiting):
    played = play(steps)
    trace = trace_of(played.records, waiting=waiting)
    ts = {record.seq: record.ts for record in played.records}
    expected = {(played.inside[pair][-1], ts[pair[0]], ts[pair[1]]) for pair in played.pairs}
    assert slices(trace) == expected
    assert trace.packet[0].first_packet_on_sequence
    assert trace.packet[0].track_descriptor.name == "a kernel"
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    used = {p.track_event.track_uuid for p in trace.packet if p.HasField("track_event")}
    assert used | {1} == set(tracks)
    assert {tracks[uuid].name for uuid in used} == {f"head-{record.pid}" for record in played.records}
    assert {tracks[uuid].parent_uuid for uuid in used} <= {1}
    instants = [p for p in trace.packet if p.track_event.type == TrackEvent.TYPE_INSTANT]
    assert len(instants) == len(played.records) - 2 * len(played.pairs)


def arguments_of(event: Any) -> dict[str, Any]:
    found = {}
    for one in event.debug_annotations:
        kind = one.WhichOneof("value")
        found[one.name] = (
            [getattr(v, v.WhichOneof("value")) for v in one.array_values] if kind is None else getattr(one, kind)
        )
    return found  # fmt: skip


def test_values_of_a_call_are_arguments_of_its_slice():
    played = play([Step(0, "enter"), Step(0, "leave"), Step(0, "enter")])
    source = ExportSource(
        SOURCE.probe_notes, SOURCE.formats, ENDS, field_texts=lambda r: [("ret", "-ENOENT"), ("n", "2")]
    )
    events = [p.track_event for p in trace_of(played.records, source).packet if p.HasField("track_event")]
    assert [(event.name, list(event.categories)) for event in events] == [
        ("f0", ["call"]), ("", []), ("f0_entry", ["event"])
    ]  # fmt: skip
    assert arguments_of(events[0]) == {"entry.n": 0}
    assert arguments_of(events[1]) == {"exit.ret": -2, "exit.ret (name)": "-ENOENT"}
    assert arguments_of(events[2]) == {"n": 2, "alone": NOT_OVER}


@given(
    st.integers(0, 2**64 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=30).filter(lambda raw: 0 not in raw),
    st.text(max_size=20),
)
def test_values_and_names_survive_perfetto(big, low, raw, comm):
    record = record_of({"big": big, "low": low, "name": raw, "list": (1, 2**32 - 1)}, comm=comm, fmt=format_of(
        {"big": "u64", "low": "s64", "name": "string", "list": "u32[2]"}))  # fmt: skip
    trace = trace_of([record])
    found = arguments_of(trace.packet[-1].track_event)
    assert (found["big"], found["low"], found["list"]) == (big, low, [1, 2**32 - 1])
    assert unescape_text(found["name"]) == raw
    assert trace.packet[1].track_descriptor.name == f"{comm}-7"


def test_idle_tasks_have_a_track_each_and_a_task_gets_its_name_when_it_is_known():
    records = [
        record_of({"v": 1}, fmt=OTHER, seq=n, pid=pid, cpu=cpu, comm=comm)
        for n, (pid, cpu, comm) in enumerate([(0, 0, "<idle>"), (0, 1, "<idle>"), (5, 0, "<...>"), (5, 0, "sh")])
    ]
    names = [p.track_descriptor.name for p in trace_of(records).packet if p.HasField("track_descriptor")]
    assert names == ["a kernel", "<idle>-0 on CPU 0", "<idle>-0 on CPU 1", "<...>-5", "sh-5"]


@pytest.mark.parametrize(("number", "expected"), [(0, "00"), (127, "7f"), (128, "8001"), (-1, "ff" * 9 + "01")])
def test_numbers_of_protocol_buffers(number, expected):
    assert varint(number).hex() == expected


def folded(records: list[Record], source: ExportSource = SOURCE, waiting: int = 1 << 14) -> dict[str, int]:
    out = io.BytesIO()
    writer = FoldedStacks(source, out, waiting)
    for record in records:
        writer.take(record)
    writer.finish()
    assert bool(writer.notes) is bool(writer.omitted)
    assert 0 <= writer.omitted <= len(records)
    assert bool(out.getvalue()) is (writer.omitted < len(records))
    lines = out.getvalue().decode().splitlines()
    parsed = [re.fullmatch(r"([^;]+(?:;[^;]+)*) (\d+)", line) for line in lines]
    assert all(parsed)
    return {match.group(1): int(match.group(2)) for match in parsed if match}


@given(STEPS)
def test_folded_stacks_are_the_own_times_of_nested_calls(steps):
    played = play(steps)
    ts = {record.seq: record.ts for record in played.records}
    task = {record.seq: record.pid for record in played.records}
    expected: Counter[str] = Counter()
    for entry, leave in played.pairs:
        within = [p for p in played.pairs if task[p[0]] == task[entry] and entry < p[0] and p[1] < leave]
        children = [p for p in within if not any(q[0] < p[0] and p[1] < q[1] for q in within)]
        own = ts[leave] - ts[entry] - sum(ts[p[1]] - ts[p[0]] for p in children)
        expected["head;" + ";".join(played.inside[entry, leave])] += own
    assert folded(played.records) == dict(expected)


@given(STEPS, st.sampled_from((1, 2, 5)))
def test_folded_times_sum_up_however_little_is_held_back(steps, waiting):
    played = play(steps)
    ts = {record.seq: record.ts for record in played.records}
    task = {record.seq: record.pid for record in played.records}
    outermost = [
        p for p in played.pairs
        if not any(task[q[0]] == task[p[0]] and q[0] < p[0] and p[1] < q[1] for q in played.pairs)
    ]  # fmt: skip
    assert sum(folded(played.records, waiting=waiting).values()) == sum(ts[p[1]] - ts[p[0]] for p in outermost)


STACK = parse_format(
    "name: kernel_stack\nID: 4\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
    'print fmt: "\\t=> %ps\\n", (void *)REC->caller[0]\n',
    "ftrace",
)


def stack_record(addresses: list[int], seq: int = 0, comm: str = "sh", size: int | None = None) -> Record:
    from events.decode import Layout

    raw = (
        bytes.fromhex("0400010005000000")
        + (len(addresses) if size is None else size).to_bytes(4, "little", signed=True)
        + bytes(4)
    )
    raw += b"".join(address.to_bytes(8, "little") for address in addresses)
    return Record(seq, 1000, 0, 5, comm, STACK.path, STACK, raw, "", Layout(STACK, "little"))


def test_kernel_stacks_are_counted_outermost_first():
    symbols = Symbols(b"1000 T do_syscall\n2000 T vfs_read\n3000 T ext4_read\n4000 T end_of_it\n")
    source = ExportSource(symbols=lambda _: symbols)
    deep = [0x3004] + [0x2008] * 10 + [0x1004]  # more than the eight that the format declares
    assert stack_event_addresses(stack_record(deep)) == tuple(deep)
    records = [stack_record(deep, 0), stack_record([0x2008, 0x1004], 1), stack_record([0x2008, 0x1004, 2**64 - 1], 2)]
    found = folded(records, source)
    assert found == {
        "sh;do_syscall;" + "vfs_read;" * 10 + "ext4_read": 1,
        "sh;do_syscall;vfs_read": 2,
    }
    assert folded([stack_record([0x77], comm="a;b\n\x1b")], source) == {r"a\x3bb\x0a\x1b;0x77": 1}


def test_a_task_gets_its_name_in_folded_stacks_when_it_is_known_at_the_end():
    records = [stack_record([0x77], n, comm) for n, comm in enumerate(["<...>", "sh", "<...>"])]
    assert folded(records) == {"<...>;0x77": 2, "sh;0x77": 1}
    assert folded(records, ExportSource(comm=lambda pid: {5: "sh"}[pid])) == {"sh;0x77": 3}


@pytest.mark.parametrize("size", [-1, 0, 2**31 - 1])
def test_a_stack_that_lies_about_its_size_is_read_as_far_as_it_goes(size):
    assert stack_event_addresses(stack_record([1, 2, 3], size=size)) == ((1, 2, 3) if size > 0 else ())
