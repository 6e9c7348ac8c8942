"""Which fields the live place has columns for, and how a measured time reads there: a watch on a kernel of a dict."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from events.batch import Batch, Chunk
from events.summary.keys import value_keys
from events.summary.values import FieldValues
from kernel.commands.output_pages import OUTPUT_PLAN
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.hosts.merged_events import MergedEvent
from kernel.watch.watch import Watch
from probes.command import Armable
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from probes.static_events import Latency, LatencyKey
from tests.pure.kernel.test_watch import Target, probe, rows
from tui.hosts.rows import HostRows
from tui.output.event_source import source_of_rows
from tui.present import watched_events
from tui.present.status import detail_of, fields_of
from tui.present.summary_values import Subject, by_name, first_subject, subjects_of, values_of
from tui.views.events.clauses import clause_of
from tui.views.events.model import event_table
from widgets.events.event_rows import EventColumn

LATENCY = Latency("io", "block/issue", "block/complete", (LatencyKey("dev", "dev"),))
FIELDS = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 {name};\toffset:8;\tsize:8;\tsigned:0;
"""


def field_of(event: str) -> str:
    return "lat" if event.endswith("io") else f"of_{event}"


class OneField(Target):
    """Each event has one field, named by it."""

    def _event(self, place: str, event: str) -> None:
        super()._event(place, event)
        name = event.split("/")[1]
        text = f'name: {name}\nID: {self._next_id}\nformat:\n{FIELDS.format(name=field_of(name))}\nprint fmt: ""\n'
        self.files[f"{place}/events/{event}/format"] = text.encode()

    def came(self, ts: int, number: int, value: int) -> None:
        data = struct.pack("<IHHiQ", 4, number, 0, 812, value)
        page = struct.pack("<QQ", ts, len(data)) + data
        self.pages.queue.put(Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True))


class Lowers(Planner):
    """Each probe to its event; a measured time to one that only has a trigger, too."""

    def lower(self, probe: Armable, group: str, *rest: object) -> Plan:
        name = probe.subject
        line, remove = f"f:{group}/{name} {name}", f"-:{group}/{name}"
        made = PlannedEvent(group, name, line, remove, columns=(PlanColumn(field_of(name), field_of(name)),))
        if not isinstance(probe, Latency):
            return Plan(probe, (made,))
        begin = PlannedEvent(
            group,
            "begin",
            f"f:{group}/begin x",
            f"-:{group}/begin",
            columns=(PlanColumn("key", "key"),),
            recorded=False,
        )
        return Plan(probe, (made, begin))


@pytest.fixture
def target() -> OneField:
    return OneField()


@pytest.fixture
def watch(target):
    watch = Watch(Lowers(KernelInfo(target)))
    yield watch
    watch.close()


def id_of(armed, name: str) -> int:
    return next(number for number, fmt in armed.formats.items() if fmt.path.endswith(f"/{name}"))


def exported(watch: Watch) -> list[str]:
    source = source_of_rows(watch)
    return [name for fmt in source.formats for name in source.fields(fmt)]


def test_fields_of_a_disarmed_probe_go_with_its_events(watch, target):
    first = watch.armed.arm(probe("vfs_read"))
    target.came(1000, id_of(first, "vfs_read"), 1)
    assert rows(watch, 1) == ["vfs_read"]
    watch.armed.disarm(first)
    second = watch.armed.arm(probe("vfs_write"))
    watch.tick()
    assert fields_of(watch) == ("of_vfs_read", "of_vfs_write"), "its rows are there, the other one is armed"
    assert exported(watch) == ["of_vfs_write", "of_vfs_read"]
    watch.intake.forget()
    assert fields_of(watch) == ("of_vfs_write",)
    assert exported(watch) == ["of_vfs_write"]
    assert {subject.field for subject in subjects_of(watch, watch.store)} == {"of_vfs_write", ""}
    watch.armed.disarm(second)
    assert fields_of(watch) == ()
    assert subjects_of(watch, watch.store) == (Subject(),)


