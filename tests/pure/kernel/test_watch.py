"""Between the pump and the store: formats and bytes in order, a busy kernel, a full disk, a target that was left."""

import itertools
import queue
import struct
import threading
import time
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import pytest

import kernel.watch.recorder
from events.batch import Batch, Chunk
from events.loss_counts import LossCounts
from events.losses import UNKNOWN_TASK
from events.recording.reader import Recording
from events.store.outage_mark import Outage
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import KernelError, ProbeRefused, TargetLost, TargetUnusable
from kernel.recording.target import RecordingTarget
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.command import Armable, parse_armable
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tests.fake_target import FACTS, ROOT, FakeStream, FakeTarget
from tests.probes_data import kernel as known_kernel
from tests.replays import replay_of


class Stream(FakeStream):
    """Gives what the test puts in, when it does."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: queue.Queue[Batch] = queue.Queue()

    def read(self, timeout: float) -> Batch | None:
        try:
            return self.queue.get(timeout=min(timeout, 0.01))
        except queue.Empty:
            return None


class Target(FakeTarget):
    """Has one stream, and gives the ids of removed events again."""

    def stream(self, instance: str) -> Stream:
        self.pages = Stream()
        return self.pages

    def reuse_ids(self) -> None:
        self._next_id = 1500

    def event(self, ts: int, number: int, pid: int = 812) -> None:
        """An event reaches the ring buffer."""
        data = struct.pack("<IHHi", 2, number, 0, pid)
        page = struct.pack("<QQ", ts, len(data)) + data
        self.pages.queue.put(Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True))


class Anything(Planner):
    """Lowers each probe to one line without looking at it."""

    def lower(self, probe: Armable, group: str, *rest: Container[str]) -> Plan:
        name, where = probe.subject, getattr(probe, "filter", "")
        made = PlannedEvent(
            group, name, f"f:{group}/{name} {name}", f"-:{group}/{name}", filter=where, frame="frame" * bool(where)
        )
        return Plan(probe, (made,))


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def watch(target):
    watch = Watch(Anything(KernelInfo(target)))
    yield watch
    watch.close()


def probe(name: str) -> Probe:
    return Probe(ProbePlace(name))


def rows(watch: Watch, number: int) -> list[str]:
    """Names of the events, once there are so many."""
    for _ in range(500):
        watch.tick()
        if watch.store is not None and watch.store.next_seq >= number:
            break
        watch.session.pump.wait(0.01)
    return [watch.store.record(seq).event.rpartition("/")[2] for seq in range(watch.store.next_seq)]


def id_of(armed) -> int:
    (number,) = armed.formats
    return number


def test_a_tick_that_finds_the_kernel_busy_is_made_up_for(watch, target):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.tick()
    assert not watch.intake.unsettled
    with watch.queue.lock:  # as a worker that begins a recording
        target.event(1000, number)
        assert watch.session.pump.wait(60.0)
        assert watch.tick() == 0
        assert watch.intake.unsettled  # the pump says nothing a second time: its queue is not empty any more
    assert rows(watch, 1) == ["vfs_read"]
    assert not watch.intake.unsettled


def test_a_tick_without_time_leaves_the_rest_in_the_queue(watch, target):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    for ts in range(600):  # more than a tick brings in between two looks at the clock
        target.event(1000 + ts, number)
    assert watch.session.pump.settle(60.0)
    told = []
    watch.queue.on_data = lambda: told.append(1)
    watch.tick(0.0)  # the formats
    watch.tick(0.0)
    assert 0 < watch.store.next_seq + watch.store.held_events < 600
    assert watch.intake.has_backlog
    assert watch.intake.unsettled
    assert told
    held_back = watch.store.next_seq
    assert rows(watch, 600) == ["vfs_read"] * 600
    assert held_back < 600
    watch.tick()
    assert not watch.intake.has_backlog


def test_a_name_that_the_user_chose_means_one_probe_while_its_rows_are_there():
    """What plans say of values goes by the event's path; so do the pairs of calls, and a search by columns."""
    functions = ("vfs_read", "vfs_write", "vfs_readv", "vfs_writev")
    watch = Watch(Planner(KernelInfo(Target(facts=replace(FACTS, functions=functions)))))
    first, other = parse_armable("p:my/ev vfs_read v=$stack"), parse_armable("p:my/ev vfs_write v=$stack if v > 3")
    plans = []
    for wanted in (first, other, first, other):
        armed = watch.armed.arm(wanted)
        watch.armed.disarm(armed)
        plans.append(armed.plan)
    assert [plan.events[0].event for plan in plans] == ["ev", "ev_2", "ev", "ev_2"]
    assert [bool(plan.losses) for plan in plans] == [False, True, False, True]
    assert "ev_2" in plans[1].losses[0]
    one = watch.armed.arm(first)
    joins = watch.armed.arm(
        parse_armable("p:my/ev vfs_readv v=$stack")
    )  # the event is there: several probes share it
    assert joins.plan.events[0].path == one.plan.events[0].path
    assert not joins.plan.losses
    with pytest.raises(ProbeRefused):
        watch.armed.arm(parse_armable("p:my/ev vfs_writev v=$stack if v > 3"))
    both = watch.armed.arm(parse_armable("p:my/ev_2 vfs_write%both v=$stack"))
    assert [event.event for event in both.plan.events] == ["ev_2__entry", "ev_2__exit"]
    watch.close()


