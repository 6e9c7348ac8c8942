"""A function graph as text: beside the kernel's own of the same records, line by line."""

from __future__ import annotations

import functools
import json
import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from btf.btf import Btf
from btf.kinds import Kind
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.graph.arguments import ArgumentTypes, CallArgument, kernel_text, registers_of
from events.graph.call_ends import EndKind, GraphEnds, zeros
from events.graph.decode import read_graph_ends
from events.names.kallsyms import Symbols
from events.names.value_names import Namer
from events.store.store import Store
from tests.btf_writer import Writer, stored
from tests.events_data import KERNELS, archive, captured, fgraph_text, store_of
from tests.graph_style import GraphStyle, duration_text, headers, mark, proc_text, retval_text, style_of
from tests.graph_text import GraphPrinter, Names
from tui.views.graph.names import GraphNames

ERRNO = -22


@functools.cache
def types() -> ArgumentTypes:
    return ArgumentTypes(Btf.load(stored("btf-7.2")))


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0.000 us    "),
        (1_005, "1.005 us    "),
        (117_596, "117.596 us  "),
        (1_300_248, "1300.248 us "),
        (12_516_170, "12516.17 us "),
        (123_456_789, "123456.7 us "),
        (1_234_567_890, "1234567 us  "),
        (12_345_678_901, "12345678 us "),
        (123_456_789_012, "123456789 us "),
    ],
)
def test_durations_have_seven_digits(duration: int, text: str) -> None:
    assert duration_text(duration) == text


def test_marks() -> None:
    limits = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]
    assert "".join(mark(limit) for limit in limits) == " +!#*@"
    assert "".join(mark(limit + 1) for limit in limits) == "+!#*@$"


@pytest.mark.parametrize(
    ("retval", "text"),
    [
        (0, "0x0"),
        (1, "0x1"),
        (ERRNO, "-22"),
        (ERRNO & 0xFFFFFFFF, "-22"),
        (-4095, "-4095"),
        (-4096, "0xfffffffffffff000"),
        (0x80000000, "0x80000000"),
        (1 << 32 | 0xFFFFFFEA, "0x1ffffffea"),
    ],
)
def test_return_values(retval: int, text: str) -> None:
    assert retval_text(retval, GraphStyle()) == f" ret={text}"
    assert retval_text(retval, GraphStyle(says_ret=False)) == f" = {text}"
    assert retval_text(ERRNO, GraphStyle(retval_hex=True)) == " ret=0xffffffffffffffea"


def test_tasks_stand_in_the_middle() -> None:
    assert proc_text("sh", 101) == "    sh-101    "
    assert proc_text("migration/0", 18) == "  migrati-18  "
    assert proc_text("sshd", 1755) == "  sshd-1755   "
    assert proc_text("kworker/u8:1-events", 1234567) == "kworker-1234567"


def named_by(kernel: str) -> Symbols:
    """The names of the functions, which the captured text has in the order of the records."""
    names: dict[int, str] = {}
    for cpu in captured(kernel, "fgraph").raw:
        store = store_of(captured(kernel, "fgraph").decoder, {cpu: captured(kernel, "fgraph").raw[cpu]})
        lines = [line for line in fgraph_text(kernel) if line.startswith(f" {cpu})")]
        calls = [found[1] for line in lines if (found := re.search(r"\| +(\w+)\(\)", line))]
        ends = read_graph_ends(store, 0, store.next_seq)
        entries = ends.function[ends.kind == EndKind.ENTRY].tolist()
        names |= dict(zip(entries, calls, strict=False))
    return Symbols("".join(f"{at:016x} T {name}\n" for at, name in names.items()).encode())


@pytest.mark.parametrize("kernel", KERNELS)
def test_calls_without_depth_equal_the_kernels(kernel: str) -> None:
    taken = captured(kernel, "fgraph")
    store = store_of(taken.decoder, taken.raw)
    style = style_of({"funcgraph-cpu", "funcgraph-duration", "funcgraph-overhead", "funcgraph-irqs"}, ())
    names = Names(named_by(kernel), store.task_names.name, store.record)
    printer = GraphPrinter(style, names)
    for cpu in taken.raw:
        ends = read_graph_ends(store, 0, store.next_seq)
        lines = printer.text(ends.of(ends.cpu == cpu))
        expected = [line for line in fgraph_text(kernel) if line.startswith(f" {cpu})")]
        # The text was read to its end, the pages are the first ones: the exit of the last entry is not among them.
        assert lines[:-1] == expected[: len(lines) - 1]
    assert headers(style) == fgraph_text(kernel)[:4]


class Taken(NamedTuple):
    """A run that tests/data/make_graph.py kept."""

    store: Store
    ends: GraphEnds
    style: GraphStyle
    names: Names
    text: list[str]


