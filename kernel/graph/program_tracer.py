"""Trace calls with their return values by BPF programs, where the function_graph tracer records none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from btf.btf import Btf
from events.format import EventFormat, parse_format
from foreign.count_text import counted
from kernel.bpf.call_tracer import TracerPlan
from kernel.bpf.calls import BpfRefused
from kernel.bpf.task_set import pid_offset
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.session.session import Session
from kernel.session.start import open_session
from probes.attaching.entry_points import entry_points
from probes.bpf.registers import SAVED_REGISTERS
from probes.bpf.tracing.call_tracer import COOKIE, ENTRY, ENTRY_ID, EXIT, EXIT_ID, IS_RETURN, SIZE, SessionFunctions
from probes.bpf.tracing.traced_functions import traced_functions
from probes.functions.function_index import index_of
from probes.plans.graph_plan import GraphPlan


def tracing_obstacle(info: KernelInfo) -> str:
    """Return why programs can't trace calls on a kernel, as far as its types say; empty: they may."""
    facts = info.facts
    if info.btf is None:
        return "the kernel has no BTF"
    if facts.machine not in SAVED_REGISTERS or facts.byteorder != "little":
        return f"programs are not made for {facts.machine}"
    if _session_functions(info.btf) is None:
        return "BPF programs can't stand at both ends of functions (kprobe.session, Linux 6.10)"
    if not info.program_support.multi:
        return "BPF programs can't be attached to many functions (CONFIG_FPROBE)"
    return ""


class ProgramSource:
    """Source of sessions in which programs trace calls, and no probe is armed."""

    traces: ClassVar[bool] = True

    def __init__(self, info: KernelInfo, plan: GraphPlan) -> None:
        """Take a kernel, and what is traced: roots and tasks of a plan are looked at, and functions as a limit."""
        self.graph_plan: GraphPlan | None = plan
        self._info = info
        self._plan = plan
        self._session: Session | None = None
        self.formats: Mapping[int, EventFormat] = MappingProxyType(
            {
                number: parse_format(layout.format_text(name, number, SIZE), "ftrace")
                for name, number, layout in (("funcgraph_entry", ENTRY_ID, ENTRY), ("funcgraph_exit", EXIT_ID, EXIT))
            }
        )
        """Formats of entries and returns, by id."""
        self.note = ""
        """Number of functions that are traced, or will be once it runs, in a line; empty until they are known."""

    def open(self, limit_bytes: int) -> Session:
        """Start tracing. Raises TargetUnusable, TargetLost."""
        return self.reopen(limit_bytes, lambda _: None)

    def reopen(self, limit_bytes: int, ready: Callable[[Session], None]) -> Session:
        """Start tracing, in another session. Raises TargetUnusable, TargetLost."""
        plan = self._tracer_plan()
        self.note = f"BPF programs are being put on {counted(len(plan.inside), 'function')}"
        session = open_session(self._info.target, limit_bytes=limit_bytes)
        try:
            ready(session)
            tracer = session.add_tracer(plan)
        except BaseException as error:
            session.close()
            if isinstance(error, BpfRefused | FileRefused):
                raise TargetUnusable(f"{self._info.target.name}: {error}") from None
            raise
        self._session = session
        traced = len(plan.inside) - len(tracer.refused)
        self.note = f"BPF programs trace {counted(traced, 'function')} that may return an error"
        return session

    def pause(self) -> None:
        """Begin no more traces; a lost connection begins none."""
        if self._session is not None:
            with contextlib.suppress(KernelError):
                self._session.probes.programs.pause_tracer()

    def hold_programs(self) -> None:
        """Begin no traces until `limit_tasks`; those that have begun go on. Raises BpfRefused, TargetLost."""
        if self._session is not None:
            self._session.probes.programs.hold_tracer()

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Trace calls of some tasks and those that they make alone (thread ids); empty: of all tasks but ours.

        Raises BpfRefused, TargetLost.
        """
        if self._session is not None:
            self._session.probes.programs.limit_tracer(tasks)

    def _tracer_plan(self) -> TracerPlan:
        """Return the functions to trace. Raises TargetUnusable."""
        info, facts = self._info, self._info.facts
        btf, symbols = info.btf, info.symbols.current
        kfuncs = _session_functions(btf) if btf is not None else None
        if btf is None or kfuncs is None:
            raise TargetUnusable(f"{info.target.name}: {tracing_obstacle(info)}")
        if symbols is None:
            raise TargetUnusable(f"{info.target.name}: the kernel hides the addresses of its functions")
        roots = tuple(name for word in self._plan.roots for name in entry_points(word, facts))
        modules = index_of(facts).modules
        chosen = (
            frozenset(name for word in self._plan.functions for name in entry_points(word, facts)) or modules.keys()
        )
        lone = [*symbols.lone_functions(frozenset(chosen))]
        lone += [name for name in chosen if modules[name] and len(symbols.named(name)) == 1]
        inside = traced_functions(facts, btf, frozenset(roots), lone)
        registers, levels = SAVED_REGISTERS[facts.machine], self._plan.max_depth
        return TracerPlan(registers, roots, inside, kfuncs, pid_offset(btf), levels, self._plan.pids)


def _session_functions(btf: Btf) -> SessionFunctions | None:
    """Return the kfuncs of programs at both ends of functions; None: the kernel has none."""
    is_return, cookie = btf.function(IS_RETURN), btf.function(COOKIE)
    return SessionFunctions(is_return.id, cookie.id) if is_return is not None and cookie is not None else None