KINDS = ("f:x/two vfs_read", "p:x/two vfs_read", "p:x/two vfs_read%return", "f:x/two vfs_read%return")


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("was_another", [False, True])
def test_probes_of_two_kinds_never_share_an_event(first, second, was_another):
    """Also where the name that was chosen was another probe's, so that the first of them got a number."""
    watch = Watch(Planner(KernelInfo(Target(facts=replace(FACTS, functions=("vfs_read", "vfs_write", "vfs_readv"))))))
    if was_another:
        watch.armed.disarm(watch.armed.arm(parse_armable("p:x/two vfs_readv")))
    one = watch.armed.arm(parse_armable(first)).plan
    other = watch.armed.arm(parse_armable(second.replace("vfs_read", "vfs_write"))).plan
    (mine,), (its,) = one.events, other.events
    assert (mine.path == its.path) == (first == second)
    assert bool(other.losses) == (first != second or was_another)
    assert first == second or "another kind" in other.losses[0] or was_another
    watch.close()


NAMED = ("{}:my/ev vfs_re*", "{}:my/ev vfs_wr*", "{}:my/ev vfs_open")


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(NAMED, 2)))
@pytest.mark.parametrize("letter", ["f", "p"])
def test_an_event_with_the_function_of_a_pattern_is_of_that_pattern_alone(first, second, letter):
    """The plan of an event says whether its address names a function, and by which pattern."""
    facts = replace(FACTS, functions=("vfs_read", "vfs_readv", "vfs_write", "vfs_open"))
    watch = Watch(Planner(KernelInfo(Target(facts=facts))))
    one, other = (watch.armed.arm(parse_armable(text.format(letter))).plan.events[0] for text in (first, second))
    assert (one.event, other.event) == ("ev", "ev_2")
    assert [bool(event.function_field) for event in (one, other)] == ["*" in first, "*" in second]
    watch.close()


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("p:my/ev kill_pid_info_type type", "p:my/ev ZSTD_buildCTable type", False),
        ("p:my/ev kill_pid_info_type type=$arg4", "p:my/ev ZSTD_buildCTable type=$arg5", False),
        ("p:my/ev kill_pid_info_type x=$arg1", "p:my/ev ZSTD_buildCTable x=$arg1", False),  # a signal
        ("p:my/ev kill_pid_info_type x=$arg3", "p:my/ev ZSTD_buildCTable x=$arg3", True),
        ("p:my/ev vfs_read count", "p:my/ev vfs_write count", True),
    ],
)
def test_values_of_a_shared_event_have_the_same_names(first, second, shared):
    """The kernel compares sizes and names of arguments; two enums of one size are one type to it, and all `int`."""
    btf, facts, _ = known_kernel("7.2")
    info = KernelInfo(Target(facts=replace(facts, tracefs=ROOT)))
    info.__dict__["btf"] = btf
    watch = Watch(Planner(info))
    one, other = (watch.armed.arm(parse_armable(text)).plan.events[0] for text in (first, second))
    assert (one.path == other.path) == shared
    watch.close()


