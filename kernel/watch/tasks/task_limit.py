"""Record only some tasks of a target, as those of a command, and what they start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from events.batch import PROBE_CHANGED
from kernel.connection.planner import Planner
from kernel.errors import KernelError
from kernel.session.session import Session
from kernel.watch.session_queue import SessionQueue


class TaskLimit:
    """Tasks whose events a watch records."""

    def __init__(self, planner: Planner, queue: SessionQueue) -> None:
        self._planner = planner
        self._queue = queue

    def set(self, tasks: Sequence[int]) -> None:
        """Record some tasks and those that they make alone (thread ids), until it is called again; empty: all tasks
        but ours. Those that our processes have made since, as a command, are no longer excluded.

        Raises TargetUnusable, ProbeRefused, BpfRefused: the kernel can't, and all tasks are recorded; TargetLost.
        """
        with self._changing() as session:
            if session is not None:
                session.limit_tasks(tasks, self._planner.info.btf)
                self._limit_source(session, tasks)

    def hold_programs(self) -> None:
        """Have BPF programs record nothing until `set`, as while a process of ours is made that they do not exclude.

        Raises as `set` does.
        """
        with self._changing() as session:
            if session is not None:
                session.hold_programs(self._planner.info.btf)
                self._queue.source.hold_programs()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Session | None]:
        """Mark in the queue where other tasks are recorded from now on; None: it is a recording."""
        queue = self._queue
        with queue.changes():
            session = queue.open()
            if not isinstance(session, Session):
                yield None
                return
            queue.read_all(session)  # what was recorded of other tasks comes before the mark
            before = session.probes.armed
            if before or queue.source.traces:
                # A call whose entry was recorded under the one limit has no exit under the other.
                queue.entries.append(PROBE_CHANGED)
            try:
                yield session
            finally:  # programs that were exchanged have other ids, also where another one was refused
                queue.entries += [one for one in session.probes.armed if one not in before]

    def _limit_source(self, session: Session, tasks: Sequence[int]) -> None:
        """Limit what the session records besides its probes, likewise."""
        try:
            self._queue.source.limit_tasks(tasks)
        except KernelError:
            if tasks:
                with contextlib.suppress(KernelError):
                    self._queue.source.limit_tasks(())
                session.limit_tasks((), self._planner.info.btf)
            raise
