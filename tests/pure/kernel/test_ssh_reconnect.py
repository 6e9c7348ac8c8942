"""A watch whose connection was lost: the same probes in another session, old events stay, the outage is counted."""

from __future__ import annotations

import errno
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from events.batch import Batch
from events.durations import seconds_text
from events.names.event_names import exported_name
from events.recording.reader import Recording
from events.store.outage_mark import OUTAGE_EVENT, outage_of_record
from events.store.store import Store
from events.summary.summary import Summary
from kernel.cleanup import abandoned_processes
from kernel.cleanup.undo import failure_lines
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import ConnectionGone, FileRefused, PasswordNeeded, TargetLost, TargetUnusable
from kernel.recording.target import RecordingTarget
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.session.probe_steps import Mode
from kernel.target import Effect, Step
from kernel.watch import reconnect
from kernel.watch.reconnect import ReconnectAbandoned, ReconnectAttempt, Reconnected, can_reconnect
from kernel.watch.watch import Watch
from probes.command import Armable
from probes.plans.plan import Plan, PlannedEvent
from tests.fake_target import FACTS, ROOT, Served
from tests.pure.kernel.test_watch import Anything, Stream, Target, id_of, probe
from tests.pure.probes.test_instance_groups import planned
from tests.pure.remote_hosts import eventually
from tests.replays import replay_of
from tui.present.loss_totals import losses_of
from tui.present.status import note_of_gap

BOOT = "/proc/sys/kernel/random/boot_id"


class Fed(Stream):
    """Ends with the line."""

    def __init__(self, side: Side) -> None:
        super().__init__()
        self._side = side

    def read(self, timeout: float) -> Batch | None:
        if self._side.lost and self.queue.empty():
            raise TargetLost("the connection was lost")
        return super().read(timeout)


class Side(Served, Target):
    """A kernel with a dialect in front of it, and a connection that can be lost."""

    def __init__(self) -> None:
        super().__init__(facts=replace(FACTS, boot_id="one"))
        self.last_received = time.monotonic()
        self.hung_up = 0
        self.refuse: Exception | None = None
        self.asked: list[bool] = []
        self._be(100)
        self.files[BOOT] = b"one\n"
        self.files["/proc/sys/kernel/osrelease"] = f"{FACTS.release}\n".encode()
        self.files["/proc/sys/kernel/version"] = b"\n"
        self.target = RemoteTarget(self._reached(), "ssh://box", again=self._again)
        self.target._facts = self._facts

    def _reached(self) -> RemoteConnection:
        return RemoteConnection(self, "agent", (), self._hang_up)

    def _hang_up(self) -> None:
        self.hung_up += 1

    def _again(self, cancel: threading.Event | None, asking: bool) -> RemoteConnection:
        self.asked.append(asking)
        if self.refuse is not None:
            raise self.refuse
        self.lost = False
        self.last_received = time.monotonic()
        self._be(self.pid + 100)
        return self._reached()

    def stream(self, instance: str) -> Fed:
        self.pages = Fed(self)
        return self.pages

    def cut(self) -> None:
        """The remote host undoes; nobody here hears of it."""
        self.vanish()
        self.lost = True

    def kill(self) -> None:
        """The remote host is killed: nobody undoes, and its files are closed."""
        self.held.clear()
        self.guarded.clear()
        del self.files[f"/proc/{self.pid}/stat"]
        self.lost = True


@pytest.fixture
def side() -> Side:
    return Side()


@pytest.fixture
def watch(side: Side) -> Iterator[Watch]:
    made = Watch(Anything(KernelInfo(side.target)))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (0.01,))


def cut(side: Side, watch: Watch) -> None:
    side.cut()
    assert eventually(lambda: watch.error is not None)
    assert can_reconnect(watch)


def shown(watch: Watch, number: int) -> list[str]:
    def enough() -> bool:
        watch.tick()
        return watch.store is not None and watch.store.next_seq >= number

    assert eventually(enough)
    store = watch.store
    assert store is not None
    return [store.record(seq).event.rpartition("/")[2] for seq in range(store.next_seq)]


