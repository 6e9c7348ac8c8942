"""Whatever fails and whenever: nothing stays in the kernel, which here is made of a dict and fails on demand."""

import contextlib
import errno
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.cleanup import leftovers
from kernel.errors import FileRefused, ProbeRefused, TargetLost, TargetUnusable
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Effect, Step
from probes.command import UserProbe
from probes.facts.facts import TargetFacts, Trouble
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_target import ROOT, FakeTarget

OURS = f"{ROOT}/instances/probewright-100_abc"


def plan(
    session: Session, *names: str, line: str = "vfs_read", where: str = "", triggers: tuple[str, ...] = ()
) -> Plan:
    group = session.group
    events = [
        PlannedEvent(group, n, f"f:{group}/{n} {line}", f"-:{group}/{n}", filter=where, triggers=triggers)
        for n in names
    ]
    return Plan(Probe(ProbePlace(line)), tuple(events))


def play(target: FakeTarget) -> None:
    """A whole life: two probes, one of them disarmed by hand, all kinds of steps."""
    with open_session(target) as session:
        first = session.probes.arm(plan(session, "entry", "exit", where="count > 1", triggers=("stacktrace",)))
        session.probes.arm(plan(session, "other"))
        session.probes.disarm(first)
        session.probes.arm(plan(session, "third", triggers=("stacktrace:5", "traceoff")))


class Fault:
    """Makes the N-th step of a target fail, once; on the way there or on the way back."""

    def __init__(self, target: FakeTarget, number: int, kind: str) -> None:
        self.left = number
        self.target = target
        self.kind = kind
        target.before = self.before
        target.after = self.after

    def before(self, step: Step) -> None:
        if self.kind != "answer lost":
            self.fire(step)

    def after(self, step: Step) -> None:
        if self.kind == "answer lost":
            self.fire(step)

    def fire(self, step: Step) -> None:
        self.left -= 1
        if self.left == 0:
            if self.kind == "refused":
                raise FileRefused(step.path, errno.EIO)
            self.target.lost = True
            raise TargetLost("the connection was lost")


def steps_of_a_life() -> int:
    target = FakeTarget()
    play(target)
    assert not target.traces
    assert not target.guarded
    return len(target.steps)


def test_a_life_leaves_nothing_and_every_effect_was_guarded_before_it():
    target = FakeTarget()
    undone = []

    def guarded(step: Step) -> None:
        if step.effect is Effect.MKDIR:
            assert Step(Effect.RMDIR, step.path) in target.guarded
        if step.path.endswith("dynamic_events") and not step.data.startswith(b"-"):
            name = step.data.split(b" ")[0].split(b":")[1]
            assert any(guard.data.strip() == b"-:" + name for guard in target.guarded)
            undone.append(name)
        if step.path.endswith("/enable") and step.data == b"1":
            assert Step(Effect.WRITE, step.path, b"0") in target.guarded

    target.before = guarded
    play(target)
    assert len(undone) == 4
    assert not target.traces
    assert not target.guarded


def test_probes_that_share_an_event_go_one_by_one():
    target = FakeTarget()
    with open_session(target) as session:
        path = f"{session.group}/ev"
        first, second = (
            Plan(
                Probe(ProbePlace(places[0])),
                (
                    PlannedEvent(
                        session.group,
                        "ev",
                        f"p:{path} {places[0]} a=$arg1",
                        f"-:{path}",
                        more=tuple(f"p:{path} {place} a=$arg1" for place in places[1:]),
                    ),
                ),
            )
            for places in (("vfs_read", "vfs_readv"), ("vfs_write",))
        )
        one, two = session.probes.arm(first), session.probes.arm(second)
        dynamic, enable = f"{ROOT}/dynamic_events", f"{OURS}/events/{path}/enable"
        assert len(target.files[dynamic].splitlines()) == 3
        assert session.probes.disarm(one) == []
        assert target.files[dynamic] == f"p:{path} vfs_write a=$arg1\n".encode()
        assert target.files[enable] == b"1"
        again = session.probes.arm(first)
        assert session.probes.disarm(two) == []
        assert [line.split()[1] for line in target.files[dynamic].splitlines()] == [b"vfs_read", b"vfs_readv"]
        assert session.probes.disarm(again) == []
        assert target.files[dynamic] == b""
        session.probes.arm(second)
        session.probes.arm(first)
    assert not target.traces
    assert not target.guarded


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        ({}, {}, True),
        ({"filter": "a == 1"}, {"filter": "a == 1"}, True),
        ({"filter": "a == 1"}, {"filter": "a == 2"}, False),
        ({"filter": "a == 1"}, {}, False),
        ({}, {"filter": "a == 2"}, False),
        ({"triggers": ("stacktrace",)}, {"triggers": ("stacktrace",)}, False),
        ({}, {"triggers": ("stacktrace",)}, False),
    ],
)
def test_probes_that_share_an_event_have_one_filter_and_no_triggers(first, second, fits):
    """The kernel keeps both with the event: the later probe's would hold for the earlier one as well."""
    target = FakeTarget()
    with open_session(target) as session:
        path = f"{session.group}/ev"
        plans = [
            Plan(
                Probe(ProbePlace(place), event="ev"),
                (PlannedEvent(session.group, "ev", f"p:{path} {place} a=$arg1", f"-:{path}", **extra),),
            )
            for place, extra in (("vfs_read", first), ("vfs_write", second))
        ]
        session.probes.arm(plans[0])
        before = dict(target.files)
        if fits:
            session.probes.arm(plans[1])
            return
        with pytest.raises(ProbeRefused) as caught:
            session.probes.arm(plans[1])
        error = caught.value.verdict.error
        assert error is not None and error.code == "event_in_use" and "name of its own" in error.hint
        assert caught.value.verdict.command[error.column :].startswith(error.token)
        assert target.files == before


