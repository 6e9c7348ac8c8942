"""BPF programs: their bytes, their text, and what they compute, run by a machine of our own."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.disassembly import disassembled
from probes.bpf.fetch import NotCompiled
from probes.bpf.filters.condition import parse_condition
from probes.bpf.filters.filter import ComparedValue, FilterCompiler, compared_fields
from probes.bpf.instructions import AluOperation, Helper, JumpCondition, MapRole, encode
from probes.bpf.record import stored_type
from probes.facts.lookups import StaticEventField
from tests.bpf_machine import STACK, WORD, BpfMachine

NUMBERS = {"a": "u8", "b": "s16", "c": "u32", "d": "s64", "e": "x64", "f": "s8", "g": "s32"}


def test_the_bytes_are_those_of_the_instruction_set() -> None:
    out, end = Assembler(), JumpLabel()
    out.move(6, 1)
    out.load(3, 6, 112, 8)
    out.jump_if(JumpCondition.SLT, 3, -5, end)
    out.map(1, MapRole.RINGS)
    out.constant(2, 1 << 40)
    out.store(10, -8, 3, 4)
    out.add_in_memory(8, 16, 1)
    out.place(end)
    out.exit()
    # By hand from Documentation/bpf/standardization/instruction-set.rst.
    assert encode(out.program(), {MapRole.RINGS: 9}).hex(" ", 8).split() == [
        "bf16000000000000",
        "7963700000000000",
        "c5030600fbffffff",
        "1811000009000000",
        "0000000000000000",
        "1802000000000000",
        "0000000000010000",
        "633af8ff00000000",
        "db18100000000000",
        "b700000000000000",
        "9500000000000000",
    ]


def test_a_listing_names_slots_maps_and_helpers() -> None:
    out, end = Assembler(), JumpLabel()
    out.map_value(2, MapRole.CONTROL)
    out.jump_if(JumpCondition.EQ, 2, 0, end)
    out.call(Helper.KTIME_GET_NS)
    out.alu(AluOperation.RSH, 0, 32)
    out.store_constant(10, -4, 7, 4)
    out.place(end)
    out.exit(1)
    assert disassembled(out.program()) == [
        "  0: r2 = value of map control",
        "  2: if r2 == 0 goto 6",
        "  3: call ktime_get_ns",
        "  4: r0 >>= 32",
        "  5: *(u32 *)(r10 -4) = 7",
        "  6: r0 = 1",
        "  7: exit",
    ]


def fields() -> dict[str, StaticEventField]:
    found = {}
    for name, kind in {**NUMBERS, "t": "string"}.items():
        stored = stored_type(kind)
        assert stored is not None
        found[name] = StaticEventField(name, stored.declared, stored.size, stored.signed)
    return found


def passes(text: str, values: dict[str, int], name: bytes = b"") -> bool:
    """Run the filter of a program on values of its fields."""
    condition = parse_condition(text, fields())
    assert condition is not None
    machine, places, at = BpfMachine({}), {}, 0
    for field in compared_fields(condition):
        kind = stored_type(NUMBERS.get(field, "string"))
        assert kind is not None
        at -= -(-kind.size // 8) * 8
        places[field] = ComparedValue(kind, at)
        data = name + b"\0stale" if field == "t" else (values[field] & WORD).to_bytes(8, "little")[: kind.size]
        machine.write(STACK + at, data)
    out, fails = Assembler(), JumpLabel()
    FilterCompiler(out, places).jump_unless(condition, fails)
    out.exit(1)
    out.place(fails)
    out.exit(0)
    return bool(machine.run(out.program()))


def bounds(name: str) -> tuple[int, int]:
    sign, bits = NUMBERS[name][0], int(NUMBERS[name][1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)


def numbers(name: str) -> st.SearchStrategy[int]:
    low, high = bounds(name)
    edges = [low, low + 1, -1, 0, 1, high - 1, high, 1 << 31, (1 << 31) - 1, -(1 << 31)]
    return st.sampled_from([edge for edge in edges if low <= edge <= high]) | st.integers(low, high)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> tuple[str, str]:
    """A filter in the kernel's words, and the same in Python's."""
    if depth and draw(st.booleans()):
        left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        word, own = draw(st.sampled_from([("&&", "and"), ("||", "or")]))
        sign, no = draw(st.sampled_from([("", ""), ("!", "not ")]))
        return f"{sign}({left[0]} {word} {right[0]})", f"{no}({left[1]} {own} {right[1]})"
    name = draw(st.sampled_from(sorted(NUMBERS)))
    operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "&"]))
    number = draw(numbers(name))
    return f"{name} {operator} {number}", f"bool({name} {operator} {number})"


@given(conditions(), st.fixed_dictionaries({name: numbers(name) for name in NUMBERS}))
def test_a_filter_holds_where_its_words_do(condition: tuple[str, str], values: dict[str, int]) -> None:
    assert passes(condition[0], values) == eval(condition[1], {}, values)


@given(st.text("ab", max_size=20), st.text("ab", max_size=20))
def test_texts_are_compared_whole_or_by_their_beginning(wanted: str, name: str) -> None:
    assert passes(f't == "{wanted}"', {}, name.encode()) == (wanted == name)
    assert passes(f't != "{wanted}"', {}, name.encode()) == (wanted != name)
    assert passes(f't ~ "{wanted}*"', {}, name.encode()) == name.startswith(wanted)


@given(st.text("ab*?", min_size=1, max_size=12), st.text("ab", max_size=20))
def test_texts_are_matched_with_patterns(pattern: str, name: str) -> None:
    """As Python does, which reads `*` and `?` alike."""
    matches = fnmatchcase(name, pattern)
    assert passes(f't ~ "{pattern}"', {}, name.encode()) == matches
    assert passes(f't ~ "!{pattern}"', {}, name.encode()) != matches


@pytest.mark.parametrize("pattern", ["*", "**", "a" * 130, "a" * 130 + "*", "*" + "a" * 130, "*" + "a" * 130 + "*"])
def test_what_matches_always_or_never(pattern: str) -> None:
    for name in ("", "aaaa", "a" * 127):
        assert passes(f't ~ "{pattern}"', {}, name.encode()) == fnmatchcase(name, pattern)
        assert passes(f't ~ "!{pattern}"', {}, name.encode()) != fnmatchcase(name, pattern)


@pytest.mark.parametrize("size", [126, 127])
@pytest.mark.parametrize("pattern", ["*b", "*ab", "*ab*", "*a*b", "?*b", "a*ab*b", "*aab"])
def test_a_pattern_is_looked_for_up_to_the_end_of_the_longest_text(size: int, pattern: str) -> None:
    for name in ("a" * (size - 1) + "b", "a" * size, "ab" * (size // 2)):
        assert passes(f't ~ "{pattern}"', {}, name.encode()) == fnmatchcase(name, pattern)


@pytest.mark.parametrize("text", ['t ~ "a[b]*"', 'a == 1 && t ~ "a[b"', 't ~ "a\\\\*"'])
def test_a_filter_that_no_program_computes_is_refused(text: str) -> None:
    with pytest.raises(NotCompiled):
        passes(text, dict.fromkeys(NUMBERS, 0))
