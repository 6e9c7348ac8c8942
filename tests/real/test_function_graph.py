"""The function_graph tracer on real kernels: every line equals the kernel's, and nothing of ours stays behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from events.graph.arguments import ArgumentTypes
from events.graph.call_ends import EndKind
from events.names.kallsyms import Symbols
from kernel.errors import FileRefused, TargetUnusable
from kernel.graph.function_graph import open_graph, support
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from probes.plans.graph_plan import GraphPlan
from tests.real.graph_runs import TRACING, names_of, run, settings_of

ROOTS = ("do_sys_openat2", "vfs_read", "vfs_statx", "do_sys_poll")
FUNCTIONS = ("vfs_*", "do_*", "*path*")
"""For plans that need no more: an emulated processor takes ten seconds to begin and end tracing all functions."""
PLANS = {
    "plain": GraphPlan(roots=ROOTS, functions=FUNCTIONS, max_depth=6, args=False, irqs=False),
    "all": GraphPlan(
        roots=ROOTS,
        functions=(*FUNCTIONS, "*read*", "*copy*", "*seq*"),
        max_depth=5,
        retaddr=True,
        switches=True,
        interrupts=True,
        options=("funcgraph-retval", "funcgraph-proc", "funcgraph-abstime", "funcgraph-tail", "funcgraph-overrun"),
    ),
    "hex": GraphPlan(
        functions=("vfs_*", "ksys_*", "do_sys_openat2"),
        args=True,
        retaddr=True,
        options=("funcgraph-retval", "funcgraph-retval-hex", "nofuncgraph-cpu", "nofuncgraph-overhead"),
    ),
    "slow": GraphPlan(roots=ROOTS, functions=FUNCTIONS, threshold_us=50, options=("funcgraph-retval",)),
}


class Kernel(NamedTuple):
    """A guest as a target, and its names."""

    guest: Guest
    target: RemoteTarget
    symbols: Symbols
    types: ArgumentTypes


@pytest.fixture(scope="module")
def kernel(guest: Guest) -> Iterator[Kernel]:
    target = connect(guest, "guest")
    try:
        yield Kernel(guest, target, *names_of(target))
    finally:
        target.close()


def on(*kernels: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guest", kernels, indirect=True, scope="module")


@on("6.12", "7.2")
@pytest.mark.parametrize("name", PLANS)
def test_text_is_the_kernels(kernel: Kernel, name: str) -> None:
    compare(kernel, name)


@on("full")
def test_arguments_values_and_callers_together(kernel: Kernel) -> None:
    """Twice: alone, a tracer that is switched on again takes this kernel down; its guest keeps one on."""
    found = support(kernel.target)
    assert found.args
    assert found.retval
    assert found.retaddr
    assert not found.missing
    compare(kernel, "all")
    compare(kernel, "hex")


def compare(kernel: Kernel, name: str) -> None:
    before = settings_of(kernel.target)
    found = support(kernel.target)
    assert found.usable
    taken = run(kernel.guest, kernel.target, PLANS[name])
    assert settings_of(kernel.target) == before
    printed, expected = taken.printed(kernel.symbols, kernel.types), taken.text.splitlines()
    assert len(printed) > 50
    wrong = [pair for pair in zip(printed, expected, strict=False) if pair[0] != pair[1]]
    passes = [(batch.drained, [(chunk.cpu, len(chunk.data)) for chunk in batch.chunks]) for batch in taken.batches]
    assert not wrong, f"{len(wrong)} of {len(expected)} lines, {len(printed)} of ours: {wrong[:5]} {passes}"
    assert len(printed) == len(expected)
    kinds = np.bincount(taken.ends.kind, minlength=len(EndKind))
    assert kinds[EndKind.EXIT] > 20
    assert (kinds[EndKind.ENTRY] > 0) == (not PLANS[name].threshold_us)
    assert bool(taken.ends.arguments.any()) == (found.args and PLANS[name].args and not PLANS[name].threshold_us)
    assert bool(taken.ends.has_retval.any()) == found.retval
    assert bool(taken.ends.retaddr.any()) == (found.retaddr and PLANS[name].retaddr and name != "slow")
    if name == "all":
        assert kinds[EndKind.SWITCH] > 0
        assert kinds[EndKind.IRQ_ENTRY] > 0
    if name == "slow":
        assert taken.ends.durations.min() >= 50_000


@on("6.1")
def test_an_old_kernel_says_why_not(kernel: Kernel) -> None:
    before = settings_of(kernel.target)
    with pytest.raises(TargetUnusable, match="only for the whole machine"):
        open_graph(kernel.target, GraphPlan(roots=("vfs_read",)))
    assert settings_of(kernel.target) == before


@on("7.2", "6.12")
def test_what_was_set_before_is_set_again_and_others_are_not_disturbed(kernel: Kernel) -> None:
    target = kernel.target

    def write(name: str, text: str) -> None:
        target.perform(Step(Effect.WRITE, f"{TRACING}/{name}", text.encode()))

    def functions() -> set[str]:
        return set(target.read(f"{TRACING}/set_graph_function").decode().split("\n"))

    write("set_graph_function", "vfs_open\nvfs_write\n")
    write("max_graph_depth", "3\n")
    before, set_before = settings_of(target), functions()
    del before["set_graph_function"]  # kept without an order
    try:
        with open_graph(
            target, GraphPlan(roots=("vfs_read",), functions=("vfs_*",), max_depth=2, sleep_time=False)
        ) as tracing:
            assert functions() == {"vfs_read", ""}
            assert tracing.session.instance.read("current_tracer") == "function_graph\n"
        with pytest.raises(TargetUnusable, match="no_such_function"):
            open_graph(target, GraphPlan(roots=("vfs_read", "no_such_function")))
        after = settings_of(target)
        del after["set_graph_function"]
        assert (after, functions()) == (before, set_before)
        someone = f"{TRACING}/instances/someone"
        target.perform(Step(Effect.MKDIR, someone))
        target.perform(Step(Effect.WRITE, f"{someone}/set_ftrace_filter", b"vfs_read"))
        target.perform(Step(Effect.WRITE, f"{someone}/current_tracer", b"function_graph"))
        try:
            with pytest.raises(TargetUnusable, match="function_graph is on in the instance someone"):
                open_graph(target, GraphPlan(roots=("vfs_read",)))
            assert functions() == set_before
        finally:
            target.perform(Step(Effect.WRITE, f"{someone}/current_tracer", b"nop"))
            target.perform(Step(Effect.RMDIR, someone))
    finally:
        write("set_graph_function", "\n")
        write("max_graph_depth", "0\n")
    with pytest.raises(FileRefused):
        target.list(someone)