RUNS = ["6.12-plain", "6.12-all", "7.2-plain", "7.2-all", "full-values", "full-hex"]


@functools.cache
def taken(run: str) -> Taken:
    files = archive("graph.tar.xz")
    known: dict[str, Any] = json.loads(files[f"{run}/known.json"])
    formats = [parse_format(source, path.partition("/")[0]) for path, source in known["formats"]]
    store = Store(Decoder({fmt.id: fmt for fmt in formats}, HeaderPage.parse(known["header"])), 1 << 30)
    raw = {cpu: files[name] for cpu in range(2) if (name := f"{run}/cpu{cpu}.raw") in files}
    whole = store_of(store.decoder, raw)
    whole.task_names.known = {int(pid): comm for pid, comm in known["cmdlines"].items()}
    symbols = Symbols(files[f"{run}/kallsyms"])
    ends = read_graph_ends(whole, 0, whole.next_seq)
    names = Names(symbols, whole.task_names.name, whole.record, types() if run.startswith("7.2") else None)
    style = style_of(frozenset(known["options"]), formats)
    return Taken(whole, ends, style, names, files[f"{run}/trace"].decode().splitlines())


@pytest.mark.parametrize("run", RUNS)
def test_text_equals_the_kernels(run: str) -> None:
    found = taken(run)
    lines = [*headers(found.style), *GraphPrinter(found.style, found.names).text(found.ends)]
    assert len(lines) > 60
    assert lines == found.text


def test_the_runs_hold_what_they_are_for() -> None:
    """So that the comparison compares something: each kind of row and of line is there."""
    assert taken("7.2-all").ends.arguments.any()
    assert not taken("6.12-all").ends.arguments.any()
    assert taken("full-values").ends.has_retval.any()
    assert taken("full-values").ends.retaddr.any()
    assert not taken("7.2-all").ends.has_retval.any()
    kinds = set(taken("7.2-all").ends.kind.tolist())
    assert {EndKind.ENTRY, EndKind.EXIT, EndKind.SWITCH, EndKind.IRQ_ENTRY, EndKind.IRQ_EXIT} <= kinds
    text = "\n".join(line for run in RUNS for line in taken(run).text)
    for part in (" => ", "ret=-2", "{ /* <-", "} /* ", "();", "!", "/* sched_switch: "):
        assert part in text


def test_an_exit_without_its_entry_says_whose_it_is() -> None:
    found = taken("7.2-plain")
    exits = found.ends.of(found.ends.kind == EndKind.EXIT)
    lines = GraphPrinter(found.style, found.names).text(exits.of(exits.cpu == exits.cpu[0]))
    closing = [line for line in lines if "}" in line]
    assert len(closing) == int((exits.cpu == exits.cpu[0]).sum())
    assert all(re.search(r"\} /\* \w[\w.]* \*/$", line) for line in closing)


def test_without_irqs_what_interrupts_call_is_left_out() -> None:
    symbols = Symbols(
        b"1000 T do_irq\n1000 T __irqentry_text_start\n2000 T __irqentry_text_end\n3000 T inner\n4000 T outer\n"
    )
    ends = zeros(6)
    ends.kind[3:] = EndKind.EXIT
    ends.function[:] = [0x4000, 0x1000, 0x3000, 0x3000, 0x1000, 0x4000]
    ends.depth[:] = [0, 1, 2, 2, 1, 0]
    names = Names(symbols, str, Store(Decoder({}, HeaderPage())).record)
    quiet = GraphPrinter(GraphStyle(irqs=False), names).text(ends)
    assert [line.partition("|  ")[2] for line in quiet] == ["outer() {", "}"]
    loud = GraphPrinter(GraphStyle(), names).text(ends)
    assert [line[4:].strip() for line in loud if "==" in line] == ["==========> |", "<========== |"]
    assert [line.partition("|  ")[2] for line in loud if "=" not in line] == [
        "outer() {",
        "  do_irq() {",
        "    inner();",
        "  }",
        "}",
    ]


def test_arguments_have_values_of_their_types() -> None:
    registers = (0xFFFF888000001000, 0x7FFC00001000, 0x200, 0xFFFFC90000003000, 0, 0)
    found = types().of("vfs_read", registers)
    assert found is not None
    assert [(one.name, one.value) for one in found.values] == [
        ("file", registers[0]),
        ("buf", registers[1]),
        ("count", 0x200),
        ("pos", registers[3]),
    ]
    assert not found.is_truncated
    assert kernel_text("vfs_read", registers, types()) == (
        "(file=0xffff888000001000, buf=0x7ffc00001000, count=0x200, pos=0xffffc90000003000)"
    )
    # An int has the lower half of its register; the kernel prints all of it.
    dfd = types().of("do_sys_openat2", (0xFFFFFF9C, 1, 2, 3, 4, 5))
    assert dfd is not None
    assert dfd.values[0].value == -100
    assert kernel_text("do_sys_openat2", (0xFFFFFF9C, 1, 2, 0, 0, 0), types()).startswith("(dfd=4294967196, ")
    assert kernel_text("no_such_function", registers, types()) == "()"
    assert kernel_text("vfs_read", (), types()) == "()"


