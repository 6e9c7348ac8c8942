"""What was counted before a connection was lost still counts when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from events.loss_counts import LossCounts
from kernel.connection.kernel_info import KernelInfo
from kernel.session.probe_steps import Mode
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side, at_once, cut, side
from tests.pure.kernel.test_watch import Anything, id_of, probe
from tests.pure.remote_hosts import eventually

__all__ = ["at_once", "side"]

HIST = """# event histogram
#
# trigger info: hist:name=pw_1_2__0_hits0:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 [active]
#


Totals:
    Hits: {}
    Entries: 1
    Dropped: 0
"""


@pytest.fixture
def watch(side: Side) -> Iterator[Watch]:
    made = Watch(Anything(KernelInfo(side.target)))
    yield made
    made.close()


def hits(side: Side, watch: Watch, number: int) -> dict[str, int]:
    """What is told when the kernel has counted so many."""
    assert watch.session is not None
    for armed in watch.armed.probes:
        for event in armed.plan.events:
            (instance,) = (folder for folder in side.folders if "/instances/" in folder)
            side.files[f"{instance}/events/{event.path}/hist"] = HIST.format(number).encode()
    counts = watch.counts()
    assert counts is not None
    return {path.removeprefix(f"{watch.session.group}/"): count for path, count in counts.hits.items()}


def come_back(side: Side, watch: Watch) -> None:
    cut(side, watch)
    ReconnectAttempt(watch).run()


def test_hits_of_before_are_added_until_the_probe_goes(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"), mode=Mode.COUNT)
    assert hits(side, watch, 1_000_000) == {"vfs_read": 1_000_000}
    come_back(side, watch)
    assert hits(side, watch, 5) == {"vfs_read": 1_000_005}
    come_back(side, watch)
    come_back(side, watch)
    assert hits(side, watch, 7) == {"vfs_read": 1_000_012}
    watch.armed.disarm(watch.armed.probes[0])
    assert hits(side, watch, 7) == {}
    watch.armed.arm(probe("vfs_read"), mode=Mode.COUNT)
    assert hits(side, watch, 3) == {"vfs_read": 3}


def test_what_passed_a_filter_before_is_added_until_the_probe_goes(side: Side, watch: Watch) -> None:
    zeros = LossCounts({}, {}, {}, 0, 0, 0)
    earlier = replace(zeros, hits={"pw_1/a": 9, "sched/b": 5}, passed={"pw_1/a": 4})
    armed = watch.armed.arm(probe("vfs_read"))
    assert watch.session is not None
    ended = earlier.ended(watch.session.pump, None, ("pw_1", "pw_2"))
    assert (ended.hits, ended.passed) == ({"pw_2/a": 9, "sched/b": 5}, {"pw_2/a": 4})
    both = replace(zeros, hits={"pw_2/a": 1}, passed={"pw_2/a": 1}).after(ended)
    assert both.counted == {"pw_2/a": 5, "sched/b": 5} and both.hits["pw_2/a"] == 10
    (event,) = armed.plan.events
    mine = replace(zeros, hits={event.path: 1}, passed={event.path: 1})
    assert mine.without_hits({event.path}) == zeros


def test_hits_of_before_are_not_added_to_those_of_another_count(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"), mode=Mode.COUNT)
    assert hits(side, watch, 1_000_000) == {"vfs_read": 1_000_000}
    come_back(side, watch)
    watch.armed.switch(watch.armed.probes[0], Mode.COUNT)
    assert hits(side, watch, 5) == {"vfs_read": 1_000_005}, "it counts on"
    watch.armed.switch(watch.armed.probes[0], Mode.RECORD)
    watch.armed.switch(watch.armed.probes[0], Mode.COUNT)
    assert hits(side, watch, 7) == {"vfs_read": 7}


def test_what_a_queue_dropped_after_the_last_look_is_told(side: Side, watch: Watch) -> None:
    for total in (9, 18):
        (armed,) = watch.armed.probes or (watch.armed.arm(probe("vfs_read")),)
        assert watch.session is not None
        pump = watch.session.pump
        pump._limit = 5000  # type: ignore[attr-defined]
        for ts in range(10):
            side.event(1000 + ts, id_of(armed))
        assert eventually(lambda pump=pump: pump.dropped_events >= 9)  # type: ignore[misc]
        come_back(side, watch)
        if total == 18:
            counts = watch.counts()
            assert counts is not None and counts.dropped == total and counts.dropped_bytes == total * 4096


def test_a_look_that_is_under_way_counts_nothing_twice(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"), mode=Mode.COUNT)
    assert hits(side, watch, 10) == {"vfs_read": 10}
    old = watch.session
    assert old is not None
    asked = old.counts

    def slow() -> LossCounts:
        counts = asked()
        come_back(side, watch)
        return counts

    old.counts = slow  # type: ignore[method-assign]
    counts = watch.counts()
    assert counts is not None and list(counts.hits.values()) == [10]
    come_back(side, watch)
    assert hits(side, watch, 1) == {"vfs_read": 11}


def test_stacks_of_triggers_that_came_back_are_known(side: Side, watch: Watch) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")
    come_back(side, watch)
    (now,) = watch.armed.probes
    assert {armed.plan.events[0].path, now.plan.events[0].path} <= watch.event_fields.with_stacks
