"""Functions chosen by address, and those that others call: read from text, lowered as lines and as programs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from events.names.function_choice import ChoiceError, FunctionChoice, is_called, is_own_choice, is_type
from foreign.refusal import InputRefusal
from probes.command import parse_armable
from probes.facts.lookups import CalledFunctions, Environment, FunctionAt
from probes.functions.function_index import index_of
from probes.lowering.lower import lower
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from tests.probes_data import kernel

KNOWN = kernel("7.2")
TWIN = next(
    name for name, count in sorted(index_of(KNOWN.facts).repeated.items()) if count > 1 and name.isidentifier()
)
AT = {0xFFFFFFFF81000010: "vfs_read", 0xFFFFFFFF81000020: TWIN, 0xFFFFFFFF81000030: "not_traced_at_all"}
CALLS = {"vfs_read": ("vfs_open", "vfs_write")}


def called(callers: Sequence[str], depth: int) -> CalledFunctions:
    if missing := [name for name in callers if name not in CALLS]:
        raise InputRefusal(missing[0], "no function of this kernel has this name")
    names = [name for caller in callers for name in CALLS[caller][:depth]]
    return CalledFunctions(tuple(names), "1 of them calls through pointers, too, which is not seen")


def plan_of(text: str, via: Via = Via.TRACEFS) -> Plan:
    lists = {"mine": ["vfs_write", "0xffffffff81000020"]}
    around = Environment(
        called=called,
        function_at=lambda address: FunctionAt(AT[address], f"_text+{address & 0xFFFF}") if address in AT else None,
        function_list=lambda path: lists[path],
    )
    return lower(parse_armable(text), KNOWN.btf, KNOWN.facts, "pw", via=via, environment=around)


def refusal_of(text: str, via: Via = Via.TRACEFS) -> tuple[str, str]:
    with pytest.raises(CannotLower) as caught:
        plan_of(text, via)
    return caught.value.refusal.code, caught.value.refusal.hint


def lines(plan: Plan) -> list[str]:
    return [" ".join(line.split()[1:]) for event in plan.events for line in (event.line, *event.more)]


def functions(plan: Plan) -> list[tuple[str, ...]]:
    return [program.functions for program in plan.programs]


def test_an_address_in_a_list_is_its_function() -> None:
    assert lines(plan_of("f 0xffffffff81000010,vfs_write")) == ["vfs_read", "vfs_write"]
    named = plan_of("f 0xFFFFFFFF81000010,vfs_write count", Via.BPF)
    assert functions(named) == [("vfs_read", "vfs_write")]
    assert any("addresses of this boot" in note for note in named.losses)
    assert functions(plan_of("f vfs_r*,!0xffffffff81000010", Via.BPF)) == functions(
        plan_of("f vfs_r*,!vfs_read", Via.BPF)
    )


@pytest.mark.parametrize("place", ["0xffffffff81000020,vfs_write", "@mine"])
def test_one_of_two_functions_of_a_name_is_told_apart_by_its_address(place: str) -> None:
    assert lines(plan_of(f"f {place}")) == ["_text+32", "vfs_write"]
    plan = plan_of(f"f {place} $arg1", Via.BPF)
    assert functions(plan) == [("vfs_write",), ("0xffffffff81000020",)]  # a link takes names or addresses
    assert any(f"{TWIN}, one of" in note for note in plan.losses)


def test_addresses_that_stand_for_nothing_are_refused() -> None:
    assert refusal_of("f 0xffffffff81000030,vfs_read") == ("not_traceable", "not_traced_at_all is not traceable")
    assert refusal_of("f 0xffffffff81000011,vfs_read") == ("not_traceable", "No function of this kernel begins there")
    code, hint = refusal_of("f vfs_*,!0xffffffff81000020")
    assert code == "no_choice" and "of this name, can't be left out" in hint
    with pytest.raises(CannotLower, match="addresses of this kernel are not known"):
        lower(parse_armable("f 0xffffffff81000010,vfs_read"), KNOWN.btf, KNOWN.facts, "pw")


@pytest.mark.parametrize(
    ("text", "callers", "depth"),
    [
        ("[called by vfs_read]", ("vfs_read",), 1),
        ("[called by vfs_read 3]", ("vfs_read",), 3),
        ("[ called  by vfs_read,vfs_write 2 ]", ("vfs_read", "vfs_write"), 2),
        ("[called by vfs_read],!vfs_o*", ("vfs_read",), 1),
    ],
)
def test_calls_are_read_from_text(text: str, callers: tuple[str, ...], depth: int) -> None:
    choice = FunctionChoice.parse(text)
    assert (choice.callers, choice.depth, choice.type) == (callers, depth, "")
    assert is_called(text) and is_own_choice(text) and not is_type(text) and not choice.is_list


@pytest.mark.parametrize(
    "text", ["[called by]", "[called by 2]", "[called by vfs_read 0]", "[called by vfs_read 10]"]
)
def test_calls_of_nobody_or_too_deep_are_refused(text: str) -> None:
    with pytest.raises(ChoiceError):
        FunctionChoice.parse(text)


def test_what_a_function_calls_is_probed() -> None:
    plan = plan_of("f [called by vfs_read 2]%both $retval")
    assert {line.partition(" ")[0] for line in lines(plan)} >= {"vfs_write", "vfs_open"}
    assert any("through pointers" in note for note in plan.losses)
    assert functions(plan_of("f [called by vfs_read 1]", Via.BPF)) == [("vfs_open",)]
    assert functions(plan_of("f [called by vfs_read 2],!vfs_o*", Via.BPF)) == [("vfs_write",)]
    assert refusal_of("f [called by vfs_read],!vfs_o*")[0] == "not_traceable"
    assert refusal_of("f [called by vfs_reed]") == ("no_choice", "vfs_reed: no function of this kernel has this name")
    with pytest.raises(CannotLower, match="code can't be read"):
        lower(parse_armable("f [called by vfs_read]"), KNOWN.btf, KNOWN.facts, "pw")
