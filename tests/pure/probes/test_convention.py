"""Where arguments are, against the documents of each ABI and against what compilers do.

`data/calls.txt` has calls of random signatures as gcc 12 made them for each architecture, and where the values were
when the callee began (`data/make_calls.py` says how they were found). The worked examples say which rule is meant.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.kinds import Kind
from btf.types import Param
from probes.facts.facts import Feature, TargetFacts
from probes.fetcharg import variable
from probes.functions.convention import (
    CONVENTIONS,
    FunctionConvention,
    PassedValue,
    convention_of,
    has_kernel_position,
    pushed_by_call,
)
from probes.functions.signature import Signature, certain_signature_of, signature_of
from probes.functions.value import ValueUnavailable, locate
from probes.lowering.lower import lower
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.btf_writer import DATA, Writer
from tests.probes_data import kernel

MACHINES = ("x86_64", "aarch64", "riscv64", "s390x", "i686")
BIG_ENDIAN = ("s390x",)
INTEGERS = {"b": ("signed char", 1), "h": ("short", 2), "w": ("int", 4), "q": ("long long", 8), "o": ("__int128", 16)}


def written(text: str, machine: str) -> Signature:
    """The signature of a function: `wp{qb3}=q` takes an int, a pointer and a struct with an array, and returns a long
    long; `<...>` is a packed struct, `l` a long, `d` a double.
    """
    long = CONVENTIONS[machine].long if machine in CONVENTIONS else 8
    writer = Writer("big" if machine in BIG_ENDIAN else "little")
    ids = {letter: writer.integer(name, size, 1) for letter, (name, size) in INTEGERS.items()}
    ids |= {
        "l": writer.integer("long int", long, 1),
        "p": writer.add(Kind.PTR),
        "d": writer.add(Kind.FLOAT, "double", 8),
    }
    sizes = {letter: size for letter, (_, size) in INTEGERS.items()} | {"l": long, "p": long, "d": 8}

    def type_of(word: str) -> int:
        if len(word) == 1:
            return ids[word]
        rows: list[tuple[int | str, ...]] = []
        end, largest = 0, 1
        for letter, count in re.findall(r"([a-z])(\d*)", word):
            align = 1 if word[0] == "<" else min(sizes[letter], 4 if long == 4 else 16)
            end, largest = -(-end // align) * align, max(largest, align)
            inner = writer.add(Kind.ARRAY, rows=[(ids[letter], ids["w"], int(count))]) if count else ids[letter]
            rows.append((f"m{len(rows)}", inner, end * 8))
            end += sizes[letter] * int(count or 1)
        return writer.add(Kind.STRUCT, "pair", -(-end // largest) * largest, rows)

    words, _, result = text.partition("=")
    params = [(f"a{n}", type_of(word)) for n, word in enumerate(re.findall(r"[a-z]|\{.*?\}|<.*?>", words))]
    proto = writer.add(Kind.FUNC_PROTO, last=type_of(result) if result else 0, rows=list(params))
    writer.add(Kind.FUNC, "f", proto)
    found = signature_of(Btf.load(writer.data()), "f")
    assert found is not None
    return found


@cache
def where(text: str, machine: str) -> FunctionConvention:
    signature = written(text, machine)
    return convention_of(signature.btf, signature.params, machine, signature.returns)


def places(text: str, machine: str) -> list[str]:
    """Registers as `r0` and on, longs on the stack as `s0` and on, `&` before the address of a copy."""
    convention = CONVENTIONS[machine]
    out = []
    for one in where(text, machine).params:
        slots = [f"r{n - 1}" if n <= convention.registers else f"s{n - convention.registers - 1}" for n in one.slots]
        stack = [f"s{n - convention.stack_first}" for n in one.stack]
        out.append(one.reason or "&" * one.by_reference + " ".join([*slots, *stack]))
    return out


@cache
def calls() -> dict[str, list[tuple[str, list[str]]]]:
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for line in (DATA / "calls.txt").read_text().splitlines():
        if not line.startswith("#"):
            machine, signature, holders = line.split(" ", 2)
            found.setdefault(machine, []).append((signature, holders.split(", ")))
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_as_compilers_do(machine: str) -> None:
    cases = calls()[machine]
    assert len(cases) >= 150
    for signature, holders in cases:
        assert places(signature, machine) == holders, signature


@pytest.mark.parametrize(
    ("machine", "signature", "holders"),
    [
        # System V ABI AMD64, 3.2.3 (and figure 3.5): six registers, then the stack.
        ("x86_64", "wqpwwwww", ["r0", "r1", "r2", "r3", "r4", "r5", "s0", "s1"]),
        # ... two eightbytes in two registers; more than two, or out of line: MEMORY.
        ("x86_64", "w{qw}w", ["r0", "r1 r2", "r3"]),
        ("x86_64", "w{qqq}w", ["r0", "s0 s1 s2", "r1"]),
        ("x86_64", "<bq>w", ["s0 s1", "r0"]),
        # ... "If there are no registers available for any eightbyte of an argument, the whole argument is passed on
        # the stack", and those behind it still get registers.
        ("x86_64", "wwwww{qq}w", ["r0", "r1", "r2", "r3", "r4", "s0 s1", "r5"]),
        # ... an __int128 on the stack is aligned to 16 bytes, a hidden first argument points at what is returned.
        ("x86_64", "wwwwwwwo", ["r0", "r1", "r2", "r3", "r4", "r5", "s0", "s2 s3"]),
        ("x86_64", "w={qqq}", ["r1"]),
        # AAPCS64 6.8.2: C.12 two registers, B.4 by reference above 16 bytes, x8 for the result.
        ("aarch64", "w{qq}w", ["r0", "r1 r2", "r3"]),
        ("aarch64", "w{qqb}w={qqq}", ["r0", "&r1", "r2"]),
        # ... C.10 an even register for what is aligned to 16; C.13 what finds no room ends the registers.
        ("aarch64", "wow", ["r0", "r2 r3", "r4"]),
        ("aarch64", "wwwwwww{qq}w", ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "s0 s1", "s2"]),
        # RISC-V psABI 2.1: 2 x XLEN in a pair that need not be even, or half in a7 and half on the stack.
        ("riscv64", "wow", ["r0", "r1 r2", "r3"]),
        ("riscv64", "wwwwwww{qq}w", ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7 s0", "s1"]),
        ("riscv64", "{qqb}w={qqq}", ["&r1", "r2"]),
        # s390x ELF ABI 1.3.3: r2 to r6; a struct of 1, 2, 4 or 8 bytes as an integer, any other by its address.
        ("s390x", "wqpwqw", ["r0", "r1", "r2", "r3", "r4", "s0"]),
        ("s390x", "{hh}{hb3}{hhh}o", ["r0", "&r1", "&r2", "&r3"]),
        ("s390x", "w={w}", ["r1"]),
        # i386 with -mregparm=3: a long long takes two registers or none, and then there are no more.
        ("i686", "wqw", ["r0", "r1 r2", "s0"]),
        ("i686", "wwqw", ["r0", "r1", "s0 s1", "s2"]),
        ("i686", "{ww}w", ["r0 r1", "r2"]),
        # ... -freg-struct-return: 1, 2, 4 or 8 bytes in registers.
        ("i686", "w={ww}", ["r0"]),
        ("i686", "w={www}", ["r1"]),
    ],
)
def test_examples_of_the_documents(machine: str, signature: str, holders: list[str]) -> None:
    assert places(signature, machine) == holders


LETTERS = "bhwlp"
STRUCTS = st.text(f"{LETTERS}q", min_size=1, max_size=5).map(lambda text: f"{{{text}}}")


@given(st.lists(st.sampled_from([*LETTERS, "q", "o"]) | STRUCTS, max_size=10), st.sampled_from(MACHINES), STRUCTS)
def test_each_place_is_used_once_and_in_order(words: list[str], machine: str, result: str) -> None:
    if machine == "i686":
        words = [word for word in words if word != "o"]
    found = where("".join(words) + f"={result}", machine)
    assert len(found.params) == len(words)
    convention = CONVENTIONS[machine]
    registers = [n for one in found.params for n in one.slots if n <= convention.registers]
    memory = [n for one in found.params for n in (*(s for s in one.slots if s > convention.registers), *one.stack)]
    assert registers == sorted(set(registers))
    assert memory == sorted(set(memory))
    assert min([*registers, convention.registers + 1]) >= 1
    for one in found.params:
        assert bool(one.reason) == (not one.longs)
        assert not (one.stack and convention.reads_stack)


@given(st.lists(st.sampled_from(LETTERS), max_size=12), st.sampled_from(MACHINES))
def test_plain_arguments_are_the_kernels_own(words: list[str], machine: str) -> None:
    """No struct and nothing wide: the kernel's count is right as far as `$argN` reaches."""
    found = where("".join(words), machine)
    for number, one in enumerate(found.params):
        reached = CONVENTIONS[machine].reads_stack or number < CONVENTIONS[machine].registers
        assert has_kernel_position(found, number) == reached
        assert one.longs == 1


