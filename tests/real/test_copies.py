"""What the compiler left of functions, on a real kernel: copies under names of their own, and parts of code."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator, Sequence

import pytest

from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from probes.attaching.values import ReasonKind
from probes.functions.function_index import index_of
from probes.probe import ProbeKind
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.planners import planner_with_symbols

NUMBER = 8
"""Functions of each sort."""
SORTS = ("isra", "constprop", "part")


@pytest.fixture(scope="module")
def planner(guest_72: Guest) -> Iterator[Planner]:
    with planner_with_symbols(guest_72, "copies") as planner:
        yield planner


def some(names: Sequence[str]) -> list[str]:
    return random.Random(5).sample(names, min(NUMBER, len(names)))


def armed(guest: Guest, lines: Sequence[str]) -> str:
    """Have events made, switched on and taken away; gives what the kernel says against it."""
    script = ["cd /sys/kernel/tracing"]
    script += [f"echo {shlex.quote(line)} >>dynamic_events || echo {shlex.quote(line)}" for line in lines]
    script += [
        f"[ $(wc -l <dynamic_events) = {len(lines)} ] || wc -l dynamic_events",
        "for on in events/pw_copy/*/enable; do echo 1 >$on || echo $on; done",
        "echo 0 >events/pw_copy/enable",
        "echo >dynamic_events",
    ]
    return guest.run("exec 2>/dev/null\n" + "\n".join(script)).decode()


@pytest.mark.parametrize("sort", SORTS)
def test_a_function_of_which_only_a_copy_is_left(guest_72: Guest, planner: Planner, sort: str) -> None:
    index = index_of(planner.info.facts)
    left = {
        base: copies[0]
        for base, copies in index.copies.items()
        if f".{sort}." in copies[0] and len(copies) == 1 and not index.count(base) and index.count(copies[0]) == 1
    }
    lines: list[str] = []
    for base in some(sorted(left)):
        about = planner.info.catalog.attachability(base)
        if about.has(ReasonKind.RENAMED):  # else there is a symbol of the name as well, which can't be traced
            assert not about.kinds
            assert left[base] in about.text
        assert [str(way.place) for way in about.alternatives] == [left[base]]
        with pytest.raises(CannotLower) as caught:
            planner.lower(parse_probe(f"f {base}"), "pw_copy")
        assert left[base] in caught.value.refusal.nearest
        for letter in "fp":
            spec = f"{letter}:x/{letter}{len(lines)} {left[base]} $arg1"
            lines += planner.lower(parse_probe(spec), "pw_copy").lines
    assert len(lines) >= 2
    assert armed(guest_72, lines) == ""


def test_a_part_that_is_jumped_to(guest_72: Guest, planner: Planner) -> None:
    symbols = planner.info.symbols.current
    assert symbols is not None
    cold = [
        f"{name}.cold"
        for name in sorted(index_of(planner.info.facts).modules)
        if len(symbols.named(f"{name}.cold")) == 1
    ]
    able = [name for name in cold if planner.info.catalog.attachability(name).kinds]
    assert len(able) > 100
    lines: list[str] = []
    for name in some(able):
        about = planner.info.catalog.attachability(name)
        assert (about.kinds, about.has(ReasonKind.COLD)) == (frozenset({ProbeKind.KPROBE}), True)
        assert str(about.alternatives[0].place) == name.removesuffix(".cold")
        checked = planner.check(f"p:x/c{len(lines)} {name} sp=%sp", "pw_copy")
        assert checked.plan is not None, checked.verdict
        lines += checked.plan.lines
        address = symbols.named(name)[0].address
        lines += planner.lower(parse_probe(f"p:x/a{len(lines)} {address:#x} sp=%sp"), "pw_copy").lines
        with pytest.raises(CannotLower, match="jumped to"):
            planner.lower(parse_probe(f"p {name}%return"), "pw_copy")
    assert len(lines) == 2 * NUMBER
    assert armed(guest_72, lines) == ""


def test_a_part_that_can_take_nothing_says_why(guest_72: Guest, planner: Planner) -> None:
    """What we refuse the kernel refuses as well."""
    symbols = planner.info.symbols.current
    assert symbols is not None
    cold = [entry.name for entry in symbols.beginning("__") if entry.name.endswith(".cold")]
    barred = [name for name in cold if not planner.info.catalog.attachability(name).kinds]
    refused = 0
    for name in some(sorted(set(barred))):
        assert planner.info.catalog.attachability(name).reasons
        with pytest.raises(CannotLower):
            planner.lower(parse_probe(f"p {name}"), "pw_copy")
        refused += bool(armed(guest_72, [f"p:pw_copy/x {name}"]))
    assert refused == len(some(sorted(set(barred)))) > 0
