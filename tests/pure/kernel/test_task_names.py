"""Names of tasks that the tracer does not know: from /proc, and in a recording that nobody ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.watch.tasks.task_names import TaskNameReader
from kernel.watch.watch import Watch
from tests.fake_target import ROOT
from tests.pure.kernel.test_ssh_reconnect import shown
from tests.pure.kernel.test_watch import Anything, Target, id_of, probe
from tests.pure.remote_hosts import eventually
from tests.replays import replay_of

SAVED = f"{ROOT}/saved_cmdlines"


@pytest.fixture
def target() -> Target:
    target = Target()
    target.files[SAVED] = b"7 sh\n"
    target.files |= {"/proc/2/comm": b"kthreadd\n", "/proc/812/comm": b"cat\n"}
    return target


@pytest.fixture
def watch(target: Target) -> Iterator[Watch]:
    made = Watch(Anything(KernelInfo(target)))
    yield made
    made.close()


def comm_of_row(watch: Watch, seq: int = 0) -> str:
    assert watch.store is not None
    return watch.store.record(seq).comm


@pytest.mark.parametrize(
    ("comm", "name"),
    [
        (b"two words\n", "two words"),
        (b"kworker/0:1-events_unbound\n", "kworker/0:1"),
        (b"kworker/u8:2+flush-8:0\n", "kworker/u8:2"),
        (b"kworker/R-rcu_gp\n", "kworker/R-rcu_g"),
        (b"a-name+x\n", "a-name+x"),
        (b"\xff\n", "\udcff"),
    ],
)
def test_the_name_is_the_one_that_the_tracer_would_have(target: Target, comm: bytes, name: str) -> None:
    target.files["/proc/9/comm"] = comm
    assert TaskNameReader(target).look([9], {}) == {9: name}


def test_tasks_with_a_name_and_those_that_ended_are_not_named(target: Target) -> None:
    names = TaskNameReader(target)
    names.requested = [7]
    assert names.look([0, -1, 812, 5], {7: "sh"}) == {812: "cat"}
    target.files["/proc/5/comm"] = b"new\n"
    assert names.look([5], {}) == {5: "new"}


def test_ids_of_another_namespace_name_nothing(target: Target) -> None:
    target.files["/proc/2/comm"] = b"bash\n"
    assert TaskNameReader(target).look([812], {}) == {}


def test_a_row_of_before_has_the_name_that_was_learned_later(target: Target, watch: Watch) -> None:
    target.event(1000, id_of(watch.armed.arm(probe("vfs_read"))))
    shown(watch, 1)
    assert comm_of_row(watch) == "<...>"
    watch.intake.know_names(watch.names())
    assert comm_of_row(watch) == "cat"
    target.files[SAVED] = b"812 exec\n"
    watch.intake.know_names(watch.names())
    assert comm_of_row(watch) == "exec", "the tracer knows better"


def test_names_of_rows_that_nobody_looked_at_are_asked_for(target: Target, watch: Watch) -> None:
    target.event(1000, id_of(watch.armed.arm(probe("vfs_read"))))

    def enough() -> bool:
        watch.tick()
        return watch.store is not None and watch.store.next_seq > 0

    assert eventually(enough)
    watch.intake.know_names({})
    assert set(watch.intake.task_names.requested) == {812}
    assert watch.names()[812] == "cat"


def test_a_recording_that_was_not_ended_has_the_names(target: Target, watch: Watch, tmp_path: Path) -> None:
    number = id_of(watch.armed.arm(probe("vfs_read")))
    watch.tick()
    path, killed = tmp_path / "a.pwr", tmp_path / "killed.pwr"
    watch.record_to(path)
    target.event(1000, number)
    shown(watch, 1)
    watch.intake.know_names(watch.names())

    def named(pid: int) -> bool:
        killed.write_bytes(path.read_bytes())  # empty until its writer begins
        return killed.stat().st_size > 0 and pid in Recording.open(killed).cmdlines

    assert eventually(lambda: named(812))
    replayed = replay_of(killed)
    assert replayed.info.is_truncated and comm_of_row(replayed) == "cat"
    size = path.stat().st_size
    watch.intake.know_names(watch.names())
    assert watch.recording.recorder is not None
    watch.intake.know_names({5: "late"})
    assert eventually(lambda: named(5))
    assert path.stat().st_size - size < 100, "only new names are written"
    watch.stop_recording()
    assert Recording.open(path).cmdlines == {7: "sh", 812: "cat", 5: "late"}


def test_the_end_of_a_recording_knows_better(target: Target, watch: Watch, tmp_path: Path) -> None:
    watch.armed.arm(probe("vfs_read"))
    watch.tick()
    path = tmp_path / "a.pwr"
    watch.record_to(path)
    watch.intake.know_names({7: "old", 8: "forgotten"})
    watch.stop_recording()
    assert Recording.open(path).cmdlines == {7: "sh", 8: "forgotten"}