@pytest.mark.parametrize(("readme", "joins"), [("", True), (":mod:<module>", False)])
@pytest.mark.parametrize("letter", ["f", "p"])
def test_no_fprobe_joins_an_event_that_is_on_where_it_is_registered_when_enabled(readme, joins, letter):
    """Such a kernel (7.2) lists a joining fprobe, and it records nothing; kprobes join everywhere."""
    functions = ("vfs_read", "vfs_write")
    facts = replace(FACTS, functions=functions, readme=readme)
    watch = Watch(Planner(KernelInfo(Target(facts=facts))))
    one, other = (watch.armed.arm(parse_armable(f"{letter}:my/ev {name}")).plan for name in functions)
    assert (one.events[0].event, one.losses) == ("ev", ())
    shared = joins or letter == "p"
    assert other.events[0].event == ("ev" if shared else "ev_2")
    assert bool(other.losses) != shared
    assert shared or "p in place of f" in other.losses[0]
    watch.close()


def test_what_came_before_a_refused_probe_is_told(watch, target):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    target.event(1000, number)
    assert watch.session.pump.wait(60.0)
    told = []
    watch.queue.on_data = lambda: told.append(1)
    with pytest.raises(ProbeRefused):
        watch.armed.arm(probe("nosuch"))
    assert told
    assert rows(watch, 1) == ["vfs_read"]


def test_nothing_is_armed_on_a_target_that_was_left(watch, target):
    watch.armed.arm(probe("vfs_read"))
    assert watch.close() == []
    with pytest.raises(TargetUnusable):  # a worker that waited for its turn
        watch.armed.arm(probe("vfs_write"))
    assert not target.traces


def test_a_cleared_store_knows_what_an_id_means_now(watch, target):
    first = watch.armed.arm(probe("vfs_read"))
    watch.tick()
    watch.armed.disarm(first)
    target.reuse_ids()
    second = watch.armed.arm(probe("vfs_write"))
    assert id_of(first) == id_of(second)
    watch.tick()
    watch.intake.forget()
    target.event(1000, id_of(second))
    assert rows(watch, 1) == ["vfs_write"]


def test_what_was_cleared_comes_back_with_what_came_since(watch, target):
    armed = watch.armed.arm(probe("vfs_read"))
    for ts in (1000, 2000):
        target.event(ts, id_of(armed))
    rows(watch, 2)
    for came, ts in ((3, 3000), (4, 4000)):
        watch.intake.forget()
        assert (len(watch.store), watch.store.evicted, dict(watch.store.totals)) == (0, 0, {})
        target.event(ts, id_of(armed))
        rows(watch, came)
        assert watch.store.totals[id_of(armed)] == 1
    for expected in ([3000, 4000], [1000, 2000, 3000, 4000]):
        watch.intake.recall()
        store = watch.store
        assert [store.row(seq).ts for seq in range(store.first_seq, store.next_seq)] == expected
        assert store.totals[id_of(armed)] == len(expected)
    watch.intake.recall()
    assert len(watch.store) == 4


