"""Offsets and variables by the table of symbols: where a place really is, and what nobody here can know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from events.names.kallsyms import Symbols
from kernel.symbols.symbol_addresses import symbol_environment
from probes.check import check_plan
from probes.facts.lookups import SymbolCount
from tests.probes_data import kernel

CODE = b"""ffffffff81000000 T _stext
ffffffff81000100 T vfs_read
ffffffff81000200 t barred
ffffffff81000300 T vfs_write
ffffffff81000300 T vfs_write_twin
ffffffff81000400 T untraced
ffffffff81000500 T _etext
"""
WHOLE = CODE + b"ffffffff81000600 D jiffies\nffffffff81000700 B _end\n"


def answer(spec: str, table: bytes = WHOLE, machine: str = "x86_64") -> tuple[str, tuple[str, ...]]:
    btf, facts, _ = kernel("7.2")
    facts = replace(
        facts, functions=("vfs_read", "barred", "vfs_write"), blacklist=frozenset({"barred"}), machine=machine
    )
    checked = check_plan(spec, btf, facts, environment=symbol_environment(Symbols(table)))
    error = checked.verdict.error
    return ("ok" if error is None else error.code), checked.plan.losses if checked.plan else ()


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("p vfs_read+0x80", "ok"),
        ("p vfs_read+0x102", "FAIL_REG_PROBE"),  # in `barred`
        ("p vfs_read+0x280", "ok"),  # somewhere in vfs_write
        ("p vfs_read+0x200", "ok"),  # where it begins
        ("r vfs_read+0x200", "ok"),
        ("r vfs_read+0x280", "BAD_RETPROBE"),
        ("p vfs_read+0x380", "FAIL_REG_PROBE"),  # not traceable
        ("p vfs_read+0x500", "FAIL_REG_PROBE"),  # a variable
        ("p vfs_read+0x700", "BAD_PROBE_ADDR"),  # nothing
        ("r vfs_read+0x700", "BAD_PROBE_ADDR"),
        ("p vfs_read @jiffies", "ok"),
        ("p vfs_read @nosuch", "BAD_PROBE_ADDR"),
    ],
)
def test_the_kernel_goes_by_what_lies_there(spec: str, code: str) -> None:
    assert answer(spec)[0] == code


def test_the_boundary_is_one_of_the_function_that_lies_there() -> None:
    assert answer("p vfs_read+0x203")[0] == "BAD_INSN_BNDRY"  # inside the call of ftrace in vfs_write
    assert answer("p vfs_read+0x282", machine="aarch64")[0] == "FAIL_REG_PROBE"


@pytest.mark.parametrize(
    ("call_at", "spec", "code"),
    [
        (4, "p vfs_read+4", "ok"),
        (4, "r vfs_read+4", "ok"),
        (4, "p vfs_read+5", "BAD_INSN_BNDRY"),
        (0, "p vfs_read+4", "BAD_INSN_BNDRY"),
        (0, "r vfs_read+4", "BAD_RETPROBE"),
        (0, "p vfs_read+5", "ok"),
        (None, "p vfs_read+5", "BAD_INSN_BNDRY"),
    ],
)
def test_a_function_that_is_only_called_directly_has_no_endbr64(call_at: int | None, spec: str, code: str) -> None:
    btf, facts, _ = kernel("7.2")
    facts = replace(facts, functions=("vfs_read",))
    around = replace(symbol_environment(Symbols(WHOLE)), call_at=lambda _: call_at)
    error = check_plan(spec, btf, facts, environment=around).verdict.error
    assert ("ok" if error is None else error.code) == code


def test_another_function_is_told() -> None:
    unsure = "vfs_read+0x80: whether an instruction begins there is not known before it is armed"
    assert answer("p vfs_read+0x80")[1] == (unsure,)
    assert answer("p vfs_read+0x80", machine="aarch64")[1] == ()
    assert answer("p vfs_read+0x280") == (
        "ok",
        (
            "vfs_read has 256 bytes: vfs_read+0x280 is in vfs_write, 128 bytes in",
            "vfs_read+0x280: whether an instruction begins there is not known before it is armed",
        ),
    )


def test_symbols_of_code_say_nothing_of_variables() -> None:
    assert answer("p vfs_read @nosuch", CODE) == (
        "ok",
        ("@nosuch: the symbols here are those of code, so nobody knows whether it is there",),
    )
    assert answer("p vfs_read @vfs_write", CODE) == ("ok", ())
    assert answer("p nosuch @vfs_write", CODE)[0] == "BAD_PROBE_ADDR"


def test_names_of_one_address_are_told() -> None:
    look_up = symbol_environment(Symbols(WHOLE)).symbol
    assert look_up is not None
    assert look_up("vfs_write") == SymbolCount(1, 0, ("vfs_write_twin",), ("vfs_write_twin",))
    assert look_up("vfs_read") == SymbolCount(1)
