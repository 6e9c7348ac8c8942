"""Counting, switching, triggers by hand, a measured rate: whatever fails, nothing stays in the kernel."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.cleanup import leftovers
from kernel.errors import FileRefused, KernelError, ProbeRefused, TargetLost, TargetUnusable
from kernel.guards import rate_meter
from kernel.guards.limits import Limits, TooFast
from kernel.guards.rate_meter import KEYS
from kernel.session.probe_steps import Mode
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Step
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_hist import HistKernel
from tests.fake_target import FakeTarget
from tests.pure.kernel.test_session import Fault
from tui.present.losses_model import maxactive_of, with_maxactive

HIST = """# event histogram
#
# trigger info: {}:vals=hitcount:sort=hitcount:size=2048{} [active]
#


Totals:
    Hits: {}
    Entries: 0
    Dropped: 0
"""


@pytest.fixture(scope="module", autouse=True)
def rates_are_measured_quickly() -> Iterator[None]:
    """Hits here come with each look, not with the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rate_meter, "STEP", 0.001)
        patch.setattr(rate_meter, "LONGEST", 0.002)
        yield


class Counting(FakeTarget):
    """With hist files: each look finds so many hits more; of these one in ten passes a filter."""

    def __init__(self, step: int = 10) -> None:
        super().__init__()
        self.step = step
        self.hits = 0

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if not path.endswith("/hist"):
            return super().read(path, limit, offset)
        triggers = super().read(path.removesuffix("hist") + "trigger").decode().split("\n")
        self.hits += self.step
        texts = [
            HIST.format(head, link + where, self.hits // (10 if where else 1))
            for head, link, where in (one.partition(" if ") for one in triggers)
        ]
        return "\n\n".join(texts).encode()


def plan(session: Session, name: str = "a", letter: str = "f", where: str = "") -> Plan:
    path = f"{session.group}/{name}"
    event = PlannedEvent(session.group, name, f"{letter}:{path} vfs_read", f"-:{path}", filter=where)
    return Plan(Probe(ProbePlace("vfs_read")), (event,))


def two_ends(session: Session) -> Plan:
    group = session.group
    events = [
        PlannedEvent(group, name, f"p:{group}/{name} {place}", f"-:{group}/{name}")
        for name, place in (("entry", "vfs_read"), ("exit", "vfs_read%return"))
    ]
    return Plan(Probe(ProbePlace("vfs_read")), tuple(events))


def files_of(target: FakeTarget, session: Session, file: str) -> list[str]:
    folder = f"{session.instance.path}/events/{session.group}"
    return [target.files[f"{folder}/{name}/{file}"].decode().strip() for name in ("entry", "exit")]


@pytest.mark.parametrize("before", Mode)
@pytest.mark.parametrize("wanted", [Mode.RECORD, Mode.COUNT])
@pytest.mark.parametrize("error", [FileRefused("here", errno.ENOMEM), TargetUnusable("not here")])
def test_a_switch_that_is_refused_half_way_is_whole_the_next_time(before: Mode, wanted: Mode, error: KernelError):
    if before is wanted:
        return
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(two_ends(session), mode=before)

        def on() -> tuple[list[bool], list[bool]]:
            return (
                [text == "1" for text in files_of(target, session, "enable")],
                [KEYS in text for text in files_of(target, session, "trigger")],
            )

        was, asked = on(), []

        def refuse_second(step: Step) -> None:
            if step.path.endswith(("/enable", "/trigger")) and step.data[:1] in (b"1", b"h"):
                asked.append(step)
                if len(asked) == 2:
                    raise error

        target.before = refuse_second
        with pytest.raises(KernelError):
            session.probes.switch(armed, wanted)
        assert session.probes.mode(armed) is before and on() == was
        assert session.probes.switch(armed, wanted) == [] and session.probes.mode(armed) is wanted
        assert on() == ([wanted is Mode.RECORD] * 2, [wanted is Mode.COUNT] * 2)
    assert not target.traces and not target.guarded


def test_what_could_not_be_switched_off_is_not_taken_for_all_that_records():
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(two_ends(session))

        def refuse(step: Step) -> None:
            if step.path.endswith("entry/enable"):
                raise FileRefused(step.path, errno.EIO)

        target.before = refuse
        assert session.probes.switch(armed, Mode.OFF) and files_of(target, session, "enable") == ["1", "0"]
        target.before = lambda step: None
        assert session.probes.switch(armed, Mode.RECORD) == []
        assert files_of(target, session, "enable") == ["1", "1"]
        assert session.probes.switch(armed, Mode.OFF) == []
        assert files_of(target, session, "enable") == ["0", "0"]
    assert not target.traces and not target.guarded


def with_filter(before: Plan, where: str) -> Plan:
    return replace(before, events=tuple(replace(event, filter=where) for event in before.events))


def filters_of(target: FakeTarget) -> list[str]:
    return [data.decode() for name, data in target.files.items() if name.endswith("/filter") and "instances" in name]


def two(session: Session) -> Plan:
    one, other = (plan(session, name, where="x > 1") for name in "ab")
    return replace(one, events=(*one.events, *other.events))


def test_an_armed_probe_gets_another_filter() -> None:
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(two(session))
        other = session.probes.arm(plan(session, "c"))
        assert filters_of(target) == ["x > 1", "x > 1", "none"]
        armed = session.probes.change_filters(armed, with_filter(armed.plan, "x > 5"))
        assert filters_of(target) == ["x > 5", "x > 5", "none"]
        assert session.probes.armed == (armed, other)
        armed = session.probes.change_filters(armed, with_filter(armed.plan, ""))
        assert filters_of(target) == ["0", "0", "none"]
        session.probes.disarm(armed)
        assert list(session.probes.armed) == [other]
    assert not target.traces


@pytest.mark.parametrize("event", ["a", "b"])
@pytest.mark.parametrize("stays_broken", [False, True])
def test_a_filter_that_is_refused_changes_nothing(event: str, stays_broken: bool) -> None:
    target = FakeTarget()
    with open_session(target) as session:
        armed = session.probes.arm(two(session))
        performed = target.perform
        broken: list[str] = []

        def refuse(step: Step) -> None:
            if step.path in broken or (step.path.endswith(f"/{event}/filter") and step.data == b"x > 5"):
                target.files[step.path] = b"none"  # as apply_event_filter does it
                if stays_broken:
                    broken.append(step.path)
                raise FileRefused(step.path, errno.EIO if step.path in broken[:-1] else errno.EINVAL)
            performed(step)

        target.perform = refuse
        with pytest.raises(ProbeRefused) as caught:
            session.probes.change_filters(armed, with_filter(armed.plan, "x > 5"))
        assert caught.value.verdict.command == "x > 5"
        wanted = {"a": "x > 1", "b": "x > 1"} | ({event: "none"} if stays_broken else {})
        assert filters_of(target) == list(wanted.values())
        assert session.probes.armed == (armed,)


def triggers_of(target: FakeTarget) -> str:
    return b"\n".join(data for name, data in target.files.items() if name.endswith("/trigger")).decode().strip()


def live(target: FakeTarget) -> None:
    """All that can be done to armed probes."""
    with open_session(target) as session:
        with contextlib.suppress(TooFast):
            session.probes.arm(plan(session, "fast"), Limits(max_rate=1))
        probe = session.probes.arm(plan(session, "a", where="x > 1"), Limits())
        counted = session.probes.arm(plan(session, "b"), Limits(), Mode.COUNT)
        (event,) = probe.plan.events
        session.probes.add_trigger(probe, event, "stacktrace")
        session.probes.add_trigger(probe, event, "hist:keys=common_pid")
        session.probes.remove_trigger(probe, event, "stacktrace")
        probe = session.probes.change_filters(probe, with_filter(probe.plan, "x > 5"))
        for mode in (Mode.COUNT, Mode.OFF, Mode.RECORD, Mode.COUNT):
            session.probes.switch(probe, mode)
        session.probes.switch(counted, Mode.RECORD)
        session.counts()
        session.resize(4096)
        session.probes.disarm(counted)


def test_a_trigger_that_records_stacks_is_there_while_its_event_is_recorded_with_its_filter() -> None:
    target = Counting()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, "a", where="x > 1"), Limits(), Mode.COUNT)
        (event,) = armed.plan.events
        path = f"{session.instance.path}/events/{event.path}"
        steps: list[tuple[str, bytes]] = []
        target.after = lambda step: steps.append((step.path.rpartition("/")[2], step.data))

        def there() -> bytes:
            return next((one for one in target.files[f"{path}/trigger"].split(b"\n") if b"stack" in one), b"")

        session.probes.add_trigger(armed, event, "stacktrace:9 if x < 7")
        assert there() == b""
        session.probes.switch(armed, Mode.RECORD)
        assert there() == b"stacktrace:9 if (x > 1) && (x < 7)"
        assert [name for name, data in steps if data == b"1" or data.startswith(b"stack")] == ["enable", "trigger"]
        steps.clear()
        armed = session.probes.change_filters(armed, with_filter(armed.plan, "x > 5"))
        assert [data for name, data in steps if name in ("filter", "trigger")] == [
            b"!stacktrace",
            b"x > 5",
            b"stacktrace:9 if (x > 5) && (x < 7)",
        ]

        def refuse(step: Step) -> None:
            if step.path.endswith("/filter") and step.data == b"no":
                raise FileRefused(step.path, errno.EINVAL)

        target.before = refuse
        with pytest.raises(ProbeRefused):
            session.probes.change_filters(armed, with_filter(armed.plan, "no"))
        assert there() == b"stacktrace:9 if (x > 5) && (x < 7)"
        steps.clear()
        session.probes.switch(armed, Mode.OFF)
        assert there() == b""
        written = [name for name, data in steps if data in (b"0", b"!stacktrace") and name != "filter"]
        assert written == ["trigger", "enable"]
        session.probes.switch(armed, Mode.RECORD)
        (event,) = armed.plan.events
        session.probes.remove_trigger(armed, event, "stacktrace:9 if x < 7")
        assert (there(), session.probes.triggers(armed)) == (b"", ())
    assert not target.traces


