"""Whose a stack is: the last event of its task and interrupt on its CPU, if that is proven; else it stays a row."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import ValueKind
from events.decode import Decoder
from events.format import EventFormat, HeaderPage
from events.names.kallsyms import Symbols
from events.search.filtered_rows import FilteredRows
from events.search.find import find
from events.search.sorted_rows import sort_rows
from events.stacks.addresses import stack_event_addresses
from events.stacks.stack import KERNEL_STACKS, Frame, is_stack, kernel_frames
from events.stacks.tracer_frames import count_tracer_frames
from events.store.store import Store
from events.summary.summary import Summary
from tests.events_data import event, page
from tests.pure.events.test_export_calls import STACK, stack_record
from tests.pure.export_events import format_of

HEADER = HeaderPage.parse(
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
)
MISSED = 1 << 31
IN = (0, 0x10, 0x08, 0x40)
"""Flags of a task, a softirq, an interrupt and an NMI."""
CARRIER, PLAIN = format_of({"who": "u64"}, "g/a", 2000), format_of({"who": "u64"}, "g/plain", 2001)
FORMATS: dict[int, EventFormat] = {fmt.id: fmt for fmt in (CARRIER, PLAIN, STACK)}


PAGES_OF_A_PASS = st.sampled_from([1, 2, 0])
"""Shrinking ends at passes that bring something: with none, each example is drawn from for seconds."""


class Written(NamedTuple):
    """A record, and which event it is, or is the stack of."""

    fmt: EventFormat
    who: int
    pid: int
    depth: int

    @property
    def raw(self) -> bytes:
        head = struct.pack("<HBBi", self.fmt.id, IN[self.depth], 0, self.pid)
        if self.fmt is STACK:
            return head + struct.pack("<iiQ", 1, 0, self.who)
        return head + struct.pack("<Q", self.who)


class Model(NamedTuple):
    """Records that the CPUs wrote, in their order, cut into pages of which some are lost."""

    pages: dict[int, list[tuple[bool, list[tuple[int, Written]]]]]
    """Pages by CPU: whether a page is lost, and time and content of its records."""


@st.composite
def models(draw) -> Model:
    """Either each event with the trigger has its stack, or there are no stacks of events that were left out."""
    always = draw(st.booleans())
    number = iter(range(1, 100_000))
    pages: dict[int, list[tuple[bool, list[tuple[int, Written]]]]] = {}

    def write(into: list[Written], pid: int, depth: int) -> None:
        kind = draw(st.sampled_from(("stacked", "stacked", "plain", "odd")))
        who = next(number)
        if kind == "plain" or (kind == "odd" and not always):
            into.append(Written(PLAIN if kind == "plain" else CARRIER, who, pid, depth))
            return
        if kind == "stacked":
            into.append(Written(CARRIER, who, pid, depth))
        for _ in range(draw(st.integers(0, 2)) if depth < 3 else 0):
            write(into, pid, draw(st.integers(depth + 1, 3)))
        into.append(Written(STACK, who, pid, depth))

    for cpu in range(draw(st.integers(1, 3))):
        written: list[Written] = []
        for _ in range(draw(st.integers(0, 8))):
            write(written, draw(st.integers(0, 2)), 0)
        pages[cpu] = []
        while written:
            size = draw(st.integers(1, 4))
            records, written = written[:size], written[size:]
            stamped = [(next(number) * 3 + cpu, one) for one in records]
            pages[cpu].append((draw(st.integers(0, 5)) == 0, stamped))
    return Model(pages)


def bytes_of(records: list[tuple[int, Written]], flags: int) -> bytes:
    before, data = records[0][0], b""
    for ts, one in records:
        data += event(one.raw, ts - before)
        before = ts
    return page(records[0][0], data, HEADER, flags)


@st.composite
def passes_of(draw, model: Model) -> list[Batch]:
    """Draw how many pages each pass finds on a CPU that has some left; it may be the last for a while."""
    left = {cpu: list(pages) for cpu, pages in model.pages.items() if pages}
    flags = dict.fromkeys(left, 0)
    passes = []
    while left:
        chunks = []
        for cpu, pages in list(left.items()):
            data = b""
            for _ in range(draw(PAGES_OF_A_PASS)):
                if pages:
                    is_lost, records = pages.pop(0)
                    if not is_lost:
                        data += bytes_of(records, flags[cpu])
                    flags[cpu] = MISSED if is_lost else 0
            if not pages:
                del left[cpu]
            if data:
                chunks.append(Chunk(cpu, data))
        passes.append(Batch(tuple(chunks), drained=draw(st.booleans())))
    return passes


def expected_of(model: Model) -> tuple[dict[int, bool], set[int]]:
    """The events that are there, with whether they have their stack, and the stacks that have no event."""
    events, alone = {}, set()
    for pages in model.pages.values():
        epoch, seen = 0, {}
        for is_lost, records in pages:
            epoch += is_lost
            for _, one in [] if is_lost else records:
                if one.fmt is not STACK:
                    events[one.who] = False
                    seen[one.who] = epoch
                elif seen.get(one.who) == epoch:
                    events[one.who] = True
                else:
                    alone.add(one.who)
    return events, alone


@given(models(), st.data())
def test_each_stack_is_with_its_own_event_or_a_row_that_says_that_it_is_alone(model, data):
    events, alone = expected_of(model)
    passes = data.draw(passes_of(model))
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks({CARRIER.path})
    if data.draw(st.booleans()):
        store.feed(*passes)
    else:
        for one in passes:
            store.feed(one)
    store.flush()
    records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
    found = {int(str(record.values["who"])): record for record in records if not is_stack(record)}
    assert {who: bool(record.stacks) for who, record in found.items()} == events
    for who, record in found.items():
        assert [stack_event_addresses(stack) for stack in record.stacks] == ([(who,)] if events[who] else [])
    assert {stack_event_addresses(record) for record in records if is_stack(record)} == {(who,) for who in alone}
    taken = sum(len(records) for pages in model.pages.values() for is_lost, records in pages if not is_lost)
    assert len(store) + sum(len(record.stacks) for record in records) == taken
    assert sum(store.totals.values()) == len(store)


def fed(*writes: Written, carriers: frozenset[str] = frozenset({CARRIER.path}), gap: int = -1) -> Store:
    """A store of records of one CPU, a pass each; in front of one of them passes were dropped."""
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks(carriers)
    for n, one in enumerate(writes):
        store.feed(Batch((Chunk(0, bytes_of([(n + 1, one)], 0)),), drained=False, after_gap=n == gap))
    store.flush()
    return store


@pytest.mark.parametrize(
    ("pid", "depth", "carriers", "gap"),
    [(6, 0, {CARRIER.path}, -1), (5, 2, {CARRIER.path}, -1), (5, 0, set(), -1), (5, 0, {CARRIER.path}, 1)],
)
def test_a_stack_of_another_task_or_interrupt_or_behind_a_gap_is_a_row(pid, depth, carriers, gap):
    whole = fed(Written(CARRIER, 1, 5, 0), Written(STACK, 1, 5, 0))
    assert (len(whole), len(whole.record(0).stacks)) == (1, 1)
    store = fed(Written(CARRIER, 1, 5, 0), Written(STACK, 1, pid, depth), carriers=frozenset(carriers), gap=gap)
    assert (len(store), store.record(0).stacks, store.record(1).event) == (2, (), KERNEL_STACKS[0])


@pytest.mark.parametrize("cpu", [0, 1])
def test_a_loss_before_events_that_have_no_stacks_separates_a_stack_from_its_event(cpu):
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks({CARRIER.path})
    written = (Written(CARRIER, 1, 5, 0), Written(PLAIN, 2, 5, 0), Written(STACK, 1, 5, 0))
    for n, (one, on) in enumerate(zip(written, (0, cpu, 0), strict=True)):
        data = bytes_of([(n + 1, one)], MISSED if one.fmt is PLAIN else 0)
        store.feed(Batch((Chunk(on, data),), drained=False))
    store.flush()
    assert sum(is_stack(store.record(seq)) for seq in range(3 - cpu)) == 1 - cpu


def test_an_event_that_is_given_out_as_it_comes_waits_for_its_stack():
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks({CARRIER.path})
    events = [bytes_of([(ts, Written(CARRIER, ts, 5, 0))], 0) for ts in (10, 30)]
    stack = bytes_of([(11, Written(STACK, 10, 5, 0))], 0)
    other = bytes_of([(40, Written(PLAIN, 1, 7, 0))], 0)
    store.feed(Batch((Chunk(1, other),), drained=False))
    store.feed(Batch((Chunk(0, events[0]), Chunk(1, other)), drained=False))
    assert len(store) == 0
    store.feed(Batch((Chunk(0, stack + events[1]), Chunk(1, other)), drained=False))
    assert [len(store.record(seq).stacks) for seq in range(len(store))] == [1]


def test_nothing_that_counts_or_searches_sees_a_stack_that_has_its_event():
    written = [Written(fmt, who, 5, 0) for who in (1, 2, 3) for fmt in (CARRIER, STACK)]
    store = fed(*written, Written(PLAIN, 4, 5, 0), Written(STACK, 9, 5, 2))
    selected = FilteredRows(
        store, parse_condition("who < 4", {"who": ValueKind.NUMBER}, store.task_names.name, store.cgroups)
    )
    selected.tick(1.0)
    assert (selected.next - selected.first, selected.of, store.next_seq) == (3, 5, 5)
    assert [len(store.record(selected.number(row)).stacks) for row in range(3)] == [1, 1, 1]
    summary = Summary(store)
    summary.tick(10.0)
    counted = {CARRIER.path: 3, PLAIN.path: 1, STACK.path: 1}
    assert {path: summary.timeline.total(path) for path in summary.timeline.kinds} == counted
    assert store.by_event(store.totals) == counted
    assert {path: round(rate) for path, rate in store.by_event(store.rates()).items()}.keys() == counted.keys()
    hits, seq = [], 0
    while (found := find(store, is_stack, seq, budget=10.0)).seq is not None:
        hits.append(found.seq)
        seq = found.next
    assert hits == [4]
    assert len(sort_rows(store, range(store.next_seq), "who")) == 5


def test_stacks_take_memory_that_is_counted_and_goes_with_their_events():
    store = Store(Decoder(FORMATS, HEADER), 1 << 20)
    store.expect_stacks({CARRIER.path})
    for n in range(1, 6000):
        own = [(n * 10, Written(CARRIER, n, 5, 0)), (n * 10 + 1, Written(STACK, n, 5, 0))]
        store.feed(Batch((Chunk(0, bytes_of(own, 0)),), drained=True))
    store.flush()
    first = store.first_seq
    assert 0 < first < store.next_seq
    assert all(
        stack_event_addresses(store.record(seq).stacks[0]) == (seq + 1,) for seq in range(first, store.next_seq, 97)
    )
    blocks = store._blocks
    assert set(blocks._stacks) <= set(blocks.slabs) and len(blocks._stacks) >= len(store)
    blocks.discard(0, blocks.next_slab)
    assert (blocks._stacks, blocks.bytes) == ({}, len(store) * 20)


LINES = """\
            head-221     [001] ...1.    18.307518: a: (vfs_read+0x4/0x490) who=1
            head-221     [001] d.h1.    18.307519: a: (vfs_read+0x4/0x490) who=2
            head-221     [001] d.h1.    18.307520: <stack trace>
 => kprobe_ftrace_handler
 => ftrace_regs_call
 => vfs_read
 => irq
            head-221     [001] ...1.    18.307521: <stack trace>
 => vfs_read
 => ksys_read
             cat-9       [000] ...1.    18.307522: <stack trace>
 => lone
