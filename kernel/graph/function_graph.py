"""Run the function_graph tracer in a trace instance of its own, and restore the global settings it changes.

A tracer can't be changed while a process has the raw pages of its instance open (tracing_set_tracer: EBUSY). So a
graph has an instance beside that of the probes, whose tracer is set before its pages are opened.

Four settings are of the whole kernel: set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh exist
in the root of tracefs only, and on kernels before 6.19 so do, in effect, the options of the tracer. They are changed
only while nobody else uses them, and restored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType

from events.format import EventFormat, FormatError, parse_format
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.graph.shared_settings import GlobalSettings, TracerOptions
from kernel.guards.trampoline_guard import note_start, refuse_second_start
from kernel.session.instance import exclude_own_processes, require_usable
from kernel.session.session import Session
from kernel.session.start import new_instance
from kernel.target import Target
from kernel.tracefs import Instance, Tracefs
from probes.facts.facts import TargetFacts
from probes.plans.graph_plan import GraphPlan, GraphSupport

TRACER = "function_graph"
_ENTRIES = ("funcgraph_entry", "fgraph_retaddr_entry", "funcgraph_retaddr_entry")
_RECORDS = (*_ENTRIES, "funcgraph_exit")
_SWITCH = ("sched/sched_switch",)
_SYSTEMS = ("irq", "irq_vectors")
_NEEDS = {
    "args": ("6.15", "FUNCTION_TRACE_ARGS"),
    "retval": ("6.5", "FUNCTION_GRAPH_RETVAL"),
    "retaddr": ("6.13", "FUNCTION_GRAPH_RETADDR"),
}
"""First release of Linux with the feature, for users; and its configuration option, without CONFIG_."""


def support(target: Target, config: Mapping[str, str] = MappingProxyType({})) -> GraphSupport:
    """Return the abilities of the tracer on a target; changes no setting. Raises TargetLost.

    Args:
        target: a kernel.
        config: its .config, `n` for options that are not set (`kernel.facts.gather.read_config`); empty: unknown.
    """
    facts = target.facts()
    if reason := _missing_reason(facts, config):
        return GraphSupport(reason)
    tracefs = Tracefs(target, facts.tracefs)
    # Only an instance shows whether instances may have the tracer; any existing one will do.
    offers = [_words(tracefs.instance(name), "available_tracers") for name in tracefs.instances()[:1]]
    return _support(target, tracefs, config, offers[0] if offers else None)


def _support(
    target: Target, tracefs: Tracefs, config: Mapping[str, str], offered: Sequence[str] | None
) -> GraphSupport:
    if offered is not None and offered and TRACER not in offered:
        return GraphSupport(
            "this kernel runs function_graph only for the whole machine, not in an instance of its own "
            "(Linux 6.12 and newer can)"
        )
    options = _names(target, f"{tracefs.path}/options")
    formats = _formats(tracefs, [f"ftrace/{name}" for name in _RECORDS]).values()
    fields = {field for fmt in formats if fmt.name == "funcgraph_exit" for field in fmt.names}
    features = {
        "args": "funcgraph-args" in options,
        "retval": "retval" in fields,
        "retaddr": "funcgraph-retaddr" in options,
    }
    options_found = frozenset(
        name for name in options if name.startswith("funcgraph-") or name in ("sleep-time", "graph-time")
    )
    return GraphSupport(
        "",
        options_found,
        **features,
        missing={name: _missing_feature(name, config) for name, supported in features.items() if not supported},
    )


def _missing_reason(facts: TargetFacts, config: Mapping[str, str]) -> str:
    if not facts.tracefs:
        return "tracefs is not reachable"
    if TRACER in facts.tracers:
        return ""
    if not facts.tracers:
        return "tracefs does not say which tracers this kernel has"
    certain = config.get("FUNCTION_GRAPH_TRACER") == "n"
    return f"CONFIG_FUNCTION_GRAPH_TRACER is not set in this kernel{'' if certain else ': it has no function_graph'}"


def _missing_feature(name: str, config: Mapping[str, str]) -> str:
    since, switch = _NEEDS[name]
    if config.get(switch) == "n":
        return f"CONFIG_{switch} is not set in this kernel"
    return f"Linux {since} or newer has it, with CONFIG_{switch}"


class GraphTracing:
    """A running tracer; returned by `open_graph`. Close it, or use it in a with block."""

    def __init__(
        self, session: Session, plan: GraphPlan, support: GraphSupport, formats: Mapping[int, EventFormat]
    ) -> None:
        self.session = session
        """Session on its instance, with the pump that reads it."""
        self.plan = plan
        self.support = support
        self.formats = formats
        """Formats by id, for `events.store.store.Store`."""

    def pause(self, paused: bool) -> None:
        """Pause or resume recording; the tracer stays. Raises FileRefused, TargetLost."""
        instance = self.session.instance
        self.session.target.perform(instance.write("tracing_on", "0" if paused else "1"))

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Trace calls of some tasks and those that they make alone (thread ids); empty: of all tasks but ours.

        Those that our processes have made since are no longer excluded, as function-fork has it.
        Raises TargetUnusable, TargetLost.
        """
        target, instance = self.session.target, self.session.instance
        try:
            _exclude_own_processes(target, instance)
            _set_tasks(target, instance, ("set_ftrace_pid",), tasks)
        except FileRefused as error:
            raise TargetUnusable(f"{target.name}: calls can't be limited to a command ({error})") from None

    def close(self) -> list[UndoFailure]:
        """Stop, let the pump read the present content of the buffers, and restore all settings.

        Returns the failed undo steps; empty: none is left. Safe to call twice: a second call tries the failed ones.
        """
        with contextlib.suppress(KernelError):
            self.pause(True)
            self.session.pump.settle()
        return self.session.close()

    def __enter__(self) -> GraphTracing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_graph(
    target: Target,
    plan: GraphPlan,
    *,
    buffer_kb: int | None = None,
    limit_bytes: int = 64 << 20,
    ready: Callable[[Session], None] = lambda _: None,
) -> GraphTracing:
    """Start the tracer in an instance of its own, and read it.

    Args:
        target: a kernel.
        plan: calls to follow. Parts that this kernel can't record are left out; see `GraphTracing.support`.
        buffer_kb: size of the ring buffer of each CPU in KB; None: the kernel's default.
        limit_bytes: most bytes of sub-buffers that wait in our own queue.
        ready: called with the session just before recording starts.

    Raises:
        TargetUnusable: the tracer is not available, someone else uses a setting that would have to change, or the
            kernel does not know a function; names it, and leaves no effects.
        TargetLost: the connection was lost meanwhile.
    """
    require_usable(target)
    if reason := _missing_reason(target.facts(), {}):
        raise TargetUnusable(f"{target.name}: {reason}")
    if not getattr(target, "gives_pages", True):  # the kernel prints a graph for people, not for programs
        raise TargetUnusable(
            f"{target.name}: a function graph needs ring-buffer pages; without Python there they come as text",
            "install python3 there",
        )
    with new_instance(target, buffer_kb) as made:
        target.perform(made.instance.write("tracing_on", "0"))
        tracer_support = _start_tracer(target, made.tracefs, made.instance, made.undo, plan)
        session = made.session(limit_bytes)
        ready(session)
        formats = _record(session, made.tracefs, made.undo, plan)
        return GraphTracing(session, plan, tracer_support, MappingProxyType(formats))


