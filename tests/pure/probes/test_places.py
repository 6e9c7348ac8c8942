"""Functions, tracepoints and events in one search: their kinds, their rank, and the probe on each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.place_kinds import PlaceKind, kind_of_place
from probes.attaching.places import TargetPlaces, as_armed, listed_name, place_name, place_row, probe_at
from probes.command import parse_armable
from probes.facts.facts import Feature
from probes.facts.lookups import StaticEventField
from probes.lowering.arguments.event_values import event_values
from probes.probe import Probe
from tests.fake_target import FACTS
from tests.pure.commands import command  # noqa: F401
from tests.small_kernel import save

FUNCTIONS = ("__x64_sys_read", "do_sys_openat2", "read_pages", "reader", "sched_switch_helper", "tcp_rcv")
EVENTS = ("sched/sched_switch", "syscalls/sys_enter_openat", "syscalls/sys_enter_read", "tcp/tcp_rcv")
PLACES = TargetPlaces(FUNCTIONS, ("sched_switch", "tcp_rcv"), EVENTS)
FORMAT = """name: sched_switch
ID: 3
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;

print fmt: "%s %d", REC->comm, REC->next_pid
"""


def found(query: str) -> list[str]:
    return [PLACES.names[index] for index in PLACES.search_with().find(query).indices]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vfs_read", PlaceKind.FUNCTION),
        ("vfs_*", PlaceKind.FUNCTION),
        ("/^tcp_(send|recv)/", PlaceKind.FUNCTION),
        ("@/tmp/names", PlaceKind.FUNCTION),
        ("[struct file *]", PlaceKind.FUNCTION),
        ("sched/sched_switch", PlaceKind.EVENT),
        ("user_events_multi/name.0", PlaceKind.EVENT),
        ("syscalls/sys_enter_openat", PlaceKind.SYSTEM_CALL),
        ("t sched_switch", PlaceKind.TRACEPOINT),
    ],
)
def test_the_kind_of_a_place_is_told_by_its_name(name: str, kind: PlaceKind) -> None:
    assert kind_of_place(name) is kind
    assert place_name(probe_at(name)) == name


def test_each_kind_is_where_its_range_says() -> None:
    for kind, indices in PLACES.ranges.items():
        assert {kind_of_place(PLACES.names[index]) for index in indices} == {kind}
    assert sum(map(len, PLACES.ranges.values())) == len(PLACES.names)


def test_one_rank_for_all_kinds() -> None:
    assert found("sched_switch") == ["sched/sched_switch", "t sched_switch", "sched_switch_helper"]
    assert found("sched:sched_sw")[0] == "sched/sched_switch"
    assert found("read")[0] == "syscalls/sys_enter_read", "the call itself, before what merely begins so"
    assert found("openat")[0] == "syscalls/sys_enter_openat"
    assert found("sys_enter_op") == ["syscalls/sys_enter_openat"]
    assert found("tcp_rcv") == ["tcp_rcv", "tcp/tcp_rcv", "t tcp_rcv"]


@given(st.sampled_from(PLACES.names))
def test_each_place_is_found_by_its_own_name(name: str) -> None:
    assert name in found(name.removeprefix("t "))[:3]


def test_an_event_without_a_field_is_recorded_as_it_is() -> None:
    assert str(as_armed(probe_at("sched/sched_switch"))) == "on sched/sched_switch"
    ticked = parse_armable("e sched/sched_switch $next_pid")
    assert isinstance(ticked, Probe) and as_armed(ticked) is ticked
    assert listed_name(as_armed(probe_at("sched/sched_switch"))) == listed_name(ticked) == "sched/sched_switch"
    assert str(as_armed(probe_at("t tcp_rcv"))) == "t tcp_rcv"
    assert place_row("t tcp_rcv").kinds == {"t"} and place_row("tcp/tcp_rcv").kinds == {"e"}


def test_only_what_is_there_has_fields() -> None:
    assert PLACES.has(probe_at("t tcp_rcv")) and PLACES.has(probe_at("tcp/tcp_rcv"))
    assert not PLACES.has(probe_at("t tcp_rc")) and not PLACES.has(probe_at("tcp_rcv"))


def test_a_kernel_without_probes_on_tracepoints_has_no_rows_of_them() -> None:
    assert not FACTS.has(Feature.TPROBE_EVENTS)
    assert not TargetPlaces.of(FUNCTIONS, FACTS, EVENTS).ranges[PlaceKind.TRACEPOINT]


def test_the_values_of_an_event() -> None:
    fields = (
        StaticEventField("comm", "char[16]", 16),
        StaticEventField("pid", "pid_t", 4, signed=True),
        StaticEventField("state", "struct thing", 24),
    )
    values = event_values("sched", fields, FACTS)
    assert [(node.label, str(node.fetcharg), node.kernel_type) for node in values] == [
        ("comm", "$comm", "string"),
        ("pid", "$pid", "s32"),
        ("state", "None", ""),
    ]
    assert "can't read struct thing" in values[2].reason
    assert [node.label for node in event_values("sched", fields[1:2], FACTS)] == ["pid", "$comm"]


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    """Return a folder of saved facts with events."""
    folder = save(tmp_path)
    (folder / "available_events").write_text("sched:sched_switch\nsyscalls:sys_enter_read\npw_1_a:mine\n")
    form = folder / "events" / "sched" / "sched_switch"
    form.mkdir(parents=True)
    (form / "format").write_text(FORMAT)
    return str(folder)


def test_list_has_events_and_says_their_kind(command, kernel: str) -> None:  # noqa: F811
    done = command("list", "sched_switch", "-t", kernel)
    assert done.out.splitlines()[0].split() == ["sched/sched_switch", "e", "event"]
    rows = command("list", "--kind", "syscall", "--kind", "event", "--json", "-t", kernel).objects
    assert [(row["name"], row["place"], row["kinds"]) for row in rows] == [
        ("sched/sched_switch", "event", ["e"]),
        ("syscalls/sys_enter_read", "syscall", ["e"]),
    ]
    assert command("list", "--kind", "event", "no_such", "-t", kernel).err.endswith(
        "no event has no_such in its name\n"
    )
    assert all(row["place"] == "function" for row in command("list", "vfs_r", "--json", "-t", kernel).objects)


@pytest.mark.parametrize("name", ["sched/sched_switch", "sched:sched_switch"])
def test_show_prints_the_fields_of_an_event(command, kernel: str, name: str) -> None:  # noqa: F811
    told = command("show", name, "-t", kernel).out
    assert [line.split() for line in told.splitlines()[1:3]] == [
        ["comm", "char[16]", "string"],
        ["next_pid", "pid_t", "s32"],
    ]
    assert "probewright run 'on sched/sched_switch'" in told
    [row] = command("show", name, "--json", "-t", kernel).objects
    assert [node["fetcharg"] for node in row["fetchargs"]] == ["$comm", "$next_pid"]
