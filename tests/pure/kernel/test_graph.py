"""The function_graph tracer on a kernel made of a dict: whatever fails and whenever, all is set as it was."""

from __future__ import annotations

import contextlib
import errno
import posixpath
from dataclasses import replace

import pytest

from kernel.errors import FileRefused, KernelError, TargetLost, TargetUnusable
from kernel.graph.function_graph import open_graph, support
from kernel.graph.shared_settings import parse_functions
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from probes.plans.graph_plan import GraphPlan
from tests.fake_target import FACTS, ROOT, FakeTarget
from tests.pure.remote_hosts import remote_host

OPTIONS = ("funcgraph-args", "funcgraph-irqs", "funcgraph-tail", "sleep-time")
NUMBERS = {"max_graph_depth": b"0\n", "tracing_thresh": b"0\n"}
FUNCTIONS = {"set_graph_function": b"#### all functions enabled ####\n", "set_graph_notrace": b"#### no ####\n"}
EXIT = (
    "name: funcgraph_exit\nID: 10\nformat:\n\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
    '\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: "x"\n'
)
PLAN = GraphPlan(
    roots=("vfs_read", "vfs_open"),
    not_below=("schedule",),
    functions=("vfs_*",),
    max_depth=3,
    threshold_us=5,
    irqs=False,
    pids=(7, 8),
    options=("funcgraph-tail",),
)
OURS = f"{ROOT}/instances/probewright-100_abc"
ALL_TASKS = GraphPlan(roots=("vfs_read",))


class GraphTarget(FakeTarget):
    """With the tracer; its options are of the whole kernel, as before Linux 6.19, or of each instance."""

    def __init__(self, shared: bool = True, offered: str = "function_graph function nop", **more: bytes) -> None:
        self.shared = shared
        self.offered = offered
        super().__init__(facts=replace(FACTS, tracers=("function_graph", "function", "nop")))
        self.files |= {f"{ROOT}/{name}": data for name, data in (NUMBERS | FUNCTIONS | more).items()}
        self.files[f"{ROOT}/events/ftrace/funcgraph_exit/format"] = EXIT.encode()

    def _fill(self, path: str) -> None:
        super()._fill(path)
        names = (
            "set_ftrace_filter",
            "set_ftrace_notrace",
            "set_ftrace_pid",
            "set_ftrace_notrace_pid",
            "set_event_pid",
        )
        self.files |= {f"{path}/{name}": b"" for name in (*names, "set_ftrace_notrace_pid")}
        self.files |= {f"{path}/current_tracer": b"nop\n", f"{path}/available_tracers": self.offered.encode()}
        for name in OPTIONS:
            now = self.files.get(f"{ROOT}/options/{name}", b"1\n" if name != "funcgraph-tail" else b"0\n")
            self.files[f"{path}/options/{name}"] = now

    def _perform(self, step: Step) -> None:
        name = posixpath.basename(step.path)
        super()._perform(step)
        if b"nosuch" in step.data:
            raise FileRefused(step.path, errno.EINVAL)
        if "/options/" in step.path:
            places = (
                [path for path in self.files if path.endswith(f"/options/{name}")] if self.shared else [step.path]
            )
            self.files |= {place: step.data.strip() + b"\n" for place in places}
        elif name in FUNCTIONS:
            words = self.files[step.path].split(b"\n") if step.data.strip() else []
            words = [word for word in words if word and not word.startswith(b"#")]
            self.files[step.path] = b"".join(word + b"\n" for word in words) or FUNCTIONS[name]

    def someone(self, tracer: str) -> None:
        """Somebody else's instance."""
        self._fill(f"{ROOT}/instances/someone")
        self.files[f"{ROOT}/instances/someone/current_tracer"] = tracer.encode()


def settings(target: FakeTarget) -> dict[str, bytes]:
    """What is not of our instance."""
    names = ("set_graph", "max_graph", "tracing_thresh", "options/", "current_tracer")
    return {
        path: data
        for path, data in target.files.items()
        if not path.startswith(OURS) and any(name in path for name in names)
    }


