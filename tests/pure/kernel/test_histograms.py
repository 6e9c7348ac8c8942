"""Histograms in the kernel: what is written, and that nothing of it stays, whatever fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernel.cleanup import leftovers
from kernel.errors import FileRefused, KernelError, TargetLost
from kernel.guards.rate_meter import KEYS
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Step
from kernel.watch.histogram import Histograms
from probes.hist.kept import LATENCY, TASK, is_listed_as, plan_histograms
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_hist import HistKernel
from tests.fake_target import ROOT, FakeTarget
from tests.pure.kernel.test_session import OURS, Fault

HEAD = "# event histogram\n#\n# trigger info: "
TOTALS = "\nTotals:\n    Hits: {hits}\n    Entries: 1\n    Dropped: 0\n"


class OneSession:
    """What `Histograms` needs of a set of armed probes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.outages = ()
        self.gaps = 0

    @contextlib.contextmanager
    def pause(self, session: Session) -> Iterator[None]:
        with session.pause.hold():
            self.gaps += 1
            yield

    @property
    def probes(self) -> tuple[Armed, ...]:
        return self.session.probes.armed

    def switch(self, armed: Armed, mode: Mode) -> object:
        return self.session.probes.switch(armed, mode)


def plan(group: str, where: str = "") -> Plan:
    def event(name: str, *, at_exit: bool) -> PlannedEvent:
        line, remove = f"f:{group}/{name} vfs_read", f"-:{group}/{name}"
        return PlannedEvent(group, name, line, remove, at_exit=at_exit, filter=where, frame="frame")

    return Plan(Probe(ProbePlace("vfs_read")), (event("entry", at_exit=False), event("exit", at_exit=True)))


def triggers(target: FakeTarget, event: str) -> list[str]:
    return target.files[f"{OURS}/events/{event}/trigger"].decode().split("\n")


def test_an_entry_keeps_its_time_and_an_exit_fires_the_difference():
    made = plan_histograms(plan("pw_1_2", "count > 1"), "pw_1_2__0", "mono", (("pw_1_2/exit", "count"),))
    assert made.synthetic is not None
    assert (made.synthetic.line, made.synthetic.remove) == (
        "s:synthetic/pw_1_2__0_latency u64 lat",
        "-:synthetic/pw_1_2__0_latency",
    )
    assert [text for _, text in made.timing] == [
        "hist:keys=common_pid:pw_1_2__0_begun=common_timestamp:size=16384:clock=mono"
        " if (count > 1) && common_pid != 0",
        "hist:keys=common_pid:pw_1_2__0_took=common_timestamp-$pw_1_2__0_begun:size=16384:clock=mono"
        ":onmatch(pw_1_2.entry).trace(pw_1_2__0_latency,$pw_1_2__0_took) if (count > 1) && common_pid != 0",
    ]
    assert [(kept.value, kept.event.event) for kept in made.watched] == [
        (TASK, "entry"),
        (TASK, "exit"),
        ("count", "exit"),
        (LATENCY, "pw_1_2__0_latency"),
    ]


def test_idle_tasks_are_not_timed():
    """Each CPU has one, and all have the thread id 0: an exit would find the entry of another CPU."""
    made = plan_histograms(plan("pw_1_2"), "pw_1_2__0", "mono")
    assert [text.partition(" if ")[2] for _, text in made.timing] == ["common_pid != 0"] * 2
    *counting, timed = [kept.trigger.partition(" if ")[2] for kept in made.watched]
    assert counting and not any(counting), "they are counted all the same"
    assert timed == f"lat < {1 << 63}", "a difference of stamps below zero is no latency"


def test_a_probe_of_one_end_has_no_latency():
    one = replace(plan("pw_1_2"), events=plan("pw_1_2").events[:1])
    made = plan_histograms(one, "pw_1_2__0", "mono")
    assert made.synthetic is None and not made.timing and [kept.value for kept in made.watched] == [TASK]


@pytest.mark.parametrize(
    ("listed", "same"),
    [
        ("hist:keys=count:vals=hitcount:sort=hitcount:size=16384 if count > 1", True),
        ("hist:keys=count:vals=hitcount:sort=hitcount:size=16384", False),
        ("hist:keys=count2:vals=hitcount:sort=hitcount:size=16384 if count > 1", False),
        ("hist:keys=count.log2:vals=hitcount:sort=hitcount:size=16384 if count > 1", False),
    ],
)
def test_a_histogram_is_known_again_in_the_kernels_list(listed, same):
    assert is_listed_as(listed, "hist:keys=count:size=16384 if count > 1") is same


