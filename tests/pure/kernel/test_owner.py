"""Names of sessions, and what is left of dead ones."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.cleanup import leftovers
from kernel.cleanup.leftovers import Leftover
from kernel.cleanup.owner import (
    Owner,
    base36,
    has_pid_in_child_namespace,
    is_alive,
    is_dead_everywhere,
    is_initial_pid_namespace,
    owner_name,
    parse_owner,
)
from kernel.errors import FileRefused
from kernel.local.target import LocalTarget
from kernel.session.start import open_session
from kernel.target import Effect, Step
from tests.fake_target import ROOT, FakeTarget
from tests.pure.kernel.test_session import plan


@given(st.integers(0, 2**64))
def test_base36_is_what_int_reads(number):
    assert int(base36(number), 36) == number


def stat(comm: bytes, pid: int = 77, starttime: int = 12345) -> bytes:
    return b"%d (%s) S " % (pid, comm) + b"1 " * 18 + b"%d 0 0\n" % starttime


@given(st.binary(max_size=20))
def test_an_owner_is_read_whatever_the_process_is_called(comm):
    assert owner_name(stat(comm)) == f"77_{base36(12345)}"
    assert parse_owner(owner_name(stat(comm))) == Owner(77, base36(12345))


def test_names():
    assert parse_owner("77_9ix_3") == Owner(77, "9ix", 3)
    for other in ("", "mine", "77", "77_9ix_", "77_9IX", "77_9ix_3_4", "../77_9ix", "77_9ix\n"):
        assert parse_owner(other) is None


def test_we_are_alive_and_nobody_else_is_us():
    target = LocalTarget()
    owner = parse_owner(target.owner)
    assert owner is not None
    assert owner.pid == os.getpid()
    assert is_alive(target, owner)
    assert not is_alive(target, owner._replace(starttime="1"))
    assert not is_alive(target, owner._replace(pid=2**22 + 1))


def test_leftovers_of_the_dead_only():
    target = FakeTarget(
        {
            "/proc/5/stat": stat(b"alive", 5, 36),
            "/proc/6/stat": stat(b"another process of that number", 6, 99),
            f"{ROOT}/dynamic_events": (
                b"p:kprobes/theirs vfs_read\nf:pw_5_10/a vfs_read\nf:pw_6_10/a vfs_read\nf:pw_6_10/a vfs_write\n"
                b"e:pw_6_10/b pw_6_10.a\nf:pw_7_1_2/x vfs_read\nf:pw_notours/x vfs_read\n"
            ),
        }
    )
    for name in ("probewright-5_10", "probewright-6_10", "probewright-8_1", "probewright-mine", "theirs"):
        target._fill(f"{ROOT}/instances/{name}")
    found = leftovers.find(target)
    assert found == [
        Leftover("6_10", f"{ROOT}/instances/probewright-6_10", ("pw_6_10/a", "pw_6_10/b")),
        Leftover("7_1_2", "", ("pw_7_1_2/x",)),
        Leftover("8_1", f"{ROOT}/instances/probewright-8_1", ()),
    ]
    for leftover in found:
        assert not leftovers.remove(target, leftover)
    assert leftovers.find(target) == []
    left = target.files[f"{ROOT}/dynamic_events"].decode().splitlines()
    assert left == ["p:kprobes/theirs vfs_read", "f:pw_5_10/a vfs_read", "f:pw_notours/x vfs_read"]
    assert set(target.list(f"{ROOT}/instances")) == {"probewright-5_10", "probewright-mine", "theirs"}
    # The event probe went before the event that it was attached to.
    removals = [step.data for step in target.steps if step.data.startswith(b"-:pw_6_10")]
    assert removals == [b"-:pw_6_10/b\n", b"-:pw_6_10/a\n"]


def test_synthetic_events_of_a_dead_session_go_with_it():
    """An instance may have switched on what others made: that it is on there says nothing of whose it is."""
    mine = b"synthetic/pw_6_10__took"
    lines = b"s:synthetic/theirs u64 a\ns:%b u64 a\ne:pw_6_10/b synthetic.pw_6_10__took\n" % mine
    target = FakeTarget({f"{ROOT}/dynamic_events": lines})
    instance = f"{ROOT}/instances/probewright-6_10"
    target._fill(instance)
    target.files[f"{instance}/set_event"] = b"sched:sched_switch\nsynthetic:theirs\nsynthetic:pw_6_10__took\n"
    (found,) = leftovers.find(target)
    assert found.events == (mine.decode(), "pw_6_10/b")
    assert not leftovers.remove(target, found)
    assert target.files[f"{ROOT}/dynamic_events"] == b"s:synthetic/theirs u64 a\n"
    removals = [step.data for step in target.steps if step.data.startswith(b"-:")]
    assert removals == [b"-:pw_6_10/b\n", b"-:%b\n" % mine]  # an event probe keeps what it sits on


def test_a_session_that_only_looks_dead_is_left_alone():
    target = FakeTarget()
    session = open_session(target)
    session.probes.arm(plan(session, "entry"))
    before = list(target.traces)
    # From another process, in a PID name space in which its process cannot be seen.
    target.owner = "200_def"
    (found,) = leftovers.find(target)
    (why,) = leftovers.remove(target, found)
    assert "in use" in why
    assert target.traces == before
    assert target.files[f"{ROOT}/instances/probewright-100_abc/events/pw_100_abc/entry/enable"] == b"1"
    # An orphaned group, whose process is there: someone is at work right now.
    target.held.clear()
    target.files["/proc/100/stat"] = stat(b"x", 100, int("abc", 36))
    (why,) = leftovers.remove(target, found._replace(name="100_abc_7"))
    assert "alive" in why


def test_events_that_someone_else_uses_are_reported():
    target = FakeTarget()
    session = open_session(target)
    session.probes.arm(plan(session, "entry", "exit"))
    target.files[f"{ROOT}/events/pw_100_abc/entry/enable"] = b"1"
    target.held.clear()
    target.owner = "200_def"
    (found,) = leftovers.find(target)
    (why,) = leftovers.remove(target, found)
    assert why.startswith("pw_100_abc/entry: in use")
    assert list(target.traces) == ["f:pw_100_abc/entry vfs_read"]


KTHREADD = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 26 0 0 20 0 1 0 54 0 0\n"
OF_A_CONTAINER = b"2 (kthreadd) S 0 2 2 0 -1 4194560 0 0 0 0 0 26 0 0 20 0 1 0 54 0 0\n"
"""A program that calls itself so, begun from outside."""


def status(*numbers: int) -> bytes:
    return b"Name:\tx\nPid:\t1\nNSpid:\t" + b"\t".join(b"%d" % number for number in numbers) + b"\nNSsid:\t6\n"


def test_only_the_first_name_space_shows_kthreadd():
    assert is_initial_pid_namespace(KTHREADD)
    assert not any(map(is_initial_pid_namespace, (OF_A_CONTAINER, b"", b"2 (kthreadd) S 0", stat(b"sh", 2))))


def test_a_number_in_a_container_is_seen_from_outside():
    statuses = [b"Name:\tkernels before 4.1\nPid:\t6\n", status(6), status(900, 7, 1)]
    assert [pid for pid in (1, 6, 7, 8, 900) if has_pid_in_child_namespace(statuses, pid)] == [1, 7]


def killed_with_variables(**files: bytes) -> FakeTarget:
    """Return what a session leaves whose latencies are made in the kernel: its own triggers keep its instance."""
    target = FakeTarget({f"/proc/{path.replace('_', '/')}": data for path, data in files.items()})
    instance = f"{ROOT}/instances/probewright-6_10"
    target.perform(Step(Effect.MKDIR, instance))
    lines = (
        "s:pw_6_10__slow u64 lat",
        "f:pw_6_10/begin vfs_read",
        "f:pw_6_10/end vfs_read%return",
        "f:pw_6_10/z vfs_open",
    )
    for line in ("s:synthetic/" + lines[0].removeprefix("s:"), *lines[1:]):
        target.perform(Step(Effect.APPEND, f"{ROOT}/dynamic_events", line.encode()))
    for event, text in (
        ("pw_6_10/begin", "hist:keys=common_pid:t0=common_timestamp:clock=mono"),
        ("pw_6_10/end", "hist:keys=common_pid:took=common_timestamp-$t0:onmatch(pw_6_10.begin).pw_6_10__slow($took)"),
        ("synthetic/pw_6_10__slow", "hist:keys=lat.log2:last=common_timestamp-$took"),
        ("pw_6_10/z", "stacktrace"),
    ):
        target.perform(Step(Effect.APPEND, f"{instance}/events/{event}/trigger", text.encode()))
    target.perform(Step(Effect.WRITE, f"{instance}/events/synthetic/pw_6_10__slow/enable", b"1"))
    target.steps.clear()
    return target


def test_triggers_of_a_dead_session_do_not_keep_it():
    target = killed_with_variables(**{"2_stat": KTHREADD, "2_status": status(2), "900_status": status(900, 7)})
    (found,) = leftovers.find(target)
    assert not leftovers.remove(target, found)
    assert target.traces == []
    assert leftovers.find(target) == []
    paths = [step.path.partition("6_10/")[2] for step in target.steps if step.path.endswith(("enable", "trigger"))]
    assert paths[0] == "events/enable", "nothing is recorded while its triggers go"


@pytest.mark.parametrize(
    "processes",
    [
        {},
        {"2_stat": OF_A_CONTAINER},
        {"2_stat": KTHREADD, "900_status": status(900, 6)},
        {"2_stat": KTHREADD, "900_status": status(900, 3, 6, 1)},
        {"2_stat": KTHREADD, "6_stat": stat(b"alive", 6, 36)},
    ],
    ids=["nothing seen", "in a container", "another container", "one within", "began meanwhile"],
)
def test_triggers_stay_where_a_container_may_hold_the_owner(processes):
    target = killed_with_variables(**processes)
    before = dict(target.files)
    (why,) = leftovers.remove(target, Leftover("6_10", f"{ROOT}/instances/probewright-6_10", ()))
    assert "in use" in why
    assert (target.steps, target.files) == ([], before)


def test_a_process_that_cannot_be_looked_at_proves_nothing():
    target = killed_with_variables(**{"2_stat": KTHREADD, "900_status": status(900)})
    dead = Owner(6, "10")
    assert is_dead_everywhere(target, dead)
    seen = target.read

    def read(path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path == "/proc/900/status":
            raise FileRefused(path, why)
        return seen(path, limit, offset)

    target.read = read  # type: ignore[method-assign]
    why = errno.ESRCH
    assert is_dead_everywhere(target, dead), "it has ended meanwhile"
    why = errno.EACCES
    assert not is_dead_everywhere(target, dead)


def test_who_reads_a_dead_session_keeps_it_until_then():
    target = killed_with_variables(**{"2_stat": KTHREADD})
    target.held.append(f"{ROOT}/instances/probewright-6_10/trace_pipe")
    (found,) = leftovers.find(target)
    (why,) = leftovers.remove(target, found)
    assert "in use" in why
    target.held.clear()
    assert not leftovers.remove(target, found)
    assert target.traces == []


@pytest.mark.parametrize("number", range(1, 12))
def test_a_crash_at_any_step_is_cleaned_up(number):
    target = FakeTarget()

    class Crash(BaseException):
        pass

    count = 0

    def crash(_: object) -> None:
        nonlocal count
        count += 1
        if count >= number:
            raise Crash

    target.after = crash
    with pytest.raises(Crash):
        session = open_session(target)
        session.probes.arm(plan(session, "entry", "exit", triggers=("stacktrace",)))
    target.after = lambda step: None
    target.held.clear()
    target.owner = "200_def"
    for leftover in leftovers.find(target):
        assert not leftovers.remove(target, leftover)
    assert not target.traces
