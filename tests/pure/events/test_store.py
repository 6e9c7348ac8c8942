"""The store: one order over all CPUs, numbers that never shift, a limit in bytes, text, search and rates."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.record import detail
from events.search.find import find
from events.store.blocks import BLOCK_ROWS
from events.store.store import Store
from events.summary.summary import Summary
from events.text import parse_line
from tests.events_data import captured, entry, event, formats_of, page

HEADER = HeaderPage()
FORMAT = """name: ev
ID: 700
format:
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 n;\toffset:8;\tsize:8;\tsigned:0;

print fmt: " n=%Lu", REC->n
"""
EV = parse_format(FORMAT, "grp")


def new_store(limit: int = 1 << 30, **more: Any) -> Store:
    return Store(Decoder({700: EV}, HEADER), limit, **more)


def sub_buffer(stamps: Sequence[int], first: int = 0, pid: int = 1, unknown: Container[int] = ()) -> bytes:
    """A page of events at these times, some of which have no format; their `n` counts from `first`."""
    data, before = b"", stamps[0]
    for n, ts in enumerate(stamps, first):
        data += event(entry(701 if ts in unknown else 700, pid, n.to_bytes(8, "little")), ts - before)
        before = ts
    return page(stamps[0], data, HEADER)


def stamps_of(store: Store) -> list[int]:
    return [store.row(seq).ts for seq in range(store.first_seq, store.next_seq)]


@st.composite
def machines(draw: st.DrawFn) -> tuple[list[Batch], int]:
    """Passes over CPUs as they would be read: the events written while a pass goes on reach some CPUs only.

    Of the events of some times nobody knows the format; gives the number of the others too.
    """
    rng = random.Random(draw(st.integers(0, 2**32)))
    cpus = draw(st.integers(1, 4))
    most = draw(st.sampled_from([None, 1, 3]))
    share = draw(st.sampled_from([0.0, 0.3, 0.8]))
    unknown = {ts for ts in range(1000) if rng.random() < share}
    queues: list[list[int]] = [[] for _ in range(cpus)]
    now, batches, written = 0, [], 0
    for _ in range(draw(st.integers(1, 12))):
        chunks, drained = [], True
        for cpu in range(cpus):
            for _ in range(rng.randrange(6)):
                now += rng.randrange(3)
                queues[rng.randrange(cpus)].append(now)
                written += now not in unknown
            take = len(queues[cpu]) if most is None else min(most, len(queues[cpu]))
            if take:
                chunks.append(Chunk(cpu, sub_buffer(queues[cpu][:take], unknown=unknown)))
                del queues[cpu][:take]
            drained = drained and not queues[cpu]
            now += 1
        # Whether a pass drained a CPU is known when the CPU was read, not at the end of the pass.
        batches.append(Batch(tuple(chunks), drained if most else True))
    rest = [Chunk(cpu, sub_buffer(queue, unknown=unknown)) for cpu, queue in enumerate(queues) if queue]
    return [*batches, Batch(tuple(rest), True)], written


@settings(max_examples=200)
@given(machines())
def test_rows_come_in_order_of_time_and_none_is_missing(machine):
    batches, written = machine
    store = new_store()
    for batch in batches:
        before = store.next_seq
        assert store.feed(batch) == store.next_seq - before
    store.flush()
    assert stamps_of(store) == sorted(stamps_of(store))
    assert len(store) == written
    assert not store.late_events
    assert not store.held_events


def test_one_pass_is_held_back():
    store = new_store()
    assert store.feed(Batch((Chunk(0, sub_buffer([10, 30])), Chunk(1, sub_buffer([20, 40]))), True)) == 0
    assert store.held_events == 4
    assert store.feed(Batch((Chunk(0, sub_buffer([35, 50])),), True)) == 5
    assert stamps_of(store) == [10, 20, 30, 35, 40]
    assert store.feed(Batch((), True)) == 1
    # A pass that left something behind holds back what could still be older.
    assert store.feed(Batch((Chunk(0, sub_buffer([60])), Chunk(1, sub_buffer([55, 99]))), False)) == 0
    assert store.feed(Batch((Chunk(0, sub_buffer([70])), Chunk(1, sub_buffer([100]))), False)) == 3
    assert stamps_of(store)[-3:] == [55, 60, 70]


def test_events_without_a_format_hold_back_and_let_go_as_others_do():
    store = new_store()
    store.feed(Batch((Chunk(0, sub_buffer([60])),), False))
    # CPU 1 has more behind what nobody knows, and it may be older than what CPU 0 has.
    passed = store.feed(Batch((Chunk(0, sub_buffer([100])), Chunk(1, sub_buffer([10], unknown=[10]))), False))
    assert passed == 0
    store.feed(Batch((Chunk(1, sub_buffer([11, 110], unknown=[110])),), True))
    assert stamps_of(store) == [11, 60, 100]
    # All up to 110 was written before the next pass began.
    assert store.feed(Batch((Chunk(0, sub_buffer([105])),), True)) == 1
    assert (store.late_events, store.undecodable) == (0, 2)


def test_an_event_that_comes_too_late_is_shown_and_counted():
    store = new_store()
    store.feed(Batch((Chunk(0, sub_buffer([10, 20])),), True))
    store.flush()
    store.feed(Batch((Chunk(1, sub_buffer([5, 30])),), True))
    store.flush()
    assert stamps_of(store) == [10, 20, 5, 30]
    assert store.late_events == 1


def test_limit_in_bytes_and_numbers_that_never_shift():
    limit = 300_000
    store = new_store(limit)
    seen = before = largest = 0
    for number in range(400):
        stamps = [number * 1000 + n for n in range(100)]
        store.feed(Batch((Chunk(number % 3, sub_buffer(stamps, first=seen)),), True))
        seen += 100
        largest = max(largest, store.bytes - before)
        assert store.bytes <= limit + 3 * largest + BLOCK_ROWS * 100
        before = store.bytes
    store.flush()
    assert store.next_seq == seen
    assert store.first_seq > 0
    assert len(store) + store.first_seq == seen
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        assert (record.seq, record.values["n"]) == (seq, seq)
    for gone in (0, store.first_seq - 1, store.next_seq, -1):
        with pytest.raises(IndexError):
            store.record(gone)
        with pytest.raises(IndexError):
            store.row(gone)
    assert store.totals == {700: seen}
    kept = store._blocks.slabs
    assert sum(len(p.data) for p in kept.values()) < store.bytes <= limit + 3 * largest
    assert min(kept) > 0


def test_a_reader_that_is_a_pass_behind_sees_all_of_passes_that_are_larger_than_the_limit():
    store, seen, at = new_store(500_000), 0, 0
    for number in range(6):
        stamps = range(number * 10**6, number * 10**6 + 40_000)
        pages = [sub_buffer(stamps[n : n + 200], first=n) for n in range(0, len(stamps), 200)]
        store.feed(Batch((Chunk(0, b"".join(pages)),), drained=True))
        assert store.first_seq <= at
        at, seen = seen, store.next_seq
    assert seen == 200_000 and store.first_seq > 0


def test_a_page_stays_while_one_of_its_events_is_held():
    store = new_store(100_000)
    young = 10**6
    store.feed(Batch((Chunk(1, sub_buffer([young], first=77)),), False))
    for number in range(100):
        stamps = [number * 100 + n for n in range(100)]
        store.feed(Batch((Chunk(0, sub_buffer(stamps)),), False))
    assert store.first_seq
    assert store.held_events
    store.flush()
    last = store.record(store.next_seq - 1)
    assert (last.ts, last.cpu, last.values["n"]) == (young, 1, 77)


def test_a_page_of_few_events_takes_few_bytes():
    store = new_store()
    for ts in range(100):
        store.feed(Batch((Chunk(0, sub_buffer([ts])),), True))
    assert store.bytes < 100 * 250


def test_sub_buffers_of_a_chunk_and_empty_ones():
    store = new_store()
    empty = page(5, b"", HEADER)
    data = sub_buffer([1, 2]) + empty + sub_buffer([3])
    store.feed(Batch((Chunk(0, data), Chunk(1, empty)), True))
    assert store.flush() == 3
    assert store.undecodable == 0
    store.feed(Batch((Chunk(0, sub_buffer([4]) + b"123"),), True))
    assert store.undecodable == 1


def test_pages_that_give_no_rows_are_not_kept():
    store = Store(Decoder({}, HEADER), 100_000)
    for ts in range(0, 10_000, 10):
        store.feed(Batch((Chunk(0, sub_buffer([ts] * 9)), Chunk(-1, b"no event\n" * 9, text=True)), True))
    assert store.undecodable == 18_000
    assert store.bytes == 0
    assert not store._blocks.slabs


def test_what_was_lost_before_a_boot_is_not_lost_after_it():
    """Its clock begins again: times of before are later than those that come."""
    store = new_store(100_000)
    day = 10**14

    def come(start: int, number: int, *, after_gap: bool = False) -> None:
        for ts in range(start, start + number * 1000, 100_000):
            stamps = range(ts, min(ts + 100_000, start + number * 1000), 1000)
            store.feed(Batch((Chunk(0, sub_buffer(stamps)),), True, after_gap=after_gap and ts == start))

    come(day, 100)
    come(day + 10**6, 10_000, after_gap=True)
    store.flush()
    assert store.first_seq > 200, "the gap is forgotten with the events around it"
    assert store.loss_spans.latest.may_lack_ends(day, day + 10**9)
    store.begin_anew()
    come(1000, 10)
    come(1_000_000, 200, after_gap=True)
    store.flush()
    assert store.row(store.first_seq).ts >= day, "some of before are kept"
    assert store.loss_spans.at(store.first_seq).may_lack_ends(day, day + 10**9)
    assert not store.loss_spans.latest.may_lack_ends(1000, 9000)
    assert store.loss_spans.latest.may_lack_ends(9000, 1_000_000)
    assert not store.loss_spans.latest.may_lack_ends(1_110_000, 1_190_000)
    come(2_000_000, 20_000)
    store.flush()
    assert store.row(store.first_seq).ts < day, "none is"
    assert not store.loss_spans.latest.may_lack_ends(store.row(store.first_seq).ts, store.latest)


def test_times_of_a_clock_that_began_again_are_found_and_counted_behind_the_others():
    store = new_store()
    second = 10**8
    for begin in (100, 10, 20):
        store.feed(Batch((Chunk(0, sub_buffer([(begin + n) * second for n in range(4)])),), True))
        store.begin_anew()
    stamps = [store.row(seq).ts // second for seq in range(len(store))]
    assert stamps == [100, 101, 102, 103, 10, 11, 12, 13, 20, 21, 22, 23]
    found = {time: store.at_time(time * second) for time in (101, 99, 12, 22, 9, 104)}
    assert found == {101: 1, 99: 0, 12: 8, 22: 10, 9: 8, 104: 12}, "of the youngest clock that has it"
    assert store.boots.starts == [4, 8, 12]
    summary = Summary(store)
    summary.tick(60)
    line = summary.timeline
    assert line.total("grp/ev") == summary.counted == 12
    assert [count for count in line.counts("grp/ev") if count] == [1] * 12
    assert line.used * line.width == pytest.approx(3 * 3 * second, abs=6 * line.width)


@pytest.mark.parametrize("order", ["little", "big"])
@settings(max_examples=30)
@given(st.lists(st.sampled_from([None, None, None, -1, 3, 500]), min_size=9, max_size=40), st.integers(0, 40))
def test_what_was_missed_is_the_same_whether_sub_buffers_come_together_or_alone(order, lost, cut):
    header = HeaderPage(order)
    pages = []
    for number, missed in enumerate(lost):
        flags = 0 if missed is None else 1 << 31 | (missed > 0) << 30
        data = event(entry(700, number, bytes(40), order), 1, order) * 77
        pages.append(page(number * 1000, data, header, flags, missed if missed and missed > 0 else None))
    together, alone = Store(Decoder({700: EV}, header)), Store(Decoder({700: EV}, header))
    for several in (pages[:cut], pages[cut:]):
        together.feed(Batch((Chunk(0, b"".join(several)),), True))
    for one in pages:
        alone.feed(Batch((Chunk(0, one),), True))
    for store in (together, alone):
        store.flush()
    assert (together.overrun, together.overrun_unknown) == (alone.overrun, alone.overrun_unknown)
    assert together.lost_events == alone.lost_events == sum(abs(missed) for missed in lost if missed)
    stamps = np.array(stamps_of(alone))
    assert stamps_of(together) == stamps.tolist()
    assert (
        together.loss_spans.latest.lacks_ends_before(stamps).tolist()
        == alone.loss_spans.latest.lacks_ends_before(stamps).tolist()
    )
    assert [together.row(seq) for seq in range(len(together))] == [alone.row(seq) for seq in range(len(alone))]


def test_missed_events_without_a_number():
    store = new_store()
    made = bytearray(sub_buffer([1]))
    made[11] |= 0x80
    store.feed(Batch((Chunk(3, bytes(made)),), True))
    assert store.overrun_unknown == {3: 1}
    assert not store.overrun
    store.feed(Batch((Chunk(3, page(9, b"", HEADER, flags=3 << 30, lost=41)),), True))
    assert store.overrun == {3: 41}
    assert store.lost_events == 42


def test_events_without_a_format_are_counted():
    taken = captured("7.2", "mixed")
    only = {n: fmt for n, fmt in formats_of("7.2").items() if fmt.system == "my"}
    store = Store(Decoder(only, taken.decoder.header))
    store.feed(Batch(tuple(Chunk(c, raw) for c, raw in taken.raw.items()), True))
    store.flush()
    whole = Store(taken.decoder)
    whole.feed(Batch(tuple(Chunk(c, raw) for c, raw in taken.raw.items()), True))
    whole.flush()
    assert store.undecodable == len(whole) - len(store) > 0
    assert {store.row(seq).id for seq in range(len(store))} == {n for n, t in whole.totals.items() if n in only and t}


def test_the_kernel_gives_an_id_a_second_time():
    store = Store(Decoder({}, HEADER))
    store.use({700: EV})
    store.feed(Batch((Chunk(0, sub_buffer([10])),), True))
    store.flush()
    other = parse_format(
        FORMAT.replace("name: ev", "name: other").replace("u64 n;", "s32 m;").replace("size:8", "size:4")
    )
    store.use({700: other})
    store.use({700: other})
    store.feed(Batch((Chunk(0, sub_buffer([20], first=7)),), True))
    store.flush()
    first, second = map(store.record, range(2))
    assert (first.event, first.values) == ("grp/ev", {"n": 0})
    assert (second.event, second.values) == ("other", {"m": 7})
    assert [store.event(store.row(seq).id) for seq in range(2)] == ["grp/ev", "other"]
    assert sorted(store.totals.values()) == [1, 1]
    store.use({700: EV})
    store.feed(Batch((Chunk(0, sub_buffer([30], first=9)),), True))
    store.flush()
    assert store.record(2).values == {"n": 9}


def test_names_of_tasks():
    store = new_store()
    store.task_names.known = {7: "cat"}
    made = (Chunk(0, sub_buffer([1], pid=7)), Chunk(1, sub_buffer([2], pid=0)), Chunk(2, sub_buffer([3], pid=8)))
    store.feed(Batch(made, True))
    store.flush()
    assert [(r.comm, r.pid, r.cpu) for r in map(store.record, range(3))] == [
        ("cat", 7, 0),
        ("<idle>", 0, 1),
        ("<...>", 8, 2),
    ]


def test_find_both_ways_and_in_steps():
    store = new_store()
    for ts in range(3000):
        store.feed(Batch((Chunk(0, sub_buffer([ts], first=ts)),), True))
    store.flush()
    assert find(store, "N=1234", 0, budget=10).seq is None
    assert find(store, "n=1234", 0, budget=10) == (1234, 1235, True)
    assert find(store, "n=1234", 2999, -1, budget=10) == (1234, 1233, True)
    assert find(store, lambda r: str(r.values["n"]).endswith("999"), 1000, budget=10).seq == 1999
    assert find(store, "n=7", 0, budget=10, events=frozenset((3,))) == (None, 3000, True)
    steps, at = 0, 0
    while True:
        found = find(store, "nowhere", at, budget=0.0)
        steps += 1
        assert found.next > at
        at = found.next
        if found.done:
            break
    assert found.seq is None
    assert at == 3000
    assert steps > 50


def test_rates_follow_the_clock():
    now = [100.0]
    store = new_store(clock=lambda: now[0])
    store.feed(Batch((), True))
    for tick in range(40):
        now[0] += 0.1
        store.feed(Batch((Chunk(0, sub_buffer(range(tick * 100, tick * 100 + 50))),), True))
    assert store.rates()[700] == pytest.approx(500, rel=0.06)
    now[0] += 1.0
    assert store.rates()[700] == pytest.approx(250, rel=0.1)
    now[0] += 5.0
    assert store.rates() == {}
    assert store.totals == {700: 39 * 50}


def lines_of(kernel: str, name: str, cpu: int) -> bytes:
    return ("\n".join(captured(kernel, name).text[cpu]) + "\n").encode()


@pytest.mark.parametrize("size", [1 << 20, 1000, 7])
def test_text_gives_the_same_records_as_pages(size):
    taken = captured("7.2", "my")
    decoder = Decoder(formats_of("7.2"), taken.decoder.header)
    text, pages = Store(decoder), Store(decoder)
    data = lines_of("7.2", "my", 0)[:20000].rpartition(b"\n")[0] + b"\n"
    for at in range(0, len(data), size):
        text.feed(Batch((Chunk(-1, data[at : at + size], text=True),), True))
    pages.feed(Batch((Chunk(0, taken.raw[0]),), True))
    pages.flush()
    assert len(text) == data.count(b"\n") > 100
    assert text.undecodable == 0
    for seq in range(len(text)):
        ours, theirs = text.record(seq), pages.record(seq)
        assert (ours.pid, ours.cpu, ours.event) == (theirs.pid, theirs.cpu, theirs.event)
        assert ours.ts == (theirs.ts + 500) // 1000 * 1000
        wanted = {k: v for k, v in theirs.values.items() if not k.startswith("__probe")}
        assert ours.values == wanted
        assert [d.value for d in detail(ours)] == list(wanted.values())
    assert text.totals == {n: t for n, t in text.totals.items() if n in decoder.formats}


def test_text_without_formats_and_what_is_no_event():
    store = Store(Decoder({}, HEADER))
    made = (
        b"# tracer: nop\n"
        b"what is this\n"
        b"CPU:1 [LOST 23 EVENTS]\n"
        b"             cat-812     [001] d..2.    12.304117: vfs_read: (ksys_read+0x7b/0x110 <- vfs_read) ret=-11\n"
        b"             cat-812     [001] d..2.    12.304118: <stack trace>\n"
        b" => vfs_read\n"
        b" => ksys_read\n"
        b'   kworker/u8:1-29       [000]    12.304200: vfs_read: (x+0x0/0x1) a={1,2} b="c d" \xff\n'
    )
    assert store.feed(Batch((Chunk(-1, made, text=True),), True)) == 3
    assert store.overrun == {1: 23}
    assert store.undecodable == 1
    first, stack, last = map(store.record, range(3))
    assert (first.event, first.values["ret"], first.comm) == ("vfs_read", "-11", "cat")
    assert stack.text == "<stack trace>\n => vfs_read\n => ksys_read"
    assert last.comm == "kworker/u8:1"
    assert last.values["a"] == "{1,2}"
    assert last.text.endswith(r"\xff")


def test_text_says_that_some_were_lost_and_not_how_many():
    store = new_store()
    line = "             cat-812     [001] d..2.    12.30411{}: vfs_read: (f+0x0/0x5) n=1\n"
    made = line.format(1) + "CPU:1 [LOST EVENTS]\n" + line.format(7)
    store.feed(Batch((Chunk(-1, made.encode(), text=True),), True))
    assert [store.record(seq).values["n"] for seq in range(len(store))] == ["1", "1"]
    assert (store.overrun, store.overrun_unknown, store.lost_events, store.undecodable) == ({}, {1: 1}, 1, 0)
    assert store.loss_spans.latest.may_lack_ends(12_304_111_000, 12_304_117_000)
    assert not store.loss_spans.latest.may_lack_ends(12_304_118_000, 12_304_119_000)


@pytest.mark.parametrize("size", [1 << 20, 40, 7, 1])
def test_text_with_ends_of_lines_in_strings(size):
    head = b"             cat-812     [001] d..2.    12.30%d: "
    said = [
        b'w: (x+0x0/0x1) a="one\ntwo\n\n" n=3',
        b'w: (x+0x0/0x1) a="\r\r\n# q\n" n=4',
        b"w: (x+0x0/0x1) a=(fault) n=5",
    ]
    data = b"".join(head % (4000 + number) + text + b"\n" for number, text in enumerate(said))
    store = Store(Decoder({}, HEADER))
    for at in range(0, len(data), size):
        store.feed(Batch((Chunk(-1, data[at : at + size], text=True),), False))
    assert store.undecodable == 0
    assert [store.record(seq).text for seq in range(len(store))] == [text.decode() for text in said]


@settings(max_examples=200)
@given(st.binary(max_size=400), st.integers(0, 500))
def test_broken_text_never_raises(noise, at):
    data = bytearray(lines_of("6.12", "my", 0)[:1500])
    data[at : at + len(noise) // 2] = noise
    store = Store(Decoder(formats_of("6.12"), HEADER))
    store.feed(Batch((Chunk(-1, bytes(data) + b"\n", text=True),), True))
    store.flush()
    for seq in range(len(store)):
        record = store.record(seq)
        assert isinstance(dict(record.values), dict)
        detail(record)


def test_lines_of_other_options():
    line = parse_line("   my-cmd 1-77      ( 12) [011] 12345: sched_wakeup: comm=a b pid=1\n")
    assert line is not None
    assert (line.comm, line.pid, line.cpu, line.ts, line.event, line.flags) == (
        "my-cmd 1",
        77,
        11,
        12345,
        "sched_wakeup",
        "",
    )
    assert parse_line("") is None
    assert parse_line(" => vfs_read") is None
    assert parse_line("a-1 [000] d..2. 99999999999999999999.123456: x") is None
    assert parse_line("a-1 [000] d..2. " + "9" * 5000 + ".123456: x") is None


def test_an_event_with_a_quote_in_its_string_waits_no_longer_than_others():
    """Its string may go on behind the line's end; where nothing comes it does not."""
    store = Store(Decoder({}, HEADER))

    def come(text: str) -> None:
        store.feed(Batch((Chunk(-1, text.encode(), text=True),), True))

    line = '             cat-812     [001] d..2.    12.30411{}: foo: (f+0x0/0x5) path="a{}b"\n'
    come(line.format(1, '"'))
    assert (len(store), store.held_events) == (0, 1), "another look is due"
    assert (store.flush(), len(store), store.held_events) == (1, 1, 0)
    come(line.format(2, "\n").removesuffix('b"\n'))
    come('b"\n' + line.format(3, ""))
    assert (len(store), store.held_events, store.undecodable) == (3, 0, 0)
    assert store.record(1).text.endswith('path="a\nb"')
    come("no event\n")
    assert (store.flush(), store.held_events) == (0, 0)


@example(b"a-1 [000] 1: x:")
@example(b"\xffa-1 [000] 1: ")
@example(b"\\xff-1 [000] 1:")
@example("é-1 [000] 1: ".encode())
@given(st.binary(min_size=1, max_size=15).filter(lambda comm: comm.strip(b"\n ") and b"\0" not in comm))
def test_the_name_of_a_task_forges_no_event(comm):
    comm = comm.replace(b"\n", b" ")
    raw = comm.rjust(16) + b"-812     [001] d..2.    12.304117: foo: (f+0x0/0x5) n=1"
    line = parse_line(raw.decode("utf-8", "backslashreplace"))
    assert line is not None
    assert (line.pid, line.cpu, line.ts, line.event) == (812, 1, 12_304_117_000, "foo")
    assert line.comm == comm.decode("utf-8", "backslashreplace").lstrip(" ")