def test_a_probe_in_a_program_joins_no_other():
    target = FakeTarget()
    with open_session(target) as session:
        path = f"{session.group}/ev"
        plans = [
            Plan(
                UserProbe("/bin/a", offset, name="x/ev"),
                (PlannedEvent(session.group, "ev", f"p:{path} /bin/a:{offset}", f"-:{path}"),),
            )
            for offset in ("0x10", "0x20")
        ]
        first = session.probes.arm(plans[0])
        with pytest.raises(ProbeRefused) as caught:
            session.probes.arm(plans[1])
        assert caught.value.verdict.error.code == "event_in_use"
        assert target.files[f"{ROOT}/dynamic_events"].count(b"\n") == 1
        session.probes.disarm(first)
        session.probes.arm(plans[1])


@pytest.mark.parametrize("refused", ["/b vfs_write", "1"])
def test_a_refused_probe_leaves_the_event_that_it_shared(refused):
    """Refused at its second event, and where its events are switched on: the first is another probe's, too."""
    target = FakeTarget()

    def state() -> dict[str, bytes]:
        return {name: data for name, data in target.files.items() if not name.endswith("notrace_pid")}

    with open_session(target) as session:
        first = session.probes.arm(plan(session, "a"))
        before = state()
        guarded = sorted(target.guarded)

        def refuse(step: Step) -> None:
            of_b = step.path.endswith("/b/enable") and step.data == refused.encode()
            if of_b or (refused.encode() in step.data and step.data.startswith(b"f:")):
                raise FileRefused(step.path, errno.EINVAL)

        target.before = refuse
        with pytest.raises(ProbeRefused):
            session.probes.arm(plan(session, "a", "b", line="vfs_write"))
        target.before = lambda step: None
        assert session.probes.armed == (first,)
        assert state() == before
        assert sorted(target.guarded) == guarded
        assert not any(step.data == f"-:{session.group}/a\n".encode() for step in target.steps)
    assert not target.traces and not target.guarded


def test_a_refused_line_takes_the_others_of_its_event_along():
    target = FakeTarget()
    with open_session(target) as session:
        path = f"{session.group}/ev"
        event = PlannedEvent(session.group, "ev", f"p:{path} a", f"-:{path}", more=(f"p:{path} nosuch",))
        with pytest.raises(ProbeRefused) as caught:
            session.probes.arm(Plan(Probe(ProbePlace("a")), (event,)))
        assert caught.value.verdict.command == f"p:{path} nosuch"
        assert target.files[f"{ROOT}/dynamic_events"] == b""


@pytest.mark.parametrize("kind", ["refused", "cut", "answer lost"])
def test_nothing_is_left_whichever_step_fails(kind):
    total = steps_of_a_life()
    assert total > 25
    for number in range(1, total + 1):
        target = FakeTarget()
        Fault(target, number, kind)
        with contextlib.suppress(FileRefused, ProbeRefused, TargetLost, TargetUnusable):
            play(target)
        if target.lost:
            target.lost = False
            assert not target.vanish(), number
        elif target.traces:
            # An undo that failed once in the last close: what is left is a leftover that the next start takes away.
            target.held.clear()
            target.owner = "200_def"
            for leftover in leftovers.find(target):
                assert not leftovers.remove(target, leftover)
        assert not target.traces, number


def test_a_second_close_tries_what_failed_in_the_first():
    for number in range(1, 12):
        target = FakeTarget()
        session = open_session(target)
        session.probes.arm(plan(session, "entry", "exit", triggers=("stacktrace",)))
        Fault(target, number, "refused")
        failures = session.close()
        if not failures:
            assert not target.traces
            continue
        # All others were taken back all the same.
        assert len(failures) <= 3
        assert not session.close()
        assert not target.traces
        assert not target.guarded