def test_result() -> None:
    assert where("w=q", "i686").result == PassedValue((1, 2))
    assert where("w=w", "i686").result == PassedValue((1,))
    assert where("w", "i686").result == PassedValue((1,))
    assert where("w=o", "x86_64").result == PassedValue((1, 2))
    assert where("w={qq}", "aarch64").result == PassedValue((1, 2))
    for machine in MACHINES:
        assert where("w={qqq}", machine).result.reason == "it is returned in memory"
    assert where("w=o", "s390x").result.reason
    assert where("w={w}", "s390x").result.reason


def test_what_cannot_be_had_says_so() -> None:
    for machine in MACHINES:
        double, after = where("dw", machine).params
        assert "floating-point" in double.reason
        assert after.slots == (1,)
    mixed, after = where("{qd}w", "x86_64").params
    assert "floating-point" in mixed.reason
    assert after.slots == (2,)
    assert where("w{w}w", "loongarch64").params[1].reason
    assert where("w{w}w", "loongarch64").params[2].reason
    assert where("wpq", "loongarch64").params == (PassedValue((1,)), PassedValue((2,)), PassedValue((3,)))


class TestValues:
    """What a path to a member of such a struct comes to."""

    def member(self, text: str, machine: str, name: str, *path: str) -> tuple[str, int, int]:
        signature = written(text, machine)
        value = locate(signature, where(text, machine), variable(name, *path))
        return value.address, value.bit_offset, value.bit_size

    def test_in_registers(self) -> None:
        assert self.member("w{hhq}", "x86_64", "a1", ".m1") == ("$arg2", 16, 16)
        assert self.member("w{hhq}", "x86_64", "a1", ".m2") == ("$arg3", 0, 0)
        assert self.member("wwwwwww{qq}", "riscv64", "a7", ".m0") == ("$arg8", 0, 0)
        assert self.member("wwwwwww{qq}", "riscv64", "a7", ".m1") == ("$stack0", 0, 0)
        assert self.member("w{hhw}", "i686", "a1", ".m1") == ("$arg2", 16, 16)
        assert self.member("w{hhw}", "i686", "a1", ".m2") == ("$arg3", 0, 0)

    def test_at_the_end_of_a_register(self) -> None:
        """Big-endian: four bytes are the lower half of the register, its first member the upper half of them."""
        assert self.member("{hh}", "s390x", "a0", ".m0") == ("$arg1", 16, 16)
        assert self.member("{hh}", "s390x", "a0", ".m1") == ("$arg1", 0, 0)
        assert self.member("{hbbw}", "s390x", "a0", ".m3") == ("$arg1", 0, 0)
        assert self.member("{hbbw}", "s390x", "a0", ".m0") == ("$arg1", 48, 16)

    def test_behind_an_address(self) -> None:
        assert self.member("w{qqq}", "s390x", "a1", ".m2") == ("+16($arg2)", 0, 0)
        assert self.member("wwwwww{qqq}", "s390x", "a6", ".m1") == ("+8($arg7)", 0, 0)

    @pytest.mark.parametrize(("text", "machine"), [("wq", "i686"), ("wo", "x86_64"), ("wo", "riscv64")])
    def test_halves(self, text: str, machine: str) -> None:
        with pytest.raises(ValueUnavailable, match=r"\$arg2 and \$arg3") as error:
            self.member(text, machine, "a1")
        assert error.value.code == "not_in_registers"


