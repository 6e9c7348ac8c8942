"""What a probe costs, when it is asked about, and when it is stopped: decisions over values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.function_choice import FunctionChoice
from kernel.guards.limits import (
    Limits,
    MeasuredRate,
    asks_before,
    exceeded_limit,
    loudest,
    too_fast_error,
    without_loudest,
    without_most_frequent,
)
from kernel.guards.rate_meter import hits_by_function, hits_of
from kernel.guards.storm_rates import (
    COUNTING_FACTOR,
    IMMEDIATE_FACTOR,
    RateSample,
    StormGuard,
    WatchedProbe,
    event_rates,
)
from probes.command import UserProbe
from probes.plans.cost_estimate import (
    AGENT,
    EMULATED,
    SHELL,
    EventRate,
    ReaderCost,
    cost_of,
    hit_ns,
    percent,
    reading_cost_of,
)
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from probes.syntax.parse import parse_probe

ENTRY = PlannedEvent("g", "a", "f:g/a vfs_read count", "-:g/a", columns=(PlanColumn("count", "count"),))
EXIT = replace(ENTRY, event="b", line="f:g/b vfs_read%return count", at_exit=True)
PLAN = Plan(Probe(ProbePlace("vfs_read")), (ENTRY,))

HIST = """# event histogram
#
# trigger info: hist:name=pw_1_2__0_hits0:keys=common_cpucommon_cpu:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ common_cpu:          0 } hitcount:         22
{ common_cpu:          1 } hitcount:      20027

Totals:
    Hits: 20049
    Entries: 2
    Dropped: 0


# event histogram
#
# trigger info: hist:name=pw_1_2__0_p0:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 if count < 0 [active]
#


Totals:
    Hits: 7
    Entries: 0
    Dropped: 0
"""


def of(hits: float, records: float | None = None, event: PlannedEvent = ENTRY) -> dict[str, EventRate]:
    return {event.path: EventRate(hits, hits if records is None else records)}


def test_hits_are_read_from_both_spellings_of_a_kernel():
    assert hits_of(HIST) == {False: 20049, True: 7}
    assert hits_of(HIST.replace("common_cpucommon_cpu", "common_cpu")) == {False: 20049, True: 7}
    # What a person put there is not ours.
    assert hits_of(HIST.replace("name=pw_1_2__0_hits0:", "").replace("name=pw_1_2__0_p0:", "name=mine:")) == {}
    assert hits_of(HIST.replace("keys=common_cpu", "keys=common_pid")) == {}
    assert hits_of("") == {}


def test_cost_grows_with_what_is_done():
    plain = cost_of(PLAN, of(1e6))
    assert 0.05 < plain < 1
    assert cost_of(PLAN, of(1e6, 0)) < plain  # filtered: not written
    assert cost_of(Plan(PLAN.probe, (EXIT,)), of(1e6, event=EXIT)) > plain
    assert cost_of(Plan(PLAN.probe, (ENTRY, EXIT)), of(1e6) | of(1e6, event=EXIT)) > 2 * plain
    more = replace(ENTRY, columns=ENTRY.columns * 10)
    assert cost_of(Plan(PLAN.probe, (more,)), of(1e6)) > plain
    assert cost_of(PLAN, {}) == 0


@given(st.floats(0, 1e8), st.floats(0, 1e8))
def test_a_filter_never_makes_it_dearer(hits: float, records: float):
    assert cost_of(PLAN, of(hits, records)) <= cost_of(PLAN, of(hits)) * (1 + 1e-9)


THREE = Plan(PLAN.probe, (replace(ENTRY, columns=ENTRY.columns * 3),))


@pytest.mark.parametrize(
    ("reader", "slowdown", "rate", "seen"),
    [
        (AGENT, 1, 300, 0.0116),
        (AGENT, 1, 3_000, 0.0127),
        (AGENT, 1, 10_000, 0.0169),
        (AGENT, EMULATED, 1_000, 0.182),
        (AGENT, EMULATED, 10_000, 0.226),
        (SHELL, EMULATED, 1_000, 0.67),
    ],
)
def test_what_reading_takes_is_what_was_measured(reader: ReaderCost, slowdown: float, rate: float, seen: float):
    """CPU time of a remote host's reader at a rate, three fields recorded: half or twice is good for an estimate."""
    said = MeasuredRate(of(rate), 0.1, reader, slowdown).reading_cost(THREE)
    assert seen / 2 < said < seen * 2


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from([AGENT, SHELL]))
def test_reading_is_dearer_the_more_there_is(some: float, more: float, reader: ReaderCost):
    few, many = sorted((some, more))
    assert reading_cost_of(PLAN, of(few), reader) <= reading_cost_of(PLAN, of(many), reader) * (1 + 1e-9)
    assert reading_cost_of(PLAN, of(many, few), reader) == reading_cost_of(PLAN, of(few), reader), "hits are not read"
    assert reading_cost_of(PLAN, of(many), reader) <= reading_cost_of(THREE, of(many), reader)
    assert reading_cost_of(PLAN, {}, reader) == reader.per_second / 1e9, "it is asked for losses and names"


