"""Symbols by name and by neighbourhood, against a plain look through the lines."""

from __future__ import annotations

import gc
import re
import sys
import tracemalloc
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import events.names.kallsyms_table
from events.names.kallsyms import Symbols
from events.names.kallsyms_table import KallsymsEntry, _any_table, _kernels_table, parse_table
from events.names.symbol_names import SymbolNames

LINE = st.tuples(
    st.integers(1, 40),
    st.sampled_from("tTdwb"),
    st.sampled_from(["a", "ab", "a.cold", "a.isra.0", "__pfx_a", "b", "é"]),
)


def table(lines: list[tuple[int, str, str]], module: str = "") -> bytes:
    behind = f"\t[{module}]" if module else ""
    return "".join(f"{address:016x} {letter} {name}{behind}\n" for address, letter, name in lines).encode()


@given(st.lists(LINE, max_size=30), st.lists(LINE, max_size=10))
def test_by_name_and_address(own: list[tuple[int, str, str]], foreign: list[tuple[int, str, str]]) -> None:
    symbols = Symbols(table(own) + table(foreign, "mod"))
    every = [KallsymsEntry(*line) for line in own] + [KallsymsEntry(*line, "mod") for line in foreign]
    for name in ("a", "ab", "b", "a.", "", ".", "none", "é"):
        assert sorted(symbols.named(name)) == sorted(entry for entry in every if entry.name == name)
        named = [(entry.address, entry.code, entry.module) for entry in every if entry.name == name]
        lone = name.isidentifier() and len(named) == 1 and named[0][1:] == (True, "")
        lone = lone and sum(entry.address == named[0][0] for entry in every) == 1
        assert symbols.lone_functions([name, "other"]) == ({name: named[0][0]} if lone else {})
        assert [(e.name.encode(), e.address) for e in symbols.beginning(name)] == sorted(
            (entry.name.encode(), entry.address) for entry in every if entry.name.startswith(name)
        )
        assert sorted(symbols.beginning(name)) == sorted(entry for entry in every if entry.name.startswith(name))
    for address in range(42):
        assert sorted(symbols.at(address)) == sorted(entry for entry in every if entry.address == address)
    code = [entry.address for entry in every if entry.code and entry.module]
    assert symbols.code_of_modules() == ({"mod": (min(code), max(code))} if code else {})


@given(st.lists(LINE, min_size=1, max_size=30))
def test_neighbours_are_other_functions(lines: list[tuple[int, str, str]]) -> None:
    symbols = Symbols(table(lines))
    every = [KallsymsEntry(*line) for line in lines]
    for entry in every:
        here = {one.name for one in every if one.address == entry.address}
        others = [
            one.address
            for one in every
            if one.code and one.name not in here and ".cold" not in one.name and not one.name.startswith("__pfx_")
        ]
        before, after = symbols.neighbours(entry.address)
        assert (before.address if before else None) == max((a for a in others if a < entry.address), default=None)
        assert (after.address if after else None) == min((a for a in others if a > entry.address), default=None)


def test_lines_that_are_none() -> None:
    symbols = Symbols(b"\n1\n2 t\nzz t a\n0 t a\n5 t a\n6 t  b \t[m]\n-1 t a\n")
    assert symbols.named("a") == [KallsymsEntry(5, "t", "a")]
    assert [entry.name for entry in symbols.beginning("")] == ["a", "b"]


def test_a_table_that_is_being_read_gives_another_reader_all_of_it() -> None:
    """A worker reads the table while the screen asks for names: here the screen asks at each line of the reader."""
    asked = 0
    files = [function.__code__.co_filename for function in (Symbols.prepare, parse_table)]

    def ask_at(line: int) -> None:
        symbols = Symbols(table([(5, "t", "a"), (9, "t", "_end"), (1, "t", "_text")]))
        seen = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal seen, asked
            if frame.f_code.co_filename not in files:
                return None
            seen += event == "line"
            if event == "line" and seen == line:
                sys.settrace(None)
                asked += 1
                assert symbols and [entry.name for entry in symbols.at(5)] == ["a"]
                assert symbols.find(5) is not None and symbols.find(12) is None
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            symbols.prepare()
        finally:
            sys.settrace(before)
        assert symbols.find(5) is not None

    for line in range(1, 60):
        ask_at(line)
    assert asked > 20