def _record(session: Session, tracefs: Tracefs, undo: UndoList, plan: GraphPlan) -> dict[int, EventFormat]:
    """Enable the events recorded beside the calls, then recording; return the formats of all of them."""
    target, instance = session.target, session.instance
    beside = _events_beside(target, instance, plan)
    formats = _formats(tracefs, [*(f"ftrace/{name}" for name in _RECORDS), *beside], session.header.long_size)
    for event in beside:
        undo.do(instance.enable(event, True), instance.enable(event, False))
    session.pump.start()
    exclude_own_processes(target, instance, append=False)
    _exclude_own_processes(target, instance)  # the stream may have started processes of ours
    target.perform(instance.write("tracing_on", "1"))
    return formats


def _start_tracer(
    target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList, plan: GraphPlan
) -> GraphSupport:
    """Set everything, then the tracer: some settings are read only when it starts."""
    tracer_support = _support(target, tracefs, {}, _words(instance, "available_tracers"))
    if tracer_support.why_not:
        raise TargetUnusable(f"{target.name}: {tracer_support.why_not}")
    _exclude_own_processes(target, instance)
    _set_filters(target, instance, plan)
    TracerOptions(target, tracefs, instance, undo).set(_options(plan, tracer_support))
    GlobalSettings(target, tracefs, instance, undo).set(plan)
    refuse_second_start(target, tracefs)
    undo.do(instance.write("current_tracer", TRACER), instance.write("current_tracer", "nop"))
    note_start(target)
    return tracer_support