def test_events_of_one_probe_under_several_ids_are_its_own(watch, target):
    """Ids are used again: what is armed anew beside another has one of the kernel's that is not its first."""
    read, write = watch.armed.arm(probe("vfs_read")), watch.armed.arm(probe("vfs_write"))
    target.event(1000, id_of(write))
    rows(watch, 1)
    for armed in (read, write):
        watch.armed.disarm(armed)
    target.reuse_ids()
    write = watch.armed.arm(probe("vfs_write"))
    target.event(2000, id_of(write))
    rows(watch, 2)
    watch.armed.disarm(write)
    target.reuse_ids()
    read, write = watch.armed.arm(probe("vfs_read")), watch.armed.arm(probe("vfs_write"))
    for ts in (3000, 4000):
        target.event(ts, id_of(write))
    target.event(5000, id_of(read))
    rows(watch, 5)
    assert {path.rpartition("/")[2]: seen for path, seen in watch.intake.stored_counts().items()} == {
        "vfs_write": 4,
        "vfs_read": 1,
    }
    assert len(watch.store.totals) == len(watch.store.decoder.formats) == 2, "an event has one number here"


def test_nobody_is_charged_for_rows_that_were_cleared(watch, target):
    watch.armed.arm(probe("vfs_read"))
    watch.guard.limit = 1000
    watch.guard._clock = iter(range(10)).__next__
    counts = watch.session.counts()

    def look(written: int, seen: int) -> None:
        path = watch.armed.probes[0].plan.events[0].path
        watch.guard.look(watch.session, replace(counts, written=written), {path: seen}, watch.armed.switch)

    look(10_000, 10_000)
    watch.intake.forget()
    look(20_000, 10_000)
    assert not watch.guard.take()
    look(30_000, 20_000)
    assert watch.guard.take()


def test_a_recording_has_formats_and_events_in_the_order_of_the_kernel(watch, target, tmp_path):
    first = watch.armed.arm(probe("vfs_read"))
    watch.tick()
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    target.event(1000, id_of(first))
    assert watch.session.pump.wait(60.0)
    watch.armed.disarm(first)
    target.reuse_ids()
    second = watch.armed.arm(probe("vfs_write"))
    assert id_of(first) == id_of(second)
    target.event(2000, id_of(second))
    assert rows(watch, 2) == ["vfs_read", "vfs_write"]
    watch.stop_recording()
    replayed = replay_of(path)
    assert [replayed.store.record(seq).event.rpartition("/")[2] for seq in range(2)] == ["vfs_read", "vfs_write"]
    assert [plan.probe.subject for plan in replayed.event_fields.plans] == ["vfs_read", "vfs_write"]


def test_what_waits_when_a_recording_begins_is_read_under_its_own_formats(watch, target, tmp_path):
    first = watch.armed.arm(probe("vfs_read"))
    watch.tick()
    target.event(1000, id_of(first))
    assert watch.session.pump.wait(60.0)
    watch.armed.disarm(first)
    target.reuse_ids()
    second = watch.armed.arm(probe("vfs_write"))
    assert id_of(first) == id_of(second)
    watch.record_to(tmp_path / "x.pwr")
    target.event(2000, id_of(second))
    expected = ["vfs_read", "vfs_write"]
    assert rows(watch, 2) == expected
    watch.stop_recording()
    replayed = replay_of(tmp_path / "x.pwr")
    assert [replayed.store.record(seq).event.rpartition("/")[2] for seq in range(replayed.store.next_seq)] == expected


def test_an_event_is_in_one_of_two_recordings_in_a_row_and_its_probe_in_both(watch, target, tmp_path):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    for name, ts in (("1.pwr", 1000), ("2.pwr", 2000)):
        watch.record_to(tmp_path / name)
        target.event(ts, number)
        assert watch.session.pump.wait(60.0)
        watch.stop_recording()  # before a tick brought it in
    watch.record_to(tmp_path / "3.pwr")
    target.event(3000, number)
    assert rows(watch, 3) == ["vfs_read"] * 3
    watch.stop_recording()
    for name, ts in (("1.pwr", 1000), ("2.pwr", 2000), ("3.pwr", 3000)):
        replayed = replay_of(tmp_path / name)
        store = replayed.store
        assert [store.record(seq).ts for seq in range(store.next_seq)] == [ts]
        assert store.record(0).event.endswith("/vfs_read")
        assert [armed.plan.probe.subject for armed in replayed.armed.probes] == ["vfs_read"]


