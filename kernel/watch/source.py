"""Open the session of a watch: of armed probes here, of the function_graph tracer in `kernel.graph.watch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol

from events.format import EventFormat
from kernel.recording.plans import recorded_graph
from kernel.recording.replay import ReplaySession
from kernel.session import start
from kernel.session.protocol import AnySession
from kernel.session.session import Session
from kernel.target import Target

if TYPE_CHECKING:
    from probes.plans.graph_plan import GraphPlan


class SessionSource(Protocol):
    """Source of the sessions of one watch."""

    @property
    def traces(self) -> bool:
        """True: the session records something besides its probes."""

    graph_plan: GraphPlan | None
    """Plan of the function_graph tracer, or of the recorded one; None: no tracer ran, or its plan is unknown."""

    @property
    def formats(self) -> Mapping[int, EventFormat]:
        """Formats of the events that the newest session records besides those of its probes, by id."""

    def open(self, limit_bytes: int) -> AnySession:
        """Open a session in which `limit_bytes` of events may wait. Raises TargetUnusable, TargetLost."""

    def reopen(self, limit_bytes: int, ready: Callable[[Session], None]) -> Session:
        """Open a session in place of a disconnected one. Raises TargetUnusable, TargetLost.

        `ready` is called with it when everything is there that it records by itself, and is about to be switched on.
        """

    def pause(self) -> None:
        """Stop recording what the session records besides its probes. Raises FileRefused, TargetLost."""

    def hold_programs(self) -> None:
        """Have programs that the session loads besides those of its probes begin no traces until `limit_tasks`.

        Raises BpfRefused, TargetLost.
        """

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Record of some tasks and those that they make alone (thread ids) what the session records besides its
        probes; empty: of all tasks but ours. Raises TargetUnusable, BpfRefused, TargetLost.
        """


class ProbeSource:
    """Source of sessions that record armed probes only; on a recording, of its replay."""

    traces: ClassVar[bool] = False
    formats: Mapping[int, EventFormat] = MappingProxyType({})

    def __init__(self, target: Target) -> None:
        self._target = target
        self.graph_plan = recorded_graph(target)

    def open(self, limit_bytes: int) -> AnySession:
        """Open a session. Raises TargetUnusable, TargetLost."""
        if self._target.recording is not None:
            return ReplaySession(self._target.recording)
        return start.open_session(self._target, limit_bytes=limit_bytes)

    def reopen(self, limit_bytes: int, ready: Callable[[Session], None]) -> Session:  # noqa: ARG002 - nothing is on yet
        """Open a session in place of a disconnected one. Raises TargetUnusable, TargetLost."""
        return start.open_session(self._target, limit_bytes=limit_bytes)

    def pause(self) -> None:
        """Return without effect, as only probes record."""

    def hold_programs(self) -> None:
        """Return without effect, as only probes record."""

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Return without effect, as only probes record."""