def test_what_came_stays_and_the_gap_stands_between(side: Side, watch: Watch) -> None:
    old = watch.armed.arm(probe("vfs_read"))
    side.event(1000, id_of(old))
    assert shown(watch, 1) == ["vfs_read"]
    assert watch.session is not None
    group = watch.session.group
    cut(side, watch)
    back = ReconnectAttempt(watch).run()
    assert [was for was, _ in back.rearmed] == [old] and not back.rejected_probes
    ((_, new),) = back.rearmed
    assert watch.armed.probes == (new,) and watch.session.group != group
    assert [event.path for event in new.plan.events] == [f"{watch.session.group}/vfs_read"]
    assert len(side.traces) == 2, "one instance and one event, of the new session"
    side.event(2000, id_of(new))
    assert shown(watch, 3) == ["vfs_read", OUTAGE_EVENT, "vfs_read"]
    store = watch.store
    assert store is not None
    mark = store.record(1)
    assert outage_of_record(mark) == back.outage
    assert mark.values["seconds"] == f"{back.outage.seconds:.3f}"
    assert "lost" in str(mark.values["note"])
    assert mark.comm == f"{seconds_text(back.outage.seconds)} lost"
    assert store.loss_spans.latest.may_lack_ends(1000, 2000), "no call is paired across it"
    assert [store.record(seq).ts for seq in (0, 2)] == [1000, 2000]
    assert watch.outages == (back.outage,) and watch.error is None and watch.live
    assert watch.close() == []
    assert side.traces == []


@pytest.mark.parametrize("how", ["disarmed", "off"])
def test_no_event_is_missing_where_nothing_was_recorded(side: Side, watch: Watch, how: str) -> None:
    old = watch.armed.arm(probe("vfs_read"))
    side.event(1000, id_of(old))
    assert shown(watch, 1) == ["vfs_read"]
    watch.armed.disarm(old) if how == "disarmed" else watch.armed.switch(old, Mode.OFF)
    cut(side, watch)
    back = ReconnectAttempt(watch).run()
    assert "nothing was recorded" in back.text and not back.outage.missing and watch.outages == ()
    new = watch.armed.arm(probe("vfs_write"))
    side.event(2000, id_of(new))
    assert shown(watch, 2) == ["vfs_read", "vfs_write"], "the rows stay, and nothing stands between"
    assert losses_of(watch, None).gap == 0 and not note_of_gap(watch)


def test_a_machine_that_was_booted_anew_while_nothing_was_armed_has_its_mark(side: Side, watch: Watch) -> None:
    """Its clock began again; but no event is missing."""
    old = watch.armed.arm(probe("vfs_read"))
    side.event(1000, id_of(old))
    assert shown(watch, 1) == ["vfs_read"]
    watch.armed.disarm(old)
    cut(side, watch)
    side.files[BOOT] = b"two\n"
    back = ReconnectAttempt(watch).run()
    assert shown(watch, 2) == ["vfs_read", OUTAGE_EVENT] and watch.outages == (back.outage,)
    store = watch.store
    assert store is not None
    mark = store.record(1)
    assert outage_of_record(mark) == back.outage and store.boots.starts
    assert mark.comm.endswith(" cut") and "lost" not in str(mark.values["note"])
    assert losses_of(watch, None).gap == 0 and not note_of_gap(watch)


