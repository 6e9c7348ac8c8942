"""Track the progress of one host through the requests for all hosts: those armed, those rejected."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.host import Host, HostAnswer, HostState

UNREACHABLE_STATES = (HostState.UNREACHABLE, HostState.CUT, HostState.LOST)
"""States in which a host can't be asked; a host that rejected a request can."""


class HostGoals(NamedTuple):
    """Requests to be armed on every host."""

    era: int
    """Number that changes each time everything is disarmed: a worker sees that its probes armed meanwhile have to
    go.
    """
    orders: tuple[ArmRequest, ...]


class HostWorker:
    """Progress of one host (see the module); belongs to the worker that holds `lock`."""

    def __init__(self, era: int, rejected_requests: Iterable[int] = ()) -> None:
        """Start in an era of the goals; `refused`: places of requests to leave out."""
        self.lock = threading.Lock()
        self.era = era
        self.passed_requests = 0
        """Number of requests of its era that were passed to the host."""
        self.rejected_requests = set(rejected_requests)
        """Places of the requests that the host rejected; not repeated."""
        self.over = False
        """True: the host is replaced by another attempt, and gets no more requests."""
        self.closed = False

    @classmethod
    def after(cls, before: HostWorker | None, goals: HostGoals) -> HostWorker:
        """Return a worker for another attempt; rejected requests are left out, unless all were rejected."""
        refused = before.rejected_requests if before is not None and before.era == goals.era else ()
        return cls(goals.era, refused if len(refused) < len(goals.orders) else ())

    def has_all(self, goals: HostGoals) -> bool:
        """Return whether all requests were passed to the host."""
        return self.era == goals.era and self.passed_requests >= len(goals.orders)

    def has(self, request: ArmRequest, goals: HostGoals, end: int | None = None) -> bool:
        """Return whether the host has an equal request, or will get it from one of the requests before place
        `end`.
        """
        refused = self.rejected_requests if self.era == goals.era else ()
        return any(other == request and place not in refused for place, other in enumerate(goals.orders[:end]))

    def step(self, host: Host, goals: HostGoals) -> bool:
        """Carry out the next step on the host, with `lock` held; False: there is none."""
        if host.state in UNREACHABLE_STATES:
            return False
        if self.era != goals.era:
            answer = HostAnswer.TAKEN
            try:
                answer = host.disarm()
            finally:
                if answer is not HostAnswer.NOT_NOW:
                    self.era, self.passed_requests, self.rejected_requests = goals.era, 0, set()
            return answer is not HostAnswer.NOT_NOW
        if self.has_all(goals):
            return False
        answer = HostAnswer.TAKEN
        try:
            request = goals.orders[self.passed_requests]
            if self.passed_requests not in self.rejected_requests and not self.has(
                request, goals, self.passed_requests
            ):
                answer = host.arm(request)
            if answer is HostAnswer.REFUSED:
                self.rejected_requests.add(self.passed_requests)
        finally:
            self.passed_requests += answer is not HostAnswer.NOT_NOW
        return answer is not HostAnswer.NOT_NOW