@settings(max_examples=150)
@given(
    acts=st.lists(st.sampled_from(["arm", "arm bad", "arm triggers", "disarm"]), max_size=8),
    faults=st.sets(st.integers(1, 80), max_size=4),
    kind=st.sampled_from(["refused", "cut", "answer lost"]),
)
def test_any_life_with_any_faults_leaves_nothing(acts, faults, kind):
    target = FakeTarget()
    count = 0

    def fire(step: Step) -> None:
        nonlocal count
        count += 1
        if count in faults:
            if kind == "refused":
                raise FileRefused(step.path, errno.EIO)
            target.lost = True
            raise TargetLost("the connection was lost")

    setattr(target, "after" if kind == "answer lost" else "before", fire)
    try:
        session = open_session(target)
    except (TargetUnusable, TargetLost):
        session = None
    for number, act in enumerate(acts if session else ()):
        assert session
        try:
            if act == "disarm":
                if session.probes.armed:
                    session.probes.disarm(session.probes.armed[0])
            else:
                line = "vfs_read x=nosuch" if act == "arm bad" else "vfs_read"
                triggers = ("stacktrace",) if act == "arm triggers" else ()
                session.probes.arm(plan(session, f"e{number}", f"x{number}", line=line, triggers=triggers))
        except (ProbeRefused, TargetLost, FileRefused):
            continue
    if session:
        session.close()
    if target.lost:
        target.lost = False
        assert not target.vanish()
    else:
        target.before = target.after = lambda step: None
        if session:
            assert not session.close()
        else:
            # mkdir happened and rmdir was refused, all before there was a session to close.
            assert target.traces in ([], [OURS])
            target.vanish()
    assert not target.traces


def test_a_refused_probe_carries_the_kernels_words_and_leaves_nothing_of_its_plan():
    target = FakeTarget()
    with open_session(target) as session:
        before = target.traces
        bad = PlannedEvent(
            session.group, "exit", f"f:{session.group}/exit  vfs_read file->nosuch # x", f"-:{session.group}/exit"
        )
        good = plan(session, "entry").events
        with pytest.raises(ProbeRefused) as caught:
            session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (*good, bad)))
        error = caught.value.verdict.error
        assert error is not None
        assert (error.code, error.message) == ("NO_BTF_FIELD", "This field is not found.")
        assert caught.value.verdict.by_kernel
        assert target.traces == before
        assert not session.probes.armed


def test_a_taken_name_is_left_alone_and_the_next_number_used():
    target = FakeTarget()
    with open_session(target) as first, open_session(target) as second:
        assert (first.group, second.group) == ("pw_100_abc", "pw_100_abc_2")
        second.probes.arm(plan(second, "entry"))
        second.close()
        assert target.traces == [OURS]
    assert not target.traces


def test_other_peoples_events_and_instances_stay():
    target = FakeTarget({f"{ROOT}/dynamic_events": b"p:kprobes/theirs vfs_read\n"})
    target.folders.add(f"{ROOT}/instances/theirs")
    before = target.traces
    play(target)
    assert target.traces == before


def test_the_instance_is_set_up():
    target = FakeTarget()
    with open_session(target, buffer_kb=512):
        files = {name.removeprefix(f"{OURS}/"): data for name, data in target.files.items() if name.startswith(OURS)}
        assert files["trace_clock"] == b"mono"
        assert files["buffer_percent"] == b"0"
        assert files["buffer_size_kb"] == b"512"
        written = [step.data for step in target.steps if step.path == f"{OURS}/trace_options"]
        assert written == [b"event-fork", b"noraw"]


def test_our_own_processes_are_left_out_before_an_event_is_there():
    target = FakeTarget()
    with open_session(target) as session:
        session.probes.arm(plan(session, "entry"))
        assert target.files[f"{OURS}/set_event_notrace_pid"] == b"100 101"
        paths = [step.path for step in target.steps]
        assert paths.index(f"{OURS}/set_event_notrace_pid") < paths.index(f"{ROOT}/dynamic_events")


def test_an_unusable_target_says_why_and_how_out():
    facts = TargetFacts(
        "x86_64", "6.18", troubles=(Trouble("a note", fatal=False), Trouble("no tracefs", "mount it"))
    )
    target = FakeTarget(facts=facts)
    with pytest.raises(TargetUnusable, match="no tracefs") as caught:
        open_session(target)
    assert caught.value.remedy == "mount it"
    assert not target.steps


