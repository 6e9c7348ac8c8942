"""A second function graph is refused where the kernel may not outlive it, and nowhere else."""

from dataclasses import replace
from uuid import uuid4

import pytest

from kernel.errors import TargetUnusable
from kernel.graph.function_graph import open_graph
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.fake_target import ROOT
from tests.pure.kernel.test_graph import PLAN, GraphTarget

BARE = {
    "/proc/modules": b"",
    "/proc/kallsyms": b"ffffffff8140b9d7 t execmem_cache_clean\n",
    f"{ROOT}/enabled_functions": b"",
}
HELD = b"vfs_rmdir (1) \ttramp: 0xffffffffa0800000 (ftrace_graph_func+0x0/0x41) ->ftrace_graph_func+0x0/0x41\n"


def test_only_the_second_one_is_refused_and_nothing_is_left() -> None:
    target = GraphTarget()
    target.files |= BARE
    open_graph(target, PLAN).close()
    with pytest.raises(TargetUnusable, match="no module is loaded"):
        open_graph(target, PLAN)
    assert not target.traces and not target.guarded
    another = GraphTarget()
    another.files |= BARE
    open_graph(another, PLAN).close()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/proc/modules", b"virtio_net 1 0 - Live 0x0\n"),
        ("/proc/kallsyms", b"ffffffff8140b9d7 t vfs_read\n"),
        (f"{ROOT}/enabled_functions", HELD),
    ],
)
def test_where_its_trampoline_stays_it_may_start_again(path: str, content: bytes) -> None:
    target = GraphTarget()
    target.files |= BARE | {path: content}
    for _ in range(3):
        open_graph(target, PLAN).close()
    assert not target.traces and not target.guarded


@pytest.fixture
def boot() -> str:
    """Another one each time: it is remembered as long as the process lives."""
    return str(uuid4())


def bare(boot: str) -> GraphTarget:
    """A kernel that is opened; facts say which boot."""
    target = GraphTarget()
    target._facts = replace(target.facts(), boot_id=boot)
    target.files |= BARE
    return target


def exit_of(symbol: str) -> Plan:
    event = PlannedEvent(
        "pw_100_abc", symbol, f"f:pw_100_abc/{symbol} {symbol}%return", f"-:pw_100_abc/{symbol}", True
    )
    return Plan(Probe(ProbePlace(symbol)), (event,))


def test_a_kernel_that_is_opened_anew_is_the_same_one(boot: str) -> None:
    open_graph(bare(boot), PLAN).close()
    with pytest.raises(TargetUnusable, match="no module is loaded"):
        open_graph(bare(boot), PLAN)
    open_graph(bare(f"{boot} booted again"), PLAN).close()


def test_a_probe_at_an_exit_was_a_start_too(boot: str) -> None:
    target = bare(boot)
    with open_session(target) as session:
        session.probes.disarm(session.probes.arm(exit_of("vfs_read")))
        with pytest.raises(TargetUnusable, match="no module is loaded"):
            session.probes.arm(exit_of("vfs_open"))
        target.files[f"{ROOT}/enabled_functions"] = HELD
        session.probes.arm(exit_of("vfs_open"))
        target.files[f"{ROOT}/enabled_functions"] = b""
        with pytest.raises(TargetUnusable, match="no module is loaded"):
            open_graph(bare(boot), PLAN)
    assert not target.traces and not target.guarded


def test_a_probe_at_an_entry_was_none(boot: str) -> None:
    target = bare(boot)
    entry = PlannedEvent("pw_100_abc", "read", "f:pw_100_abc/read vfs_read", "-:pw_100_abc/read")
    with open_session(target) as session:
        session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (entry,)))
    traced = bare(boot)
    open_graph(traced, PLAN).close()
    assert any(step.path.endswith("/current_tracer") and step.data == b"function_graph" for step in traced.steps)