class TestLowering:
    """`$$args` on a kernel of such a machine; it knows no names."""

    def lines(self, text: str, machine: str, result: str = "", words: str = "$$args") -> tuple[str, tuple[str, ...]]:
        features = frozenset({Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS, Feature.CHAR_TYPE})
        long = CONVENTIONS[machine].long
        facts = TargetFacts(machine, "7.2", long_size=long, features=features, functions=("f",))
        plan = lower(
            parse_probe(f"f f{'%return' if result else ''} {result or words}"),
            written(text, machine).btf,
            facts,
            "g",
        )
        return plan.events[0].line.partition(" f ")[2], plan.losses

    def test_pairs_are_shown_by_halves(self) -> None:
        line, losses = self.lines("wqp", "i686")
        assert line == "a0=$arg1:s32 a1_0=$arg2:x32 a1_1=$arg3:x32 a2=$arg4:x32"
        assert losses == ("a1: it takes 2 registers, each is shown by itself",)
        assert self.lines("ow", "riscv64")[0] == "a0_0=$arg1:x64 a0_1=$arg2:x64 a1=$arg3:s32"
        assert self.lines("w{q2}w", "x86_64")[0] == "a0=$arg1:s32 a1_0=$arg2:x64 a1_1=$arg3:x64 a2=$arg4:s32"

    def test_members_of_structs(self) -> None:
        assert self.lines("w{hb}w", "s390x")[0] == "a0=$arg1:s32 m0=$arg2:b16@16/64 m1=$arg2:b8@8/64 a2=$arg3:s32"
        assert self.lines("w{qq}", "s390x")[0] == "a0=$arg1:s32 m0=+0($arg2):s64 m1=+8($arg2):s64"
        line, losses = self.lines("{ww}p", "aarch64")
        assert line == "m0=$arg1:s32 m1=$arg1:b32@32/64 a1=$arg2:x64"
        assert losses == ("a0.m1: a part of a register has no sign, -1 is shown as the largest number",)

    def test_a_member_that_a_person_named(self) -> None:
        line, losses = self.lines("{ww}p", "x86_64", "", "a0.m0 a0.m1 x=a0.m1:s32 y=a0.m1:u32 z=a0.m0:s64")
        assert line == "m0=$arg1:s32 m1=$arg1:b32@32/64 x=$arg1:b32@32/64 y=$arg1:b32@32/64 z=$arg1:s64"
        assert losses == (
            "z: it has 32 bits, s64 shows what lies beside it too",
            "a0.m1: a part of a register has no sign, -1 is shown as the largest number",
        )
        line, losses = self.lines("{ww}p", "s390x", "", "a0.m0 a0.m1")
        assert line == "m0=$arg1:b32@32/64 m1=$arg1:s32"
        assert losses == ("a0.m0: a part of a register has no sign, -1 is shown as the largest number",)
        assert self.lines("{ww}p", "x86_64", "", "a0.m1:u64 x=a0.m1:u8") == (
            "m1=$arg1:b32@32/64 x=$arg1:b8@32/64",
            (),
        )
        (loss,) = self.lines("w{qqq}", "s390x", "", "a1.m0:u8")[1]
        assert loss == "m0: it has 64 bits, and this machine has the highest first: u8 shows those"

    def test_half_on_the_stack(self) -> None:
        assert self.lines("wwwwwww{qq}", "riscv64")[0].endswith("a6=$arg7:s32 m0=$arg8:s64 m1=$stack0:s64")
        assert self.lines("wwwwwwwo", "riscv64")[1] == ("a7: a part of it is on the stack",)

    def test_result_in_two_registers(self) -> None:
        assert self.lines("w=q", "i686", "ret=$retval:s32")[0] == "ret=$retval:s32"
        with pytest.raises(CannotLower, match="two registers") as error:
            self.lines("w=q", "i686", "$retval")
        assert error.value.refusal.code == "not_in_registers"
        assert self.lines("w=w", "i686", "$retval")[0] == "ret=$retval:s32"
        assert self.lines("w=p", "i686", "$retval")[0] == "ret=$retval:x32"


