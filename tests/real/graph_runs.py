"""The function_graph tracer on a live kernel: its pages by the ordinary way, and its own text of the very same."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from btf.btf import Btf
from events.batch import Batch
from events.decode import Decoder
from events.graph.arguments import ArgumentTypes
from events.graph.call_ends import GraphEnds
from events.graph.decode import read_graph_ends
from events.names.kallsyms import Symbols
from events.store.store import Store
from kernel.errors import FileRefused
from kernel.graph.function_graph import GraphTracing, open_graph
from kernel.lab.guest import Guest
from kernel.pump import Pump
from kernel.target import Target
from probes.plans.graph_plan import GraphPlan
from tests.graph_style import GraphStyle, headers, style_of
from tests.graph_text import GraphPrinter, Names

WORK = "for i in 1 2; do cat /proc/version /nonexistent 2>/dev/null; ls /proc/self >/dev/null; sleep 0.01; done"
TRACING = "/sys/kernel/tracing"
_GLOBAL = ("set_graph_function", "set_graph_notrace", "max_graph_depth", "tracing_thresh", "trace_options")


@dataclass(frozen=True)
class Run:
    """What came of one plan."""

    plan: GraphPlan
    formats: dict[int, str]
    """Sources by id; `system/name` before each."""
    batches: list[Batch]
    text: str
    """The file `trace`."""
    options: frozenset[str]
    cmdlines: dict[int, str]
    header: str
    """events/header_page."""
    store: Store
    ends: GraphEnds
    style: GraphStyle

    def printed(self, symbols: Symbols, types: ArgumentTypes | None) -> list[str]:
        """Our text."""
        names = Names(symbols, self.store.task_names.name, self.store.record, types)
        return [*headers(self.style), *GraphPrinter(self.style, names).text(self.ends)]


def run(guest: Guest, target: Target, plan: GraphPlan, work: str = WORK) -> Run:
    """Trace some work; nobody reads the buffer meanwhile, so that the kernel can print what we read afterwards."""
    with open_graph(target, plan, buffer_kb=16384) as tracing:
        tracing.session.pump.close()
        subprocess.run([*guest.ssh_command, work], check=True, capture_output=True)
        tracing.pause(True)
        return _taken(target, tracing)


def _taken(target: Target, tracing: GraphTracing) -> Run:
    instance = tracing.session.instance
    text = instance.text()
    pump = Pump(target.stream(instance.path), 1 << 30)
    pump.start()
    tracing.pause(True)  # whatever is performed makes a stream ask the remote host before it says that all was read
    assert pump.settle(60)
    assert pump.error is None
    pump.close()
    batches = pump.drain()
    store = Store(Decoder(tracing.formats, tracing.session.header), 1 << 30)
    store.feed(*batches)
    store.flush()
    store.task_names.known = tracing.session.cmdlines()
    options = instance.options()
    return Run(
        tracing.plan,
        {number: f"{fmt.path}\n{fmt.source}" for number, fmt in tracing.formats.items()},
        batches,
        text,
        options,
        dict(store.task_names.known),
        tracing.session.header.source,
        store,
        read_graph_ends(store, store.first_seq, store.next_seq),
        style_of(options, tracing.formats.values()),
    )


def settings_of(target: Target) -> dict[str, object]:
    """What belongs to the whole kernel, and who is there."""
    found: dict[str, object] = {}
    for name in (*_GLOBAL, *(f"options/{option}" for option in target.list(f"{TRACING}/options"))):
        try:
            found[name] = target.read(f"{TRACING}/{name}")
        except FileRefused as error:
            found[name] = error.errno
    found["instances"] = target.list(f"{TRACING}/instances")
    return found


def names_of(target: Target) -> tuple[Symbols, ArgumentTypes]:
    """Of the kernel and its modules."""
    kernel = Btf.load(target.btf())
    modules = [name for name in target.list("/sys/kernel/btf") if name != "vmlinux"]
    types = ArgumentTypes(kernel, [Btf.load(target.btf(name), base=kernel) for name in modules])
    return Symbols(target.read("/proc/kallsyms")), types
