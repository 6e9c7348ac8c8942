"""A session: probes armed in a trace instance of its own, and the way back from each step.

Group `pw_<owner>` and instance `probewright-<owner>` carry the owner's name, so that what a dead session left can be
told from what a living one holds (`kernel.cleanup.leftovers`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from events.format import HeaderPage
from events.loss_counts import LossCounts
from kernel.bpf.call_tracer import LoadedTracer, TracerPlan
from kernel.bpf.ring_stream import ConvertedStream
from kernel.bpf.task_set import TaskSet, pid_offset, task_functions
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.guards.loss_counts import LossCounter
from kernel.pump import Pump
from kernel.session.armed_probes import ArmedProbes
from kernel.session.armed_programs import ArmedPrograms
from kernel.session.instance import exclude_own_processes
from kernel.session.pause_tracing import TracingPause
from kernel.session.session_probes import SessionProbes
from kernel.target import Target
from kernel.tracefs import Instance, Tracefs
from probes.bpf.registers import SAVED_REGISTERS
from probes.remedies import BY_TRACEFS

if TYPE_CHECKING:
    from btf.btf import Btf


class Session:
    """Made by `open_session`; close it, or use it in a with block. Calls may come from any thread."""

    def __init__(
        self,
        target: Target,
        tracefs: Tracefs,
        instance: Instance,
        undo: UndoList,
        pump: Pump,
        stream: ConvertedStream,
        header: HeaderPage,
    ) -> None:
        self.target = target
        self.instance = instance
        self.pump = pump
        """Bytes of all CPUs; runs from the start."""
        self.group = GROUP_PREFIX + instance.path.rpartition(INSTANCE_PREFIX)[2]
        """Group of all events of this session, for `probes.lowering.lower`."""
        self.header = header
        """Layout of the sub-buffers."""
        losses = LossCounter(tracefs, instance)
        self.pause = TracingPause(target, instance, pump, losses)
        """Pause of the instance around operations that empty the buffer."""
        events = ArmedProbes(tracefs, instance, self.pause, losses, header.long_size, stream.released)
        self.probes = SessionProbes(events, ArmedPrograms(target, stream, pump.settle))
        """Armed probes, and all changes to them."""
        self._tracefs = tracefs
        self._undo = undo
        self._stream = stream

    def resize(self, kb: int) -> int:
        """Make the ring buffer of each CPU so large, in KB; gives the size it had.

        To grow loses nothing of what is in it; to shrink loses what has no room (ring_buffer_resize). It goes with
        the instance. Raises FileRefused (no memory: it stays as it was), TargetLost.
        """
        with self.probes.lock:
            before = self.buffer_kb
            self.target.perform(self.instance.write("buffer_size_kb", str(kb)))
            return before

    @property
    def buffer_kb(self) -> int:
        """KB of the ring buffer of each CPU. Raises FileRefused, TargetLost."""
        # `7 (expanded: 1408)` before the first event; `X` where CPUs differ.
        numbers = re.findall(r"\d{1,18}", self.instance.read("buffer_size_kb"))
        return int(numbers[-1]) if numbers else 0

    def add_tracer(self, plan: TracerPlan) -> LoadedTracer:
        """Trace calls by BPF programs, until the session ends. Raises BpfRefused, FileRefused, TargetLost."""
        with self.probes.lock:
            return self.probes.programs.add_tracer(partial(LoadedTracer, self.target, plan))

    def limit_tasks(self, tasks: Sequence[int], btf: Btf | None) -> None:
        """Record some tasks and those that they make alone (thread ids), until it is called again; empty: all tasks
        but ours. Those that our processes have made since are no longer excluded, as event-fork has it.

        Probes with programs get other programs, under the same keys. Hist triggers and the counts of events are of
        all tasks (`__trace_trigger_soft_disabled`, kernel/trace/trace_events_trigger.c). Raises TargetUnusable,
        ProbeRefused, BpfRefused: the kernel can't, and all tasks are recorded; FileRefused, TargetLost.
        """
        with self.probes.lock:
            if tasks and not self.probes.events.follows_forks:
                raise TargetUnusable(f"{self.target.name}: the kernel does not follow forks (option event-fork)")
            make = partial(_task_set, self.target, btf, tuple(tasks)) if tasks else None
            self.probes.programs.limit_tasks(make)
            try:
                self.target.perform(self.instance.write("set_event_pid", " ".join(map(str, tasks))))
            except FileRefused as error:
                self.probes.programs.limit_tasks(None)
                raise TargetUnusable(f"{self.target.name}: events can't be limited to a command ({error})") from None
            exclude_own_processes(self.target, self.instance, append=False)

    def hold_programs(self, btf: Btf | None) -> None:
        """Have programs record no task until `limit_tasks`: they, unlike `set_event_notrace_pid` with event-fork, do
        not exclude a process that ours make meanwhile.

        Raises TargetUnusable, ProbeRefused, BpfRefused: the kernel can't, and all tasks are recorded; TargetLost.
        """
        with self.probes.lock:
            self.probes.programs.limit_tasks(partial(_task_set, self.target, btf, ()))

    def cmdlines(self) -> dict[int, str]:
        """Return the names of tasks by thread id, as far as the kernel remembers them, and those that programs have
        recorded. Raises FileRefused, TargetLost.
        """
        return {**self._tracefs.saved_cmdlines(), **self._stream.comms}

    def counts(self) -> LossCounts:
        """Return the losses since the session began. Raises TargetLost."""
        return self.probes.counts(self.pump)

    def close(self) -> list[UndoFailure]:
        """Disarm everything and remove the instance; every step is tried. Empty: nothing is left.

        Safe to call twice: a second call tries what failed in the first.
        """
        with self.probes.lock:
            failures = self.probes.close()
            # An open trace_pipe_raw keeps the instance as a held file does.
            self.pump.close()
            return failures + self._undo.run()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _task_set(target: Target, btf: Btf | None, tasks: tuple[int, ...]) -> TaskSet:
    """Return the tasks that programs record. Raises TargetUnusable, BpfRefused, FileRefused, TargetLost."""
    registers = SAVED_REGISTERS.get(target.facts().machine)
    if btf is None or registers is None:
        raise TargetUnusable(f"{target.name}: BPF programs can't be limited to a command there", BY_TRACEFS)
    return TaskSet(target, registers, pid_offset(btf), tasks, task_functions(btf))
