"""Whether a target can tell first failures: by its call graph, by recorded probes, or why not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import kernel.graph.failure_means as failure_means
from events.graph.record_ends import NO_RETURNS
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetUnusable
from kernel.graph.failure_means import FailureSource, ReturnMeans, failure_source, return_means
from kernel.recording.target import open_recording
from probes.plans.graph_plan import GraphSupport
from tests.trimmed_recordings import graph_recording


def info_of(path: Path) -> KernelInfo:
    return KernelInfo(open_recording(path))


def test_calls_of_a_recorded_graph_are_those_of_its_kernel(tmp_path):
    info = info_of(graph_recording(tmp_path / "failures.pwr", "failures"))
    source = failure_source(info, ("openat", "vfs_open"))
    assert (source.functions, source.losses) == (("__x64_sys_openat", "vfs_open"), ())
    assert source.words == (
        "calls of __x64_sys_openat, vfs_open with their return values, by the tracer that was recorded"
    )
    with pytest.raises(TargetUnusable, match=r"opennat: .* has no such system call") as caught:
        failure_source(info, ("opennat",))
    assert caught.value.remedy == "did you mean openat, openat2?"


def test_a_graph_that_was_below_others_says_so(tmp_path, monkeypatch):
    info = info_of(graph_recording(tmp_path / "failures.pwr", "failures"))
    monkeypatch.setattr(failure_means, "recorded_graph", lambda _: SimpleNamespace(roots=("__x64_sys_openat",)))
    assert failure_source(info, ("openat",)).losses == ()
    assert failure_source(info, ("vfs_open",)).losses == (
        "only calls inside those of __x64_sys_openat were recorded",
    )


def test_a_graph_without_return_values_can_not(tmp_path):
    with pytest.raises(TargetUnusable) as caught:
        failure_source(info_of(graph_recording(tmp_path / "without.pwr", "7.2")), ("openat",))
    assert str(caught.value) == NO_RETURNS


def test_recorded_probes_need_both_ends_and_the_result():
    shipped = shipped_recording()
    assert shipped is not None
    info = info_of(shipped)
    assert failure_source(info, ("do_sys_openat2",)).functions == ("do_sys_openat2",)
    assert failure_source(info, ("vfs_wr*",)).functions == ("vfs_write",)
    with pytest.raises(TargetUnusable, match=r"no calls of vfs_read with their return values: it has those of .*"):
        failure_source(info, ("vfs_read",))


def test_many_functions_are_counted():
    words = FailureSource(tuple(f"f{n}" for n in range(9)), "tests").words
    assert words == "calls of f0, f1, f2, f3 and 5 more with their return values, by tests"


@pytest.mark.parametrize(
    ("retval", "programs", "probes", "means"),
    [
        (True, "", "", ReturnMeans.TRACER),
        (False, "", "", ReturnMeans.PROGRAMS),
        (False, "no sessions", "", ReturnMeans.PROBES),
        (False, "no sessions", "hidden", None),
    ],
)
def test_the_best_means_that_a_kernel_has_is_taken(monkeypatch, retval, programs, probes, means):
    support = GraphSupport(retval=retval, missing={} if retval else {"retval": "CONFIG_X is not set"})
    monkeypatch.setattr(failure_means, "support", lambda _: support)
    monkeypatch.setattr(failure_means, "tracing_obstacle", lambda _: programs)
    monkeypatch.setattr(failure_means, "exit_probe_support", lambda _: probes)
    info = SimpleNamespace(target=SimpleNamespace(name="here"))
    if means is not None:
        assert return_means(info) is means
        return
    with pytest.raises(TargetUnusable, match=r"no return values \(CONFIG_X is not set\), no sessions, and hidden"):
        return_means(info)


def test_a_host_without_pages_has_none():
    info = SimpleNamespace(target=SimpleNamespace(name="there", gives_pages=False))
    with pytest.raises(TargetUnusable, match="need ring-buffer pages") as caught:
        return_means(info)
    assert caught.value.remedy == "install python3 there"