def _exclude_own_processes(target: Target, instance: Instance) -> None:
    """Exclude our own processes and their children from the graph: our reading would fill it."""
    pids = " ".join(map(str, target.our_pids()))
    with contextlib.suppress(FileRefused):
        target.perform(instance.write("trace_options", "function-fork"))
    if pids:
        with contextlib.suppress(FileRefused):
            target.perform(instance.write("set_ftrace_notrace_pid", pids))


def _set_filters(target: Target, instance: Instance, plan: GraphPlan) -> None:
    """Set the filters of our instance, which disappear with it. Raises TargetUnusable, TargetLost."""
    for name, words in (("set_ftrace_filter", plan.traced), ("set_ftrace_notrace", plan.left_out)):
        for word in words:
            try:
                target.perform(instance.write(name, f"{word}\n", append=True))
            except FileRefused as error:
                raise TargetUnusable(f"{word}: the kernel traces no function of this name ({error})") from error
    if plan.pids:
        _set_tasks(target, instance, ("set_ftrace_pid", "set_event_pid"), plan.pids)


def _set_tasks(target: Target, instance: Instance, files: Iterable[str], tasks: Sequence[int]) -> None:
    """Write thread ids to files of our instance; empty: none. Raises FileRefused, TargetLost."""
    for name in files:
        target.perform(instance.write(name, " ".join(map(str, tasks))))


def _options(plan: GraphPlan, support: GraphSupport) -> dict[str, bool]:
    """Return the required value of each option of the tracer."""
    wanted = {
        "funcgraph-args": plan.args,
        "funcgraph-retaddr": plan.retaddr,
        "funcgraph-irqs": plan.irqs,
        "sleep-time": plan.sleep_time,
    }
    wanted |= {option.removeprefix("no"): not option.startswith("no") for option in plan.options}
    return {name: on for name, on in wanted.items() if name in support.options}


def _events_beside(target: Target, instance: Instance, plan: GraphPlan) -> list[str]:
    """Return the paths of the events to be recorded beside the calls."""
    paths = [*_SWITCH] if plan.switches else []
    for system in _SYSTEMS if plan.interrupts and plan.vectors else _SYSTEMS[:1] if plan.interrupts else ():
        names = sorted(_names(target, instance.file(f"events/{system}")))
        paths += [f"{system}/{name}" for name in names if _is_interrupt_event(system, name)]
    return paths


def _is_interrupt_event(system: str, name: str) -> bool:
    if not name.endswith(("_entry", "_exit")):
        return False
    return system != "irq" or name.startswith(("irq_handler_", "softirq_"))


def _formats(tracefs: Tracefs, paths: Iterable[str], long_size: int = 8) -> dict[int, EventFormat]:
    """Return formats by id; events that a kernel lacks are left out."""
    formats: dict[int, EventFormat] = {}
    for path in paths:
        with contextlib.suppress(FileRefused, FormatError):
            fmt = parse_format(tracefs.read(f"events/{path}/format"), path.split("/")[0], long_size)
            if not path.startswith("ftrace/") or fmt.name in _RECORDS:
                formats[fmt.id] = fmt
    return formats


def _words(instance: Instance, name: str) -> list[str]:
    try:
        return instance.read(name).split()
    except FileRefused:
        return []


def _names(target: Target, folder: str) -> frozenset[str]:
    try:
        return frozenset(target.list(folder))
    except FileRefused:
        return frozenset()