def test_calls_of_some_tasks_are_traced_alone_and_all_again() -> None:
    target = GraphTarget()
    with open_graph(target, ALL_TASKS) as tracing:
        assert target.files[f"{OURS}/set_ftrace_pid"] == b""
        tracing.limit_tasks((9,))
        assert target.files[f"{OURS}/set_ftrace_pid"] == b"9"
        # What our processes have made since, as the command itself, is no longer left out.
        excluded = [one for one in target.steps if one.path == f"{OURS}/set_ftrace_notrace_pid"][-1]
        assert excluded.effect is Effect.WRITE and excluded.data == b"100 101"
        tracing.limit_tasks(())
        assert target.files[f"{OURS}/set_ftrace_pid"] == b""


def test_a_kernel_that_does_not_limit_calls_says_so() -> None:
    target = GraphTarget()

    def refuse(step: Step) -> None:
        if step.path.endswith("/set_ftrace_pid"):
            raise FileRefused(step.path, errno.EINVAL)

    with open_graph(target, ALL_TASKS) as tracing:
        target.before = refuse
        with pytest.raises(TargetUnusable, match="calls can't be limited to a command"):
            tracing.limit_tasks((9,))


def test_everything_of_a_plan_is_set_and_put_back() -> None:
    target = GraphTarget(max_graph_depth=b"7\n", set_graph_function=b"vfs_write\next4_readdir [ext4]\n")
    before = settings(target)
    with open_graph(target, PLAN) as tracing:
        files = target.files
        assert files[f"{ROOT}/set_graph_function"] == b"vfs_read\nvfs_open\n"
        assert files[f"{ROOT}/set_graph_notrace"] == b"schedule\n"
        assert (files[f"{ROOT}/max_graph_depth"], files[f"{ROOT}/tracing_thresh"]) == (b"3\n", b"5\n")
        assert files[f"{OURS}/current_tracer"] == b"function_graph"
        assert files[f"{OURS}/set_ftrace_filter"] == b"vfs_*\n"
        assert files[f"{OURS}/set_ftrace_pid"] == files[f"{OURS}/set_event_pid"] == b"7 8"
        assert files[f"{OURS}/set_ftrace_notrace_pid"] == b"100 101"
        assert files[f"{OURS}/options/funcgraph-irqs"] == b"0\n"
        assert files[f"{OURS}/options/funcgraph-tail"] == b"1\n"
        assert files[f"{OURS}/tracing_on"] == b"1"
        assert list(tracing.formats) == [10]
        assert tracing.support.retval
        order = [posixpath.basename(step.path) for step in target.steps]
        assert order.index("tracing_thresh") < order.index("current_tracer") < len(order) - 1
    after = settings(target)
    assert after.pop(f"{ROOT}/set_graph_function") == b"vfs_write\next4_readdir\n"
    before.pop(f"{ROOT}/set_graph_function")
    assert after == before
    assert not target.traces
    assert not target.guarded


@pytest.mark.parametrize(("depth", "filtered"), [(0, b""), (1, b"vfs_read\nvfs_open\n"), (2, b"")])
def test_of_one_level_only_the_roots_are_traced(depth: int, filtered: bytes) -> None:
    target = GraphTarget()
    with open_graph(target, GraphPlan(roots=("vfs_read", "vfs_open"), max_depth=depth)):
        assert target.files[f"{OURS}/set_ftrace_filter"] == filtered
        assert target.files[f"{ROOT}/set_graph_function"] == b"vfs_read\nvfs_open\n"


def steps_of_a_life() -> int:
    target = GraphTarget()
    open_graph(target, PLAN).close()
    return len(target.steps)


@pytest.mark.parametrize("kind", ["refused", "cut", "answer lost"])
@pytest.mark.parametrize("number", range(1, steps_of_a_life() + 1))
def test_whichever_step_fails_all_is_as_before(number: int, kind: str) -> None:
    target = GraphTarget(max_graph_depth=b"7\n")
    before = settings(target)
    left = number

    def fire(step: Step) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            if kind == "refused":
                raise FileRefused(step.path, errno.EIO)
            target.lost = True
            raise TargetLost("the connection was lost")

    if kind == "answer lost":
        target.after = fire
    else:
        target.before = fire
    with contextlib.suppress(KernelError):
        tracing = open_graph(target, PLAN)
        tracing.close()
        tracing.close()
    if kind != "refused":
        target.lost = False
        target.before = target.after = lambda step: None
        assert target.vanish() == []
    assert settings(target) == before
    assert not target.traces