def test_they_count_instead_of_recording_and_go_with_the_probe():
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session.group))
        entry, leave = (event.path for event in armed.plan.events)
        kept = Histograms(OneSession(session))
        kept.begin([armed])
        assert session.probes.mode(armed) is Mode.COUNT
        assert target.files[f"{OURS}/events/{entry}/enable"] == b"0"
        assert len(triggers(target, entry)) == len(triggers(target, leave)) == 3
        synthetic = f"synthetic/{session.group}__0_latency"
        for path, number, hits in ((entry, 0, 7), (leave, 1, 6)):
            theirs = f"{HEAD}hist:keys=common_pid.execname:vals=hitcount:sort=hitcount:size=16384 [active]\n#\n\n"
            text = theirs.replace("hist:", f"hist:name={session.group}__0_{number}:")
            both = f"{theirs}{TOTALS.format(hits=99)}\n\n{text}{TOTALS.format(hits=hits)}"
            target.files[f"{OURS}/events/{path}/hist"] = both.encode()
        name = f"name={session.group}__0_latency"
        latency = f"{HEAD}hist:{name}:keys=lat.log2:vals=hitcount,lat:sort=hitcount:size=128 [active]\n#\n\n"
        target.files[f"{OURS}/events/{synthetic}/hist"] = (latency + TOTALS.format(hits=5)).encode()
        assert [(one.watched.value, one.histogram.hits) for one in kept.read()] == [
            (TASK, 7),
            (TASK, 6),
            (LATENCY, 5),
        ]
        kept.end()
        assert session.probes.mode(armed) is Mode.RECORD and target.files[f"{OURS}/events/{entry}/enable"] == b"1"
        assert triggers(target, entry) == triggers(target, leave) == [""]
        kept.begin([armed], recording=True)
        assert session.probes.mode(armed) is Mode.RECORD and len(triggers(target, entry)) == 2
        session.probes.disarm(armed)
        assert kept.counting == () and synthetic not in target.files[f"{ROOT}/dynamic_events"].decode()
    assert not target.traces and not target.guarded


@pytest.mark.parametrize("refused", [False, True])
def test_others_are_read_and_stand_still_while_the_kernel_empties_the_buffer(refused):
    """Each trigger with times empties it, whoever has events in it."""
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session.group))
        watch = OneSession(session)
        recording = f"{OURS}/tracing_on"
        asked: list[bytes] = []

        def before(step: Step) -> None:
            if step.path.endswith("/trigger") and b"common_timestamp" in step.data and step.data[:1] != b"!":
                asked.append(target.files[recording])
                if refused:
                    raise FileRefused(step.path, 22)

        target.before = before
        with contextlib.suppress(KernelError):
            Histograms(watch).begin([armed])
        assert asked and set(asked) == {b"0"}
        assert target.files[recording] == b"1"
        assert watch.gaps == 1
    assert not target.traces and not target.guarded


def test_a_probe_that_got_another_filter_is_counted_on_and_records_again():
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session.group, "count > 1"))
        kept = Histograms(OneSession(session))
        kept.begin([armed])
        events = tuple(replace(event, filter="count > 5") for event in armed.plan.events)
        changed = session.probes.change_filters(armed, replace(armed.plan, events=events))
        assert kept.counting == (changed,)
        for event in events:
            target.files[f"{OURS}/events/{event.path}/hist"] = b""
        target.files[f"{OURS}/events/synthetic/{session.group}__0_latency/hist"] = b""
        for _ in range(2):
            kept.read()
            texts = [text for event in events for text in triggers(target, event.path) if KEYS not in text]
            assert len(texts) == 4 and all("count > 5" in text and "count > 1" not in text for text in texts)
        assert session.probes.mode(changed) is Mode.COUNT
        kept.end()
        assert session.probes.mode(changed) is Mode.RECORD
        assert all(triggers(target, event.path) == [""] for event in events)
        kept.begin([changed])  # its synthetic event is there
        assert kept.counting == (changed,)
    assert not target.traces and not target.guarded


def _life(target: FakeTarget) -> None:
    with open_session(target) as session, contextlib.ExitStack() as stack:
        stack.callback(session.close)  # what failed there is tried once more
        armed = session.probes.arm(plan(session.group))
        kept = Histograms(OneSession(session))
        kept.begin([armed])
        kept.end()
        kept.begin([armed])


