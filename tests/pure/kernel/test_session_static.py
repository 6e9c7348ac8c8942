"""Events that the kernel has already, in a session: switched on and off, never made, never removed."""

from __future__ import annotations

import pytest

from kernel.errors import ProbeRefused
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.static_events import Latency, LatencyKey, StaticEvent
from tests.fake_target import ROOT, FakeTarget

OURS = f"{ROOT}/instances/probewright-100_abc"
EVENT = "tcp/tcp_retransmit_skb"
ON = Plan(
    StaticEvent(EVENT, "dport == 80"), (PlannedEvent("tcp", "tcp_retransmit_skb", "", "", filter="dport == 80"),)
)


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget()


def with_events(target: FakeTarget, *events: str) -> None:
    for event in events:
        for place in (ROOT, OURS):
            target._event(place, event)


def test_it_is_switched_on_in_our_instance_and_left_as_it_was(target):
    with open_session(target) as session:
        with_events(target, EVENT)
        armed = session.probes.arm(ON)
        folder = f"{OURS}/events/{EVENT}"
        assert (target.files[f"{folder}/enable"], target.files[f"{folder}/filter"]) == (b"1", b"dport == 80")
        assert target.files[f"{ROOT}/events/{EVENT}/enable"] == b"0"
        with pytest.raises(ProbeRefused, match="armed already"):
            session.probes.arm(ON)
        assert target.files[f"{folder}/enable"] == b"1"
        assert session.probes.disarm(armed) == []
        assert (target.files[f"{folder}/enable"], target.files[f"{folder}/filter"]) == (b"0", b"0")
        session.probes.arm(ON)
    assert not target.guarded
    assert not any(step.path.endswith("dynamic_events") for step in target.steps)


def test_what_only_has_triggers_is_not_switched_on(target):
    begin, end = "sched_wakeup", "sched_switch"
    first, second = f"sched/{begin}", f"sched/{end}"
    made = PlannedEvent("synthetic", "pw_lat", "s:synthetic/pw_lat u64 lat", "-:synthetic/pw_lat")
    sides = tuple(
        PlannedEvent("sched", event, "", "", triggers=(f"hist:keys=pid:{name}=1",), recorded=False)
        for event, name in ((begin, "t0"), (end, "lat"))
    )
    plan = Plan(Latency("lat", first, second, (LatencyKey("pid", "next_pid"),)), (made, *sides))
    with open_session(target) as session:
        with_events(target, first, second)
        armed = session.probes.arm(plan)
        assert [fmt.path for fmt in armed.formats.values()] == ["synthetic/pw_lat"]
        for event, name in ((first, b"t0"), (second, b"lat")):
            assert target.files[f"{OURS}/events/{event}/enable"] == b"0"
            assert target.files[f"{OURS}/events/{event}/trigger"] == b"hist:keys=pid:" + name + b"=1"
        assert target.files[f"{OURS}/events/synthetic/pw_lat/enable"] == b"1"
        assert session.probes.disarm(armed) == []
        assert not target.files[f"{OURS}/events/{first}/trigger"]
        assert not target.files[f"{ROOT}/dynamic_events"]
    assert not target.guarded
