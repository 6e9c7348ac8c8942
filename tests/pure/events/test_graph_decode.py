"""Records of the function_graph tracer into columns: every layout that kernels have had, by its format file alone."""

import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import ByteOrder, EventFormat, HeaderPage, parse_format
from events.graph.call_ends import EndKind, GraphEnds, concatenate_ends, zeros
from events.graph.decode import read_graph_ends, role_of
from tests.events_data import KERNELS, captured, entry, event, page, store_of
from tests.graph_reader import GraphReader

TYPES = {"B": "unsigned char", "i": "int", "I": "unsigned int", "q": "long", "Q": "unsigned long"}
OLD = (("func", "Q"), ("depth", "i"))
NEW = (("func", "Q"), ("depth", "Q"))
ENTRIES = {
    "entry of Linux 6.12": OLD,
    "entry with unsigned depth": (("func", "Q"), ("depth", "I")),
    "entry of Linux 7.2": NEW,
    "entry with a caller": (*OLD, ("retaddr", "Q")),
    "entry with a caller, Linux 7.2": (*NEW, ("retaddr", "Q")),
}
TIMES = (("overrun", "I"), ("calltime", "Q"), ("rettime", "Q"))
EXITS = {
    "exit of Linux 6.12": (*OLD, *TIMES),
    "exit with a value": (("func", "Q"), ("retval", "Q"), ("depth", "I"), *TIMES),
    "exit without times": (*OLD, ("overrun", "I")),
}
SWITCH = (("prev_pid", "i"), ("next_pid", "i"))


def format_of(number: int, path: str, fields: tuple[tuple[str, str], ...], args: bool = False) -> EventFormat:
    lines, at = [f"name: {path.partition('/')[2]}", f"ID: {number}", "format:"], 8
    for name, code in fields:
        size = struct.calcsize(f"={code}")
        lines.append(f"\tfield:{TYPES[code]} {name};\toffset:{at};\tsize:{size};\tsigned:{int(code in 'iq')};")
        at += size
    if args:
        lines.append(f"\tfield:unsigned long args[];\toffset:{at};\tsize:0;\tsigned:0;")
    return parse_format("\n".join([*lines, "", 'print fmt: "x"']), path.partition("/")[0])


class Kernel(NamedTuple):
    """One of the many that could be."""

    formats: dict[int, EventFormat]
    codes: dict[int, str]
    order: ByteOrder


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    enter, leave = draw(st.sampled_from(sorted(ENTRIES))), draw(st.sampled_from(sorted(EXITS)))
    name = "fgraph_retaddr_entry" if "caller" in enter else "funcgraph_entry"
    layouts = {
        11: (f"ftrace/{name}", ENTRIES[enter], draw(st.booleans())),
        10: ("ftrace/funcgraph_exit", EXITS[leave], False),
        300: ("sched/sched_switch", SWITCH, False),
        301: ("irq/irq_handler_entry", (("irq", "i"),), False),
        302: ("irq/softirq_exit", (("vec", "I"),), False),
        303: ("irq_vectors/local_timer_exit", (("vector", "i"),), False),
        304: ("pw_1/vfs_read", (("count", "Q"),), False),
    }
    formats = {number: format_of(number, *layout) for number, layout in layouts.items()}
    codes = {number: "".join(code for _, code in fields) for number, (_, fields, _) in layouts.items()}
    return Kernel(formats, codes, draw(st.sampled_from(["little", "big"])))


KINDS = {
    11: EndKind.ENTRY,
    10: EndKind.EXIT,
    300: EndKind.SWITCH,
    301: EndKind.IRQ_ENTRY,
    302: EndKind.SOFTIRQ_EXIT,
    303: EndKind.IRQ_EXIT,
    304: EndKind.COMMENT,
}
OTHERS = {300: "next_pid", 301: "irq", 302: "vec", 303: "vector"}


class Made(NamedTuple):
    number: int
    pid: int
    values: dict[str, int]
    args: tuple[int, ...]


def numbers(code: str) -> st.SearchStrategy[int]:
    bits = struct.calcsize(f"={code}") * 8
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if code in "iq" else st.integers(0, (1 << bits) - 1)


@st.composite
def records(draw: st.DrawFn, kernel: Kernel) -> Made:
    number = draw(st.sampled_from(sorted(kernel.formats)))
    names = [name for name in kernel.formats[number].names if name != "args"]
    values = {
        name: draw(st.integers(0, 60) if name == "depth" else numbers(code))
        for name, code in zip(names, kernel.codes[number], strict=True)
    }
    has_args = "args" in kernel.formats[number].names
    args = draw(st.lists(numbers("Q"), max_size=8)) if has_args and draw(st.booleans()) else []
    return Made(number, draw(st.integers(0, 1 << 22)), values, tuple(args))