def test_both_parts_are_said_where_there_are_two():
    here, there = MeasuredRate(of(10_000), 0.1), MeasuredRate(of(10_000), 0.1, AGENT)
    assert here.text(THREE) == "about 10,000 events a second, 0.2 % of a CPU"
    assert there.text(THREE) == "about 10,000 events a second, 0.2 % of a CPU, 1.7 % of a CPU more to read them there"
    assert "to read" not in there.text(THREE, counting=True), "nothing is recorded"
    emulated = there._replace(slowdown=EMULATED).text(THREE)
    assert emulated == "about 10,000 events a second, 3.2 % of a CPU, 26 % of a CPU more to read them there"
    assert "1.7 % of a CPU more" in str(too_fast_error(THREE, there, Limits(1)))


def test_a_reader_that_takes_half_a_cpu_is_asked_about():
    slow = AGENT._replace(per_event=20_000)
    fast, limits = of(30_000), Limits()
    assert not exceeded_limit(PLAN, MeasuredRate(fast, 0.1, AGENT), limits)
    assert exceeded_limit(PLAN, MeasuredRate(fast, 0.1, slow), limits)
    assert not exceeded_limit(PLAN, MeasuredRate(fast, 0.1, AGENT, EMULATED), limits), "a guest is there to be loaded"


def test_a_trap_is_dearer_than_a_call():
    within = Plan(Probe(ProbePlace("vfs_read", offset=16)), (replace(ENTRY, line="p:g/a vfs_read+16"),))
    begin = Plan(Probe(ProbePlace("vfs_read")), (replace(ENTRY, line="p:g/a vfs_read"),))
    program = Plan(UserProbe("/bin/true", "0x10"), (replace(ENTRY, line="p:g/a /bin/true:0x10"),))
    of_kernel = Plan(Probe(ProbePlace("sched_switch")), (replace(ENTRY, line="", remove=""),))
    costs = [hit_ns(plan, plan.events[0]) for plan in (of_kernel, begin, within, program)]
    assert costs == sorted(set(costs))


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "< 0.1 %"), (0.0234, "2.3 %"), (0.25, "25 %"), (2.46, "2.5 CPUs")],
)
def test_a_share_is_said_in_few_digits(share: float, text: str):
    assert percent(share).startswith(text)


@pytest.mark.parametrize(
    ("hits", "records", "limit", "exceeded"),
    [
        (40_000, 40_000, 50_000, ""),
        (60_000, 60_000, 50_000, "50,000 events a second"),
        (60_000, 10, 50_000, ""),  # few of many
        (9_000_000, 10, 50_000, "50 % of a CPU"),  # few, but each call costs
        (9e9, 9e9, 0, ""),
    ],
)
def test_what_is_asked_about(hits: float, records: float, limit: float, exceeded: str):
    assert exceeded_limit(PLAN, MeasuredRate(of(hits, records), 0.15), Limits(limit)) == exceeded


def test_what_is_said_names_the_figures_and_the_way_out():
    error = too_fast_error(PLAN, MeasuredRate(of(123_456, 99_999), 0.15), Limits(50_000))
    assert "vfs_read" in str(error)
    assert "100,000 events a second of 120,000 hits" in str(error)
    assert "50,000" in str(error)
    assert "--force" in error.remedy
    assert "no call" in MeasuredRate(of(0), 0.15).text(PLAN)


CHOICE = Plan(parse_probe("f [struct file *] file if file != 0"), (ENTRY,))
CALLS = {"fput": 60_000.0, "dput": 30_000.0, "vfs_read": 5_000.0, "vfs_open": 5_000.0}


