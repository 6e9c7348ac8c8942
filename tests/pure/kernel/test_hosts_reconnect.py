"""One of several hosts whose connection is lost: it comes back, the others go on, the gap stands in the list."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import kernel.hosts.host
from events.store.outage_mark import OUTAGE_EVENT, outage_of_batch, outage_of_record
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import ConnectionGone, FileRefused, HostUnreachable, TargetLost, TargetUnusable
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import SCREEN
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.target import Step
from kernel.watch import reconnect
from kernel.watch.clocks.readings import read_clock
from tests.pure.fake_hosts import AnyProbe, FakeHost, Lan, ReturningHost, is_clean
from tests.pure.kernel.test_hosts import READ, SECOND, armed_on, shown, shows, states, until

AWAY = TargetUnusable("ssh://one: no route to host", "check that the host is up")
WRITE = ArmRequest(("f vfs_write",))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))


@pytest.fixture
def one() -> ReturningHost:
    return ReturningHost("one", behind=100 * SECOND)


@pytest.fixture
def two() -> FakeHost:
    return FakeHost("two", behind=-5 * SECOND)


@pytest.fixture
def fleets(one: ReturningHost, two: FakeHost) -> Iterator[Callable[..., Fleet]]:
    made: list[Fleet] = []
    lan = Lan(one, two)

    def make(*specs: str, patience: float | None = None, window: int = SECOND // 20) -> Fleet:
        made.append(Fleet(specs, window=window, patience=patience, opener=lan.open))
        made[-1].open()
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()
    assert is_clean(one) and is_clean(two)


@pytest.fixture
def fleet(fleets: Callable[..., Fleet]) -> Fleet:
    made = fleets("one", "two")
    made.arm(READ)
    assert made.wait(60)
    return made


def names(fleet: Fleet) -> list[tuple[str, str]]:
    return [(event.host, event.event.rpartition("/")[2]) for event in shown(fleet)]


def is_back(fleet: Fleet, times: int = 1) -> bool:
    host = fleet.hosts[0]
    came = host.watch is not None and len(host.watch.outages) == times
    return host.state is HostState.ARMED and host.trying is None and came


def test_it_comes_back_and_the_gap_stands_among_the_events_of_all(fleet, one, two):
    host = fleet.hosts[0]
    one.event(fleet.clock(), pid=1)
    until(fleet, lambda: len(shown(fleet)) == 1)
    before = host.done.lines
    one.cut(AWAY)
    until(fleet, lambda: host.state is HostState.CUT and one.tried > 2)
    assert host.trying is not None and "disconnected" in host.trying.note
    assert "connection was lost" in host.reason and fleet.settled and fleet.armed
    two.event(fleet.clock(), pid=2)
    until(fleet, lambda: len(shown(fleet)) == 2)
    fleet.look()
    until(fleet, lambda: fleet.hosts[1].counts is not None)
    one.refuse = None
    until(fleet, lambda: is_back(fleet) and len(shown(fleet)) == 3)
    one.event(fleet.clock(), pid=3)
    two.event(fleet.clock(), pid=4)
    until(fleet, lambda: len(shown(fleet)) == 5)
    assert sorted(names(fleet)[3:]) == [("one", "vfs_read"), ("two", "vfs_read")]
    assert names(fleet)[:3] == [("one", "vfs_read"), ("two", "vfs_read"), ("one", OUTAGE_EVENT)]
    mark = shown(fleet)[2]
    assert not mark.late and "lost" in mark.comm and "events of that time are lost" in str(mark.record.values["note"])
    stamps = [event.ts for event in shown(fleet) if not event.late]
    assert stamps == sorted(stamps)
    assert not host.reason and len(host.done.lines) == 1 and host.done.lines != before, (
        "in a group of another session"
    )
    fleet.close()
    assert states(fleet) == {"one": HostState.CLOSED, "two": HostState.CLOSED} and one.closed


def test_a_machine_that_was_booted_anew_is_told_and_its_clock_is_measured_anew(fleet, one):
    host = fleet.hosts[0]
    one.event(fleet.clock(), pid=1)
    until(fleet, lambda: len(shown(fleet)) == 1)
    one.cut()
    one.boot(behind=4000 * SECOND)
    until(fleet, lambda: is_back(fleet) and len(shown(fleet)) == 2)
    offset = host.offset(fleet.clock())
    assert offset is not None and abs(offset.ns - 4000 * SECOND) <= offset.uncertainty
    now = fleet.clock()
    one.event(now, pid=3)
    until(fleet, lambda: len(shown(fleet)) == 3)
    first, mark, last = shown(fleet)
    assert "the machine was booted anew" in str(mark.record.values["note"])
    assert first.ts <= mark.ts <= last.ts and abs(last.ts - now) < SECOND // 100
    assert first.record.ts > last.record.ts, "by its own clock it was before"


def test_another_kernel_is_not_gone_on_with(fleet, one):
    one.cut()
    one.files["/proc/sys/kernel/osrelease"] = b"7.2.0\n"
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    assert "another kernel" in fleet.hosts[0].reason and fleet.hosts[0].remedy == "open it anew"
    assert fleet.hosts[1].state is HostState.ARMED


@pytest.mark.parametrize("why", [AWAY, ConnectionGone("the guest has ended")])
def test_it_is_given_up_after_a_time_or_at_once_where_that_is_of_no_use(fleets, one, why):
    patience = 0.1 if why is AWAY else None
    fleet = fleets("one", "two", patience=patience)
    fleet.arm(READ)
    assert fleet.wait(60)
    one.cut(why)
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    assert str(why) in fleet.hosts[0].reason
    assert fleet.hosts[1].state is HostState.ARMED
    one.be_there()
    assert fleet.retry() == 1
    until(fleet, lambda: fleet.hosts[0].state is HostState.ARMED)


def test_nobody_tries_where_no_time_is_given(fleets, one):
    fleet = fleets("one", patience=0)
    fleet.arm(READ)
    assert fleet.wait(60)
    one.cut()
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    assert one.tried == 0 and "connection was lost" in fleet.hosts[0].reason


def test_by_hand_at_once_and_given_up(fleet, one, monkeypatch):
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    one.cut(AWAY)
    until(fleet, lambda: one.tried == 1)
    fleet.try_now()
    until(fleet, lambda: one.tried == 2)
    fleet.give_up()
    until(fleet, lambda: fleet.hosts[0].state is HostState.LOST)
    assert "no route" in fleet.hosts[0].reason


def test_the_end_does_not_wait_for_one_that_is_tried_again(fleet, one, monkeypatch):
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    one.cut(AWAY)
    until(fleet, lambda: one.tried == 1)
    fleet.finish()
    assert names(fleet) == [("one", OUTAGE_EVENT)], "nothing else says so among the events"
    fleet.close()
    assert states(fleet) == {"one": HostState.LOST, "two": HostState.CLOSED}
    assert "no route" in fleet.hosts[0].reason


@pytest.mark.parametrize("clock_is_known", [True, False])
def test_a_line_that_comes_back_while_all_ends_gives_its_mark_and_what_it_recorded(
    fleet, one, monkeypatch, clock_is_known
):
    """`finish` begins when all is armed again, and only the clock is still read: nobody can give that up any more."""
    begun, goes_on = threading.Event(), threading.Event()
    one.event(fleet.clock(), pid=1)
    until(fleet, lambda: len(shown(fleet)) == 1)
    host = fleet.hosts[0]
    session = host.watch.session
    on_comeback = host.watch.armed.on_comeback

    def is_back() -> None:
        on_comeback()
        one.event(fleet.clock(), pid=2)
        if not clock_is_known:
            one.cut(AWAY)  # again, before its clock could be read

    def read_late(*rest: object) -> object:
        begun.set()
        assert goes_on.wait(60)
        return read_clock(*rest)

    host.watch.armed.on_comeback = is_back
    monkeypatch.setattr(kernel.hosts.host, "read_clock", read_late)
    one.cut()
    until(fleet, begun.is_set)

    def go_on() -> None:
        """Read the clock once it is given up."""
        while not host.trying._over.is_set():
            time.sleep(0.005)
        goes_on.set()

    helper = threading.Thread(target=go_on)
    helper.start()
    fleet.finish()
    helper.join()
    assert host.watch.session is not session and len(host.watch.outages) == 1
    told = [(event.event.rpartition("/")[2], event.pid) for event in shown(fleet)]
    if clock_is_known:
        assert told == [("vfs_read", 1), (OUTAGE_EVENT, 0), ("vfs_read", 2)]
    else:
        assert told == [("vfs_read", 1), (OUTAGE_EVENT, 0), (OUTAGE_EVENT, 0)], "of both cuts"
        assert fleet.events.unshown_of(host) == host.watch.store.next_seq - len(told)
    fleet.close()


@pytest.mark.parametrize("given_up_first", [True, False])
def test_one_that_never_came_back_has_its_mark_behind_its_events(fleet, one, monkeypatch, given_up_first):
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    host = fleet.hosts[0]
    one.event(fleet.clock(), pid=1)
    until(fleet, lambda: len(shown(fleet)) == 1)
    (event,) = shown(fleet)
    one.cut(AWAY)
    until(fleet, lambda: one.tried == 1)
    if given_up_first:
        fleet.give_up()
        until(fleet, lambda: host.state is HostState.LOST and shows(fleet, 2))
    fleet.finish()
    assert names(fleet) == [("one", "vfs_read"), ("one", OUTAGE_EVENT)], "once"
    cut = outage_of_record(shown(fleet)[1].record)
    assert cut is not None and cut == outage_of_batch(cut.batch(0)) and cut.back is None and cut.lost is not None
    assert cut.lost >= event.record.ts and "and not reconnected" in cut.text
    assert host.watch.outages == (), "which say how often it came back"


def test_what_is_ordered_meanwhile_is_armed_when_it_is_back(fleet, one, two):
    one.cut(AWAY)
    until(fleet, lambda: fleet.hosts[0].state is HostState.CUT)
    fleet.arm(WRITE)
    until(fleet, lambda: armed_on(two) == ["vfs_read", "vfs_write"])
    one.refuse = None
    until(fleet, lambda: is_back(fleet) and armed_on(one) == ["vfs_read", "vfs_write"])
    assert fleet.wait(60) and len(fleet.hosts[0].done.lines) == 2


def test_what_is_taken_away_meanwhile_is_taken_away_when_it_is_back(fleet, one, two):
    one.cut(AWAY)
    until(fleet, lambda: fleet.hosts[0].state is HostState.CUT)
    fleet.disarm()
    fleet.arm(WRITE)
    until(fleet, lambda: armed_on(two) == ["vfs_write"])
    one.refuse = None
    until(fleet, lambda: is_back(fleet) and armed_on(one) == ["vfs_write"])


def test_an_order_in_the_midst_of_which_the_line_is_cut_is_given_again(fleet, one):
    begun = threading.Event()

    def cut(step: Step) -> None:
        if b"vfs_open vfs_open" in step.data and not begun.is_set():
            begun.set()
            one.cut()
            raise TargetLost("the connection was lost")

    one.before = cut
    fleet.arm(ArmRequest(("f vfs_write", "f vfs_open")))
    until(fleet, begun.is_set)
    until(fleet, lambda: is_back(fleet) and armed_on(one) == ["vfs_read", "vfs_write", "vfs_open"])


def test_what_can_not_be_armed_again_is_told(fleet, one):
    def refused(step: Step) -> None:
        if b"vfs_read vfs_read" in step.data:
            raise FileRefused(step.path, 16)

    one.before = refused
    one.cut()
    until(fleet, lambda: fleet.hosts[0].state is HostState.REFUSED)
    assert fleet.hosts[0].reason.startswith("not armed again: vfs_read: ") and fleet.hosts[0].remedy


def test_a_line_that_is_cut_again_leaves_two_marks(fleet, one):
    for number in (1, 2):
        one.cut()
        until(fleet, partial(is_back, fleet, number))
        until(fleet, partial(shows, fleet, 2 * number - 1))
        one.event(fleet.clock(), pid=number)
        until(fleet, partial(shows, fleet, 2 * number))
    assert [name for _, name in names(fleet)] == [OUTAGE_EVENT, "vfs_read"] * 2


def test_what_is_taken_away_as_the_line_is_cut_is_not_left_behind(fleet, one, two):
    one.cut(AWAY)
    fleet.disarm()
    until(fleet, lambda: fleet.hosts[0].state is HostState.CUT)
    one.refuse = None
    until(
        fleet, lambda: states(fleet) == {"one": HostState.OPEN, "two": HostState.OPEN} and not fleet.hosts[0].trying
    )
    assert armed_on(one) == armed_on(two) == [] and not fleet.hosts[0].undo_errors


def opened_with(errors: dict[int, Exception], patience: float = 60.0) -> tuple[Host, list[FakeHost], int]:
    """A host, the hosts that were reached on the way to it, and the number of messages; some end in an error."""
    messages, reached = [0], list[FakeHost]()

    def message() -> None:
        messages[0] += 1
        if (error := errors.get(messages[0])) is not None:
            if reached:
                reached[-1].vanish()
                reached[-1].lost = True
            raise error

    class Counting(FakeHost):
        def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
            message()
            return super().read(path, limit, offset)

    def opener(spec: str, progress: object, cancel: threading.Event) -> AnyProbe:
        message()
        reached.append(Counting("one"))
        reached[-1].before = lambda _: message()
        return AnyProbe(KernelInfo(reached[-1]))

    host = Host("ssh://one", "one", Limits(), SCREEN, patience)
    host.open(opener, time.time_ns, threading.Event())
    return host, reached, messages[0]


def test_a_line_that_is_cut_while_a_host_is_opened_is_made_anew():
    """At whatever message that is: nothing is there yet that could be lost."""
    host, _, number = opened_with({})
    host.close()
    assert number > 5
    for at in range(1, number + 1):
        error = HostUnreachable("cut", was_connected=True) if at == 1 else TargetLost("cut")
        host, reached, _ = opened_with({at: error, at + 1: HostUnreachable("one: Connection refused")})
        assert host.state is HostState.OPEN, (at, host.reason)
        assert all(one.closed for one in reached[:-1]) and not reached[-1].closed
        host.close()
        assert all(map(is_clean, reached)) and reached[-1].closed
        host, reached, _ = opened_with({at: error}, patience=0)
        assert host.state is HostState.UNREACHABLE and host.reason == "cut"
        host.close()
        assert all(map(is_clean, reached)) and all(one.closed for one in reached)


def test_a_host_that_was_never_reached_is_not_waited_for():
    host, reached, messages = opened_with({1: HostUnreachable("one: Connection refused")})
    assert (host.state, host.reason, reached, messages) == (HostState.UNREACHABLE, "one: Connection refused", [], 1)


def test_a_host_that_is_silent_at_the_end_has_its_mark(fleet, one, two):
    """Nobody knew that its connection was lost: that it gives no answer any more tells."""
    one.event(fleet.clock(), pid=1)
    two.event(fleet.clock(), pid=2)
    until(fleet, lambda: len(shown(fleet)) == 2)
    (before,) = (event.record.ts for event in shown(fleet) if event.host == "one")
    read = one.read

    def frozen(path: str, *rest: int) -> bytes:
        if path.endswith("/stats") and one.ends < time.monotonic():
            one.lose("no answer")
            raise TargetLost("no answer")
        return read(path, *rest)

    one.read = frozen
    one.last_received = one.unanswered = time.monotonic() - 10
    fleet.finish()
    assert states(fleet) == {"one": HostState.LOST, "two": HostState.ARMED}
    assert [host for host, name in names(fleet) if name == OUTAGE_EVENT] == ["one"]
    (mark,) = (outage_of_record(event.record) for event in shown(fleet) if event.event == OUTAGE_EVENT)
    assert mark is not None and mark.for_good and mark.lost is not None and mark.lost >= before
    one.vanish()  # the remote host undoes by itself
