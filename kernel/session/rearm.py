"""Arm a probe again, by another plan or in another session, with its mode, filter and triggers as changed since."""

from __future__ import annotations

from typing import NamedTuple

from kernel.errors import KernelError, TargetLost
from kernel.guards.limits import UNLIMITED
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.protocol import AnySession
from probes.plans.plan import Plan


class ArmedState(NamedTuple):
    """State of an armed probe besides its plan."""

    key: object
    """Key of the probe (`Armed.key`), the same after rearming."""
    mode: Mode
    triggers: tuple[tuple[int, str], ...]
    """Triggers added by hand, the oldest first: index of the plan's event, and text."""


class Rearmed(NamedTuple):
    """Result of arming a probe again."""

    armed: Armed
    rejected_triggers: tuple[tuple[str, KernelError], ...]
    """Triggers that it could not be given any more."""


def armed_state(session: AnySession, armed: Armed) -> ArmedState:
    """Return the state of a probe of a session, before the probe goes."""
    numbers = {event.path: number for number, event in enumerate(armed.plan.events)}
    triggers = tuple(
        (numbers[event.path], text) for event, text in session.probes.by_hand(armed) if event.path in numbers
    )
    return ArmedState(armed.key, session.probes.mode(armed), triggers)


def arm_again(session: AnySession, plan: Plan, was: ArmedState) -> Rearmed:
    """Arm a plan as another one of as many events was. Raises what `arm` of a session raises.

    How fast it may be was asked when it was armed first.
    """
    fresh = session.probes.arm(plan, UNLIMITED, was.mode, was.key)
    refused: list[tuple[str, KernelError]] = []
    for number, text in was.triggers:
        try:
            session.probes.add_trigger(fresh, plan.events[number], text)
        except TargetLost:
            raise
        except KernelError as error:
            refused.append((text, error))
    return Rearmed(fresh, tuple(refused))