def test_a_recording_that_is_ended_has_what_was_read_by_then(watch, target, tmp_path):
    first = watch.armed.arm(probe("vfs_read"))
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    for ts in (1000, 2000):
        target.event(ts, id_of(first))
    assert watch.session.pump.settle(60.0)
    second = watch.armed.arm(probe("vfs_write"))  # moves them out of the queue
    target.event(3000, id_of(second))
    assert watch.session.pump.settle(60.0)
    assert watch.stop_recording() == path
    replayed = replay_of(path)
    expected = ["vfs_read", "vfs_read", "vfs_write"]
    assert [replayed.store.record(seq).event.rpartition("/")[2] for seq in range(3)] == expected
    assert rows(watch, 3) == expected  # once, and in order


def test_what_a_change_lets_through_comes_behind_its_mark(watch, target):
    """Events that the new trigger or filter made, and that are read at once, are not those of before."""
    armed = watch.armed.arm(replace(probe("vfs_read"), filter="a == 1"))
    number = id_of(armed)
    watch.tick()
    order = []

    def enter(entries, are_batches) -> int:
        order.extend(entries)
        return 0

    watch.intake._enter = enter

    def changes(step) -> None:
        if step.path.endswith(("/filter", "/trigger")):
            target.event(1000, number)
            assert watch.session.pump.wait(60.0)

    target.after = changes
    changed = watch.armed.change_filter(armed, "a == 2")
    watch.tick()
    gap, told, batch = order
    assert gap.after_gap and not gap.chunks
    assert told is changed and changed.plan.events[0].filter == "a == 2"
    assert batch.chunks
    order.clear()
    watch.armed.add_trigger(changed, changed.plan.events[0], "stacktrace")
    watch.tick()
    formats, batch = order
    assert number in formats and batch.chunks
    target.after = lambda step: None


def test_a_recording_has_the_plan_of_the_filter_that_holds(watch, target, tmp_path):
    armed = watch.armed.arm(replace(probe("vfs_read"), filter="a == 1"))
    watch.armed.arm(probe("vfs_write"))
    watch.tick()
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    changed = watch.armed.change_filter(armed, "a == 2")
    watch.tick()
    watch.stop_recording()
    replayed = Watch(Planner(KernelInfo(RecordingTarget(Recording.open(path), "x"))))
    replayed.begin()
    assert [armed.plan for armed in replayed.armed.probes] == [armed.plan for armed in watch.armed.probes]
    assert replayed.armed.probes[0].plan == changed.plan


def test_a_probe_that_gets_another_filter_while_it_is_stopped_is_stopped(watch, target):
    """Between the look that finds it too fast and the switch, a person is as quick."""
    armed = watch.armed.arm(replace(probe("vfs_read"), filter="a == 1"))
    watch.guard.limit = 10
    watch.guard._clock = iter(range(0, 100, 10)).__next__

    def switch(which, mode):
        watch.armed.change_filter(armed, "a == 2")
        return watch.armed.switch(which, mode)

    for written in (0, 10**9):
        watch.guard.look(watch.session, replace(watch.session.counts(), written=written), {}, switch)
    (now,), (told,) = watch.armed.probes, watch.guard.take()
    assert now is not armed and told.armed is now
    assert watch.session.probes.mode(now) is Mode.OFF
    assert target.files[f"{watch.session.instance.path}/events/{now.plan.events[0].path}/enable"] == b"0"
    assert not watch.guard.take(), "it is told once"


@pytest.mark.parametrize("gone", [True, False])
def test_what_was_not_stopped_is_not_told(watch, gone):
    armed = watch.armed.arm(probe("vfs_read"))
    watch.guard.limit = 10
    watch.guard._clock = iter(range(0, 100, 10)).__next__

    def switch(which, mode):
        if gone:
            watch.armed.disarm(which)
            return watch.armed.switch(which, mode)
        raise TargetLost("cut")

    for written in (0, 10**9):
        watch.guard.look(watch.session, replace(watch.session.counts(), written=written), {}, switch)
    assert not watch.guard.take() and (armed in watch.armed.probes) is not gone


