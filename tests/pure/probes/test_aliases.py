"""A function that the tracer lists by another name of its address: the list and the lowering say the same of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from events.names.kallsyms import Symbols
from kernel.attach import symbols as ground
from kernel.symbols.symbol_addresses import symbol_environment
from probes.attaching.attach import attachability
from probes.command import parse_armable
from probes.facts.facts import Feature, TargetFacts
from probes.lowering.lower import lower
from probes.probe import ProbeKind
from probes.refusal import CannotLower
from tests.fake_target import FakeTarget

FEATURES = frozenset({Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS, Feature.FPROBE_EVENTS})
TWO = b"ffffffff81001000 t listed\nffffffff81001000 t other\n"
OF_GRAPH = ":mod:<module>"
"""In the README of a kernel whose fprobes are made of graph tracing."""


@pytest.mark.parametrize(
    ("table", "functions", "blacklist", "readme", "takes"),
    [
        (TWO, ("listed",), (), OF_GRAPH, "fpr"),
        (TWO, ("listed",), (), "", "pr"),
        (TWO, ("listed",), ("listed",), OF_GRAPH, "f"),
        (TWO, ("listed",), ("listed",), "", ""),
        (TWO, ("listed",), ("other",), OF_GRAPH, "f"),
        (TWO, (), (), OF_GRAPH, ""),
        # The one that is listed lies elsewhere.
        (TWO + b"ffffffff81002000 t listed\n", ("listed",), (), OF_GRAPH, ""),
        (TWO + b"ffffffffc1002000 t listed\t[m]\n", ("listed [m]",), (), OF_GRAPH, ""),
        (TWO.replace(b"t other", b"d other"), ("listed",), (), OF_GRAPH, ""),
    ],
)
def test_the_list_and_the_lowering_agree(
    table: bytes, functions: tuple[str, ...], blacklist: tuple[str, ...], readme: str, takes: str
) -> None:
    symbols = Symbols(table)
    facts = TargetFacts(
        "x86_64", "7.2.0", readme=readme, features=FEATURES, functions=functions, blacklist=frozenset(blacklist)
    )
    about = attachability(
        "other", facts, None, replace(ground.symbol_lookups(FakeTarget(), "7.2.0", symbols), absent=None)
    )
    assert about.kinds == {ProbeKind(letter) for letter in takes}
    if blacklist:
        assert "kprobe blacklist" in about.text or takes
    taken = ""
    for letter in "fpr":
        try:
            plan = lower(
                parse_armable(f"{letter}:x other"), None, facts, "g", environment=symbol_environment(symbols)
            )
        except CannotLower:
            continue
        taken += letter if plan.events[0].line.startswith(letter) else ""
    assert taken == takes
