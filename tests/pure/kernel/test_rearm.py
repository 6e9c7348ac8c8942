"""A probe that is armed anew by another plan: what was told to it stays, and a refusal takes nothing away."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, KernelError, TargetLost, TargetUnusable
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.target import Step
from kernel.watch.watch import Watch
from probes.plans.plan import Plan
from tests.pure.kernel.test_watch import Anything, Target, probe


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def watch(target: Target) -> Iterator[Watch]:
    made = Watch(Anything(KernelInfo(target)))
    yield made
    made.close()


def other(armed: Armed) -> Plan:
    """A plan of the same events in other words."""
    return replace(armed.plan, events=tuple(replace(one, line=f"{one.line} x=1") for one in armed.plan.events))


def state(watch: Watch, armed: Armed) -> tuple[Mode, list[str]]:
    assert watch.session is not None
    return watch.session.probes.mode(armed), [text for _, text in watch.session.probes.triggers(armed)]


@pytest.mark.parametrize("mode", Mode)
def test_it_does_what_it_did_and_keeps_the_triggers_it_was_given(watch: Watch, mode: Mode) -> None:
    armed = watch.armed.arm(probe("vfs_read"), mode=mode)
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")
    watch.armed.add_trigger(armed, armed.plan.events[0], "traceoff")
    assert watch.session is not None
    watch.session.probes.remove_trigger(armed, armed.plan.events[0], "traceoff")
    again = watch.armed.rearm(armed, other(armed))
    assert watch.armed.probes == (again,)
    assert again.plan == other(armed) and again.key is armed.key
    assert state(watch, again) == (mode, ["stacktrace"])
    twice = watch.armed.rearm(again, armed.plan)
    assert state(watch, twice) == (mode, ["stacktrace"])


@pytest.mark.parametrize("error", [TargetUnusable("not here"), FileRefused("enable", errno.ENOMEM)])
@pytest.mark.parametrize("name", ["enable", "trigger", "dynamic_events"])
def test_where_it_is_refused_it_is_as_it_was(watch: Watch, target: Target, name: str, error: KernelError) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")
    faults = [error]

    def before(step: Step) -> None:
        if step.path.endswith(f"/{name}") and step.data[:1] in (b"1", b"s", b"f") and faults:
            raise faults.pop()

    target.before = before
    with pytest.raises(KernelError):
        watch.armed.rearm(armed, other(armed))
    assert not faults
    (back,) = watch.armed.probes
    assert back.plan == armed.plan
    assert state(watch, back) == (Mode.RECORD, ["stacktrace"])


def test_a_line_that_is_gone_is_not_asked_again(watch: Watch, target: Target) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    asked: list[Step] = []

    def before(step: Step) -> None:
        if step.path.endswith("dynamic_events") and step.data[:1] == b"f":
            asked.append(step)
            raise TargetLost("cut")

    target.before = before
    with pytest.raises(TargetLost):
        watch.armed.rearm(armed, other(armed))
    assert len(asked) == 1


def test_what_is_not_armed_any_more_is_not_armed_anew(watch: Watch) -> None:
    armed = watch.armed.arm(replace(probe("vfs_read"), filter="a == 1"))
    changed = watch.armed.change_filter(armed, "a == 2")
    with pytest.raises(TargetUnusable, match="not armed any more"):
        watch.armed.rearm(armed, other(armed))
    assert watch.armed.probes == (changed,)
