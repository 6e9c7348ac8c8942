"""Several hosts at once: side by side, one refused, one not there, one that dies; nothing is left on any."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace

import pytest

import kernel.hosts.arm_request
from events.store.host_merge import MergedRows
from events.store.outage_mark import OUTAGE_EVENT
from kernel.errors import FileRefused, TargetUnusable
from kernel.hosts.arm_request import ArmRequest, arm_on_host
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.hosts.merged_events import MergedEvent
from kernel.hosts.names import host_names
from kernel.hosts.opening import open_host
from probes.command import parse_armable
from probes.plans.plan import Plan, PlannedEvent
from probes.presets.schema import Preset, PresetChoice
from tests.pure.fake_hosts import REMOVE, STATS, FakeHost, Lan, Step, is_clean
from tui.cli.commands.app import _close_hosts

SECOND = 10**9
READ = ArmRequest(("f vfs_read",))
OPEN = ArmRequest(("f vfs_open",))


@pytest.fixture
def lan() -> Lan:
    return Lan(
        FakeHost("one", behind=100 * SECOND),
        FakeHost("two", behind=-5 * SECOND, release="7.2.0-no_vfs_open"),
        FakeHost("three", behind=12345),
        FakeHost("slow"),
    )


@pytest.fixture
def fleets(lan: Lan) -> Iterator[Callable[..., Fleet]]:
    made: list[Fleet] = []

    def make(*specs: str, window: int = SECOND) -> Fleet:
        made.append(Fleet(specs, window=window, opener=lan.open))
        made[-1].open()
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()
    assert all(is_clean(host) for host in lan.hosts.values() if not host.lost)


def until(fleet: Fleet, condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, [(host.name, host.state, host.reason) for host in fleet.hosts]
        fleet.tick()
        time.sleep(0.005)


def shown(fleet: Fleet) -> list[MergedEvent]:
    return [fleet.events.record(seq) for seq in range(fleet.events.first_seq, fleet.events.next_seq)]


def shows(fleet: Fleet, number: int) -> bool:
    return len(shown(fleet)) == number


def states(fleet: Fleet) -> dict[str, HostState]:
    return {host.name: host.state for host in fleet.hosts}


def is_gone(it: weakref.ref[object]) -> bool:
    gc.collect()
    return it() is None


def stuck(step: Step) -> None:
    """For `before` of a host: nothing can be removed."""
    if step.effect is REMOVE:
        raise FileRefused(step.path, 16)


def held(host: FakeHost) -> tuple[threading.Event, threading.Event]:
    """Arming waits on a host: when it has begun the first is set, it goes on when the second is."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(step: Step) -> None:
        if b"f:" in step.data:
            begun.set()
            assert go_on.wait(60)

    host.before = wait
    return begun, go_on


def armed_on(host: FakeHost) -> list[str]:
    lines = host.files["/sys/kernel/tracing/dynamic_events"].decode().splitlines()
    return [line.split()[1] for line in lines]