"""


@given(st.integers(0, len(LINES)))
def test_stacks_in_text_are_of_their_events_wherever_it_is_cut(at):
    store = Store(Decoder(FORMATS, HEADER))
    store.expect_stacks({CARRIER.path})
    for text in (LINES[:at], LINES[at:]):
        store.feed(Batch((Chunk(-1, text.encode(), text=True),), drained=True))
    store.flush()
    rows = [store.record(seq) for seq in range(len(store))]
    texts = [[frame.text for frame in kernel_frames(row, lambda _: None) or ()] for row in rows]
    assert texts == [["vfs_read", "ksys_read"], ["vfs_read", "irq"], ["lone"]]
    assert [is_stack(row) for row in rows] == [False, False, True]


SEEN = {
    "kprobe 7.2": "kprobe_trace_func kprobe_dispatcher kprobe_ftrace_handler virtio_net_driver_exit|vfs_read",
    "shared 7.2": "kprobe_trace_func kprobe_dispatcher kprobe_ftrace_handler arch_ftrace_ops_list_func "
    "ftrace_regs_call|vfs_open path_openat",
    "optimized 7.2": "kprobe_trace_func kprobe_dispatcher opt_pre_handler optimized_callback -|",
    "int3 6.1": "kprobe_trace_func kprobe_dispatcher aggr_pre_handler kprobe_int3_handler exc_int3 asm_exc_int3|"
    "vfs_write ksys_write",
    "kretprobe 6.12": "kretprobe_trace_func kretprobe_dispatcher kretprobe_rethook_handler "
    "rethook_trampoline_handler arch_rethook_trampoline_callback arch_rethook_trampoline|do_syscall_64",
    "tprobe 7.2": "fentry_trace_func fentry_dispatcher fprobe_ftrace_entry - __probestub_sched_switch "
    "__traceiter_sched_switch|__schedule schedule",
    "fprobe 6.12": "fentry_trace_func fentry_dispatcher fprobe_handler -|__schedule",
    "fprobe exit 6.12": "fexit_trace_func fexit_dispatcher fprobe_exit_handler rethook_trampoline_handler "
    "arch_rethook_trampoline_callback arch_rethook_trampoline|path_openat",
    "fprobe exit 7.2": "fexit_trace_func fexit_dispatcher fprobe_return ftrace_return_to_handler return_to_handler|"
    "path_openat do_file_open",
    "eprobe 7.2": "eprobe_trigger_func event_triggers_call trace_event_buffer_commit trace_event_raw_event_softirq|"
    "handle_softirqs",
    "system call 6.1": "eprobe_trigger_func event_triggers_call trace_event_buffer_commit ftrace_syscall_enter|"
    "syscall_trace_enter.constprop.0 do_syscall_64",
    "kretprobe arm64 6.12": "kretprobe_trace_func kretprobe_dispatcher kretprobe_rethook_handler "
    "rethook_trampoline_handler kretprobe_brk_handler do_el1_brk64 el1_brk64 el1h_64_sync_handler "
    "el1h_64_sync|path_openat",
    "in the middle": "|vfs_read arch_rethook_trampoline kprobe_ftrace_handler ksys_read",
}
"""Stacks as they were recorded, `-` for an address without a symbol; the tracer's own end at the bar."""


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_the_tracers_own_frames_are_left_out_at_the_inner_end_alone(seen):
    own, others = ([name.replace("-", "") for name in part.split()] for part in seen.split("|"))
    assert count_tracer_frames([*own, *others]) == len(own)


def test_frames_have_whole_addresses_and_symbols():
    symbols = Symbols(b"1000 T kprobe_ftrace_handler\n2000 T vfs_read\n3000 T ksys_read\n4000 T end\n")
    frames = kernel_frames(stack_record([0x1004, 0x9999_9999, 0x2009, 0x3001]), lambda _: symbols)
    assert frames == (Frame(0x2009, "vfs_read+0x9/0x1000"), Frame(0x3001, "ksys_read+0x1/0x1000"))
    assert [frame.function for frame in frames] == ["vfs_read", "ksys_read"]
    assert kernel_frames(stack_record([0x2009]), lambda _: None) == (Frame(0x2009),)
    assert [frame.text for frame in kernel_frames(stack_record([0x2009]), lambda _: None) or ()] == ["0x2009"]