def _steps() -> int:
    target = FakeTarget()
    _life(target)
    assert not target.traces
    return len(target.steps)


@pytest.mark.parametrize("number", range(1, _steps() + 1))
@pytest.mark.parametrize("kind", ["refused", "line cut", "answer lost"])
def test_nothing_stays_whichever_step_fails(number, kind):
    target = FakeTarget()
    Fault(target, number, kind)
    with contextlib.suppress(KernelError, TargetLost):
        _life(target)
    if target.lost:
        target.lost = False
        target.vanish()
    assert [trace for trace in target.traces if not trace.startswith("#")] == []


def test_a_dead_sessions_synthetic_event_is_known_for_its_own():
    dead = "999_zzz"
    line = f"f:pw_{dead}/entry vfs_read\ns:synthetic/pw_{dead}__0_latency\tu64 lat\ns:synthetic/theirs\tu64 lat\n"
    target = FakeTarget({f"{ROOT}/dynamic_events": line.encode()})
    (found,) = leftovers.find(target)
    assert found.events == (f"pw_{dead}/entry", f"synthetic/pw_{dead}__0_latency")


def test_probes_that_share_an_event_are_counted_and_leave_nothing():
    """The kernel takes no second histogram with the same keys, and removes no event that has a trigger."""
    target = HistKernel()
    with open_session(target) as session:
        group, plans = session.group, []
        for place in ("vfs_read", "vfs_write"):
            event = PlannedEvent(group, "shared", f"p:{group}/shared {place}", f"-:{group}/shared")
            plans.append(Plan(Probe(ProbePlace(place)), (event,)))
        probes = [session.probes.arm(one) for one in plans]
        kept = Histograms(OneSession(session))
        kept.begin(probes)
        target.hit(f"{group}/shared")
        assert [(one.watched.value, one.histogram.hits) for one in kept.read()] == [(TASK, 1)]
        session.probes.disarm(probes[0])
        target.hit(f"{group}/shared")
        assert [(one.watched.value, one.histogram.hits) for one in kept.read()] == [(TASK, 2)]
        session.probes.arm(plans[0])
        kept.begin(session.probes.armed)
        for armed, key in zip(session.probes.armed, ("common_pid", "common_cpu"), strict=True):
            session.probes.add_trigger(armed, armed.plan.events[0], f"hist:keys={key}")
        assert session.close() == []
    assert not target.traces and not target.guarded


def named(group: str, letter: str, place: str) -> Plan:
    """A plan whose events begin with another letter."""
    made = plan(group)
    events = (
        replace(
            event,
            event=f"{letter}{event.event}",
            line=f"f:{group}/{letter}{event.event} {place}",
            remove=f"-:{group}/{letter}{event.event}",
        )
        for event in made.events
    )
    return Plan(Probe(ProbePlace(place)), tuple(events))


def test_synthetic_events_of_a_probe_that_was_disarmed_are_in_nobodys_way():
    target = HistKernel()
    with open_session(target) as session:
        first = session.probes.arm(named(session.group, "a", "vfs_read"))
        session.probes.arm(named(session.group, "b", "vfs_write"))
        for last in (False, True):
            kept = Histograms(OneSession(session))
            kept.begin(session.probes.armed)
            assert len(kept.read()) == 6
            kept.end()
            if not last:
                session.probes.disarm(first)  # its events are still defined, for the other one records
                session.probes.arm(named(session.group, "c", "vfs_open"))
    assert not target.traces and not target.guarded


def test_what_is_shown_as_one_begins_together():
    """Calls go on while triggers are written: no table has those of before the last was there."""
    target = HistKernel()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session.group))
        written: list[str] = []

        def calls_go_on(step: Step) -> None:
            if step.path.endswith("/trigger") and step.data.startswith(b"hist:"):
                written.append(step.data.decode())
                for event in armed.plan.events:
                    target.hit(event.path)

        target.before = calls_go_on
        kept = Histograms(OneSession(session))
        kept.begin([armed], [(event.path, "count") for event in armed.plan.events])
        target.before = lambda step: None
        *ends, _ = (one.histogram.hits for one in kept.read())
        last = len(written) - 1
        started = [number for number, text in enumerate(written) if ":clear" in text]
        assert started == list(range(last - 4, last + 1)), "nothing is written between them"
        assert ends == [last - number for number in started[:4]], "what the writing of the last of them took"
    assert not target.traces and not target.guarded
