"""Define the interface of a session, on a running kernel or on a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from events.batch import Batch
from events.format import EventFormat, HeaderPage
from events.loss_counts import LossCounts
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import Limits
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from probes.plans.plan import Plan, PlannedEvent


class AnyPump(Protocol):
    """Source of batches."""

    on_data: Callable[[], None]
    """Called from any thread when there is data to drain, at least once after a drain that returned none."""

    @property
    def done(self) -> bool:
        """True if no more data will arrive."""

    @property
    def is_quiet(self) -> bool:
        """True if the last read found nothing in the buffers, or no more data will arrive."""

    @property
    def error(self) -> KernelError | None:
        """Error because of which no more data will arrive."""

    def settle(self, *, patience: float = 0.0) -> bool:
        """Wait until everything in the buffers now can be drained; False: timeout.

        `patience`: more seconds for a remote host from which nothing comes.
        """

    def close(self) -> None:
        """Stop reading; queued batches stay."""

    def drain(self, most_bytes: float = ...) -> Sequence[Batch | Mapping[int, EventFormat]]:
        """Return the oldest queued batches, about `most_bytes` of them; a recording adds the formats valid from there
        on.
        """


class AnyProbes(Protocol):
    """Armed probes of a session, and all changes to them."""

    @property
    def armed(self) -> tuple[Armed, ...]: ...
    def arm(
        self,
        plan: Plan,
        limits: Limits = ...,
        mode: Mode = ...,
        key: object | None = ...,
        progress: ArmProgress | None = ...,
    ) -> Armed: ...
    def disarm(self, armed: Armed) -> list[UndoFailure]: ...
    def change_filters(self, armed: Armed, plan: Plan) -> Armed: ...
    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]: ...
    def mode(self, armed: Armed) -> Mode: ...
    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> Mapping[int, EventFormat]: ...
    def remove_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None: ...
    def triggers(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]: ...
    def by_hand(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]: ...


class AnySession(Protocol):
    """Methods of a session that `Watch` uses."""

    @property
    def group(self) -> str: ...
    @property
    def header(self) -> HeaderPage: ...
    @property
    def pump(self) -> AnyPump: ...
    @property
    def probes(self) -> AnyProbes: ...
    def resize(self, kb: int) -> int: ...
    @property
    def buffer_kb(self) -> int: ...
    def cmdlines(self) -> dict[int, str]: ...
    def counts(self) -> LossCounts: ...
    def close(self) -> list[UndoFailure]: ...