def test_a_call_pushes_on_every_machine_of_its_kind() -> None:
    assert {name: pushed_by_call(name) for name in CONVENTIONS} == {
        **dict.fromkeys(("aarch64", "riscv64", "s390x"), 0),
        **dict.fromkeys(("i386", "i486", "i586", "i686"), 4),
        "x86_64": 8,
    }


class TestKernelFunctions:
    def where(self, function: str, machine: str) -> FunctionConvention:
        btf = kernel("7.2").btf
        signature = signature_of(btf, function)
        assert signature is not None
        return convention_of(btf, signature.params, machine, signature.returns)

    def test_plain_arguments_are_counted(self) -> None:
        for machine in ("x86_64", "aarch64", "riscv64", "s390x", "loongarch64"):
            found = self.where("vfs_read", machine)
            assert [one.slots for one in found.params] == [(1,), (2,), (3,), (4,)]
            assert all(has_kernel_position(found, number) for number in range(4))

    def test_large_struct(self) -> None:
        assert self.where("ZSTD_checkCParams", "x86_64").params == (PassedValue((7, 8, 9, 10)),)
        assert self.where("ZSTD_checkCParams", "aarch64").params == (PassedValue((1,), by_reference=True),)
        assert self.where("ZSTD_checkCParams", "loongarch64").params[0].reason

    def test_beyond_the_registers(self) -> None:
        x86 = self.where("do_mmap", "x86_64").params
        assert [one.slots for one in x86[5:]] == [(6,), (7,), (8,), (9,)][: len(x86) - 5]
        arm = self.where("do_mmap", "aarch64").params
        assert arm[7].slots == (8,)
        assert (arm[8].slots, arm[8].stack) == ((), (0,))

    def test_several_of_one_name(self) -> None:
        """Older BTF has each function of a name: where they take different things, none is believed."""
        writer = Writer()
        ids = [writer.integer(name, size, 1) for name, size in (("int", 4), ("long int", 8))]
        protos = [writer.add(Kind.FUNC_PROTO, rows=[(name, ids[n])]) for name, n in (("a", 0), ("b", 0), ("a", 1))]
        for name, numbers in (("same", (0, 1)), ("other", (0, 2)), ("one", (2,))):
            for number in numbers:
                writer.add(Kind.FUNC, name, protos[number])
        btf = Btf.load(writer.data())
        assert [certain_signature_of(btf, n) is None for n in ("same", "other", "one", "none")] == [0, 1, 0, 1]

    def test_dots_are_left_out(self) -> None:
        assert convention_of(kernel("7.2").btf, [Param("", 0)], "x86_64").params == ()