def test_a_probe_of_a_recording_needs_no_file_of_that_machine(target, tmp_path):
    """Symbols of a program and fields of an event can't be looked up any more; the plan has them."""
    spec = "p /bin/tool:work %di"
    line = "p:{0}/work /bin/tool:0x10 di=%di"

    class Program(Anything):
        def lower(self, probe: Armable, group: str, *rest: Container[str]) -> Plan:
            made = PlannedEvent(
                group, "work", line.format(group), f"-:{group}/work", columns=(PlanColumn("di", "%di"),)
            )
            return Plan(probe, (made,))

    watch = Watch(Program(KernelInfo(target)))
    armed = watch.armed.arm(parse_armable(spec))
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    target.event(1000, id_of(armed))
    assert watch.session.pump.wait(60.0)
    rows(watch, 1)
    watch.close()
    planner = Planner(KernelInfo(RecordingTarget(Recording.open(path), "x")))
    assert planner.check(spec)[:2] == (Verdict(spec), armed.plan)
    replayed = Watch(planner)
    assert replayed.armed.arm(parse_armable(spec)).plan == armed.plan
    with pytest.raises(CannotLower):
        replayed.armed.arm(parse_armable("p /bin/tool:other %di"))


@pytest.mark.parametrize("cut", [False, True])
def test_a_recording_holds_what_was_lost_also_where_the_line_was_cut(watch, target, tmp_path, cut):
    watch.armed.arm(probe("vfs_read"))
    stats = f"{watch.session.instance.path}/per_cpu/cpu0/stats"
    zero = target.files[stats]
    target.files[stats] = zero.replace(b"overrun: 0", b"overrun: 1000", 1)
    assert watch.counts().lost == 1000
    watch.record_to(tmp_path / "x.pwr")  # what was lost before is none of its events
    target.files[stats] = zero.replace(b"overrun: 0", b"overrun: 1007", 1)
    assert watch.counts().lost == 1007
    target.lost = cut
    watch.stop_recording()
    target.lost = False
    assert Recording.open(tmp_path / "x.pwr").meta["counts"]["overrun"] == {"0": 7}
    replayed = replay_of(tmp_path / "x.pwr")
    replayed.record_to(tmp_path / "y.pwr")  # again: it holds the same events
    replayed.stop_recording()
    assert Recording.open(tmp_path / "y.pwr").meta["counts"]["overrun"] == {"0": 7}


def test_what_begins_anew_while_it_is_recorded_is_not_less_than_nothing():
    zeros = LossCounts(overrun={}, full={}, nmissed={}, dropped=0, dropped_bytes=0, read_errors=0)
    before = replace(zeros, nmissed={"pw/a": 5, "pw/b": None}, dropped=3, hits={"pw/a": 100, "pw/b": 100})
    now = replace(zeros, nmissed={"pw/a": 9, "pw/b": None, "pw/c": 1}, dropped=5, hits={"pw/a": 130, "pw/b": 20})
    before, now = replace(before, passed={"pw/a": 50}), replace(now, passed={"pw/a": 55})
    since = now.since(before)
    assert since == replace(
        zeros,
        nmissed={"pw/a": 4, "pw/b": None, "pw/c": 1},
        dropped=2,
        hits={"pw/a": 30, "pw/b": 20},
        passed={"pw/a": 5},
    )
    assert now.since(None) is now


def test_a_full_disk_leaves_nothing_in_the_kernel(watch, target):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.record_to(Path("/dev/full"))
    target.event(1000, number)
    assert rows(watch, 1) == ["vfs_read"]
    with pytest.raises(OSError, match="No space left"):
        watch.recording.recorder._file.flush()  # what close() meets
    assert watch.close() == []
    assert not target.traces


