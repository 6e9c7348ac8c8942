"""A trigger that is added to an armed probe is judged and written as one that the probe is armed with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.refusal import CannotLower
from tests.fake_target import ROOT
from tests.probes_data import kernel
from tests.pure.kernel.test_watch import Target


@pytest.fixture
def watch() -> Iterator[Watch]:
    btf, facts, _ = kernel("7.2")
    info = KernelInfo(Target(facts=replace(facts, tracefs=ROOT)))
    info.__dict__["btf"] = btf
    made = Watch(Planner(info))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "trigger", "written"),
    [
        ("f vfs_read*", "traceoff if func == vfs_read", "traceoff if __probe_ip.function == vfs_read"),
        ("f vfs_read*%return", "traceoff if func != vfs_readv", "traceoff if __probe_func.function != vfs_readv"),
        ("f vfs_read%return $retval", "hist:keys=ret if ret == -ENOENT", "hist:keys=ret if ret == -2"),
        ("f vfs_read", 'traceoff if COMM ~ "*sh"', 'traceoff if COMM ~ "**sh"'),
        ("f vfs_read", "traceoff", "traceoff"),
    ],
)
def test_it_is_taken_and_written_alike(watch: Watch, text: str, trigger: str, written: str) -> None:
    armed = watch.armed.arm(parse_armable(text))
    (event,) = armed.plan.events
    assert watch.planner.trigger_verdict(armed.plan, event, trigger).error is None
    watch.armed.add_trigger(armed, event, trigger)
    assert watch.session is not None
    assert [one for _, one in watch.session.probes.triggers(armed)] == [written]
    (with_it,) = watch.planner.with_triggers(armed.plan, [trigger]).events
    assert with_it.triggers == (written,)


@pytest.mark.parametrize(
    ("text", "trigger", "at"),
    [
        ("f id_sho*", "traceoff if func == id_show", "id_show"),
        ("f vfs_read*", "traceoff if func == vfs_read && count > 2", "count > 2"),
        ("f vfs_read%return $retval", "traceoff if ret == -ENOENT && ret == -ENOSUCH", "-ENOSUCH"),
    ],
)
def test_it_is_refused_alike_and_the_caret_is_in_the_text_as_written(
    watch: Watch, text: str, trigger: str, at: str
) -> None:
    armed = watch.armed.arm(parse_armable(text))
    (event,) = armed.plan.events
    verdict = watch.planner.trigger_verdict(armed.plan, event, trigger)
    assert verdict.error is not None and verdict.error.column is not None
    assert (verdict.command, trigger[verdict.error.column :]) == (trigger, at)
    with pytest.raises(CannotLower) as refused:
        watch.planner.with_triggers(armed.plan, [trigger])
    assert refused.value.refusal.code == verdict.error.code
