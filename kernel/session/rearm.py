"""A probe that was armed is armed anew, by another plan or in another session, with all that was told to it since."""

from __future__ import annotations

from typing import NamedTuple

from kernel.errors import KernelError, TargetLost
from kernel.session.arm_steps import Mode
from kernel.session.protocol import AnySession
from kernel.session.session import UNLIMITED, Armed
from probes.plans.plan import Plan


class ArmedState(NamedTuple):
    """What an armed probe has beside its plan."""

    key: object
    """It is the same probe then; see `Armed.key`."""
    mode: Mode
    triggers: tuple[tuple[int, str], ...]
    """Those that were given by hand, the oldest first: which of the plan's events, and the text."""


class Rearmed(NamedTuple):
    """What is there in its place."""

    armed: Armed
    refused: tuple[tuple[str, KernelError], ...]
    """Triggers that it could not be given any more."""


def told(session: AnySession, armed: Armed) -> ArmedState:
    """What a probe of a session was told, before it goes."""
    numbers = {event.path: number for number, event in enumerate(armed.plan.events)}
    triggers = tuple((numbers[event.path], text) for event, text in session.by_hand(armed) if event.path in numbers)
    return ArmedState(armed.key, session.mode(armed), triggers)


def arm_again(session: AnySession, plan: Plan, was: ArmedState) -> Rearmed:
    """Arm a plan as another one of as many events was. Raises what `arm` of a session raises.

    How fast it may be was asked when it was armed first.
    """
    fresh = session.arm(plan, UNLIMITED, was.mode, was.key)
    refused: list[tuple[str, KernelError]] = []
    for number, text in was.triggers:
        try:
            session.add_trigger(fresh, plan.events[number], text)
        except TargetLost:
            raise
        except KernelError as error:
            refused.append((text, error))
    return Rearmed(fresh, tuple(refused))