def test_a_life_leaves_nothing() -> None:
    target = Counting()
    live(target)
    assert not target.traces
    assert not target.guarded


@settings(max_examples=120)
@given(st.integers(1, 70), st.sampled_from(["refused", "cut", "answer lost"]))
def test_whatever_fails_nothing_is_left(number: int, kind: str) -> None:
    target = Counting()
    Fault(target, number, kind)
    with contextlib.suppress(KernelError):
        live(target)
    if target.lost:
        target.lost = False
        assert not target.vanish()
    elif target.traces:
        # An undo that failed once in the last close: what is left is a leftover that the next start takes away.
        target.held.clear()
        target.owner = "200_def"
        for leftover in leftovers.find(target):
            assert not leftovers.remove(target, leftover)
    assert not target.traces


def test_the_rate_is_of_hits_and_of_what_passes() -> None:
    target = Counting(1000)
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, where="x > 1"), Limits(0.5e9))
        assert armed.measured is not None
        (rate,) = armed.measured.rates.values()
        assert 8 < rate.hits / rate.records < 12
        assert armed.measured.hits * armed.measured.seconds > 999
        assert triggers_of(target) == ""
        assert session.probes.mode(armed) is Mode.RECORD


def test_what_is_too_fast_is_taken_away_again() -> None:
    target = Counting(10**6)
    with open_session(target) as session:
        try:
            session.probes.arm(plan(session), Limits())
        except TooFast as error:
            assert error.measured.hits > 50_000
            assert "vfs_read" in str(error)
        else:
            raise AssertionError("it was armed")
        assert session.probes.armed == ()
        assert target.files[f"{target.facts().tracefs}/dynamic_events"] == b""


