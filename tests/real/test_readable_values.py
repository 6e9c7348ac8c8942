"""Statements of `show --regs` held against kernels: values that each means reads, and what it is refused."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from btf.walk import size_of
from kernel.attach.hit_cost import measure
from kernel.attach.readable_values import ReadableValueReader
from kernel.lab.guest import Guest
from kernel.watch.watch import Watch
from probes.command import CommandText
from probes.fetcharg import FetchArg
from probes.functions.function_index import index_of
from probes.plans.plan import Plan
from probes.probe import Probe, ProbePlace
from probes.readable.collect import RETURNED
from probes.readable.judge import probe_by
from probes.readable.report import FunctionReport, Means, MeansReport
from probes.static_events import StaticEvent
from probes.syntax.parse_fetcharg import parse_fetcharg
from tests.real.command import address, run, ssh_to
from tests.real.guest_watch import run_workload, watch_of
from tests.real.known_calls import CALLS, SEVEN, KnownCall, Made, command, kprobe_flags, made, put_program, taken
from tests.real.processes import until

KERNELS = ["7.2", "arm64:6.12", "6.1"]
FUNCTIONS = int(os.environ.get("PROBEWRIGHT_KNOWN_CALLS", "6"))
"""Functions that are tried; all 34 take some minutes a kernel."""
TOGETHER = 4
"""Functions whose probes are armed at a time."""
UNTRACED = 12
"""Functions that can't be traced, of which each means is tried."""