@pytest.mark.parametrize(
    ("function", "registers", "text"),
    [
        ("vfs_truncate", (0xFFFF888000001000, 6 << 30), "(path=…0001000, length=6442450944)"),
        ("vfs_truncate", (0xFFFF888000001000, 7), "(path=…0001000, length=7)"),
        (
            "vfs_read",
            (0xFFFF888000001000, 0x7FFC00001000, 5_000_000_000, 0),
            "(file=…0001000, buf=…0001000, count=0x12a05f200, pos=0)",
        ),
        (
            "vfs_read",
            (0xFFFF888000001000, 0x7FFC00001000, 0xFFFFC90000003000, 0),
            "(file=…0001000, buf=…0001000, count=…0003000, pos=0)",
        ),
    ],
)
def test_only_addresses_are_shortened_in_the_tree(function: str, registers: tuple[int, ...], text: str) -> None:
    btf = Btf.load(stored("btf-7.2"))
    names = GraphNames(SimpleNamespace(btf=btf, namer=lambda _: Namer(btf)))  # type: ignore[arg-type]
    record = SimpleNamespace(values={"args": registers})
    assert names.arguments(function, record) == text  # type: ignore[arg-type]


def test_numbers_of_arguments_have_their_names_in_the_tree_and_are_found_by_them() -> None:
    btf = Btf.load(stored("btf-7.2"))
    info = SimpleNamespace(btf=btf, namer=lambda _: Namer(btf, machine="x86_64"))
    names = GraphNames(info)  # type: ignore[arg-type]
    record = SimpleNamespace(values={"args": (0xFFFFFF9C, 0x7FFC00001000, 0)})
    text = names.arguments("do_sys_openat2", record)  # type: ignore[arg-type]
    assert text.startswith("(dfd=AT_FDCWD, filename=")
    assert names.may_give("do_sys_openat2", "at_fdcwd")
    assert not names.may_give("vfs_read", "at_fdcwd")


def made_types() -> ArgumentTypes:
    """Functions with what the kernel's own seldom have."""
    b = Writer()
    number, byte = b.integer("int", 4, 1), b.integer("unsigned char", 1)
    pair = b.add(Kind.STRUCT, "pair", 12)
    state = b.add(Kind.ENUM, "state", 4, [("OFF", 0), ("BAD", 0xFFFFFFFF)])
    for name, params in {
        "seven": [("a", number), *((chr(98 + n), byte) for n in range(6))],
        "by_value": [("p", pair), ("s", state), ("", 0)],
        "cut": [*((f"n{n}", number) for n in range(5)), ("p", pair), ("q", number)],
        "nothing": [],
    }.items():
        b.add(Kind.FUNC, name, b.add(Kind.FUNC_PROTO, "", number, [*params]), vlen=1)
    return ArgumentTypes(Btf.load(b.data()))


def test_the_rest_of_print_function_args() -> None:
    made = made_types()
    minus = (1 << 64) - 1
    assert kernel_text("seven", (minus, 1, 2, 3, 4, 5), made) == "(a=-1, b=0x1, c=0x2, d=0x3, e=0x4, f=0x5, ...)"
    assert kernel_text("by_value", (1, 2, minus, 7, 0, 0), made) == "(p=(STRUCT)[0x1:0x2], s=-1 [BAD], =?0x7)"
    assert kernel_text("by_value", (1, 2, 5, 7, 0, 0), made) == "(p=(STRUCT)[0x1:0x2], s=5, =?0x7)"
    text = "(n0=1, n1=2, n2=3, n3=4, n4=5, p=(STRUCT)[0x6:...])"
    assert kernel_text("cut", (1, 2, 3, 4, 5, 6), made) == text
    assert kernel_text("nothing", (1, 2, 3, 4, 5, 6), made) == "()"
    found = made.of("seven", (0x1_FFFFFFFE, 0x1FF, 2, 3, 4, 5))
    assert found is not None
    assert found.is_truncated
    assert [one.value for one in found.values[:2]] == [-2, 0xFF]


def test_registers_are_those_of_the_record() -> None:
    found = taken("7.2-all")
    places = np.flatnonzero(found.ends.arguments)[:20].tolist()
    for place in places:
        registers = registers_of(found.store.record(int(found.ends.seq[place])))
        assert len(registers) == found.ends.arguments[place] == 6
    assert isinstance(next(iter(types().of("vfs_read", registers).values)), CallArgument)  # type: ignore[union-attr]