def test_where_the_kernel_can_not_count_a_probe_is_armed_all_the_same() -> None:
    target = FakeTarget()  # has no hist files

    def refuse(step: Step) -> None:
        if step.data.startswith(b"hist"):
            raise FileRefused(step.path, errno.EINVAL)

    for before in (lambda step: None, refuse):
        target.before = before
        with open_session(target) as session:
            assert session.probes.arm(plan(session), Limits()).measured is None
            assert triggers_of(target) == ""
        assert not target.traces


def test_a_line_that_is_lost_while_it_is_measured_is_no_refusal() -> None:
    target = Counting()

    def cut(step: Step) -> None:
        if step.data.startswith(b"hist"):
            target.lost = True
            raise TargetLost("the connection was lost")

    target.after = cut
    session = open_session(target)
    try:
        session.probes.arm(plan(session), Limits())
    except TargetLost:
        pass
    else:
        raise AssertionError("nobody was told")
    target.lost = False
    target.after = lambda step: None
    session.close()
    target.vanish()
    assert not target.traces


def test_a_trigger_that_clears_a_histogram_is_none_of_its_own() -> None:
    """Its way back would be that of the histogram, which is still wanted."""
    target = HistKernel()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session))
        (event,) = armed.plan.events
        with pytest.raises(ProbeRefused):
            session.probes.add_trigger(armed, event, "hist:keys=common_pid:clear")
        session.probes.add_trigger(armed, event, "hist:keys=common_pid")
        target.hit(event.path)
        session.probes.add_trigger(armed, event, "hist:keys=common_pid:clear")
        assert session.probes.triggers(armed) == session.probes.by_hand(armed) == ((event, "hist:keys=common_pid"),)
        assert [hist.counts.hits for hist in target.on(event.path)] == [0]
        session.probes.remove_trigger(armed, event, "hist:keys=common_pid")
        assert target.on(event.path) == []
    assert not target.traces and not target.guarded