def test_modes_triggers_filters_and_the_buffer_come_back(side: Side, watch: Watch) -> None:
    counted = watch.armed.arm(probe("vfs_write"))
    filtered = watch.armed.arm(replace(probe("vfs_read"), filter="count > 9"))
    watch.armed.switch(counted, Mode.OFF)
    watch.armed.add_trigger(filtered, filtered.plan.events[0], "stacktrace")
    watch.queue.resize(4096)
    cut(side, watch)
    back = ReconnectAttempt(watch).run()
    session = watch.session
    assert session is not None and not back.rejected_probes
    off, on = watch.armed.probes
    assert (session.probes.mode(off), session.probes.mode(on)) == (Mode.OFF, Mode.RECORD)
    assert [text for _, text in session.probes.triggers(on)] == ["stacktrace"]
    (instance,) = (folder for folder in side.folders if "/instances/" in folder)
    path = on.plan.events[0].path
    assert side.files[f"{instance}/events/{path}/filter"] == b"count > 9"
    assert side.files[f"{instance}/events/{path}/trigger"] == b"stacktrace if count > 9"
    assert side.files[f"{instance}/buffer_size_kb"] == b"4096"
    assert on.plan.probe == filtered.plan.probe


def test_a_probe_that_is_refused_then_is_told_and_the_others_come_back(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    watch.armed.arm(probe("ext4_sync"))

    def gone(step: object) -> None:
        if b"ext4_sync ext4" in getattr(step, "data", b""):
            raise FileRefused("dynamic_events", 2)

    cut(side, watch)
    side.before = gone
    back = ReconnectAttempt(watch).run()
    assert [armed.plan.probe.subject for armed in watch.armed.probes] == ["vfs_read"]
    (refused,) = back.rejected_probes
    assert refused.startswith("ext4_sync: ")


def test_losses_of_before_still_count(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))

    def overrun(number: int) -> None:
        (instance,) = (folder for folder in side.folders if "/instances/" in folder)
        side.files[f"{instance}/per_cpu/cpu0/stats"] = b"entries: 1\noverrun: %d\nread events: 0\n" % number

    overrun(7)
    before = watch.counts()
    assert before is not None and before.lost == 7
    cut(side, watch)
    ReconnectAttempt(watch).run()
    overrun(5)
    after = watch.counts()
    assert after is not None and after.lost == 12


