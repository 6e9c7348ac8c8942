"""One of several functions of a name: told to the kernel by a base and a distance, hit alone, under its own name."""

from __future__ import annotations

import itertools
import random
import shlex
from collections.abc import Iterator

import pytest

from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from probes.attaching.values import Relation
from probes.functions.function_index import index_of
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbePlace
from probes.syntax.parse import parse_probe
from tests.real.planners import planner_with_symbols

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12"]
NAMES = 12


@pytest.fixture(scope="module")
def planner(guest: Guest) -> Iterator[Planner]:
    with planner_with_symbols(guest, "twins") as planner:
        yield planner


def twins(planner: Planner, name: str) -> list[ProbePlace]:
    about = planner.info.catalog.attachability(name)
    return [way.place for way in about.alternatives if way.relation is Relation.TWIN]


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestTwins:
    def test_each_is_taken_at_both_ends(self, guest: Guest, planner: Planner) -> None:
        names = sorted(index_of(planner.info.facts).repeated)
        with_twins = (name for name in random.Random(6).sample(names, len(names)) if twins(planner, name))
        plans = {name: self.plans(planner, name) for name in itertools.islice(with_twins, NAMES)}
        assert len(plans) == NAMES
        lines = [event.line for several in plans.values() for plan in several for event in plan.events]
        assert len(set(lines)) == len(lines) >= 4 * NAMES
        quoted = "\n".join(f"echo {shlex.quote(line)} >>dynamic_events" for line in lines)
        guest.run(f"cd /sys/kernel/tracing; set -e\n{quoted}\n[ $(wc -l <dynamic_events) = {len(lines)} ]")
        guest.run("echo >/sys/kernel/tracing/dynamic_events")

    def plans(self, planner: Planner, name: str) -> list[Plan]:
        places = enumerate(twins(planner, name))
        probes = [(n, Probe(place, ProbeEnds.BOTH, event=f"{name}_{n}".replace(".", "_"))) for n, place in places]
        assert all(probe.place.symbol == name for _, probe in probes)
        return [planner.lower(probe, "pw_twin") for _, probe in probes]

    def test_only_that_one_is_hit(self, guest: Guest, planner: Planner) -> None:
        """/proc/cpuinfo, /proc/crypto and /proc/consoles are read by functions of the same names."""
        places = twins(planner, "c_start")
        assert len(places) > 1
        lines = []
        for number, place in enumerate(places):
            typed = parse_probe(f"p {place} $$args")  # as text it has lost its name: the address gives it back
            plan = planner.lower(typed, "pw_twin")
            assert plan.events[0].event == "c_start__entry"
            assert isinstance(plan.probe, Probe)
            assert (plan.probe.place.symbol, plan.probe.place.kernel_text) == ("c_start", str(place))
            lines.append(plan.events[0].line.replace("c_start__entry", f"twin_{number}", 1))
        if planner.info.btf is not None and planner.info.btf.function("c_start") is not None:
            assert all(line.endswith("m=$arg1:x64 pos=$arg2:x64") for line in lines), lines
        script = ["cd /sys/kernel/tracing; echo >trace; set -e"]
        script += [f"echo {shlex.quote(line)} >>dynamic_events" for line in lines]
        script += ["echo 1 >events/pw_twin/enable", "cat /proc/cpuinfo >/dev/null", "echo mark >trace_marker"]
        script += [
            "cat /proc/consoles >/dev/null",
            "echo 0 >events/pw_twin/enable",
            "cat trace",
            "echo >dynamic_events",
        ]
        before, _, after = guest.run("\n".join(script)).decode().partition("tracing_mark_write")
        hit = [{n for n in range(len(lines)) if f" twin_{n}: (c_start+0x" in text} for text in (before, after)]
        assert len(hit[0]) == len(hit[1]) == 1, (before, after)
        assert hit[0] != hit[1]

    def test_an_address_of_this_boot(self, planner: Planner) -> None:
        symbols = planner.info.symbols.current
        assert symbols is not None
        address = symbols.named("vfs_read")[0].address
        checked = planner.check(f"p {address:#x} $$args")
        assert checked.plan is not None, checked.verdict
        [event] = checked.plan.events
        assert event.line.split()[1].startswith("_text+")
        assert [column.name for column in event.columns] == ["file", "buf", "count", "pos"]
        assert str(checked.plan.probe) == f"p {address:#x} $$args"
        plan = planner.lower(parse_probe(f"p {address + 16:#x} %sp"), "pw_twin")  # within it: what was typed
        assert plan.events[0].line.endswith(f"{address + 16:#x} sp=%sp")
        assert "this boot" in plan.losses[0]