def test_only_one_of_the_modes_is_on() -> None:
    target = Counting()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session))
        (event,) = armed.plan.events
        enable = session.instance.file(f"events/{event.path}/enable")
        seen = []
        for mode in (Mode.COUNT, Mode.OFF, Mode.COUNT, Mode.RECORD, Mode.RECORD, Mode.OFF):
            assert session.probes.switch(armed, mode) == []
            seen.append((target.files[enable], triggers_of(target) != ""))
            assert session.probes.mode(armed) is mode
        assert seen == [(b"0", True), (b"0", False), (b"0", True), (b"1", False), (b"1", False), (b"0", False)]
        session.probes.disarm(armed)
        assert session.probes.switch(armed, Mode.RECORD) == []
        assert session.probes.mode(armed) is Mode.OFF


def test_hits_of_what_is_counted_are_told() -> None:
    target = Counting()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session), mode=Mode.COUNT)
        (event,) = armed.plan.events
        assert session.counts().hits == {event.path: 10}
        session.probes.switch(armed, Mode.RECORD)
        assert session.counts().hits == {}


def test_hits_of_what_is_counted_are_those_that_pass_its_filter() -> None:
    target = Counting()
    with open_session(target) as session:
        for limits in (Limits(0, 0), Limits(0.5e9)):  # with the rate measured before, and without
            target.hits = 0
            armed = session.probes.arm(plan(session, where="x > 1"), limits, mode=Mode.COUNT)
            (event,) = armed.plan.events
            counts = session.counts()
            assert 0 < counts.passed[event.path] < counts.hits[event.path] <= target.hits
            assert counts.counted == counts.passed
            changed = session.probes.change_filters(armed, plan(session, where="x > 2"))
            texts = [text for text in triggers_of(target).split("\n") if text]
            assert [text.partition(" if ")[2] for text in texts] == ["", "x > 2"]
            session.probes.change_filters(changed, plan(session))
            assert triggers_of(target).count("hist") == 1 and " if " not in triggers_of(target)
            assert session.counts().passed == {}
            session.probes.disarm(session.probes.armed[0])
            assert triggers_of(target) == "" and session.counts().counted == {}


def test_a_filter_by_which_the_kernel_can_not_count_is_not_taken() -> None:
    target = Counting()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, where="x > 1"), mode=Mode.COUNT)
        before = triggers_of(target)

        def refuse(step: Step) -> None:
            if step.data.startswith(b"hist") and b"x > 2" in step.data:
                raise FileRefused(step.path, errno.ENOMEM)

        target.before = refuse
        with pytest.raises(ProbeRefused):
            session.probes.change_filters(armed, plan(session, where="x > 2"))
        (event,) = armed.plan.events
        assert sorted(triggers_of(target).split("\n")) == sorted(before.split("\n"))
        assert session.probes.armed == (armed,)
        assert target.files[session.instance.file(f"events/{event.path}/filter")].strip() == b"x > 1"


def test_maxactive_is_of_kretprobes_only() -> None:
    target = FakeTarget()
    with open_session(target) as session:
        probe, entry = plan(session, letter="r"), plan(session, letter="p")
        assert maxactive_of(entry) is None
        assert with_maxactive(entry, 40) == entry
        assert maxactive_of(probe) == 10
        more = with_maxactive(probe, 40)
        assert more.lines[0].startswith(f"r40:{session.group}/a ")
        assert maxactive_of(with_maxactive(more, 10**6)) == 4096