def test_where_no_thread_can_be_started_nothing_stays(monkeypatch):
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    target = FakeTarget()
    with pytest.raises(RuntimeError, match="new thread"):
        open_session(target)
    assert not target.traces
    assert not target.guarded


def test_formats_of_armed_events_are_read_from_our_instance():
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, "entry", "exit"))
        assert [found.path for found in armed.formats.values()] == [f"{session.group}/entry", f"{session.group}/exit"]
        assert session.probes.events.formats() == armed.formats
        session.probes.disarm(armed)
        # Records that are still undecoded need them.
        assert session.probes.events.formats() == armed.formats
        assert session.cmdlines() == {812: "cat", 7: "two words"}


def test_an_exit_is_never_without_its_entry():
    """Switched on before it and off after it: what is seen of a call is all of it, or the exit alone."""
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, "entry", "exit"))
        session.probes.disarm(armed)
    switched = [(step.path.split("/")[-2], step.data) for step in target.steps if step.path.endswith("/enable")]
    assert switched == [("exit", b"1"), ("entry", b"1"), ("entry", b"0"), ("exit", b"0")]


def emptied(target: FakeTarget, overrun: int) -> None:
    """The kernel empties the buffer, and its counts; so many events are overwritten afterwards."""
    stats = f"entries: 0\noverrun: {overrun}\ncommit overrun: 0\ndropped events: 0\nread events: 0\n"
    target.files[f"{OURS}/per_cpu/cpu0/stats"] = stats.encode()


TIMED = "hist:keys=common_pid:ts0=common_timestamp.usecs"


@pytest.mark.parametrize("armed_with_it", [False, True])
def test_a_trigger_with_times_leaves_clock_and_counts_and_events_as_they_are(armed_with_it):
    """It sets the clock of the instance to `global` and empties the buffer, also for probes that it is not about."""
    target = FakeTarget()
    seen: list[tuple[bytes, bool]] = []

    def as_the_kernel(step: Step) -> None:
        if step.path.endswith("/trigger") and step.data == TIMED.encode():
            seen.append((target.files[f"{OURS}/tracing_on"], session.pump._quiet > asked))
            target.files[f"{OURS}/trace_clock"] = b"local [global] mono\n"
            emptied(target, 0)
        if step.path.endswith("/trace_clock"):
            emptied(target, 0)

    target.after = as_the_kernel
    with open_session(target) as session:
        target.files[f"{OURS}/trace_clock"] = b"local global [mono]\n"
        first = session.probes.arm(plan(session, "entry"))
        emptied(target, 7)
        asked = session.pump._reads
        if armed_with_it:
            session.probes.arm(plan(session, "other", triggers=(TIMED,)))
        else:
            session.probes.add_trigger(first, first.plan.events[0], TIMED)
        assert seen == [(b"0", True)], "what was recorded is read before, and nothing is recorded meanwhile"
        assert target.files[f"{OURS}/tracing_on"] == b"1"
        assert target.files[f"{OURS}/trace_clock"] == b"mono"
        assert session.counts().overrun == {0: 7}
        emptied(target, 9)
        assert session.counts().overrun == {0: 16}
    assert not target.traces


def test_what_is_lost_after_a_probe_was_removed_adds_to_what_was_lost_before():
    """The kernel begins to count anew, and may be at a higher number when somebody looks again."""
    target = FakeTarget()

    def as_the_kernel(step: Step) -> None:
        if step.data.startswith(b"-:"):
            emptied(target, 0)

    target.after = as_the_kernel
    with open_session(target) as session:
        first = session.probes.arm(plan(session, "entry"))
        emptied(target, 5)
        session.probes.disarm(first)
        session.probes.arm(plan(session, "other"))
        emptied(target, 9)
        assert session.counts().overrun == {0: 14}


def test_events_are_limited_to_tasks_and_what_they_make() -> None:
    target = FakeTarget()
    with open_session(target) as session:
        session.limit_tasks([812, 813], None)
        assert target.files[f"{OURS}/set_event_pid"] == b"812 813"
        session.probes.arm(plan(session, "entry"))
        assert target.files[f"{OURS}/set_event_pid"] == b"812 813"
        # A command that was started since is a child of ours, which event-fork has excluded.
        target.files[f"{OURS}/set_event_notrace_pid"] += b" 812"
        session.limit_tasks([812], None)
        assert target.files[f"{OURS}/set_event_notrace_pid"] == b"100 101"
        session.limit_tasks([], None)
        assert target.files[f"{OURS}/set_event_pid"] == b""
    target = FakeTarget()
    with open_session(target) as session:
        session.probes.events.follows_forks = False
        with pytest.raises(TargetUnusable, match="follow forks"):
            session.limit_tasks([812], None)