def test_a_full_disk_is_told_while_it_is_recorded(watch, target):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.record_to(Path("/dev/full"))
    for ts in range(1000, 4000):
        target.event(ts, number)
        if ts % 100 == 0:
            watch.tick()
        if watch.recording.recorder is None:
            break
        time.sleep(0.001)
    assert watch.recording.recorder is None
    assert "No space left" in watch.recording.error
    assert watch.live


def test_what_cannot_be_written_ends_a_recording_as_a_full_disk_does(watch, target, tmp_path, monkeypatch):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.record_to(tmp_path / "x.pwr")
    recorder = watch.recording.recorder

    def broken(*_: object) -> None:
        raise ValueError("no such codec")

    monkeypatch.setattr(recorder._writer, "pages", broken)
    target.event(1000, number)
    assert rows(watch, 1) == ["vfs_read"]
    recorder._thread.join(60.0)
    target.event(2000, number)
    assert rows(watch, 2) == ["vfs_read"] * 2
    assert watch.recording.recorder is None
    assert "x.pwr: received events can't be written (ValueError: no such codec)" in watch.recording.error
    assert watch.live


def test_a_second_recording_is_refused_while_the_first_begins(watch, target, tmp_path, monkeypatch):
    watch.armed.arm(probe("vfs_read"))
    begins, go_on = threading.Event(), threading.Event()
    inner = kernel.watch.recorder.Recorder._statics
    path, refused = tmp_path / "x.pwr", []

    def slow(*args) -> None:
        begins.set()
        go_on.wait(60)
        inner(*args)

    monkeypatch.setattr(kernel.watch.recorder.Recorder, "_statics", slow)
    first = threading.Thread(target=watch.record_to, args=(path,))

    def again() -> None:
        try:
            watch.record_to(path)
        except KernelError as error:
            refused.append(str(error))

    second = threading.Thread(target=again)
    first.start()
    assert begins.wait(60)
    second.start()
    go_on.set()
    first.join(60)
    second.join(60)
    assert refused == [f"{path} is being written already"]
    assert watch.stop_recording() == path
    assert Recording.open(path).plans


def test_a_boot_is_in_the_recording_however_slow_the_disk(watch, tmp_path, monkeypatch):
    """The times behind it mean nothing without it; nor is any other gap lost."""
    watch.armed.arm(probe("vfs_read"))
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    monkeypatch.setattr(kernel.watch.recorder, "MOST_WAITING", 0)
    recorder = watch.recording.recorder
    recorder.pages(Outage(3.0, booted=True).batch(0))
    recorder.pages(Outage(3.0, booted=False).batch(0))
    recorder.pages(Batch((Chunk(-1, b" cat-812 [000] 1.000000: vfs_read: count=1\n", text=True),), drained=False))
    assert recorder.dropped > 0
    watch.stop_recording()
    assert [batch.booted for batch in Recording.open(path).batches()] == [True, False]


def test_a_disk_that_is_too_slow_costs_events_that_are_counted(watch, target, tmp_path, monkeypatch):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    path = tmp_path / "x.pwr"
    monkeypatch.setattr(kernel.watch.recorder, "MOST_WAITING", 5 * 4096)
    watch.record_to(path)
    slow = threading.Event()
    inner = watch.recording.recorder._writer.pages
    monkeypatch.setattr(watch.recording.recorder._writer, "pages", lambda *batch: (slow.wait(60), inner(*batch)))
    for ts in range(1000, 1020):
        target.event(ts, number)
        rows(watch, ts - 999)
    dropped = watch.recording.recorder.dropped
    assert 0 < dropped < 20
    slow.set()
    watch.stop_recording()
    replayed = replay_of(path)
    assert replayed.store.next_seq == 20 - dropped
    assert replayed.counts().dropped == dropped


