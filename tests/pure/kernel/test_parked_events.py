"""A probe that is disarmed while another records: its events go when no record can be lost with them."""

from __future__ import annotations

import errno

import pytest

from kernel.errors import FileRefused, ProbeRefused
from kernel.session.probe_steps import Mode
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Step
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_target import ROOT, FakeTarget

DEFINED = f"{ROOT}/dynamic_events"


def plan(
    session: Session, name: str, *, place: str = "vfs_read", where: str = "", triggers: tuple[str, ...] = ()
) -> Plan:
    path = f"{session.group}/{name}"
    event = PlannedEvent(session.group, name, f"p:{path} {place}", f"-:{path}", filter=where, triggers=triggers)
    return Plan(Probe(ProbePlace(place)), (event,))


def defined(target: FakeTarget) -> list[str]:
    return [line.split()[0].rpartition("/")[2] for line in target.files[DEFINED].decode().splitlines()]


def file_of(target: FakeTarget, session: Session, name: str) -> str:
    return target.files[f"{session.instance.path}/events/{session.group}/{name}"].decode().strip()


def writes(target: FakeTarget) -> list[bytes]:
    """What is written to the list of events from now on."""
    seen: list[bytes] = []

    def note(step: Step) -> None:
        if step.path == DEFINED:
            seen.append(step.data)

    target.after = note
    return seen


def test_events_are_removed_when_nobody_records_any_more():
    target = FakeTarget()
    with open_session(target) as session:
        one, two, three = (session.probes.arm(plan(session, name)) for name in ("one", "two", "three"))
        assert session.probes.disarm(one) == []
        assert file_of(target, session, "one/enable") == "0"
        assert session.probes.armed == (two, three)
        assert session.probes.disarm(two) == []
        assert defined(target) == ["one", "two", "three"]
        assert session.probes.disarm(three) == []
        assert defined(target) == []
    assert not target.traces
    assert not target.guarded


def test_one_that_only_counts_keeps_nothing():
    target = FakeTarget()
    with open_session(target) as session:
        one, two = session.probes.arm(plan(session, "one")), session.probes.arm(plan(session, "two"))
        session.probes.switch(two, Mode.OFF)
        session.probes.disarm(one)
        assert defined(target) == ["two"]


def test_what_is_armed_again_takes_its_events_over():
    target = FakeTarget()
    with open_session(target) as session:
        one = session.probes.arm(plan(session, "one", where="count > 1", triggers=("stacktrace",)))
        session.probes.arm(plan(session, "two"))
        session.probes.disarm(one)
        assert "stacktrace" not in file_of(target, session, "one/trigger")
        seen = writes(target)
        again = session.probes.arm(plan(session, "one"))
        assert seen == []
        assert file_of(target, session, "one/enable") == "1"
        assert file_of(target, session, "one/filter") in ("", "0", "none")
        assert again.formats.keys() == one.formats.keys()
    assert not target.traces
    assert not target.guarded


def test_what_is_another_of_that_name_takes_its_place():
    target = FakeTarget()
    with open_session(target) as session:
        one, _ = session.probes.arm(plan(session, "one")), session.probes.arm(plan(session, "two"))
        session.probes.disarm(one)
        session.probes.arm(plan(session, "one", place="vfs_write"))
        lines = target.files[DEFINED].decode().splitlines()
        assert [line.split()[1] for line in lines] == ["vfs_read", "vfs_write"]
        assert defined(target) == ["two", "one"]
    assert not target.traces


def test_what_was_refused_half_way_rests_too_and_is_not_taken_for_whole():
    target = FakeTarget()
    with open_session(target) as session:
        session.probes.arm(plan(session, "two"))
        path = f"{session.group}/one"
        good = PlannedEvent(session.group, "one", f"p:{path} vfs_read", f"-:{path}")
        bad, fine = (
            PlannedEvent(session.group, "more", f"p:{session.group}/more {place}", f"-:{session.group}/more")
            for place in ("nosuch", "vfs_write")
        )
        with pytest.raises(ProbeRefused):
            session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (good, bad)))
        assert defined(target) == ["two", "one"]
        session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (good, fine)))
        assert defined(target) == ["two", "one", "more"]
    assert not target.traces


def test_what_is_woken_and_refused_rests_by_the_filters_that_the_kernel_has():
    target = FakeTarget()
    with open_session(target) as session:

        def both(of_one: str, of_more: str) -> Plan:
            events = [
                PlannedEvent(
                    session.group,
                    name,
                    f"p:{session.group}/{name} {place}",
                    f"-:{session.group}/{name}",
                    filter=where,
                )
                for name, place, where in (("one", "vfs_read", of_one), ("more", "vfs_write", of_more))
            ]
            return Plan(Probe(ProbePlace("vfs_read")), tuple(events))

        def refuse(step: Step) -> None:
            if step.path.endswith("more/filter") and b"bad" in step.data:
                raise FileRefused(step.path, errno.EINVAL)

        session.probes.arm(plan(session, "two"))
        session.probes.disarm(session.probes.arm(both("count > 1", "")))
        target.before = refuse
        with pytest.raises(ProbeRefused):
            session.probes.arm(both("", "bad == 1"))
        assert [file_of(target, session, f"{name}/filter") for name in ("one", "more")] == ["count > 1", "0"]
        session.probes.arm(both("", ""))
        assert [file_of(target, session, f"{name}/filter") for name in ("one", "more")] == ["0", "0"]
    assert not target.traces


def test_misses_are_counted_once_before_and_after_it_has_gone():
    target = FakeTarget()
    with open_session(target) as session:
        one, two = session.probes.arm(plan(session, "one")), session.probes.arm(plan(session, "two"))
        path = f"{session.group}/one"

        def missed() -> int | None:
            return session.counts().nmissed[path]

        target.files[f"{ROOT}/kprobe_profile"] = b"  one  10  4\n  two  3  0\n"
        assert missed() == 4
        session.probes.disarm(one)
        assert missed() == 4
        assert list(session.counts().hits) == [two.plan.events[0].path]

        def gone(step: Step) -> None:
            if step.data.startswith(b"-:"):
                target.files[f"{ROOT}/kprobe_profile"] = b""

        target.after = gone
        session.probes.disarm(two)
        assert missed() == 4
