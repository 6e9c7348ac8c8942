"""Where tasks were: what was looked up, what forks and moves say, and conditions on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.conditions.comparison import InCgroup
from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import ValueKind
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.record import Record
from events.search.filtered_rows import FilteredRows
from events.store.cgroups import FORK, MOVE, Cgroups, TaskCgroup, matches_cgroup, pack, parse_task_cgroup, unpack
from events.store.store import Store

WEB, DB = "/system.slice/docker-3f2a.scope", "/system.slice/docker-77aa.scope"


def told(event: str, ts: int, **values: int | str) -> Record:
    """An event with these values."""
    record = Record(0, ts, 0, 1, "sh", event, None)
    record.__dict__["values"] = values
    return record


def fork(ts: int, parent: int, child: int) -> Record:
    return told(FORK, ts, parent_pid=parent, child_pid=child)


def move(ts: int, pid: int, path: str, root: int = 0) -> Record:
    return told(MOVE, ts, dst_root=root, pid=pid, dst_path=path)


@pytest.mark.parametrize(
    ("text", "home"),
    [
        (f"0::{WEB}\n", TaskCgroup(WEB)),
        ("0::/\n", TaskCgroup("/")),
        (f"0::{WEB} (deleted)\n", TaskCgroup(WEB)),
        ("4:memory:/a\n1:name=systemd:/b\n0::/\n", TaskCgroup("/b", 1)),
        ("4:memory:/a/longer\n2:cpu:/b\n", TaskCgroup("/a/longer", 4)),
        ("4:memory:/a\n0::/x:y\n", TaskCgroup("/x:y")),
        ("", None),
        ("no hierarchy\n:::\nx:y:/z\n", None),
    ],
)
def test_proc_is_read(text: str, home: TaskCgroup | None) -> None:
    assert parse_task_cgroup(text) == home


@given(st.text())
def test_nothing_in_proc_is_an_error(text: str) -> None:
    assert (found := parse_task_cgroup(text)) is None or found.path.startswith("/")


@given(
    st.dictionaries(
        st.integers(0, 10**9 - 1),
        st.builds(
            TaskCgroup,
            st.text(st.characters(exclude_characters="\n", codec="utf-8")).map("/{}".format),
            st.integers(0, 99),
        ),
    )
)
def test_what_is_recorded_is_read_again(homes: dict[int, TaskCgroup]) -> None:
    assert unpack(pack(homes)) == homes


@given(st.binary())
def test_nothing_in_a_recording_is_an_error(data: bytes) -> None:
    homes = unpack(data)
    assert unpack(pack(homes)) == homes


def test_what_is_meant() -> None:
    assert matches_cgroup(WEB, WEB) and matches_cgroup(WEB, "/system.slice") and matches_cgroup(WEB, "/system.slice/")
    assert matches_cgroup(WEB, "/") and matches_cgroup("/", "/")
    assert matches_cgroup(WEB, "3f2a") and matches_cgroup(WEB, "docker-3f")
    assert not matches_cgroup(WEB, "/system") and not matches_cgroup(WEB, "77aa") and not matches_cgroup("/", WEB)


def test_children_are_where_their_parent_was_when_they_began() -> None:
    groups = Cgroups()
    groups.know({10: TaskCgroup(WEB)}, 100)
    for record in (fork(200, 10, 11), move(300, 10, DB), fork(400, 10, 12), fork(500, 12, 13)):
        groups.learn(record)
    assert [groups.path_of(11, ts) for ts in (199, 200, 999)] == [None, WEB, WEB]
    assert [groups.path_of(10, ts) for ts in (0, 299, 300)] == [WEB, WEB, DB]
    assert (groups.path_of(12, 400), groups.path_of(13, 500)) == (DB, DB)
    assert groups.path_of(0, 5) == "/"
    assert groups.path_of(77, 5) is None and 77 in groups.unknown


def test_a_parent_that_is_looked_up_later_tells_of_its_children() -> None:
    groups = Cgroups()
    groups.learn(fork(200, 10, 11))
    assert groups.path_of(11, 300) is None
    assert groups.unknown == {10}
    groups.know({10: TaskCgroup(WEB)}, 400)
    assert groups.path_of(11, 300) == WEB
    assert (groups.unknown, groups.revision) == (set(), 1)


def test_a_thread_id_is_given_again() -> None:
    groups = Cgroups()
    groups.know({10: TaskCgroup(WEB), 20: TaskCgroup(DB)}, 0)
    for record in (fork(100, 10, 11), fork(900, 20, 11)):
        groups.learn(record)
    assert [groups.path_of(11, ts) for ts in (100, 899, 900)] == [WEB, WEB, DB]


def test_what_began_elsewhere_than_its_parent_is_corrected_by_a_look() -> None:
    groups = Cgroups()
    groups.know({1: TaskCgroup("/init.scope")}, 0)
    groups.learn(fork(100, 1, 11))
    groups.know({11: TaskCgroup(WEB)}, 150)
    assert groups.path_of(11, 100) == WEB  # CLONE_INTO_CGROUP: no event tells of that
    groups.learn(fork(200, 1, 12))
    groups.know({12: TaskCgroup(WEB)}, 290)
    groups.learn(move(250, 12, WEB))  # read after the look
    assert [groups.path_of(12, ts) for ts in (200, 249, 250)] == ["/init.scope", "/init.scope", WEB]


def test_moves_in_other_hierarchies_are_of_no_account() -> None:
    groups = Cgroups()
    groups.know({10: TaskCgroup("/b", 1)}, 0)
    groups.learn(move(100, 10, "/memory", root=4))
    assert groups.path_of(10, 200) == "/b"
    groups.learn(move(300, 10, "/c", root=1))
    assert groups.path_of(10, 300) == "/c"


def test_what_a_recording_knows_of_its_end_holds_from_the_fork_on() -> None:
    groups = Cgroups({11: TaskCgroup(WEB), 1: TaskCgroup("/")})
    groups.learn(fork(100, 1, 11))
    assert groups.path_of(11, 100) == WEB


def test_a_fork_costs_the_same_however_many_there_were() -> None:
    class Counted(int):
        compared = 0

        def __lt__(self, other: int) -> bool:
            Counted.compared += 1
            return int(self) < int(other)

    groups = Cgroups()
    groups.know({10: TaskCgroup(WEB), 20: TaskCgroup(DB)}, 0)
    most = 0
    for number in range(20_000):
        Counted.compared = 0
        groups.learn(fork(Counted(100 + number), 10 + number % 2 * 10, 11))
        most = max(most, Counted.compared)
    assert 0 < most < 20
    assert [groups.path_of(11, 100 + number) for number in (19_990, 19_991, 30_000)] == [WEB, DB, DB]
    assert groups.path_of(11, 150) is None
    assert len(groups._tasks[11]) < 1000


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 6), st.integers(1, 6), st.integers(0, 50)), max_size=25),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 50)), min_size=1, max_size=40),
    st.integers(0, 41),
)
def test_columns_say_what_single_answers_say(
    told_: list[tuple[bool, int, int, int]], asked: list[tuple[int, int]], boot: int
) -> None:
    groups = Cgroups()
    groups.know({1: TaskCgroup("/a"), 2: TaskCgroup("/b")}, 0)
    for is_fork, one, other, ts in sorted(told_, key=lambda one: one[3]):
        groups.learn(fork(ts, one, other) if is_fork else move(ts, one, f"/{other}"))
    groups.begin_anew(boot, 0)
    groups.know({1: TaskCgroup("/c"), 3: TaskCgroup("/a")}, 0)
    groups.learn(fork(20, 3, 2))
    pids, stamps = (np.array(column) for column in zip(*asked, strict=True))
    found = groups.numbers_of(pids.astype(np.int32), stamps, np.arange(len(asked))).tolist()
    assert found == [groups.number_of(*one, seq) for seq, one in enumerate(asked)]


FORMAT = parse_format(
    "name: sched_process_fork\nID: 7\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:pid_t parent_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:pid_t child_pid;\toffset:12;\tsize:4;\tsigned:1;\n\n"
    'print fmt: "parent_pid=%d child_pid=%d", REC->parent_pid, REC->child_pid\n',
    "sched",
)


def line(pid: int, ts: int, text: str) -> bytes:
    return f"              sh-{pid}     [000] .....  {ts}.000000: {text}\n".encode()


def stored(*lines: bytes) -> Store:
    store = Store(Decoder({7: FORMAT}, HeaderPage()))
    store.cgroups.know({10: TaskCgroup(WEB), 20: TaskCgroup(DB)}, 0)
    store.feed(Batch((Chunk(-1, b"".join(lines), text=True),), drained=True))
    store.flush()
    return store


def test_a_condition_goes_by_what_came_before_each_event() -> None:
    store = stored(
        line(10, 1, "read: (0x1)"),
        line(10, 2, "sched_process_fork: parent_pid=10 child_pid=30"),
        line(30, 3, "read: (0x1)"),
        line(20, 4, "read: (0x1)"),
        line(99, 5, "read: (0x1)"),
    )
    for text, seqs in {
        "cgroup == 3f2a": [0, 1, 2],
        f"container == {WEB}": [0, 1, 2],
        "cgroup != docker-3f2a": [3],
        "!(cgroup == 3f2a)": [3],
        "cgroup ~ *docker-??aa.scope": [3],
        "cgroup == /system.slice && event == read": [0, 2, 3],
        "cgroup == nosuch": [],
    }.items():
        chosen = FilteredRows(store, parse_condition(text, {}, store.task_names.name, store.cgroups))
        chosen.tick(1.0)
        assert [chosen.number(row) for row in range(chosen.first, chosen.next)] == seqs, text
    assert 99 in store.cgroups.unknown


def test_a_field_of_that_name_comes_first() -> None:
    (part,) = parse_condition("cgroup == 5", {"cgroup": ValueKind.NUMBER}, str).term.parts()
    assert not isinstance(part, InCgroup)
    (part,) = parse_condition("container == 5", {"cgroup": ValueKind.NUMBER}, str).term.parts()
    assert isinstance(part, InCgroup)
    with pytest.raises(ConditionError, match="cgroup is a text"):
        parse_condition("cgroup > 5", {}, str)


def test_other_answers_choose_anew() -> None:
    store = stored(line(99, 1, "read: (0x1)"))
    wanted = parse_condition("cgroup == 3f2a", {}, store.task_names.name, store.cgroups)
    before = wanted.tasks({})
    assert not wanted(store.record(0))
    assert wanted.tasks({}) == before
    store.cgroups.know({99: TaskCgroup(WEB)}, 2)
    assert wanted.tasks({}) != before and wanted(store.record(0))
