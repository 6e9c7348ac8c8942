"""Functions of which the compiler left only copies or parts: explained, and probed under the names they have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.check import check_plan
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, SymbolCount
from probes.lowering.lower import lower
from probes.probe import Probe, ProbeEnds, ProbePlace, SymbolBase
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from probes.verdict import Refusal
from tests.probes_data import kernel

LISTED = (
    "split",
    "only_isra.isra.0",
    "only_part.part.0",
    "only_const.constprop.0",
    "two_of.isra.0",
    "two_of.constprop.0.isra.0",
    "barred",
    "twice",
)
SYMBOLS = {"split": 1, "split.cold": 1, "hidden": 1, "hidden.cold": 1, "barred": 1, "barred.cold": 1, "twice": 1}
SYMBOLS |= {"twice.cold": 2, "split.part.0": 1}
AROUND = Environment(symbol=lambda name: SymbolCount(SYMBOLS.get(name, name in LISTED)))


def facts(name: str) -> TargetFacts:
    return replace(kernel(name).facts, functions=LISTED, blacklist=frozenset({"barred"}))


def lines(spec: str, name: str = "7.2") -> list[str]:
    plan = lower(parse_probe(spec), kernel(name).btf, facts(name), "pw_1", environment=AROUND)
    return [event.line for event in plan.events]


def refused(spec: str, name: str = "7.2") -> Refusal:
    with pytest.raises(CannotLower) as caught:
        lines(spec, name)
    return caught.value.refusal


@pytest.mark.parametrize("name", ["6.1", "6.12", "7.2"])
@pytest.mark.parametrize("copy", ["only_isra.isra.0", "only_part.part.0", "only_const.constprop.0"])
def test_a_copy_is_probed_under_its_own_name(name: str, copy: str) -> None:
    base = copy.partition(".")[0]
    event = copy.replace(".", "_")
    letter, leave, end = ("p", "r", "") if name == "6.1" else ("f", "f", "%return")
    assert lines(f"{letter} {copy}%both $comm", name) == [
        f"{letter}:pw_1/{event}__entry {copy} comm=$comm frame=$stack",
        f"{leave}:pw_1/{event}__exit {copy}{end} comm=$comm frame=$stack",
    ]
    assert lines(f"p {copy} $arg1", name)[0].startswith(f"p:pw_1/{event}__entry {copy} ")
    error = refused(f"p {base}", name)
    assert (error.code, error.nearest) == ("not_traceable", (copy,))
    assert copy in error.hint


def test_all_copies_of_one_function_are_named() -> None:
    assert refused("p two_of").nearest == ("two_of.isra.0", "two_of.constprop.0.isra.0")


@pytest.mark.parametrize("name", ["6.1", "6.12", "7.2"])
@pytest.mark.parametrize("part", ["split.cold", "split.part.0"])
def test_a_part_takes_a_kprobe(name: str, part: str) -> None:
    assert lines(f"p {part} %sp", name) == [f"p:pw_1/{part.replace('.', '_')}__entry {part} sp=%sp"]
    for spec in (f"p:my/ev {part} sp=%sp", f"p:my/ev {part}+4 sp=%sp"):
        known = kernel(name)
        checked = check_plan(spec, known.btf, facts(name), environment=AROUND)
        assert checked.verdict.ok, checked.verdict
        assert checked.plan is not None and checked.plan.lines == (spec,)


def test_a_part_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CannotLower):  # without the symbols nobody knows which parts there are
        lower(parse_probe("p split.cold"), kernel("7.2").btf, facts("7.2"), "pw_1")
    assert refused("p split.cold.1").code == "not_traceable"
    assert refused("p hidden.cold").code == "not_traceable"
    assert refused("p barred.cold").code == "blacklisted"
    assert refused("p twice.cold").code == "NON_UNIQ_SYMBOL"


@pytest.mark.parametrize("name", ["6.12", "7.2"])
def test_what_no_fprobe_can_follow_gets_a_kprobe(name: str) -> None:
    plan = lower(parse_probe("f split.cold $comm"), kernel(name).btf, facts(name), "pw_1", environment=AROUND)
    assert plan.lines == ("p:pw_1/split_cold__entry split.cold comm=$comm",)
    assert plan.losses == ("split.cold: a part of split, which no fprobe can follow: a kprobe sits on it",)


@pytest.mark.parametrize("spec", ["r split.cold", "p split.cold%return", "p split.cold%both"])
def test_what_is_jumped_to_does_not_return(spec: str) -> None:
    """The kernel takes it, and a kretprobe there writes over what lies on the stack."""
    error = refused(spec)
    assert error.code == "not_traceable" and "entry" in error.hint
    assert spec[error.column :].startswith(error.token)
    known = kernel("7.2")
    assert check_plan("r split.cold", known.btf, facts("7.2"), environment=AROUND).plan is None
    place = ProbePlace(
        "split.cold", written="0xffffffff81000010", base=SymbolBase("_text", 16), address=0xFFFFFFFF81000010
    )
    with pytest.raises(CannotLower):
        lower(Probe(place, ProbeEnds.EXIT), known.btf, facts("7.2"), "pw_1")
    assert lower(Probe(place), known.btf, facts("7.2"), "pw_1").lines[0].split()[1] == "_text+16"