def test_a_disarmed_probe_without_events_has_no_field(watch):
    watch.armed.disarm(watch.armed.arm(probe("vfs_read")))
    watch.tick()
    assert fields_of(watch) == ()


def test_fields_of_lines_of_a_command_stand_behind_those_of_probes_also_of_later_ones():
    event = PlannedEvent("g", "x", "", "", columns=(PlanColumn("count", "count"),))
    plans = (OUTPUT_PLAN, Plan(Probe(ProbePlace("x")), (event,)))
    assert watched_events.fields_of(plans, plans, None) == ("count", "text", "stream")


def test_the_summary_opens_on_what_has_values(watch, target):
    watch.armed.arm(probe("vfs_read"))
    second = watch.armed.arm(probe("vfs_write"))
    watch.tick()
    subjects = subjects_of(watch, watch.store)
    assert [subject.field for subject in subjects] == ["of_vfs_read", "of_vfs_write", ""]
    assert first_subject(watch, subjects).field == "of_vfs_read", "while nothing came"
    target.came(1000, id_of(second, "vfs_write"), 1)
    rows(watch, 1)
    assert first_subject(watch, subjects_of(watch, watch.store)).field == "of_vfs_write"


def test_a_measured_time_reads_as_times_do_and_is_found_so(watch, target):
    armed = watch.armed.arm(LATENCY)
    for ts, took in ((1000, 2_341_017), (2000, 812), (3000, (1 << 64) - 5)):
        target.came(ts, id_of(armed, "io"), took)
    assert rows(watch, 3) == ["io"] * 3
    assert fields_of(watch) == ("lat",), "an event that only has a trigger has no rows, and no columns"
    shown = event_table(watch, watch.store)
    wrong = str((1 << 64) - 5)
    assert [shown.items.cells(shown.item(row))["lat"] for row in range(3)] == ["2.34 ms", "812 ns", wrong]
    assert [shown.find(text, 0, budget=60).seq for text in ("2.34 ms", "lat=812 n", wrong)] == [0, 1, 2]
    assert shown.find("lat > 1000000", 0, budget=60).seq == 0, "it is a number still"
    (lat,) = (field for field in detail_of(watch, shown.item(0)) if field.name == "lat")
    assert lat.value == "2.34 ms  (2341017)"
    assert dict(watch.event_fields.values(shown.item(0)))["lat"] == "2341017", "what is printed stays a number"

    from events.summary.summary import Summary

    summary = Summary(watch.store)
    summary.choose(shown.item(0).event, "lat")
    while summary.backlog:
        summary.tick()
    found = {one.label: one.condition for one in values_of(watch, summary.values)}
    assert found["2.34 ms"] == "event == io && lat == 2341017" and set(found) == {"2.34 ms", "812 ns", wrong}


def test_a_measured_time_of_a_host_reads_so_too(watch, target):
    armed = watch.armed.arm(LATENCY)
    target.came(1000, id_of(armed, "io"), 2_341_017)
    rows(watch, 1)
    merged = MergedEvent(0, 1000, "web1", False, 0, watch.store.record(0))
    events = SimpleNamespace(watch=lambda _: watch, find=lambda match, *_: match(merged))
    shown = HostRows(SimpleNamespace(events=events))
    assert shown.cells(merged)["lat"] == "2.34 ms"
    assert shown.find("web1 ", 0) and shown.find("lat=2.34 ms", 0) and not shown.find("2341017", 0)