@pytest.mark.parametrize(
    ("limit", "place"),
    [
        (50_000, "[struct file *],!fput"),
        (20_000, "[struct file *],!fput,!dput"),
        (6_000, "[struct file *],!fput,!dput,!vfs_read"),
        (1_000, None),
    ],
)
def test_a_quieter_probe_leaves_out_no_more_than_it_must(limit: float, place: str | None) -> None:
    measured = MeasuredRate(of(100_000), 0.2, by_function=CALLS)
    error = too_fast_error(CHOICE, measured, Limits(limit))
    assert "the most frequent: fput 60,000 a second, dput 30,000, vfs_read 5,000" in str(error)
    if place is None:
        assert error.quieter is None
        return
    assert error.quieter == parse_probe(f"f {place} file if file != 0")
    assert f"'{error.quieter}'" in error.remedy and "--force" in error.remedy


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(1, 1e6), min_size=2), st.floats(1, 1e6))
def test_what_is_left_of_a_quieter_probe_keeps_the_limit(calls: dict[str, float], limit: float) -> None:
    ordered = dict(sorted(calls.items(), key=lambda one: -one[1]))
    measured = MeasuredRate(of(sum(calls.values())), 0.2, by_function=ordered)
    quieter = without_most_frequent(CHOICE, measured, Limits(limit))
    if quieter is None:
        return
    choice = FunctionChoice.parse(quieter.place.symbol)
    left = [rate for name, rate in ordered.items() if choice.matches(name)]
    assert left and len(left) < len(calls)
    assert sum(left) <= limit * (1 + 1e-6)


def look(at: float, written: int = 0, hits: dict[str, int] | None = None, **seen: int) -> RateSample:
    return RateSample(at, written, hits or {}, seen)


def test_what_was_lost_counts_for_those_who_wrote_it():
    found = event_rates(look(0), look(2, 1000, a=90, b=10), ["a", "b", "c"])
    assert found == {"a": 450, "b": 50, "c": 0}
    # Filters let little pass: each hit is one all the same.
    assert event_rates(look(0, hits={"a": 0}), look(1, 5, {"a": 7000}, a=5), ["a"]) == {"a": 7000}
    # Nothing was seen, for the screen is too busy: what the kernel wrote is somebody's.
    assert event_rates(look(0), look(1, 5000), ["a"]) == {"a": 5000}
    # A look at a kprobe that was not there before says nothing of its rate.
    assert event_rates(look(0), look(1, 0, {"a": 10**9}), ["a"]) == {"a": 0}
    assert event_rates(look(3), look(3, 5000), ["a"]) == {"a": 0}


A, B = WatchedProbe(frozenset({"a"})), WatchedProbe(frozenset({"b"}))


def test_a_storm_is_one_that_stays():
    guard = StormGuard(1000)
    assert guard.look(look(0), [A, B]) == []
    assert guard.look(look(1, 1500, a=1400, b=100), [A, B]) == []
    assert guard.look(look(1.1, 9000, a=9000), [A, B]) == []  # too soon after the last to say anything
    storm = guard.look(look(2, 3000, a=2800, b=200), [A, B])
    assert [(one.number, round(one.rate)) for one in storm] == [(0, 1400)]


def test_what_is_counted_anew_says_nothing_of_what_was_lost():
    """Six probes of 80,000 events a second each, below the limit; then the store is emptied."""
    names = "abcdef"
    probes = [WatchedProbe(frozenset({name})) for name in names]
    guard = StormGuard(100_000)
    for t in range(3):
        assert guard.look(look(t, 480_000 * t, **dict.fromkeys(names, 80_000 * t)), probes) == []
    assert guard.look(look(3, 480_000 * 3, **dict.fromkeys(names, 70_000)), probes) == []
    assert guard.look(look(4, 480_000 * 4, **dict.fromkeys(names, 150_000)), probes) == []
    # More than before by the time of the next look: only who emptied it can tell.
    guard.restart()
    assert guard.look(look(5, 480_000 * 5, **dict.fromkeys(names, 150_001)), probes) == []
    assert guard.look(look(6, 480_000 * 6, **dict.fromkeys(names, 230_001)), probes) == []
    assert guard.look(look(7, 480_000 * 7 + 4_000_000, **dict.fromkeys(names, 310_001)), probes)


def test_a_short_burst_is_none():
    guard = StormGuard(1000)
    times = [guard.look(look(t, n, a=n), [A]) for t, n in enumerate([0, 1500, 1600, 3100, 3200])]
    assert not any(times)


def test_far_too_fast_is_stopped_at_once():
    guard = StormGuard(1000)
    guard.look(look(0), [B, A])
    (storm,) = guard.look(look(1, 1001 * IMMEDIATE_FACTOR, a=1001 * IMMEDIATE_FACTOR), [B, A])
    assert storm.number == 1