def expected(kernel: Kernel, made: Made) -> dict[str, Any]:
    kind, values = KINDS[made.number], made.values
    row: dict[str, Any] = {"kind": kind, "pid": made.pid, "arguments": len(made.args), "other": 0}
    if kind is EndKind.COMMENT:
        row["other"] = made.number
    elif made.number in OTHERS:
        row["other"] = values[OTHERS[made.number]]
    is_end = kind in (EndKind.ENTRY, EndKind.EXIT)
    for column, field in (("function", "func"), ("depth", "depth"), ("retaddr", "retaddr"), ("overrun", "overrun")):
        row[column] = values.get(field, 0) if is_end else 0
    for column in ("calltime", "rettime"):
        row[column] = values.get(column, 0) if is_end else 0
    retval = values.get("retval", 0)
    row["retval"] = retval - (1 << 64) if retval >> 63 else retval
    row["has_retval"] = "retval" in values
    return row


@given(st.data())
def test_every_layout_comes_back(data: st.DataObject) -> None:
    kernel = data.draw(kernels())
    header = HeaderPage(kernel.order)
    order = "<" if kernel.order == "little" else ">"
    made = data.draw(st.lists(records(kernel), min_size=1, max_size=25))
    body = b""
    for one in made:
        packed = struct.pack(order + kernel.codes[one.number], *one.values.values())
        packed += struct.pack(f"{order}{len(one.args)}Q", *one.args)
        body += event(entry(one.number, one.pid, packed, kernel.order), 5, kernel.order)
    store = store_of(Decoder(kernel.formats, header), {3: page(1000, body, header)})
    assert len(store) == len(made)
    ends = read_graph_ends(store, 0, store.next_seq)
    for place, one in enumerate(made):
        wanted = expected(kernel, one)
        assert {name: getattr(ends, name)[place].item() for name in wanted} == wanted
    assert ends.seq.tolist() == list(range(len(made)))
    assert ends.ts.tolist() == [1005 + 5 * n for n in range(len(made))]
    assert set(ends.cpu.tolist()) == {3}
    for column, default in zip(ends.columns(), zeros(0).columns(), strict=True):
        assert column.dtype == default.dtype


@given(st.integers(20, 600), st.integers(0, 454))
def test_a_reader_in_pieces_gives_what_is_given_at_once(most: int, start: int) -> None:
    taken = captured("7.2", "fgraph")
    store = store_of(taken.decoder, taken.raw)
    whole = read_graph_ends(store, start, store.next_seq)
    reader, parts = GraphReader(store, start), list[GraphEnds]()
    assert reader.behind == len(whole)
    while len(part := reader.read(most)):
        assert len(part) <= most
        parts.append(part)
    assert reader.behind == 0
    again = concatenate_ends(parts)
    assert all(np.array_equal(one, other) for one, other in zip(again.columns(), whole.columns(), strict=True))


@pytest.mark.parametrize("kernel", KERNELS)
def test_real_pages(kernel: str) -> None:
    taken = captured(kernel, "fgraph")
    store = store_of(taken.decoder, taken.raw)
    ends = read_graph_ends(store, 0, store.next_seq)
    assert len(ends) == len(store) > 300
    for place, seq in enumerate(ends.seq.tolist()):
        record = store.record(seq)
        assert record.values["func"] == ends.function[place]
        assert record.values["depth"] == ends.depth[place]
        assert (record.ts, record.cpu, record.pid) == (ends.ts[place], ends.cpu[place], ends.pid[place])
        is_exit = record.event == "ftrace/funcgraph_exit"
        assert is_exit == (ends.kind[place] == EndKind.EXIT)
        took = int(record.values["rettime"]) - int(record.values["calltime"]) if is_exit else -1  # type: ignore[arg-type]
        assert ends.durations[place] == took


def test_rows_that_were_dropped_are_counted() -> None:
    taken = captured("7.2", "fgraph")
    store = store_of(taken.decoder, taken.raw, 1 << 17)
    for _ in range(40):
        store.feed(Batch(tuple(Chunk(cpu, raw) for cpu, raw in taken.raw.items()), drained=True))
    store.flush()
    assert store.first_seq > 0
    reader = GraphReader(store, 10)
    assert len(reader.read()) == len(store)
    assert reader.skipped == store.first_seq - 10


@pytest.mark.parametrize(
    ("path", "kind", "other"),
    [
        ("ftrace/funcgraph_entry", EndKind.ENTRY, ""),
        ("ftrace/fgraph_retaddr_entry", EndKind.ENTRY, ""),
        ("my/funcgraph_exit", EndKind.COMMENT, ""),
        ("irq/softirq_raise", EndKind.COMMENT, ""),
        ("irq/tasklet_entry", EndKind.COMMENT, ""),
        ("irq/softirq_entry", EndKind.SOFTIRQ_ENTRY, "vec"),
        ("ipi/ipi_entry", EndKind.IRQ_ENTRY, ""),
        ("syscalls/sys_enter_read", EndKind.COMMENT, ""),
    ],
)
def test_what_a_format_is(path: str, kind: EndKind, other: str) -> None:
    fields = (("func", "Q"), ("vec", "I")) if other else (("func", "Q"), ("depth", "Q"))
    assert role_of(format_of(5, path, fields)) == (kind, other)


@pytest.mark.parametrize("fields", [(), (("func", "Q"),), (("depth", "Q"),)])
def test_a_damaged_format_of_the_tracer_is_no_call(fields: tuple[tuple[str, str], ...]) -> None:
    for path in ("ftrace/funcgraph_entry", "ftrace/funcgraph_exit"):
        assert role_of(format_of(5, path, fields)) == (EndKind.COMMENT, "")