PIECES = st.sampled_from(
    [
        b"ffffffff81000000",
        b"ffffffffc0000000",
        b"0" * 16,
        b" ",
        b"t",
        b"T",
        b"a",
        b"b",
        b"\t[mod]",
        b"[",
        b"\n",
        b"\x1c",
    ]
)
KERNELS = st.builds(lambda line, rest: table([line], rest).rstrip(b"\n"), LINE, st.sampled_from(["", "mod"]))


@given(st.lists(KERNELS | st.lists(PIECES, max_size=5).map(b"".join), max_size=5).map(b"\n".join), st.integers(0, 60))
def test_the_two_readers_of_lines_agree(data: bytes, piece: int) -> None:
    fast = _kernels_table(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events.names.kallsyms_table, "_PIECE", piece)
        in_pieces = _kernels_table(data)
    assert (fast and [*map(list, fast)]) == (in_pieces and [*map(list, in_pieces)])
    assert fast is None or [[*column] for column in fast] == [[*column] for column in _any_table(data)]


@given(st.lists(st.sampled_from(["", "a", "ab", "b", "é", "\U0001f600"]), max_size=8), st.data())
def test_names_in_one_text_are_a_list_of_them(names: list[str], data: st.DataObject) -> None:
    packed = SymbolNames(names)
    assert [*packed] == [packed[at] for at in range(len(names))] == packed[:] == names
    name, start = data.draw(st.sampled_from(["a", "b", "é", "", "c", "a\nb"])), data.draw(st.integers(0, 9))
    if name in names[start:]:
        assert packed.index(name, start) == names.index(name, start)
    else:
        with pytest.raises(ValueError, match=f"^{re.escape(name)}$"):
            packed.index(name, start)
    with pytest.raises(IndexError):
        packed[len(names)]


def test_a_symbol_takes_some_fifty_bytes() -> None:
    data = table([(0x81000000 + 16 * number, "t", f"a_function_{number:06}") for number in range(20_000)])
    gc.collect()
    tracemalloc.start(1)
    symbols = Symbols(data)
    symbols.prepare()
    assert symbols.address_of("a_function_000007") == 0x81000070
    assert symbols.address_of("a_function") is None
    assert tracemalloc.get_traced_memory()[0] < 55 * 20_000
    tracemalloc.stop()


def test_a_module_does_not_move_the_bounds_of_the_kernel() -> None:
    own = table([(0x80010000, "T", "_stext"), (0x80010000, "T", "f"), (0x81000000, "B", "_end")])
    symbols = Symbols(own + table([(0x7A000000, "t", "m_open"), (0x7A000100, "d", "_end")], "mod"))
    assert symbols.lookup(0x80010004) == "_stext+0x4/0xff0000"
    assert symbols.lookup(0x81000010) is None


def test_an_alias_is_code_and_of_one_symbol_alone() -> None:
    symbols = Symbols(
        table([(1, "t", "f"), (1, "t", "lone"), (1, "t", "twin"), (1, "d", "data"), (2, "t", "twin")])
        + table([(1, "t", "foreign")], "mod")
    )
    assert symbols.aliases(symbols.named("f")[0]) == ("lone",)
    assert symbols.aliases(symbols.named("data")[0]) == ()


def test_labels_within_functions_of_modules_are_no_symbols() -> None:
    """Lines of a riscv64 kernel: such a label would be the end of the function."""
    symbols = Symbols(
        b"ffffffff80000000 t .Lkernel\n"
        b"ffffffff024441e8 t .L0 \t[dummy]\n"
        b"ffffffff024441f0 t dummy_setup\t[dummy]\n"
        b"ffffffff024441f8 t .L0 \t[dummy]\n"
        b"ffffffff024441f8 t .LFB6385\t[dummy]\n"
        b"ffffffff02444260 t dummy_exit\t[dummy]\n"
    )
    found = symbols.find(0xFFFFFFFF024441FA)
    assert found is not None
    assert (found.name, found.offset, found.size) == ("dummy_setup", 10, 0x70)
    assert symbols.named(".Lkernel") and not symbols.named(".LFB6385")