def test_a_probe_that_goes_says_that_no_event_of_others_is_missing(watch):
    """Else the first call of each task that is seen behind it is no pair, for the rest of the session."""
    armed = watch.armed.arm(replace(probe("vfs_read"), filter="a == 1"))
    watch.tick()
    marks = []

    def enter(entries, are_batches) -> int:
        marks.extend(entries)
        return 0

    watch.intake._enter = enter
    watch.armed.disarm(watch.armed.change_filter(armed, "a == 2"))
    watch.tick()
    gaps = [one for one in marks if isinstance(one, Batch) and one.after_gap]
    assert [(one.changed, one.chunks) for one in gaps] == [(True, ())] * 2


def test_the_newest_task_is_asked_for_after_each_gap_and_once(tmp_path: Path) -> None:
    target = Target()
    target.files |= {
        "/proc/2/stat": b"2 (kthreadd) S 0 0 0 0 -1 2129984 0",
        "/proc/stat": b"cpu 1\nprocesses 800\n",
        "/proc/loadavg": b"0.20 0.18 0.12 1/80 850\n",
        "/sys/devices/system/cpu/possible": b"0-1\n",
    }
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(Probe(ProbePlace("vfs_read")), mode=Mode.COUNT)
    (number,) = armed.formats
    watch.tick()
    watch.counts()
    assert watch.store is not None and watch.queue.entries == [], "nothing was lost"
    path = tmp_path / "x.pwr"
    watch.record_to(path)
    target.event(1000, number)
    assert watch.session is not None and watch.session.pump.wait(5)
    watch.tick()
    watch.queue.entries.append(Batch((), drained=False, after_gap=True))
    watch.tick()
    assert watch.store.loss_spans.latest.newest_task(2000) == UNKNOWN_TASK
    watch.counts()
    watch.tick()
    assert watch.store.loss_spans.latest.newest_task(2000) == 850
    watch.counts()
    assert watch.queue.entries == [], "once"
    watch.stop_recording()
    replayed = replay_of(path)
    assert replayed.store is not None
    assert replayed.store.loss_spans.latest.newest_task(2000) == 850, "a recording knows as much"
    with watch.armed.pause(watch.session):
        pass
    watch.tick()
    assert watch.store.loss_spans.latest.newest_task(2000) == UNKNOWN_TASK, "the id of before is of no use"
    target.files["/proc/2/stat"] = b"2 (sh) S 0 0 0 0 -1 4194560 0"
    watch.counts()
    watch.tick()
    assert watch.store.loss_spans.latest.newest_task(2000) == UNKNOWN_TASK, "a container has ids of its own"
    watch.close()


def test_exits_of_calls_that_began_while_a_probe_counted_come_without_entries() -> None:
    """Then a gap is marked, in which any entry may be missing; a probe that was off follows no calls."""
    watch = Watch(Anything(KernelInfo(Target())))
    armed = watch.armed.arm(Probe(ProbePlace("vfs_read"), filter="count > 1"))

    def marks() -> list[tuple[bool, bool]]:
        watch.tick()
        watch.armed.switch(armed, Mode.RECORD)
        return [(one.after_gap, one.changed) for one in watch.queue.entries if isinstance(one, Batch)]

    watch.armed.switch(armed, Mode.COUNT)
    assert marks() == [(True, False)]
    watch.armed.switch(armed, Mode.OFF)
    assert marks() == [(True, True)]
    watch.armed.add_trigger(armed, armed.plan.events[0], "hist:keys=count")
    watch.armed.switch(armed, Mode.OFF)
    assert marks() == [(True, False)], "the trigger keeps the event on"
    watch.close()


def test_a_trigger_with_times_pauses_what_others_record_and_that_is_a_gap() -> None:
    watch = Watch(Anything(KernelInfo(Target())))
    armed = watch.armed.arm(Probe(ProbePlace("vfs_read")))
    watch.tick()
    watch.armed.add_trigger(armed, armed.plan.events[0], "hist:keys=count")
    assert [one for one in watch.queue.entries if isinstance(one, Batch)] == []
    watch.tick()
    watch.armed.add_trigger(armed, armed.plan.events[0], "hist:keys=common_pid:ts0=common_timestamp")
    assert [one.after_gap for one in watch.queue.entries if isinstance(one, Batch)] == [True]
    watch.close()
