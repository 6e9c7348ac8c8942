"""Events of programs in a session: registered before all else, released at the end, and what others keep is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel.agent.journal import needs_journal
from kernel.errors import ProbeRefused, SettingChanged
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Effect, Step
from probes.command import parse_armable
from probes.facts.facts import Feature
from probes.lowering.lower import lower
from probes.plans.plan import Plan
from tests.fake_target import FACTS, ROOT, FakeTarget

HAVING = replace(FACTS, features=FACTS.features | {Feature.USER_EVENTS})
FILE = f"{ROOT}/user_events_data"
DATA = b"request u64 length; char[16] verb"
REGISTER, RELEASE = Step(Effect.REGISTER, FILE, DATA), Step(Effect.RELEASE, FILE, DATA)


def plan(text: str = f"u:{DATA.decode()}") -> Plan:
    return lower(parse_armable(text), None, HAVING, "probewright")


def opened() -> tuple[FakeTarget, Session]:
    target = FakeTarget(facts=HAVING)
    return target, open_session(target)


def test_it_is_registered_recorded_and_released() -> None:
    target, session = opened()
    target.before = lambda step: _guarded_first(target, step)
    armed = session.probes.arm(plan())
    assert REGISTER in target.steps
    assert [one.name for one in armed.formats.values()] == ["request"]
    assert session.probes.disarm(armed) == []
    assert RELEASE in target.steps
    assert session.close() == []
    assert list(target.traces) == []
    assert target.guarded == []


def _guarded_first(target: FakeTarget, step: Step) -> None:
    if step.effect is Effect.REGISTER:
        assert RELEASE in target.guarded


def test_nothing_is_left_where_we_vanish() -> None:
    target, session = opened()
    session.probes.arm(plan())
    assert target.vanish() == []
    assert list(target.traces) == []
    assert not needs_journal(FILE.encode(), DATA)


def test_an_event_with_other_fields_is_refused() -> None:
    target, session = opened()
    target.files[f"{ROOT}/dynamic_events"] = b"u:request u8 other\n"
    with pytest.raises(ProbeRefused, match="EADDRINUSE") as caught:
        session.probes.arm(plan())
    assert "with other fields: u:request u8 other" in caught.value.remedy
    assert session.close() == []
    assert list(target.traces) == ["u:request u8 other"]


def test_what_a_program_holds_stays_and_is_told() -> None:
    target, session = opened()
    target.perform(REGISTER)  # by a program
    armed = session.probes.arm(plan())
    [failure] = session.probes.disarm(armed)
    assert isinstance(failure.error, SettingChanged)
    assert "user_events/request stays" in str(failure.error)
    assert session.close() == []
    assert list(target.traces) == [f"u:{DATA.decode()}"]


def test_its_filter_goes_though_the_event_stays() -> None:
    target, session = opened()
    target.perform(REGISTER)
    armed = session.probes.arm(plan(f"u:{DATA.decode()} if length > 5"))
    path = next(name for name in target.files if "/instances/" in name and name.endswith("request/filter"))
    assert target.files[path] == b"length > 5"
    session.probes.disarm(armed)
    assert target.files[path] == b"0"
    session.close()


def test_two_probes_can_not_have_one_event() -> None:
    _, session = opened()
    session.probes.arm(plan())
    for text in (f"u:{DATA.decode()}", "on user_events/request"):
        with pytest.raises(ProbeRefused):
            session.probes.arm(plan(text))
    assert session.close() == []