def test_one_order_of_events_by_measured_clocks(lan, fleets):
    fleet = fleets("one", "two", "three", window=2 * SECOND)
    fleet.arm(READ)
    assert fleet.wait(60)
    assert set(states(fleet).values()) == {HostState.ARMED}
    now, apart = fleet.clock(), SECOND // 10
    for number, name in enumerate(("two", "three", "one", "two", "one")):
        lan.hosts[name].event(now - SECOND // 2 + number * apart, pid=number + 1)
    until(fleet, lambda: len(shown(fleet)) == 5)
    assert [(one.host, one.pid) for one in shown(fleet)] == [
        *(("two", 1), ("three", 2), ("one", 3)),
        *(("two", 4), ("one", 5)),
    ]
    for host, behind in zip(fleet.hosts, (100 * SECOND, -5 * SECOND, 12345), strict=True):
        offset = host.offset(fleet.clock())
        assert offset is not None and abs(offset.ns - behind) <= offset.uncertainty < SECOND
    for one in shown(fleet):
        assert abs(one.ts - (now - SECOND // 2 + (one.pid - 1) * apart)) < apart // 2, "on our clock"
        assert one.record.ts == pytest.approx(one.ts - lan.hosts[one.host].behind, abs=apart // 2)


def test_what_comes_too_late_is_shown_and_counted(lan, fleets):
    fleet = fleets("one", "two", window=0)
    fleet.arm(READ)
    assert fleet.wait(60)
    now = fleet.clock()
    lan.hosts["one"].event(now)
    until(fleet, lambda: len(shown(fleet)) == 1)
    lan.hosts["two"].event(now - SECOND)
    until(fleet, lambda: len(shown(fleet)) == 2)
    assert [(one.host, one.late) for one in shown(fleet)] == [("one", False), ("two", True)]
    assert [fleet.events.late_of(host) for host in fleet.hosts] == [0, 1]


def test_hosts_that_refuse_or_are_not_there_are_told_and_the_others_go_on(lan, fleets):
    fleet = fleets("one", "ssh://nowhere", "two")
    fleet.arm(ArmRequest(("f vfs_read", "f vfs_open")))
    assert fleet.wait(60)
    assert states(fleet) == {"one": HostState.ARMED, "nowhere": HostState.UNREACHABLE, "two": HostState.REFUSED}
    one, nowhere, two = fleet.hosts
    assert "Connection refused" in nowhere.reason and nowhere.remedy
    assert "vfs_open" in two.reason and two.remedy == "vfs_open is not there"
    assert len(one.done.lines) == 2
    assert "f:" not in lan.hosts["two"].files["/sys/kernel/tracing/dynamic_events"].decode(), "all of it or nothing"
    lan.hosts["one"].event(fleet.clock(), "vfs_open")
    fleet.finish()
    assert [one.event.rpartition("/")[2] for one in shown(fleet)] == ["vfs_open"]


def test_each_kernel_gets_the_alternative_it_takes(lan, fleets):
    fleet = fleets("one", "two")
    preset = Preset("opens", "opens", (("f vfs_open", "f do_dentry_open"),))
    fleet.arm(ArmRequest((PresetChoice(preset, {}),)))
    assert fleet.wait(60)
    one, two = fleet.hosts
    assert [host.done.lines[0].split()[1] for host in (one, two)] == ["vfs_open", "do_dentry_open"]
    assert not one.done.notes and "another way is taken here" in two.done.notes[0]


def test_a_host_that_dies_is_marked_and_its_last_events_are_shown(lan, fleets):
    fleet = fleets("one", "two")
    fleet.arm(READ)
    assert fleet.wait(60)
    lan.hosts["one"].event(fleet.clock())
    until(fleet, lambda: fleet.hosts[0].watch.store.next_seq == 1)
    lan.hosts["one"].lost = True
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    assert "the connection was lost" in fleet.hosts[0].reason and fleet.hosts[0].remedy
    lan.hosts["two"].event(fleet.clock())
    fleet.look()
    until(fleet, lambda: fleet.hosts[1].counts is not None and len(shown(fleet)) == 3)
    assert sorted((one.host, one.event.rpartition("/")[2]) for one in shown(fleet)) == [
        ("one", OUTAGE_EVENT),
        ("one", "vfs_read"),
        ("two", "vfs_read"),
    ]
    assert fleet.hosts[1].state is HostState.ARMED
    fleet.close()
    assert states(fleet) == {"one": HostState.LOST, "two": HostState.CLOSED}
    assert is_clean(lan.hosts["two"]) and lan.hosts["two"].closed and not fleet.hosts[1].undo_errors


def test_one_that_failed_is_tried_again_with_all_that_was_ordered(lan, fleets):
    fleet = fleets("one", "two")
    fleet.arm(READ)
    assert fleet.wait(60)
    lan.hosts["one"].event(fleet.clock(), pid=1)
    until(fleet, lambda: len(shown(fleet)) == 1)
    dead = lan.hosts["one"]
    dead.lost = True
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    lan.hosts["one"] = FakeHost("one")
    assert fleet.retry() == 1
    until(fleet, lambda: fleet.hosts[0].state is HostState.ARMED)
    assert fleet.retry() == 0
    lan.hosts["one"].event(fleet.clock(), pid=2)
    until(fleet, lambda: len(shown(fleet)) == 3)
    assert [(one.host, one.pid) for one in shown(fleet)] == [("one", 1), ("one", 0), ("one", 2)], "as they were"
    assert dead.closed


def test_giving_up_while_one_is_being_opened(lan, fleets):
    fleet = fleets("one", "slow")
    fleet.arm(READ)
    until(fleet, lambda: fleet.hosts[0].state is HostState.ARMED and fleet.hosts[1].progress == "connecting")
    assert not fleet.settled
    fleet.close()
    assert states(fleet) == {"one": HostState.CLOSED, "slow": HostState.UNREACHABLE}
    assert is_clean(lan.hosts["one"])


def test_one_that_is_slow_gets_what_was_ordered_meanwhile(lan, fleets):
    fleet = fleets("one", "slow")
    fleet.arm(READ)
    until(fleet, lambda: fleet.hosts[0].state is HostState.ARMED)
    fleet.arm(ArmRequest(("f vfs_open",)))
    lan.held.set()
    assert fleet.wait(60)
    assert [len(host.done.lines) for host in fleet.hosts] == [2, 2]
    fleet.disarm()
    until(fleet, lambda: set(states(fleet).values()) == {HostState.OPEN})
    assert "f:" not in lan.hosts["one"].files["/sys/kernel/tracing/dynamic_events"].decode()
    fleet.arm(READ)
    until(fleet, lambda: set(states(fleet).values()) == {HostState.ARMED})


def test_what_can_not_be_taken_away_is_told_and_the_others_are_clean(lan, fleets):
    fleet = fleets("one", "two")
    fleet.arm(READ)
    assert fleet.wait(60)
    lan.hosts["one"].before = stuck
    fleet.close()
    assert fleet.hosts[0].undo_errors and "busy" in fleet.hosts[0].undo_errors[0].lower()
    assert is_clean(lan.hosts["two"])
    lan.hosts.pop("one")


def test_a_text_is_found_among_all(lan, fleets):
    fleet = fleets("one", "two", window=0)
    fleet.arm(READ)
    assert fleet.wait(60)
    for pid, name in enumerate(("one", "two", "two", "one"), 1):
        lan.hosts[name].event(fleet.clock(), pid=pid)
        until(fleet, partial(shows, fleet, pid))
    found = fleet.events.find(lambda event: event.host == "two", 3, -1, 10)
    assert (found.seq, found.done) == (2, True)
    assert fleet.events.find(lambda event: event.pid == 9, 0, 1, 10).seq is None


def test_names_tell_hosts_apart():
    assert host_names(["ssh://root@a:22", "ssh://b", "local", "lab:6.12"]) == ["a", "b", "local", "lab:6.12"]
    assert host_names(["ssh://a:1", "ssh://a:2", "ssh://x@b", "ssh://y@b"]) == ["a:1", "a:2", "x@b", "y@b"]
    assert host_names(["lab:7.2", "lab:7.2", "ssh://[::1]:22"]) == ["lab:7.2", "lab:7.2#2", "[::1]:22"]


def test_a_recording_is_no_host(tmp_path):
    import threading

    from kernel.connection.open_target import shipped_recording

    with pytest.raises(TargetUnusable, match="no clock"):
        open_host(str(shipped_recording()), lambda *_: None, threading.Event())


def test_what_is_ordered_after_all_was_taken_away_is_armed_also_where_the_first_is_still_under_way(lan, fleets):
    begun, go_on = held(lan.hosts["one"])
    fleet = fleets("one", "two")
    fleet.arm(READ)
    assert begun.wait(60)
    fleet.disarm()
    fleet.arm(ArmRequest(("f vfs_write",)))
    assert not fleet.settled
    go_on.set()
    assert fleet.wait(60)
    assert armed_on(lan.hosts["one"]) == armed_on(lan.hosts["two"]) == ["vfs_write"]
    assert [len(host.done.lines) for host in fleet.hosts] == [1, 1]


def test_nothing_is_armed_once_all_was_taken_away(lan, fleets):
    begun, go_on = held(lan.hosts["one"])
    fleet = fleets("one")
    fleet.arm(READ)
    fleet.arm(ArmRequest(("f vfs_write",)))
    assert begun.wait(60)
    fleet.disarm()
    go_on.set()
    assert fleet.wait(60)
    assert states(fleet) == {"one": HostState.OPEN} and not armed_on(lan.hosts["one"])


def test_who_refused_one_order_takes_the_next(lan, fleets):
    fleet = fleets("one", "two")
    fleet.arm(OPEN)
    assert fleet.wait(60) and states(fleet) == {"one": HostState.ARMED, "two": HostState.REFUSED}
    fleet.arm(READ)
    assert fleet.wait(60) and set(states(fleet).values()) == {HostState.ARMED}
    assert armed_on(lan.hosts["two"]) == ["vfs_read"] and len(armed_on(lan.hosts["one"])) == 2


def test_what_a_host_has_it_is_not_asked_for_again(lan, fleets):
    fleet = fleets("one", "two")
    assert fleet.arm(READ) == 2
    assert fleet.wait(60) and fleet.arm(READ) == 0
    assert fleet.arm(OPEN) == 2
    assert fleet.wait(60) and "vfs_open" in fleet.hosts[1].reason
    assert fleet.arm(OPEN) == 1, "who refused it is asked again"
    assert fleet.wait(60) and len(armed_on(lan.hosts["one"])) == 2 and armed_on(lan.hosts["two"]) == ["vfs_read"]
    fleet.disarm()
    assert fleet.wait(60) and fleet.arm(READ) == 2
    assert fleet.wait(60) and armed_on(lan.hosts["one"]) == ["vfs_read"]


def test_what_was_refused_is_not_asked_for_again_but_where_that_was_all(lan, fleets):
    fleet = fleets("two")
    fleet.arm(OPEN)
    assert fleet.wait(60) and states(fleet) == {"two": HostState.REFUSED}
    assert fleet.retry() == 1
    assert fleet.wait(60) and "vfs_open" in fleet.hosts[0].reason, "it was asked"
    fleet.arm(READ)
    fleet.arm(OPEN)
    assert fleet.wait(60) and states(fleet) == {"two": HostState.ARMED} and "vfs_open" in fleet.hosts[0].reason
    lan.hosts["two"].lost = True
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    lan.hosts["two"] = FakeHost("two", release="7.2.0-no_vfs_open")
    assert fleet.retry() == 1
    assert fleet.wait(60) and states(fleet) == {"two": HostState.ARMED} and not fleet.hosts[0].reason
    assert armed_on(lan.hosts["two"]) == ["vfs_read"]


def test_what_another_attempt_found_in_its_place_left_is_told(lan, fleets, capsys):
    fleet = fleets("two")
    fleet.arm(OPEN)
    assert fleet.wait(60)
    lan.hosts["two"].before = stuck
    stays = lan.hosts.pop("two")
    lan.hosts["two"] = FakeHost("two")
    fleet.retry()
    until(fleet, lambda: fleet.all_hosts[0].undo_errors and stays.closed)
    assert fleet.wait(60)
    assert _close_hosts(fleet) == 1
    assert not fleet.hosts[0].undo_errors and "two: left behind: " in capsys.readouterr().err


def test_another_attempt_leaves_no_store_behind_that_no_row_needs(lan, fleets):
    fleet = fleets("two")
    fleet.arm(OPEN)
    assert fleet.wait(60)
    before = weakref.ref(fleet.hosts[0].watch)
    fleet.retry()
    until(fleet, lambda: fleet.all_hosts == fleet.hosts)
    until(fleet, partial(is_gone, before))  # the thread that took it away may hold it still


def test_another_attempt_keeps_what_is_shown_as_long_as_it_is(lan, fleets):
    fleet = fleets("one", window=0)
    fleet.events._rows = MergedRows(1)
    fleet.arm(READ)
    assert fleet.wait(60)
    lan.hosts["one"].event(fleet.clock(), pid=1)
    until(fleet, partial(shows, fleet, 1))
    lan.hosts["one"].lost = True
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    lan.hosts["one"] = FakeHost("one")
    before = weakref.ref(fleet.hosts[0].watch)
    fleet.retry()
    assert fleet.wait(60)
    for _ in range(15):
        until(fleet, lambda: len(fleet.all_hosts) == 2)
        assert fleet.events.first_seq or fleet.events.record(0).pid == 1
        lan.hosts["one"].event(fleet.clock(), pid=2, times=300)
    until(fleet, lambda: fleet.events.first_seq > 0 and fleet.all_hosts == fleet.hosts)
    until(fleet, partial(is_gone, before))
    assert fleet.events.record(fleet.events.next_seq - 1).pid == 2


def test_who_does_not_answer_is_not_asked_again_meanwhile_and_the_others_are(lan, fleets, monkeypatch):
    looks: Counter[str] = Counter()
    look = Host.look

    def counted(self: Host, now: Callable[[], int], *, tables: bool) -> None:
        looks[self.name] += 1
        look(self, now, tables=tables)

    monkeypatch.setattr(Host, "look", counted)
    fleet = fleets("one", "three")
    fleet.arm(READ)
    assert fleet.wait(60)
    begun, go_on = threading.Event(), threading.Event()
    read = lan.hosts["one"].read

    def hangs(path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path.endswith(STATS):
            begun.set()
            assert go_on.wait(60)
        return read(path, limit, offset)

    monkeypatch.setattr(lan.hosts["one"], "read", hangs)
    fleet.look()
    assert begun.wait(60)
    for number in range(1, 6):
        until(fleet, fleet._looks[fleet.hosts[1]].done)
        assert looks == {"one": 1, "three": number}
        fleet.look()
    until(fleet, fleet._looks[fleet.hosts[1]].done)
    assert fleet.hosts[1].counts is not None
    go_on.set()
    until(fleet, lambda: all(one.done() for one in fleet._looks.values()))
    fleet.look()
    until(fleet, lambda: looks == {"one": 2, "three": 7})


def test_what_could_be_taken_away_at_last_is_not_told_as_left(lan, fleets):
    fleet = fleets("one")
    fleet.arm(READ)
    assert fleet.wait(60)

    def busy(step: Step) -> None:
        if step.data.startswith(b"-:"):
            raise FileRefused(step.path, 16)

    lan.hosts["one"].before = busy
    fleet.disarm()
    until(fleet, lambda: fleet.hosts[0].state is HostState.OPEN)
    assert fleet.hosts[0].undo_errors
    lan.hosts["one"].before = lambda step: None
    fleet.close()
    assert not fleet.hosts[0].undo_errors and is_clean(lan.hosts["one"])


def test_what_was_written_on_a_host_has_no_line_of_an_event_that_the_kernel_has(monkeypatch):
    monkeypatch.setattr(kernel.hosts.arm_request, "probes_for", lambda *_: ([parse_armable("f vfs_read")], []))
    made = PlannedEvent("pw_1_a", "read", "e:pw_1_a/read raw_syscalls/sys_enter", "-:pw_1_a/read", more=("e:more",))
    plan = Plan(parse_armable("f vfs_read"), (made, PlannedEvent("sched", "sched_switch", "", "")))
    watch = SimpleNamespace(
        planner=None,
        info=SimpleNamespace(target=FakeHost("one")),
        armed=SimpleNamespace(
            probes=(),
            hold_recording=lambda: None,
            record_together=lambda: None,
            arm=lambda probe, **how: SimpleNamespace(plan=plan),
        ),
    )
    assert arm_on_host(watch, READ).lines == (made.line, "e:more")
