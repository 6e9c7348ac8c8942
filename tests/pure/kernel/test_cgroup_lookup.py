"""In which cgroups tasks are: looked up for those that make events, new ones first, and kept when they have gone."""

from __future__ import annotations

import errno

import pytest

from events.store.cgroups import TaskCgroup
from kernel.errors import FileRefused
from kernel.watch.tasks import cgroup_lookup
from kernel.watch.tasks.cgroup_lookup import CgroupLookup


class Proc:
    """The part of a target that is asked."""

    is_kernel = True
    recording = None

    def __init__(self, paths: dict[int, str]) -> None:
        self.paths = paths
        self.asked: list[int] = []

    def read(self, path: str, limit: int = 0, offset: int = 0) -> bytes:
        pid = int(path.split("/")[2])
        self.asked.append(pid)
        if pid not in self.paths:
            raise FileRefused(path, errno.ENOENT)
        return f"0::{self.paths[pid]}\n".encode()


def test_what_was_found_is_given_once_and_kept_when_it_has_gone() -> None:
    proc = Proc({1: "/", 20: "/web"})
    looks = CgroupLookup(proc)  # type: ignore[arg-type]
    looks.look({1: "init", 20: "sh", 30: "gone"})
    assert looks.take() == {1: TaskCgroup("/"), 20: TaskCgroup("/web")}
    assert looks.take() == {}
    del proc.paths[20]
    looks.look({1: "init", 20: "sh", 30: "gone"})
    assert looks.cgroups == {1: TaskCgroup("/"), 20: TaskCgroup("/web")}
    proc.asked.clear()
    looks.look({1: "init", 20: "sh", 30: "gone"})
    assert proc.asked == [1], "who has gone is not looked for again"


def test_new_ones_other_programs_and_those_that_are_asked_for_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    proc = Proc({pid: f"/{pid}" for pid in range(1, 10)})
    looks = CgroupLookup(proc)  # type: ignore[arg-type]
    looks.look({1: "a", 2: "b", 3: "c"})
    proc.paths[2] = "/moved"
    looks.requested_tasks = (9,)
    proc.asked.clear()
    monkeypatch.setattr(cgroup_lookup, "_AT_ONCE", -1.0)  # one a look
    for _ in range(4):
        looks.look({1: "a", 2: "other", 3: "c", 4: "d"})
    assert proc.asked == [9, 2, 4, 1]
    assert looks.cgroups[2] == TaskCgroup("/moved")


def test_no_more_tasks_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs come and go for days, and there is no time to look whether one is still there."""
    monkeypatch.setattr(cgroup_lookup, "_MOST", 3)
    monkeypatch.setattr(cgroup_lookup, "_AT_ONCE", -1.0)
    proc = Proc(dict.fromkeys(range(1, 20), "/"))
    looks = CgroupLookup(proc)  # type: ignore[arg-type]
    for pid in range(1, 20):
        looks.look({pid: "sh"})
    assert sorted(looks.take()) == sorted(looks.cgroups) == [17, 18, 19]
    monkeypatch.setattr(cgroup_lookup, "_AT_ONCE", 60.0)
    proc.asked.clear()
    looks.look({})
    assert sorted(proc.asked) == [17, 18, 19]


def test_a_recording_is_not_asked() -> None:
    proc = Proc({1: "/"})
    proc.is_kernel = False
    looks = CgroupLookup(proc)  # type: ignore[arg-type]
    looks.look({1: "init"})
    assert proc.asked == [] and looks.take() == {}
