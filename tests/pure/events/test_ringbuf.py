"""Every decoded event of the captures equals the kernel's own text of it."""

from __future__ import annotations

import re

import pytest

from events.decode import Decoder
from events.format import HeaderPage
from events.names.kernel_text import kernel_text
from events.record import Record
from events.recording.reader import parse_cmdlines
from events.subbuffer import count, count_overwritten, walk
from events.text import parse_line, show
from tests.events_data import KERNELS, SETS, archive, captured, fgraph_text, formats_of, sample, store_of, to_big


def microseconds(ts: int) -> int:
    """As trace_print_context() rounds them (ns2usecs)."""
    return (ts + 500) // 1000 * 1000


def records(kernel: str, name: str, cpu: int) -> list[Record]:
    taken = captured(kernel, name)
    store = store_of(taken.decoder, {cpu: taken.raw[cpu]})
    assert not store.undecodable
    assert not store.late_events
    return [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", [name for name in SETS if name != "fgraph"])
def test_all_events_equal_the_kernels_text(kernel, name):
    taken = captured(kernel, name)
    assert taken.text
    probes = 0
    for cpu, text in taken.text.items():
        lines = [parse_line(line) for line in text]
        found = records(kernel, name, cpu)
        assert len(found) == len(lines)
        for record, line in zip(found, lines, strict=True):
            assert line is not None
            assert (microseconds(record.ts), record.pid, cpu) == (line.ts, line.pid, line.cpu)
            if record.event.startswith("my/"):
                probes += 1
                assert kernel_text(record, taken.symbols) == line.text
                compare_values(record, line.text)
    assert probes > 200


def compare_values(record: Record, text: str) -> None:
    """Each value against the text, by a way of its own."""
    for name, value in record.values.items():
        if name.startswith("__probe"):
            continue
        printed = re.search(rf" {name}=(\"[^\"]*\"|\S+)", text)
        assert printed
        expected = printed.group(1)
        if expected == "(fault)":
            assert value is None
        else:
            assert value == (expected[1:-1] if expected.startswith('"') else int(expected, 0))


@pytest.mark.parametrize("kernel", KERNELS)
def test_comm_comes_from_saved_cmdlines(kernel):
    taken = captured(kernel, "my")
    store = store_of(taken.decoder, taken.raw)
    store.task_names.known = parse_cmdlines(_saved(kernel))
    lines = [parse_line(line) for text in taken.text.values() for line in text]
    expected = sorted((line.ts, line.comm) for line in lines if line)
    found = sorted((microseconds(r.ts), r.comm) for r in map(store.record, range(len(store))))
    assert found == expected


def _saved(kernel: str) -> bytes:
    return archive("ringbuf.tar.xz")[f"{kernel}/my/saved_cmdlines"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_lost_events_are_counted(kernel):
    for name in ("my", "overrun"):
        taken = captured(kernel, name)
        store = store_of(taken.decoder, taken.raw)
        assert store.overrun
        assert not store.overrun_unknown
        for cpu, lost in store.overrun.items():
            stats = re.search(r"overrun: (\d+)", taken.stats[cpu])
            assert stats
            # In `overrun` the kernel had lost others already when the buffer was made small.
            assert lost == int(stats.group(1)) if name == "my" else 0 < lost < int(stats.group(1))
        size = taken.decoder.header.page_size
        for raw in taken.raw.values():
            assert not any(
                count_overwritten(raw[at : at + size], taken.decoder.header) for at in range(size, len(raw), size)
            )


@pytest.mark.parametrize("kernel", KERNELS)
def test_merged_cpus_are_in_order_and_complete(kernel):
    for name in SETS:
        taken = captured(kernel, name)
        store = store_of(taken.decoder, taken.raw)
        stamps = [store.row(seq).ts for seq in range(len(store))]
        assert stamps == sorted(stamps)
        size = taken.decoder.header.page_size
        pages = [raw[at : at + size] for raw in taken.raw.values() for at in range(0, len(raw), size)]
        assert len(store) == sum(count(page, taken.decoder.header) for page in pages)
        assert sum(store.totals.values()) == len(store)


@pytest.mark.parametrize("kernel", KERNELS)
def test_function_graph_equals_the_kernels_text(kernel):
    names: dict[int, str] = {}
    for cpu in captured(kernel, "fgraph").raw:
        found = records(kernel, "fgraph", cpu)
        lines = [line.split(")", 1)[1] for line in fgraph_text(kernel) if line.startswith(f" {cpu})")]
        exits = [r.values for r in found if r.event == "ftrace/funcgraph_exit"]
        printed = [m.groups() for line in lines if (m := re.search(r"(\d+)\.(\d{3}) us +\|( *)", line))]
        # The text was read to its end, the pages are the first ones.
        assert len(printed) >= len(exits) > 0
        for values, (micro, nano, indent) in zip(exits, printed, strict=False):
            taken = int(values["rettime"]) - int(values["calltime"])
            assert divmod(taken, 1000) == (int(micro), int(nano))
            assert values["depth"] == (len(indent) - 2) // 2
        calls = [m.group(1) for line in lines if (m := re.search(r"\| +(\w+)\(", line))]
        entries = [r.values for r in found if r.event == "ftrace/funcgraph_entry"]
        assert len(calls) >= len(entries) > 0
        for values, name in zip(entries, calls, strict=False):
            assert names.setdefault(int(values["func"]), name) == name
    assert len(set(names.values())) == len(names) > 1


@pytest.mark.parametrize("kernel", ["6.1", "6.12", "7.2", "7.3"])
def test_samples_of_four_kernels(kernel):
    taken = sample(kernel)
    store = store_of(taken.decoder, {0: taken.raw})
    store.task_names.known = parse_cmdlines(taken.cmdlines.encode())
    formats = {fmt.name: fmt for fmt in taken.decoder.formats.values()}
    lines = [line for line in map(parse_line, taken.text) if line]
    # trace_marker's event has no format in the sample: it is counted and left out.
    known = [line for line in lines if line.event in formats]
    assert store.undecodable == len(lines) - len(known)
    assert len(store) == len(known) > 20
    probes = 0
    for record, line in zip(map(store.record, range(len(store))), known, strict=True):
        assert (microseconds(record.ts), record.pid, record.comm) == (line.ts, line.pid, line.comm)
        if record.format is formats["sched_switch"]:
            for name in ("prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio"):
                assert f"{name}={show(record.values[name])}" in line.text
        else:
            probes += 1
            assert kernel_text(record, taken.symbols) == line.text
    assert probes


@pytest.mark.parametrize("commit_size", [4, 8])
def test_the_same_events_from_a_big_endian_machine(commit_size):
    taken = captured("7.2", "my")
    formats = {n: fmt for n, fmt in formats_of("7.2").items() if fmt.system == "my" and fmt.name != "op"}
    big = HeaderPage("big", commit_size, 8 + commit_size, 65536 - 8 - commit_size)
    little = taken.decoder.header
    compared = 0
    for at in range(0, len(taken.raw[0]), little.page_size):
        raw = taken.raw[0][at : at + little.page_size]
        raw_big = to_big(raw, little, big, formats_of("7.2"))
        assert count(raw_big, big) == count(raw, little) == len(walk(raw, little))
        expected = Decoder(formats, little).page(raw)
        assert Decoder(formats, big).page(raw_big) == expected
        compared += len(expected)
    assert compared > 300
