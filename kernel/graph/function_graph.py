"""The function_graph tracer in a trace instance of its own, and the way back from what it changes elsewhere.

A tracer can't be changed while somebody reads the raw pages of its instance (tracing_set_tracer: EBUSY). So a graph
has an instance beside that of the probes, whose tracer is set before its pages are opened.

Four settings are of the whole kernel: set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh stand
at the top of tracefs only, and on kernels before 6.19 so do, in effect, the options of the tracer. They are changed
only while nobody else uses them, and put back as they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType

from events.format import EventFormat, FormatError, HeaderPage, parse_format
from events.subbuffer import events_in
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.graph.shared_settings import GlobalSettings, TracerOptions
from kernel.pump import Pump
from kernel.session.instance import make_instance, require_usable
from kernel.session.instance_settings import configure, leave_out
from kernel.session.session import Session
from kernel.session.trampoline_guard import refuse_second_start, started
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
"""First release of Linux with it, for people; and its switch, without CONFIG_."""


def support(target: Target, config: Mapping[str, str] = MappingProxyType({})) -> GraphSupport:
    """What the tracer can do there; nothing is changed. Raises TargetLost.

    Args:
        target: a kernel.
        config: its .config, `n` for what is not set (`kernel.facts.gather.read_config`); empty: not known.
    """
    facts = target.facts()
    if why := _missing(facts, config):
        return GraphSupport(why)
    tracefs = Tracefs(target, facts.tracefs)
    # Whether an instance may have it, only an instance can say; any that is there will do.
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
    can = {
        "args": "funcgraph-args" in options,
        "retval": "retval" in fields,
        "retaddr": "funcgraph-retaddr" in options,
    }
    found = frozenset(
        name for name in options if name.startswith("funcgraph-") or name in ("sleep-time", "graph-time")
    )
    return GraphSupport(
        "", found, **can, lacks={name: _lack(name, config) for name, there in can.items() if not there}
    )


def _missing(facts: TargetFacts, config: Mapping[str, str]) -> str:
    if not facts.tracefs:
        return "tracefs is not reachable"
    if TRACER in facts.tracers:
        return ""
    if not facts.tracers:
        return "tracefs does not say which tracers this kernel has"
    known = config.get("FUNCTION_GRAPH_TRACER") == "n"
    return f"CONFIG_FUNCTION_GRAPH_TRACER is not set in this kernel{'' if known else ': it has no function_graph'}"


def _lack(name: str, config: Mapping[str, str]) -> str:
    since, switch = _NEEDS[name]
    if config.get(switch) == "n":
        return f"CONFIG_{switch} is not set in this kernel"
    return f"Linux {since} or newer has it, with CONFIG_{switch}"


class GraphTracing:
    """A running tracer; made by `open_graph`. Close it, or use it in a with block."""

    def __init__(
        self, session: Session, plan: GraphPlan, found: GraphSupport, formats: Mapping[int, EventFormat]
    ) -> None:
        self.session = session
        """Its instance, with the pump that reads it."""
        self.plan = plan
        self.support = found
        self.formats = formats
        """By id, for `events.store.store.Store`."""

    def pause(self, paused: bool) -> None:
        """Record nothing for a while, or go on; the tracer stays. Raises FileRefused, TargetLost."""
        instance = self.session.instance
        self.session.target.perform(instance.write("tracing_on", "0" if paused else "1"))

    def close(self) -> list[UndoFailure]:
        """Stop, let the pump read what is in the buffers, and put everything back.

        Empty: nothing is left. Safe to call twice: a second call tries what failed in the first.
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
        plan: what to follow. What this kernel can't record is left out; `GraphTracing.support` says it.
        buffer_kb: size of the ring buffer of each CPU in KB; None: as the kernel makes it.
        limit_bytes: of sub-buffers that wait in our own queue.
        ready: called with the session just before anything is recorded.

    Raises:
        TargetUnusable: there is no such tracer for us, someone else uses what would have to be changed, or the kernel
            does not know a function; says which, and nothing is left.
        TargetLost: it went away meanwhile.
    """
    require_usable(target)
    facts = target.facts()
    if why := _missing(facts, {}):
        raise TargetUnusable(f"{target.name}: {why}")
    if not getattr(target, "gives_pages", True):  # the kernel prints a graph for people, not for programs
        raise TargetUnusable(
            f"{target.name}: a function graph needs the ring buffer's pages, and without Python on the far side they "
            "come as text",
            "install python3 there",
        )
    tracefs = Tracefs(target, facts.tracefs)
    undo = UndoList(target)
    pump: Pump | None = None
    try:
        instance = make_instance(target, tracefs, undo)
        target.hold(instance.file("tracing_on"))
        follows_forks = configure(target, instance, buffer_kb)
        target.perform(instance.write("tracing_on", "0"))
        found = _switch_on(target, tracefs, instance, undo, plan)
        pump = Pump(target.stream(instance.path), limit_bytes)
        header = HeaderPage.parse(instance.header_page(), facts.byteorder)
        pump.events_in = lambda chunk: events_in(chunk, header)
        session = Session(target, tracefs, instance, undo, pump, header)
        session.follows_forks = follows_forks
        ready(session)
        formats = _record(session, tracefs, undo, plan)
        return GraphTracing(session, plan, found, MappingProxyType(formats))
    except BaseException as error:
        if pump:
            pump.close()
        undo.run()
        if isinstance(error, FileRefused | FormatError):
            raise TargetUnusable(f"{target.name}: {error}", troubles=facts.troubles) from error
        raise


def _record(session: Session, tracefs: Tracefs, undo: UndoList, plan: GraphPlan) -> dict[int, EventFormat]:
    """Switch on what is recorded beside the calls, then recording; gives the formats of all of it."""
    target, instance = session.target, session.instance
    beside = _events_beside(target, instance, plan)
    formats = _formats(tracefs, [*(f"ftrace/{name}" for name in _RECORDS), *beside], session.header.long_size)
    for event in beside:
        undo.do(instance.enable(event, True), instance.enable(event, False))
    session.pump.start()
    leave_out(target, instance, append=False)
    _leave_out(target, instance)  # the stream may have brought processes of ours
    target.perform(instance.write("tracing_on", "1"))
    return formats


def _switch_on(target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList, plan: GraphPlan) -> GraphSupport:
    """Set everything, then the tracer: some of it is looked at only when it is switched on."""
    found = _support(target, tracefs, {}, _words(instance, "available_tracers"))
    if found.why_not:
        raise TargetUnusable(f"{target.name}: {found.why_not}")
    _leave_out(target, instance)
    _filter(target, instance, plan)
    TracerOptions(target, tracefs, instance, undo).set(_options(plan, found))
    GlobalSettings(target, tracefs, instance, undo).set(plan)
    refuse_second_start(target, tracefs)
    undo.do(instance.write("current_tracer", TRACER), instance.write("current_tracer", "nop"))
    started(target)
    return found


def _leave_out(target: Target, instance: Instance) -> None:
    """Keep our own processes and their children out of the graph: our reading would fill it."""
    pids = " ".join(map(str, target.our_pids()))
    with contextlib.suppress(FileRefused):
        target.perform(instance.write("trace_options", "function-fork"))
    if pids:
        with contextlib.suppress(FileRefused):
            target.perform(instance.write("set_ftrace_notrace_pid", pids))


def _filter(target: Target, instance: Instance, plan: GraphPlan) -> None:
    """What is of our instance and goes with it. Raises TargetUnusable, TargetLost."""
    for name, words in (("set_ftrace_filter", plan.traced), ("set_ftrace_notrace", plan.left_out)):
        for word in words:
            try:
                target.perform(instance.write(name, f"{word}\n", append=True))
            except FileRefused as error:
                raise TargetUnusable(f"{word}: the kernel traces no function of this name ({error})") from error
    pids = " ".join(map(str, plan.pids))
    for name in ("set_ftrace_pid", "set_event_pid") if pids else ():
        target.perform(instance.write(name, pids))


def _options(plan: GraphPlan, found: GraphSupport) -> dict[str, bool]:
    """What each option of the tracer has to be."""
    wanted = {
        "funcgraph-args": plan.args,
        "funcgraph-retaddr": plan.retaddr,
        "funcgraph-irqs": plan.irqs,
        "sleep-time": plan.sleep_time,
    }
    wanted |= {option.removeprefix("no"): not option.startswith("no") for option in plan.options}
    return {name: on for name, on in wanted.items() if name in found.options}


def _events_beside(target: Target, instance: Instance, plan: GraphPlan) -> list[str]:
    """Paths of the events between the calls."""
    found = [*_SWITCH] if plan.switches else []
    for system in _SYSTEMS if plan.interrupts and plan.vectors else _SYSTEMS[:1] if plan.interrupts else ():
        names = sorted(_names(target, instance.file(f"events/{system}")))
        found += [f"{system}/{name}" for name in names if _of_interrupts(system, name)]
    return found


def _of_interrupts(system: str, name: str) -> bool:
    if not name.endswith(("_entry", "_exit")):
        return False
    return system != "irq" or name.startswith(("irq_handler_", "softirq_"))


def _formats(tracefs: Tracefs, paths: Iterable[str], long_size: int = 8) -> dict[int, EventFormat]:
    """Formats by id; what a kernel has not is left out."""
    found: dict[int, EventFormat] = {}
    for path in paths:
        with contextlib.suppress(FileRefused, FormatError):
            fmt = parse_format(tracefs.read(f"events/{path}/format"), path.split("/")[0], long_size)
            if not path.startswith("ftrace/") or fmt.name in _RECORDS:
                found[fmt.id] = fmt
    return found


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