@dataclass
class Checked:
    """Statements that were tried."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Seen:
    guest: Guest
    watch: Watch
    reader: ReadableValueReader
    checked: Checked = field(default_factory=Checked)

    @property
    def machine(self) -> str:
        return self.reader.machine


@pytest.fixture(scope="module")
def seen(guest: Guest) -> Iterator[Seen]:
    put_program(guest)
    with watch_of(guest) as watch:
        yield Seen(guest, watch, ReadableValueReader(watch.planner.info))


def present(seen: Seen, number: int) -> list[KnownCall]:
    """Calls whose function this kernel has once, in the order of the list."""
    count = index_of(seen.watch.planner.info.facts).count
    return [call for call in CALLS if count(call.function) == 1][:number]


def some_functions(seen: Seen, number: int) -> list[str]:
    """Traceable functions of the kernel itself whose names are theirs alone, seldom called ones."""
    info = seen.watch.planner.info
    symbols, index = info.symbols.current, index_of(info.facts)
    assert symbols is not None
    names = [name for name, module in index.modules.items() if not module and name.startswith("__x64_sys_")]
    return random.Random(7).sample([name for name in sorted(names) if len(symbols.named(name)) == 1], number)


@dataclass
class ArmedMeans:
    """A means that is armed on a function, with the values that it is said to read."""

    call: KnownCall
    report: MeansReport
    event: str
    names: tuple[str, ...]
    """Name of the value that each field `a0`, `a1`, … holds."""


def probe_of(report: MeansReport, event: str) -> tuple[Probe, tuple[str, ...]]:
    """Return the probe with all that a means reads, by fields of our own names."""
    found = [one for one in report.values if one.fetcharg and " " not in one.fetcharg and not one.note]
    args = [_as_number(parse_fetcharg(f"a{number}={one.fetcharg}")) for number, one in enumerate(found)]
    place = ProbePlace(report.spec.split()[1].partition("%")[0])
    name, plus, offset = place.symbol.partition("+")
    if plus:
        place = ProbePlace(name, offset=int(offset, 16), written=f"+{offset}")
    return replace(probe_by(report.means, place, *args), event=event), tuple(one.name for one in found)


def _as_number(arg: FetchArg) -> FetchArg:
    """Return a fetcharg that records the address of a text, not the text: nothing is mapped there."""
    return replace(arg, type="x64") if arg.type in ("string", "ustring") else arg


def arm(seen: Seen, call: KnownCall, report: FunctionReport, *, programs: bool) -> Iterator[ArmedMeans]:
    """Arm each means that is said to attach: events of tracefs, or programs.

    Apart, as a kernel may refuse a function a program while a kprobe stands on ftrace's call there.
    """
    judge = seen.reader.judge(call.function)
    for one in report.reports:
        if not one.attaches or one.means is Means.TRACEPOINT or one.means.by_program is not programs:
            continue
        event = f"{call.function.strip('_')}_{one.means.name.lower()}"
        probe, names = probe_of(one, event)

        def judged(lowered: Plan, means: Means = one.means, probe: Probe = probe) -> Plan:
            plan = judge.plan(means, probe, lowered.events[0].group)
            assert isinstance(plan, Plan), (probe, plan)
            return plan

        try:
            seen.watch.armed.arm(probe, at_any_rate=True, shape=judged)
        except Exception as error:
            seen.checked.wrong.append(f"{one.means} {probe}: {error}")
            continue
        seen.checked.counts["attaches"] += 1
        yield ArmedMeans(call, one, event, names)


def compare(seen: Seen, armed: ArmedMeans, known: Made, result: int, rows: list[dict[str, Any]]) -> None:
    """Compare the values of the call's event with those of the call; the program's other calls are told by them."""
    call, signature = armed.call, seen.reader.signature(armed.call.function)
    assert signature is not None
    wanted: dict[str, tuple[str, int, int]] = {}
    for number, name in enumerate(armed.names):
        if name == RETURNED:
            if call.returns:
                wanted[f"a{number}"] = (name, result, size_of(signature.btf, signature.returns))
            continue
        param = signature.number_of(name)
        assert param is not None
        given = call.params[param] if param < len(call.params) else None
        if given is not None:
            size = size_of(signature.btf, signature.params[param].type_id)
            wanted[f"a{number}"] = (name, known.value(call, given), size)

    def different(row: dict[str, Any]) -> list[str]:
        return [
            f"{name}: {int(row[at]):#x}, the call had {want:#x}"
            for at, (name, want, size) in wanted.items()
            if (int(row[at]) - want) % (1 << 8 * size)
        ]

    nearest = min(map(different, rows), key=len)
    seen.checked.wrong += [f"{armed.report.means} {call.function} {text}" for text in nearest]
    seen.checked.counts["values"] += len(wanted)
    seen.checked.counts[str(armed.report.means)] += len(wanted)


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestOnKernels:
    def test_every_value_that_is_said_to_be_read_is_that_of_the_call(self, seen: Seen) -> None:
        calls = present(seen, FUNCTIONS)
        assert calls
        for start in range(0, len(calls), TOGETHER):
            # Programs on all of these at once keep an emulated 6.1 busy for minutes; test_bpf has single ones there.
            for programs in (False,) if seen.guest.kernel.release.startswith("6.1.") else (False, True):
                self._compare_some(seen, calls[start : start + TOGETHER], programs=programs)
        assert not seen.checked.wrong, "\n".join(seen.checked.wrong)
        assert seen.checked.counts["values"] > 10 * len(calls)
        print(f"\n{seen.reader.machine}: {len(calls)} functions, {dict(seen.checked.counts)}")

    def _compare_some(self, seen: Seen, calls: Sequence[KnownCall], *, programs: bool) -> None:
        try:
            reports = {call.function: seen.reader.report(call.function) for call in calls}
            armed = [one for call in calls for one in arm(seen, call, reports[call.function], programs=programs)]
            store = seen.watch.store
            assert store is not None
            first = store.next_seq
            run_workload(seen.watch, seen.guest, command(calls, seen.machine))
            known = made(seen.guest)
            by_event: dict[str, list[dict[str, Any]]] = {}
            for seq in range(max(first, store.first_seq), store.next_seq):
                if (record := store.record(seq)).pid == known.pid:
                    by_event.setdefault(record.event.rpartition("/")[2], []).append(dict(record.values))
            for one in armed:
                rows = by_event.get(one.event, [])
                if not any(by_event.get(other.event) for other in armed if other.call is one.call):
                    seen.checked.counts["not called: inlined where the system call is served"] += 1
                    continue
                if not rows:
                    seen.checked.wrong.append(f"{one.report.means} {one.call.function}: no event of the call")
                    continue
                # What starts the program calls some of these functions, too: the call that was made is among them.
                compare(seen, one, known, known.results[calls.index(one.call)], rows)
        finally:
            for probe in [*seen.watch.armed.probes]:
                assert seen.watch.armed.disarm(probe) == []

    def test_arguments_on_the_stack_are_read(self, seen: Seen) -> None:
        if not present(seen, len(CALLS)) or index_of(seen.watch.planner.info.facts).count(SEVEN) != 1:
            pytest.skip(f"this kernel has no {SEVEN}")
        report = seen.reader.report(SEVEN)
        assert len(report.arguments) == 8
        place = report.arguments[6].place
        assert place == ("$stack1" if seen.machine == "x86_64" else "%x6")

    def test_what_is_said_to_be_refused_is_refused_by_the_kernel(self, seen: Seen) -> None:
        info = seen.watch.planner.info
        symbols, count = info.symbols.current, index_of(info.facts).count
        assert symbols is not None
        listed = {
            line.rpartition(b" ")[2].decode() for line in info.symbols.kallsyms(info.symbols.boot).splitlines()[::37]
        }
        alone = [
            name
            for name in sorted(listed)
            if name.isidentifier() and not count(name) and [e.code for e in symbols.named(name)] == [True]
        ]
        names = [*random.Random(5).sample(alone, UNTRACED), *sorted(info.facts.blacklist & listed)[:UNTRACED]]
        lines: dict[str, str] = {}
        letters = {Means.BREAKPOINT: "p", Means.KRETPROBE: "r", Means.FPROBE_ENTRY: "f", Means.FPROBE_EXIT: "f"}
        for name in names:
            for means, letter in letters.items():
                if (one := seen.reader.report(name).report(means)).refusal:
                    place = f"{name}%return" if means is Means.FPROBE_EXIT else name
                    lines[f"{letter}:pwtest/e{len(lines)} {place}"] = f"{means} {name}: {one.refusal}"
        assert len(lines) > UNTRACED
        accepted = [lines[line] for line, yes in taken(seen.guest, list(lines)).items() if yes]
        assert not accepted, "\n".join(accepted)

    def test_registers_that_are_said_to_be_read_are_taken_and_others_are_not(self, seen: Seen) -> None:
        report = seen.reader.report("ksys_read")
        lines: dict[str, bool] = {}
        for one in report.reports:
            if one.attaches and not one.means.by_program and one.means is not Means.TRACEPOINT:
                letter, place = one.spec.split()[:2]
                for name in ("di", "ax", "bx", "flags", "x0", "x9", "x30", "sp", "pc", "no_such"):
                    line = f"{letter}:pwtest/e{len(lines)} {place} %{name}"
                    lines[line] = name in one.registers
        assert taken(seen.guest, list(lines)) == lines

    def test_a_kprobe_that_is_said_to_be_on_ftrace_is(self, seen: Seen) -> None:
        calls = present(seen, len(CALLS))
        reports = {call.function: seen.reader.report(call.function) for call in calls}
        specs = {
            report.report(means).spec.split()[1]: means
            for report in reports.values()
            for means in (Means.FTRACE_KPROBE, Means.BREAKPOINT)
            if report.report(means).attaches
        }
        lines = "".join(f"echo 'p:pwtest/e{n} {place}' >>dynamic_events\n" for n, place in enumerate(specs))
        seen.guest.run(f"cd /sys/kernel/tracing; {lines}")
        try:
            flags = kprobe_flags(seen.guest)
        finally:
            seen.guest.run("echo >/sys/kernel/tracing/dynamic_events")
        assert len(flags) == len(specs)
        on_ftrace = sorted(place.partition("+")[0] for place, text in flags.items() if "[FTRACE]" in text)
        assert on_ftrace == sorted(place for place, means in specs.items() if means is Means.FTRACE_KPROBE)

    def test_a_kprobe_is_optimised_nowhere_else_than_is_said(self, seen: Seen) -> None:
        if seen.machine != "x86_64":
            assert "optimises no kprobes" in seen.reader.report("ksys_read").report(Means.OPTIMISED).refusal
            return
        said: dict[str, bool] = {}
        for name in [*(call.function for call in present(seen, 8)), *some_functions(seen, 200)]:
            if len(said) >= 40 and not all(said.values()):
                break
            report = seen.reader.report(name)
            if report.report(Means.BREAKPOINT).attaches:
                place = report.report(Means.BREAKPOINT).spec.split()[1]
                said[place] = report.report(Means.OPTIMISED).attaches
        assert {True, False} == {*said.values()}
        lines = "".join(f"echo 'p:pwtest/e{n} {place}' >>dynamic_events\n" for n, place in enumerate(said))
        seen.guest.run(f"cd /sys/kernel/tracing; {lines} echo 1 >events/pwtest/enable")
        try:
            until(lambda: "OPTIMIZED" in "".join(kprobe_flags(seen.guest).values()))
            time.sleep(1)  # others follow; what is not there then only makes the test weaker
            flags = kprobe_flags(seen.guest)
        finally:
            seen.guest.run("cd /sys/kernel/tracing; echo 0 >events/pwtest/enable; echo >dynamic_events")
        optimised = {place for place, text in flags.items() if "OPTIMIZED" in text}
        assert optimised <= {place for place, yes in said.items() if yes}
        print(f"\n{sum(said.values())} of {len(said)} are said to be optimised, {len(optimised)} were")

    def test_hits_are_timed_and_nothing_is_left(self, seen: Seen) -> None:
        info = seen.watch.planner.info
        report = measure(info, seen.reader)
        attached = {one.means for one in seen.reader.report(report.function).reports if one.attaches}
        timed = {one.means: one for one in report.costs if one.cost is not None}
        assert attached - timed.keys() <= {Means.BREAKPOINT, Means.OPTIMISED}
        assert {means: one.hits for means, one in timed.items()} == {means: one.calls for means, one in timed.items()}
        assert all("[FTRACE]" in one.flags for means, one in timed.items() if means is Means.FTRACE_KPROBE)
        assert all("[OPTIMIZED]" in one.flags for means, one in timed.items() if means is Means.OPTIMISED)
        assert all("OPTIMIZED" not in one.flags for means, one in timed.items() if means is Means.BREAKPOINT)
        assert report.bare.median > 0
        left = seen.guest.run("cat /sys/kernel/tracing/dynamic_events /sys/kernel/debug/kprobes/list")
        assert b"pw_" not in left and report.function.encode() not in left
        assert seen.guest.run("ls /sys/kernel/tracing/instances").count(b"probewright") <= 1  # that of the watch


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_command(guest: Guest, tmp_path: Any) -> None:
    env = ssh_to(guest, tmp_path)
    done = run("show", "--measure", "--json", "do_sys_openat2", "-t", address(guest), env=env)
    assert done.status == 0, done
    [found] = done.objects
    means = {one["means"]: one for one in found["means"]}
    assert [one["name"] for one in means["fentry"]["values"]] == ["dfd", "filename", "how", "$retval"]
    assert means["fprobe entry"]["registers"] == [] and "di" in means["kprobe on ftrace"]["registers"]
    assert {one["means"] for one in found["costs"]["means"]} == {str(one) for one in Means}
    for spec in (one["spec"] for one in found["means"] if one["spec"] and not one["spec"].startswith("on ")):
        assert isinstance(CommandText.parse(spec).require_armable(), Probe | StaticEvent)
    unknown = run("show", "--regs", "no_such_function_here", "-t", address(guest), env=env)
    assert unknown.status != 0 and "neither a function nor a type" in unknown.err