def test_a_line_that_is_cut_again_while_it_comes_back(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    cuts = iter([True])

    def once(step: object) -> None:
        if b"f:" in getattr(step, "data", b"") and next(cuts, False):
            side.cut()
            raise TargetLost("cut again")

    side.before = once
    reconnecting = ReconnectAttempt(watch)
    back = reconnecting.run()
    assert reconnecting.tries == 2
    assert len(back.rearmed) == 1 and len(watch.armed.probes) == 1 and len(side.traces) == 2
    assert watch.outages == (back.outage,), "it was one gap"


def test_a_machine_that_was_booted_anew(side: Side, watch: Watch) -> None:
    """Its clock begins again: what comes is younger all the same."""
    old = watch.armed.arm(probe("vfs_read"))
    side.event(90_000, id_of(old))
    shown(watch, 1)
    cut(side, watch)
    side.files[BOOT] = b"two\n"
    back = ReconnectAttempt(watch).run()
    assert back.outage.booted
    assert side.target.facts().boot_id == "two"
    for ts in (10, 20, 30):
        side.event(ts, id_of(watch.armed.probes[0]))
    assert shown(watch, 5) == ["vfs_read", OUTAGE_EVENT, *["vfs_read"] * 3]
    store = watch.store
    assert isinstance(store, Store)
    assert "booted anew" in str(store.record(1).values["note"])
    assert [store.record(seq).ts for seq in (0, 2, 3, 4)] == [90_000, 10, 20, 30]
    assert store.late_events == 0


def test_a_boot_in_a_recording_is_one_when_it_is_replayed(side: Side, watch: Watch, tmp_path: Path) -> None:
    second = 10**9
    old = watch.armed.arm(probe("vfs_read"))
    watch.record_to(tmp_path / "a.pwr")
    for ts in (1000, 1001, 1002):
        side.event(ts * second, id_of(old))
    shown(watch, 3)
    cut(side, watch)
    side.files[BOOT] = b"two\n"
    assert ReconnectAttempt(watch).run().outage.booted
    for ts in (10, 11, 12):
        side.event(ts * second, id_of(watch.armed.probes[0]))
    shown(watch, 7)
    watch.stop_recording()
    replayed = replay_of(tmp_path / "a.pwr")

    def told(store: Store | None) -> tuple[object, ...]:
        assert store is not None
        summary = Summary(store)
        summary.tick(60)
        line = summary.timeline
        counts = Counter[tuple[str, int]]()  # a recording has the group of each session
        for kind in line.kinds:
            counts.update({(exported_name(kind), at): count for at, count in enumerate(line.counts(kind)) if count})
        return (
            tuple(store.boots.starts),
            store.late_events,
            len(store),
            store.at_time(11 * second),
            line.used * line.width,
            counts,
        )

    assert told(replayed.store) == told(watch.store)
    assert told(replayed.store)[:4] == ((4,), 0, 7, 5)


def test_another_kernel_is_not_probed_with_plans_of_this_one(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    side.files["/proc/sys/kernel/osrelease"] = b"6.13.0\n"
    hung_up = side.hung_up
    with pytest.raises(ReconnectAbandoned, match="another kernel"):
        ReconnectAttempt(watch).run()
    assert side.hung_up == hung_up + 2, "the old line and the new one"
    assert side.traces == []


def test_given_up_by_time_by_hand_and_where_it_is_of_no_use(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    side.refuse = TargetUnusable("refused by a test")
    with pytest.raises(ReconnectAbandoned, match="refused by a test"):
        ReconnectAttempt(watch, patience=0.05).run()
    waiting = ReconnectAttempt(watch)
    threading.Timer(0.1, waiting.give_up).start()
    with pytest.raises(ReconnectAbandoned, match="given up"):
        waiting.run()
    side.refuse = ConnectionGone("the guest has ended")
    with pytest.raises(ReconnectAbandoned, match="guest has ended"):
        ReconnectAttempt(watch).run()
    assert isinstance(watch.error, TargetLost), "it is as it was"


def test_a_person_is_asked_when_that_person_says_so(
    side: Side, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (60.0,))
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    side.refuse = PasswordNeeded("Permission denied")
    told: list[str] = []
    reconnecting = ReconnectAttempt(watch, changed=lambda: told.append(reconnecting.note))
    found: list[Reconnected] = []
    thread = threading.Thread(target=lambda: found.append(reconnecting.run()))
    thread.start()
    assert eventually(lambda: reconnecting.wants_to_ask)
    assert eventually(lambda: "again in" in told[-1])
    side.refuse = None
    reconnecting.try_now(asking=True)
    reconnecting.wait_for_try()
    thread.join(60)
    assert found and side.asked == [False, True]


def test_who_asks_during_an_attempt_waits_for_the_one_that_may_ask(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    side.refuse = PasswordNeeded("Permission denied")
    reconnecting = ReconnectAttempt(watch)
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    again = side._again

    def held(cancel: threading.Event | None, asking: bool) -> RemoteConnection:
        if asking:
            side.refuse = None
        elif reconnecting.wants_to_ask:
            begun.set()
            assert go_on.wait(60)
        return again(cancel, asking)

    side.target._again = held
    thread = threading.Thread(target=reconnecting.run)
    thread.start()
    assert begun.wait(60)
    reconnecting.try_now(asking=True)

    def wait() -> None:
        reconnecting.wait_for_try()
        assert side.asked[-1], "the terminal is lent until ssh has asked"
        over.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    go_on.set()
    waiting.join(60)
    thread.join(60)
    assert over.is_set() and side.asked == [False, False, True]
    assert not reconnecting.wants_to_ask, "nobody is asked any more"


def test_a_line_that_was_made_and_is_silent_is_given_up(side: Side, watch: Watch, monkeypatch) -> None:
    """Whoever leaves the application waits for no answer of it."""
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    asked, lost = threading.Event(), threading.Event()

    def read(path: str, limit: int = 0, offset: int = 0) -> bytes:
        asked.set()
        assert lost.wait(60), path
        raise TargetLost("it was given up")

    monkeypatch.setattr(side, "read", read)
    monkeypatch.setattr(side, "lose", lambda why: lost.set(), raising=False)
    reconnecting = ReconnectAttempt(watch)

    def leave() -> None:
        assert asked.wait(60)
        reconnecting.give_up()

    leaving = threading.Thread(target=leave)
    leaving.start()
    with pytest.raises(ReconnectAbandoned, match="given up"):
        reconnecting.run()
    leaving.join()


def test_no_attempt_is_waited_for_that_does_not_come(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    reconnecting = ReconnectAttempt(watch)
    reconnecting.run()
    reconnecting.try_now(asking=True)
    waiting = threading.Thread(target=reconnecting.wait_for_try, daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()
    given_up = ReconnectAttempt(watch)
    given_up.try_now(asking=True)
    given_up.give_up()
    with pytest.raises(ReconnectAbandoned):
        given_up.run()
    given_up.wait_for_try()


def test_who_left_meanwhile_is_not_reached_again(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    reconnecting = ReconnectAttempt(watch)
    side.target.close()
    assert not can_reconnect(watch)
    threading.Timer(0.1, reconnecting.give_up).start()
    with pytest.raises(ReconnectAbandoned):
        reconnecting.run()
    assert side.traces == []


def test_a_recording_has_the_gap_too(side: Side, tmp_path: Path) -> None:
    side.target._facts = replace(side._facts, cpus=1)
    watch = Watch(Anything(KernelInfo(side.target)))
    old = watch.armed.arm(probe("vfs_read"))
    watch.record_to(tmp_path / "x.pwr")
    side.event(1000, id_of(old))
    shown(watch, 1)
    cut(side, watch)
    ReconnectAttempt(watch).run()
    side.event(2000, id_of(watch.armed.probes[0]))
    shown(watch, 3)
    watch.stop_recording()
    watch.close()
    read = Watch(Planner(KernelInfo(RecordingTarget(Recording.open(tmp_path / "x.pwr"), "x"))))
    read.begin()
    assert shown(read, 3) == ["vfs_read", OUTAGE_EVENT, "vfs_read"]
    read.close()


class Latencies(Anything):
    """Takes the time between two probes of ours, whatever is asked for."""

    def lower(self, probe: Armable, group: str, *rest: object) -> Plan:
        return planned("lat:slow {f vfs_read%return file:x64} to {f vfs_write file:x64} by file", group)


def test_a_latency_comes_back_while_the_remote_host_of_before_has_its_own(side: Side) -> None:
    """That may take as long as nobody has told it that its connection is lost."""
    watch = Watch(Latencies(KernelInfo(side.target)))
    old = watch.armed.arm(probe("slow"))
    assert watch.session is not None
    before, of_before = watch.session.group, set(side.traces)
    side.event(1000, id_of(old))
    assert shown(watch, 1) == [f"{before}__slow"]
    side.lost = True
    assert eventually(lambda: watch.error is not None)
    back = ReconnectAttempt(watch).run()
    assert not back.rejected_probes and of_before < set(side.traces)
    ((_, new),) = back.rearmed
    group = watch.session.group
    assert [event.path for event in new.plan.events] == [
        f"synthetic/{group}__slow",
        f"{group}/slow_begin",
        f"{group}/slow_end",
    ]
    side.event(2000, id_of(new))
    assert shown(watch, 3) == [f"{group}__slow", OUTAGE_EVENT, f"{group}__slow"]
    assert before not in repr((watch.event_fields.plans, watch.session.probes.triggers(new)))
    assert watch.store is not None and watch.store.by_event(dict(watch.store.totals))[f"synthetic/{group}__slow"] == 2
    watch.close()
    assert set(side.traces) == of_before


class Named(Anything):
    """Makes an event under a name that a person chose."""

    def lower(self, probe: Armable, group: str, *rest: object) -> Plan:
        return Plan(probe, (PlannedEvent("mine", "x", "t:mine/x sched_switch", "-:mine/x"),))


def test_a_name_that_a_person_chose_is_waited_for(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(Named(KernelInfo(side.target)))
    watch.armed.arm(probe("x"))
    side.lost = True
    assert ended(watch)
    monkeypatch.setattr(abandoned_processes.time, "sleep", lambda _: side.vanish())
    back = ReconnectAttempt(watch).run()
    assert len(back.rearmed) == 1 and not back.rejected_probes
    assert len(side.traces) == 2, "one instance and one event, of the new session"
    assert watch.close() == [] and not side.traces


OTHERS = (f"{ROOT}/instances/probewright-77_zz", "f:pw_77_zz/x vfs_read")


def with_others(side: Side) -> None:
    """Have a dead session there that was never ours."""
    side.perform(Step(Effect.MKDIR, OTHERS[0]))
    side.perform(Step(Effect.APPEND, f"{ROOT}/dynamic_events", OTHERS[1].encode()))


def ended(watch: Watch) -> bool:
    return eventually(lambda: watch.error is not None)


def test_what_a_killed_remote_host_left_is_gone_before_anything_is_armed_again(side: Side, watch: Watch) -> None:
    with_others(side)
    watch.armed.arm(probe("vfs_read"))
    assert watch.session is not None
    before = watch.session.group.removeprefix("pw_")
    seen: list[str] = []
    side.before = lambda step: seen.extend(side.traces if step.data.startswith(b"f:") else ())
    for _ in range(2):
        side.kill()
        assert ended(watch)
        seen.clear()
        back = ReconnectAttempt(watch).run()
        assert not back.rejected_probes and seen and not any(before in trace for trace in seen)
        assert not side.target.predecessors
        before = watch.session.group.removeprefix("pw_")
    assert len(side.traces) == 4 and set(OTHERS) < set(side.traces)
    assert watch.close() == []
    assert set(side.traces) == set(OTHERS), "those of others are theirs to remove"


def test_a_remote_host_that_was_killed_after_another_one_came_is_cleaned_up_at_the_end(
    side: Side, watch: Watch
) -> None:
    watch.armed.arm(probe("vfs_read"))
    first, there = side.pid, set(side.traces)
    side.lost = True  # it has not noticed
    assert ended(watch)
    ReconnectAttempt(watch).run()
    assert there < set(side.traces) and len(side.target.predecessors) == 1
    del side.files[f"/proc/{first}/stat"]
    side.held[:] = [path for path in side.held if f"-{first}_" not in path]
    assert watch.close() == [] and not side.traces and not side.target.predecessors


def test_a_remote_host_that_lives_is_left_alone_waited_for_and_told(
    side: Side, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.armed.arm(probe("vfs_read"))
    first, there = side.pid, set(side.traces)
    side.lost = True
    assert ended(watch)
    ReconnectAttempt(watch).run()
    monkeypatch.setattr(abandoned_processes, "UNDOING", 0.0)
    (line,) = failure_lines(watch.close())
    assert f"probewright-{first}_" in line and f"process {first} from before the outage still runs" in line
    assert set(side.traces) == there
    monkeypatch.setattr(abandoned_processes, "UNDOING", 60.0)
    monkeypatch.setattr(abandoned_processes.time, "sleep", lambda _: side.vanish())
    assert watch.close() == [] and not side.traces


def test_what_someone_uses_of_a_killed_remote_host_is_told(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    first = side.pid
    side.kill()
    (instance,) = [one for one in side.folders if one.endswith(f"-{side.owner}")]

    def busy(step: Step) -> None:
        if step == Step(Effect.RMDIR, instance):
            raise FileRefused(instance, errno.EBUSY)

    side.before = busy
    assert ended(watch)
    ReconnectAttempt(watch).run()
    (failure,) = watch.close()
    assert failure.step.path == instance and "in use" in str(failure.error)
    side.before = lambda _: None
    assert watch.close() == [], "tried again"
    assert not any(f"{first}_" in trace for trace in side.traces)


def test_a_machine_that_was_booted_anew_has_nothing_of_before(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    cut(side, watch)
    side.files[BOOT] = b"two\n"
    ReconnectAttempt(watch).run()
    assert not side.target.predecessors
