"""How far one host is with what all of them are to have: what it was given, what it refused."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.host import Host, HostAnswer, HostState

OUT_OF_REACH = (HostState.UNREACHABLE, HostState.CUT, HostState.LOST)
"""Nothing can be asked of such a host, as of now; of one that refused something it can."""


class HostGoals(NamedTuple):
    """What every host is to have."""

    era: int
    """Another one each time everything is taken away: a worker sees that what it armed meanwhile has to go."""
    orders: tuple[ArmRequest, ...]


class HostWorker:
    """See the module; belongs to the worker that holds `lock`."""

    def __init__(self, era: int, refused: Iterable[int] = ()) -> None:
        """Take the era of what is wanted, and the places of orders that are not to be asked for."""
        self.lock = threading.Lock()
        self.era = era
        self.taken = 0
        """How many of the orders of its era the host was given."""
        self.refused = set(refused)
        """Places of the orders it does not take; they are not asked for again."""
        self.over = False
        """Another attempt stands in its place: it is given nothing more."""
        self.closed = False

    @classmethod
    def after(cls, before: HostWorker | None, wanted: HostGoals) -> HostWorker:
        """Of another attempt: what was refused is left out, but where nothing else was wanted."""
        refused = before.refused if before is not None and before.era == wanted.era else ()
        return cls(wanted.era, refused if len(refused) < len(wanted.orders) else ())

    def has_all(self, wanted: HostGoals) -> bool:
        """Whether the host was given all of it."""
        return self.era == wanted.era and self.taken >= len(wanted.orders)

    def has(self, order: ArmRequest, wanted: HostGoals, end: int | None = None) -> bool:
        """Whether the host has just this order, or will be asked for it, by one of the orders before place `end`."""
        refused = self.refused if self.era == wanted.era else ()
        return any(one == order and place not in refused for place, one in enumerate(wanted.orders[:end]))

    def step(self, host: Host, wanted: HostGoals) -> bool:
        """Have the host do one thing of it, with `lock` held; False: there is nothing to do."""
        if host.state in OUT_OF_REACH:
            return False
        if self.era != wanted.era:
            answer = HostAnswer.TAKEN
            try:
                answer = host.disarm()
            finally:
                if answer is not HostAnswer.NOT_NOW:
                    self.era, self.taken, self.refused = wanted.era, 0, set()
            return answer is not HostAnswer.NOT_NOW
        if self.has_all(wanted):
            return False
        answer = HostAnswer.TAKEN
        try:
            order = wanted.orders[self.taken]
            if self.taken not in self.refused and not self.has(order, wanted, self.taken):
                answer = host.arm(order)
            if answer is HostAnswer.REFUSED:
                self.refused.add(self.taken)
        finally:
            self.taken += answer is not HostAnswer.NOT_NOW
        return answer is not HostAnswer.NOT_NOW
