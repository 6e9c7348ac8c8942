"""Choose the armed probes that a key acts on, by the event under the cursor. Pure: the screen asks and notifies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.stacks.events_beside import EVENTS_BESIDE
from events.store.outage_mark import OUTAGE_EVENT

if TYPE_CHECKING:
    from kernel.session.armed import Armed

EVENTS_OF_NO_PROBE: Final = EVENTS_BESIDE | {OUTAGE_EVENT}
"""Stacks, lines of a command and marks of an outage, which stand among the events of probes."""


class ProbeChoice(NamedTuple):
    """The probes that a key may be about: one, several to choose from, or none and the reason."""

    probes: tuple[Armed, ...]
    reason: str = ""


def probes_of_event(armed: Sequence[Armed], event: str) -> ProbeChoice:
    """Return the probes that make an event; all of them where it is of no certain probe.

    Args:
        armed: the probes of the watch.
        event: path of the event under the cursor, `group/name`; empty: there is none.
    """
    if not armed:
        return ProbeChoice((), "nothing is armed")
    found = tuple(one for one in armed if not event or any(planned.path == event for planned in one.plan.events))
    if event and not found and event not in EVENTS_OF_NO_PROBE:
        return ProbeChoice((), "the probe of this event is disarmed already")
    return ProbeChoice(found or tuple(armed))