def test_what_the_kernel_does_not_know_is_named_and_undone() -> None:
    for plan in (GraphPlan(roots=("vfs_read", "nosuch_a")), GraphPlan(functions=("nosuch_a",))):
        target = GraphTarget(set_graph_function=b"vfs_write\n")
        before = settings(target)
        with pytest.raises(TargetUnusable, match="nosuch_a"):
            open_graph(target, plan)
        assert settings(target) == before
        assert not target.traces


@pytest.mark.parametrize(
    ("plan", "tracer", "shared", "why"),
    [
        (GraphPlan(roots=("vfs_read",)), "function_graph", False, "set_graph_function"),
        (GraphPlan(max_depth=2), "function_graph", False, "max_graph_depth"),
        (GraphPlan(threshold_us=2), "wakeup", False, "tracing_thresh"),
        (GraphPlan(irqs=False), "function_graph", True, "funcgraph-irqs"),
        (GraphPlan(irqs=False), "function_graph", False, ""),
        (GraphPlan(roots=("vfs_read",), irqs=False), "function", True, ""),
        (GraphPlan(functions=("vfs_*",)), "function_graph", True, ""),
    ],
)
def test_others_are_not_disturbed(plan: GraphPlan, tracer: str, shared: bool, why: str) -> None:
    target = GraphTarget(shared)
    target.someone(tracer)
    before = settings(target)
    if why:
        with pytest.raises(TargetUnusable, match=f"{why} is of the whole kernel.*{tracer} is on in the instance"):
            open_graph(target, plan)
    else:
        open_graph(target, plan).close()
    assert settings(target) == before
    assert target.traces == [f"{ROOT}/instances/someone"]


def test_why_there_is_none() -> None:
    assert support(FakeTarget()).why_not == "tracefs does not say which tracers this kernel has"
    without = FakeTarget(facts=replace(FACTS, tracers=("function", "nop")))
    assert "CONFIG_FUNCTION_GRAPH_TRACER is not set" in support(without).why_not
    with pytest.raises(TargetUnusable, match="CONFIG_FUNCTION_GRAPH_TRACER"):
        open_graph(without, GraphPlan())
    old = GraphTarget(offered="function nop")
    with pytest.raises(TargetUnusable, match="only for the whole machine"):
        open_graph(old, GraphPlan())
    assert not old.traces
    assert not without.traces


def test_what_it_can_and_what_it_lacks() -> None:
    found = support(GraphTarget(), {"FUNCTION_GRAPH_RETADDR": "n"})
    assert found.usable
    assert (found.args, found.retval, found.retaddr) == (True, True, False)
    assert found.missing == {"retaddr": "CONFIG_FUNCTION_GRAPH_RETADDR is not set in this kernel"}
    assert found.options == frozenset(OPTIONS)


def test_functions_as_the_kernel_lists_them() -> None:
    assert parse_functions("#### all functions enabled ####\n") == ()
    assert parse_functions("vfs_read\next4_readdir [ext4]\nvfs_read\n") == ("vfs_read", "ext4_readdir")


def test_a_plan_in_a_few_words() -> None:
    assert str(GraphPlan()) == "every function"
    assert str(PLAN) == "vfs_read, vfs_open, depth 3, from 5 us on"


def test_where_the_remote_host_gives_text_nothing_is_changed_before_it_is_refused():
    """The tracer would be patched into every function of the kernel, and out again."""
    with remote_host("dash") as far:
        reached = RemoteTarget(RemoteConnection(far.dialect, "sh"), "ssh://far")
        assert not reached.gives_pages

    class Text(GraphTarget):
        gives_pages = False

    target = Text()
    with pytest.raises(TargetUnusable, match="come as text") as caught:
        open_graph(target, PLAN)
    assert caught.value.remedy == "install python3 there"
    assert target.steps == []