def test_counting_may_be_faster_and_no_limit_is_none():
    counting = WatchedProbe(frozenset({"a"}), counting=True)
    guard, free = StormGuard(1000), StormGuard(0)
    for t in range(4):
        now = look(t, hits={"a": t * 1000 * (COUNTING_FACTOR - 1)})
        assert guard.look(now, [counting]) == []
        assert free.look(look(t, hits={"a": t * 10**9}), [counting]) == []
    assert guard.look(look(4, hits={"a": 10**9}), [counting])


@given(st.lists(st.tuples(st.floats(0.5, 5), st.integers(0, 900)), max_size=20))
def test_below_the_limit_nothing_is_ever_stopped(steps: list[tuple[float, int]]):
    guard = StormGuard(1000)
    now, total = 0.0, 0
    guard.look(look(now, total, a=total), [A])
    for seconds, rate in steps:
        now += seconds
        total += int(rate * seconds)
        assert guard.look(look(now, total, a=total), [A]) == []


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ({"lock": 1600, "unlock": 1500, "read": 150, "open": 140}, ["lock", "unlock"]),
        ({"a": 100, "b": 90, "c": 80, "d": 70}, ["a"]),  # all alike
        ({"a": 1000, "b": 1}, ["a"]),
        ({"a": 1000}, []),
        ({}, []),
    ],
)
def test_the_loudest_functions_have_most_of_the_calls(calls: dict[str, float], names: list[str]) -> None:
    assert loudest(calls) == names
    measured = MeasuredRate(of(sum(calls.values())), 0.2, by_function=calls)
    quieter = without_loudest(CHOICE, measured)
    place = "".join(["[struct file *]", *(f",!{name}" for name in names)])
    assert quieter == (parse_probe(f"f {place} file if file != 0") if names else None)


@given(st.dictionaries(st.text("abcdef", min_size=1), st.floats(0.1, 1e6), min_size=2))
def test_a_function_is_left_when_the_loudest_are_left_out(calls: dict[str, float]) -> None:
    ordered = dict(sorted(calls.items(), key=lambda one: -one[1]))
    names = loudest(ordered)
    assert names == list(ordered)[: len(names)] and 1 <= len(names) < len(ordered)


def test_a_function_known_by_its_address_can_not_be_left_out() -> None:
    calls = {"0xffffffff81000020": 1000.0, "vfs_read": 1.0}
    assert without_loudest(CHOICE, MeasuredRate(of(1001), 0.2, by_function=calls)) is None


def test_a_probe_on_several_functions_is_asked_about_at_any_rate_where_that_is_wanted() -> None:
    several = replace(
        CHOICE, events=(replace(ENTRY, columns=(PlanColumn("func", "func", functions="[struct file *]"),)),)
    )
    measured = MeasuredRate(of(10), 0.2, by_function={"fput": 9, "dput": 1})
    asking = Limits(asks_about_several=True)
    assert asks_before(several, measured, asking) and not asks_before(several, measured, Limits())
    assert not asks_before(PLAN, measured, asking) and not exceeded_limit(several, measured, asking)
    error = too_fast_error(several, measured, asking)
    assert not error.exceeded and str(error.quieter) == "f [struct file *],!fput file if file != 0"
    assert too_fast_error(several, measured, Limits(1)).exceeded == "1 events a second"
    assert Limits.of({"max_rate": 3}, asks_about_several=True) == Limits(3, asks_about_several=True)


FUNCTIONS = """# event histogram
#
# trigger info: hist:name=pw_1_2__0_functions:keys=__probe_ip.sym:vals=hitcount:sort=hitcount:size=4096 [active]
#

{ __probe_ip: [ffffffff812b3c40] vfs_open                                     } hitcount:          2
{ __probe_ip: [ffffffff812b3d40] vfs_read                                     } hitcount:         40

Totals:
    Hits: 42
    Entries: 2
    Dropped: 0
"""


def test_hits_of_each_function_are_read_beside_those_of_all() -> None:
    assert hits_by_function(f"{HIST}\n\n{FUNCTIONS}") == {"vfs_open": 2, "vfs_read": 40}
    assert hits_of(f"{FUNCTIONS}\n\n{HIST}") == {False: 20049, True: 7}
    assert hits_by_function(FUNCTIONS.replace("pw_1_2", "theirs")) == {}