def test_a_field_that_is_called_as_a_column_of_all_hosts_has_its_own():
    known = SimpleNamespace(plans=(), values=lambda *_, **__: [("time", "50"), ("host", "7"), ("count", "3")])
    merged = MergedEvent(0, 1000, "web1", False, 0, SimpleNamespace(cpu=1, pid=2, comm="cat", event="g/ev"))
    events = SimpleNamespace(
        watch=lambda _: SimpleNamespace(event_fields=known), first_seq=0, next_seq=1, record=lambda _: merged
    )
    table = HostRows(SimpleNamespace(events=events, hosts=())).rows(("time", "host", "count"))
    table.prepare(0, 1)
    cells = dict(zip(table.columns.titles, table._texts[0][:-1], strict=True))
    assert (cells["host"], cells["time_"], cells["host_"], cells["count"]) == ("web1", "50", "7", "3")
    assert ":" in cells["time"] and len(table.columns.titles) == len(set(table.columns.titles))


def test_fields_of_kinds_that_are_mixed_stand_in_each_row_of_several_hosts():
    names = ("time", "count", "pos", "flags", "mode")
    known = SimpleNamespace(
        plans=tuple(
            Plan(Probe(ProbePlace(name)), (PlannedEvent("g", name, "", "", columns=(PlanColumn(name, name),)),))
            for name in names
        ),
        values=lambda *_, **__: [("time", "50")],
    )
    merged = MergedEvent(0, 1000, "web1", False, 0, SimpleNamespace(cpu=1, pid=2, comm="cat", event="g/time"))
    watch = SimpleNamespace(event_fields=known)
    events = SimpleNamespace(watch=lambda _: watch, first_seq=0, next_seq=1, record=lambda _: merged)
    table = HostRows(SimpleNamespace(events=events, hosts=(SimpleNamespace(watch=watch),))).rows(names)
    table.prepare(0, 1)
    assert table.columns.titles == ("time", "host", "cpu", "task", "event")
    assert "".join(piece.text for piece in table.pieces(0, 80)).endswith("  time_=50")


def test_times_that_read_the_same_are_one_row_with_all_their_events(watch, target):
    armed = watch.armed.arm(LATENCY)
    took = (169_012, 169_444, 169_012, 2_341_017, 168_400)
    for ts, value in enumerate(took, 1000):
        target.came(ts, id_of(armed, "io"), value)
    rows(watch, len(took))

    from events.summary.summary import Summary

    summary = Summary(watch.store)
    summary.choose(watch.store.record(0).event, "lat")
    while summary.backlog:
        summary.tick()
    found = values_of(watch, summary.values)
    assert [(one.label, one.hits) for one in found] == [("169 us", 3), ("168 us", 1), ("2.34 ms", 1)]
    shown = event_table(watch, watch.store)
    for one in found:
        shown.choose(one.condition)
        while shown.tick(1.0):
            pass
        assert shown.counts == (one.hits, len(took))
        assert {shown.items.cells(shown.item(row))["lat"] for row in range(one.hits)} == {one.label}


def test_a_measured_time_has_the_name_of_the_screen_in_the_summary(watch, target):
    path = "synthetic/pw_136_cv__io"
    assert Subject(path, "lat").label == "io lat"
    counted = FieldValues(path, "lat")
    counted.of_boot(0).add(value_keys([812] * 3))
    assert [one.condition for one in values_of(watch, counted)] == ["event == io && lat == 812"]
    record = SimpleNamespace(event=path, values={})
    assert clause_of(record, EventColumn("event", of_all=True), same=True) == "event == io"


def test_a_field_of_that_name_that_a_probe_records_is_a_number(watch, target):
    armed = watch.armed.arm(probe("audio"))
    target.came(1000, id_of(armed, "audio"), 2_341_017)
    rows(watch, 1)
    shown = event_table(watch, watch.store)
    assert shown.items.cells(shown.item(0)) == {"lat": "2341017"}


def test_tasks_of_one_name_are_counted_as_tasks():
    (one, other) = by_name([("head", 7, 3, 0), ("head", 8, 2, 0), ("cat", 9, 1, 0)])
    assert (one.label, one.hits) == ("head, 2 tasks", 5)
    assert other.label == "cat-9"
