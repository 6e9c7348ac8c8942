"""A second function graph is refused where the kernel may not outlive it, and nowhere else."""

import pytest

from kernel.errors import TargetUnusable
from kernel.function_graph import open_graph
from tests.fake_target import ROOT
from tests.pure.test_kernel_graph import PLAN, GraphTarget

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
