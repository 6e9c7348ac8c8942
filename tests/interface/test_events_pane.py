"""The table of events: columns, conditions, order, marks, times, on the recording that comes with the application."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pytest

from events.clocks.clock_offset import ClockReading
from events.kernel_time import seconds
from events.loss_counts import LossTotals
from events.record import Record
from events.store.cgroups import TaskCgroup
from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import SIZE, application
from tests.interface.widget_host import Host, paste, screen_text, until
from tests.pattern_recording import FUNCTIONS, pattern_recording
from tui.filter.filter import Filter
from tui.present.event_times import wall_clock
from tui.present.status import fields_of
from tui.present.ways_out import NO_FILTER
from tui.views.calls.model import CallItems
from tui.views.events.clauses import kernel_clause_of
from tui.views.events.model import event_table
from tui.views.events.pane import EventsPane
from tui.views.events.view import EventsView
from tui.views.filtered_table import FilteredTable
from tui.views.view import ViewPlace
from widgets.events.column_choice import ColumnChoice
from widgets.events.event_rows import FIXED, MARK, EventColumn
from widgets.lists.table_rows import EmptyTable


@asynccontextmanager
async def live():
    """(pilot, pane, every event) with the picture held and the cursor on the newest."""
    app = application(shipped_recording())
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        pane = app.places.live.query_one(EventsPane)
        store = app.current_watch.store
        await until(lambda: pane.table.rows.next == store.next_seq, pilot)
        yield pilot, pane, [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


def rows(pane: EventsPane) -> list[Record]:
    shown = pane.shown
    assert shown is not None
    return [shown.item(row) for row in range(shown.first, shown.next)]


def ends(shown: FilteredTable[CallItems], row: int) -> tuple[Record | None, Record | None]:
    """Return entry and exit of a row of the calls."""
    return shown.items.texts.records(shown.number(row))


async def to_column(pilot, pane: EventsPane, name: str) -> None:
    """Go to a column; the one of another kind of event than that under the cursor is asked for."""
    await pilot.press("right")
    if name not in [column.name for column in pane.columns.choice.shown]:
        await pilot.press("A")
    shown = [column.name for column in pane.columns.choice.shown]
    while pane.columns.choice.current.name != name:
        await pilot.press("left" if shown.index(name) < pane.columns.current else "right")


async def test_only_events_with_a_value_and_only_others():
    async with live() as (pilot, pane, every):
        await pilot.press("space")
        await to_column(pilot, pane, "task")
        pid, comm = pane.record.pid, pane.record.comm
        await pilot.press("full_stop")
        assert rows(pane) == [record for record in every if record.pid == pid]
        await until(lambda: any(f"{pid} is {comm}" in line for line in screen_text(pilot.app)), pilot)
        text = screen_text(pilot.app)
        assert any(f"pid == {pid}" in line and f"of {len(every)}" in line for line in text)
        await until(lambda: not pane.table.follow.following and pane.record is not None, pilot)  # it stays held
        await to_column(pilot, pane, "event")
        name = pane.record.event
        await pilot.press("exclamation_mark")
        assert rows(pane) == [record for record in every if record.pid == pid and record.event != name]


async def test_a_typed_condition_and_its_end():
    async with live() as (pilot, pane, every):
        await pilot.press("f")
        await paste(pilot, "count > 1024 || ret")
        await pilot.press("enter")
        assert any("at 20: one of == != < <= > >= & ~ is missing" in line for line in screen_text(pilot.app))
        assert len(rows(pane)) == len(every), "nothing has changed yet"
        pane.tick()
        await pilot.pause()
        assert any("at 20: one of ==" in line for line in screen_text(pilot.app)), "it stays while events come"
        await paste(pilot, " < 0")
        await pilot.press("enter")
        wanted = [r for r in every if (r.values.get("count") or 0) > 1024 or (r.values.get("ret") or 0) < 0]
        await until(lambda: rows(pane) == wanted, pilot)  # a key behind an Enter that moved nothing waits a moment
        assert 0 < len(wanted) < len(every)
        await pilot.press("f")
        await paste(pilot, " && nosuch")
        await pilot.press("enter", "escape")
        await until(lambda: pane.table.has_focus, pilot)
        text = screen_text(pilot.app)
        assert any("filter count > 1024 || ret < 0 " in line and f"{len(wanted)} of" in line for line in text)
        assert not any("nosuch" in line for line in text), "what holds is told, not what was refused"
        await pilot.press("f", "ctrl+u", "enter")
        assert rows(pane) == every
        assert pane.table.has_focus


async def test_what_is_being_typed_chooses_nothing_when_other_fields_come():
    async with live() as (pilot, pane, every):
        await pilot.press("f")
        await paste(pilot, "count > 1024")
        await pilot.press("enter")
        chosen = rows(pane)
        await until(lambda: pane.table.has_focus, pilot)
        await pilot.press("f")
        await paste(pilot, " && nosuch")
        pane.show(
            event_table(pilot.app.current_watch, pane.shown.store, pane.shown.filter),
            fields_of(pilot.app.current_watch),
        )
        assert rows(pane) == chosen != every
        assert pane.condition == "count > 1024"
        assert pilot.app.places.live.filtering.bar.text == "count > 1024 && nosuch", "and who types is not disturbed"


async def test_columns_of_what_is_disarmed_go_with_clear():
    async with live() as (pilot, pane, _):
        app = pilot.app
        assert len(pane.columns.choice.shown) > len(FIXED)
        app.arming.disarm(app.current_watch.armed.probes)
        await until(lambda: not app.current_watch.armed.probes, pilot)
        assert len(pane.columns.choice.shown) > len(FIXED), "its events are there"
        await pilot.press("c")
        await until(lambda: not len(app.current_watch.store), pilot)
        assert pane.columns.choice.shown == FIXED


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_line_above_says_how_many_are_shown_and_what_else_there_is(size):
    async with live() as (pilot, pane, every):
        await pilot.resize_terminal(*size)
        app = pilot.app
        state = app.places.live.status.line.state
        assert (state.row_count, state.total) == (len(every), 0)
        assert all(f"{name}" in screen_text(app)[1] for name in ("[events]", " graph ", " entry→exit ", " summary "))
        pane.only("count == 123456789")
        app.places.live.tick()
        await pilot.pause()
        assert app.places.live.status.line.state.row_count == 0 and app.places.live.status.line.state.total == len(
            every
        )
        # The names of other views make room for it on a narrow screen.
        assert f"the filter hides all {len(every)} events: {NO_FILTER}" in screen_text(app)[1]


async def test_a_held_table_shows_what_it_did_and_says_what_came():
    class Numbers(EmptyTable):
        next = 1000

    view = EventsView(Filter())
    async with Host(lambda: view.pane).shown() as pilot:
        rows = Numbers()
        view.table.show(rows)
        assert view.place == ViewPlace(True, 0, 1000)
        view.table.action_follow()
        rows.next = 1500
        view.table.tick()
        assert view.place == ViewPlace(False, 500, 1000)
        view.table.action_last()
        await pilot.pause()
        assert view.place == ViewPlace(True, 0, 1500)


async def test_what_a_view_of_probes_says_while_only_calls_are_traced(monkeypatch):
    async with live() as (pilot, _, _):
        app = pilot.app
        app.arming.disarm(app.current_watch.armed.probes)
        await until(lambda: not app.current_watch.armed.probes, pilot)
        monkeypatch.setattr(type(app.tracing), "runs", True)
        for key in ("s", "e", "x"):
            await pilot.press(key)
            assert "calls are traced: g" in screen_text(app)[1], key
        monkeypatch.undo()
        app.places.live.tick()
        assert "calls are traced" not in app.places.live.status.line.state.note


async def test_what_was_lost_is_said_once():
    async with live() as (pilot, _, _):
        for key in ("e", "s", "x", "g"):
            await pilot.press(key)
            await pilot.pause()
            assert " ".join(screen_text(pilot.app)[:2]).count(" lost ") == 1


async def test_what_the_tracer_lost_is_said_beside_what_the_probes_lost():
    async with live() as (pilot, _, _):
        place, graphing = pilot.app.places.live, pilot.app.tracing
        store, none = SimpleNamespace(lost_events=7, undecodable=0), SimpleNamespace(probes=())
        tracer = SimpleNamespace(store=store, armed=none, outages=(), live=False)
        graphing.current_watch = tracer
        assert place.status.losses(tracer) == LossTotals(lost=7)
        tracer.store.lost_events = 0
        assert place.status.losses(tracer) is None and place.status.losses(pilot.app.current_watch) is None
        graphing.current_watch = None


async def test_columns_are_hidden_moved_and_come_back():
    async with live() as (pilot, pane, _):
        await pilot.press("space")
        await to_column(pilot, pane, "count")
        before = [column.name for column in pane.columns.choice.shown]
        await pilot.press("less_than_sign")
        header = next(line for line in screen_text(pilot.app) if " time " in line).split()
        at = before.index("count")
        assert header[: at + 1] == [*before[: at - 1], "count", before[at - 1]]
        await pilot.press("H")
        header = next(line for line in screen_text(pilot.app) if " time " in line).split()
        assert "count" not in header
        await pilot.press("A")
        assert {column.name for column in pane.columns.choice.shown} == set(before)


async def test_columns_stay_as_they_are_when_events_are_cleared():
    async with live() as (pilot, pane, _):
        await pilot.press("space")
        await to_column(pilot, pane, "count")
        await pilot.press("less_than_sign", "right", "H")
        before = pane.columns.choice.shown
        await pilot.press("c")
        await until(lambda: not len(pilot.app.current_watch.store), pilot)
        assert pane.columns.choice.shown == before


async def test_a_held_picture_stays_where_it_is_in_other_colours_and_columns():
    async with live() as (pilot, pane, every):
        table = pane.table
        table.go_to(len(every) // 2)
        await pilot.press("up", "up")
        held, above = pane.record, table.cursor - table.window.top
        table.follow.hold(table.cursor, len(every) - 7)
        await pilot.press("C")
        assert (pane.record, table.cursor - table.window.top, table.follow.new) == (held, above, 7)
        await to_column(pilot, pane, "count")
        await pilot.press("H")
        assert (pane.record, table.cursor - table.window.top, table.follow.new) == (held, above, 7)
        watch = pilot.app.current_watch
        pilot.app.places.live.views.events.tick(watch, watch.store, ("dfd", "flags"))
        assert EventColumn("filename") not in pane.columns.choice.order, "a probe went"
        assert (pane.record, table.cursor - table.window.top, table.follow.new) == (held, above, 7)


async def test_columns_are_turned_where_they_are_wider_than_the_screen():
    async with live() as (pilot, pane, _):
        await pilot.resize_terminal(60, 24)
        await pilot.press("space", "A")
        seen = []
        for _ in range(4):
            await pilot.press("right")
            seen.append(pane.columns.choice.current)
        assert seen == list(pane.columns.choice.shown[4:8])
        assert pane.table.scroll_offset.x > 0, "the column is on the screen"


async def test_order_by_a_column():
    async with live() as (pilot, pane, every):
        await pilot.press("space")
        await to_column(pilot, pane, "count")
        await pilot.press("S")
        counts = [record.values.get("count") for record in rows(pane)]
        there = [count for count in counts if count is not None]
        assert there == sorted(there)
        assert counts[len(there) :] == [None] * (len(every) - len(there))
        assert pane.table.cursor == 0
        note = next(line for line in screen_text(pilot.app) if "by count, the smallest first" in line)
        assert note.endswith("; S changes it") and "left out" not in note  # nothing comes to a recording
        await pilot.press("S")
        counts = [record.values.get("count") for record in rows(pane)]
        assert counts[: len(there)] == sorted(there, reverse=True)
        await pilot.press("S")
        assert rows(pane) == every


async def test_marks_are_found_again():
    async with live() as (pilot, pane, every):
        await pilot.press("home", "down", "m")
        assert any(MARK in line for line in screen_text(pilot.app))
        await pilot.press("end", "space", "m", "home", "apostrophe")
        assert pane.record == every[1]
        await pilot.press("apostrophe")
        assert pane.record == every[-1]
        await pilot.press("apostrophe")
        assert pane.record == every[1]
        await pilot.press("m", "apostrophe")
        assert pane.record == every[-1]
        assert pane.marks == {every[-1].seq}


async def test_the_event_that_is_picked_is_the_one_acted_on_in_sorted_rows():
    async with live() as (pilot, pane, _):
        await to_column(pilot, pane, "count")
        await pilot.press("S", "end")
        assert pane.table.follow.following
        picked = pane.shown.item(pane.shown.next - 4)
        await pilot.press("m", "down", "down", "down", "enter")
        assert pane.marks == {picked.seq} and pane.record == picked
        for key in ("full_stop", "exclamation_mark", "K"):
            await pilot.press("end", key, "down", "down", "down", "enter")
            assert pane.record == picked
        await pilot.press("end", "m", "down", "down", "down")
        pane.shown.choose(f"COMM != {picked.comm}")
        await pilot.press("enter")
        assert pane.marks == {picked.seq}, "an event that is hidden by now is not exchanged for another"


async def test_who_reads_a_row_stays_there_when_tasks_get_names():
    async with live() as (pilot, pane, every):
        store, table = pane.shown.store, pane.table
        other = next(record.pid for record in reversed(every) if record.comm != every[0].comm)
        pane.only(f"comm == {every[0].comm}")
        await pilot.pause()  # the filter's line takes a row
        await until(lambda: table.window.page > 8 and "comm ==" in "\n".join(screen_text(pilot.app)), pilot)
        before = rows(pane)
        table.go_to(len(before) * 2 // 3)
        await pilot.press("up")
        await until(lambda: 0 < table.cursor - table.window.top < table.window.page - 1, pilot)
        held, above = pane.record, table.cursor - table.window.top
        store.task_names.known = {**store.task_names.known, other: every[0].comm}
        pane.names_changed()
        await until(lambda: not pane.shown.backlog, pilot)
        assert len(rows(pane)) > len(before)
        assert not table.follow.following and pane.record == held
        assert table.cursor - table.window.top == above
        assert table.follow.new == sum(record.seq > before[-1].seq for record in rows(pane))
        await to_column(pilot, pane, "count")
        await pilot.press("S")
        order = [record.seq for record in rows(pane)]
        store.task_names.known = {**store.task_names.known, other: "else"}
        pane.names_changed()
        assert [record.seq for record in rows(pane)] == order, "what was put in order stays as it was"


async def test_who_reads_a_call_stays_there_when_tasks_get_names():
    async with live() as (pilot, _, every):
        await pilot.press("x")
        pane = pilot.app.places.live.views.current.pane
        await until(lambda: pane.shown and pane.shown.counts[0] > 0 and not pane.tick(), pilot)
        store, table = pane.shown.store, pane.table
        names = [
            store.task_names.name(leave.pid)
            for _, leave in (ends(pane.shown, row) for row in range(pane.shown.first, pane.shown.next))
            if leave
        ]
        name = max(set(names), key=names.count)
        other = next(record.pid for record in every if record.comm != name)
        pane.only(f"comm == {name}")
        size = pane.shown.counts[0]
        table.go_to(size // 2)
        held = ends(pane.shown, table.cursor)
        store.task_names.known = {**store.task_names.known, other: name}
        pane.names_changed()
        await until(lambda: not pane.shown.backlog, pilot)
        assert pane.shown.counts[0] >= size
        assert not table.follow.following and ends(pane.shown, table.cursor) == held


async def test_a_time_is_gone_to():
    async with live() as (pilot, pane, every):
        wanted = every[len(every) // 2]
        await pilot.press("t")
        await paste(pilot, f"{wanted.ts // 10**9}.{wanted.ts % 10**9:09}")
        await pilot.press("enter")
        assert pane.record == wanted
        await pilot.press("t", *"+0.5", "enter")
        assert pane.record == next(record for record in every if record.ts >= wanted.ts + 500_000_000)
        await pilot.press("t", *"soon", "enter")
        assert any("that is no time; seconds, as 12.304" in line for line in screen_text(pilot.app))


async def test_a_search_stays_within_what_is_chosen():
    async with live() as (pilot, pane, every):
        await pilot.press("f")
        await paste(pilot, "event ~ *exit")
        await pilot.press("enter")
        chosen = rows(pane)
        await pilot.press("slash")
        await paste(pilot, "count > 1024")
        await pilot.press("enter")
        wanted = [r for r in every if r.event.endswith("exit") and (r.values.get("count") or 0) > 1024]
        await until(lambda: pane.record == wanted[-1], pilot)
        await pilot.press("N")
        await until(lambda: pane.record == wanted[-2], pilot)
        assert chosen[pane.table.cursor] == wanted[-2]


async def test_calls_are_chosen_by_latency_and_by_fields_of_either_end():
    async with live() as (pilot, _, _):
        await pilot.press("x")
        view = pilot.app.places.live.views.current
        await until(lambda: view.pane.shown and view.pane.shown.counts[0] > 0 and not view.pane.tick(), pilot)
        shown = view.pane.shown
        every = [ends(shown, row) for row in range(shown.first, shown.next)]
        pairs = [(entry, leave) for entry, leave in every if entry and leave]
        middle = sorted(leave.ts - entry.ts for entry, leave in pairs)[len(pairs) // 2]
        await pilot.press("f")
        await paste(pilot, f"latency >= {middle}ns")
        await pilot.press("enter")
        chosen = [ends(shown, row) for row in range(shown.first, shown.next)]
        assert chosen == [(entry, leave) for entry, leave in pairs if leave.ts - entry.ts >= middle]
        assert any(f"{len(chosen)} of {len(every)}" in line for line in screen_text(pilot.app))
        await pilot.press("f", "ctrl+u")
        await paste(pilot, "dfd < 0 && ret > 2")
        await pilot.press("enter")
        chosen = [ends(shown, row) for row in range(shown.first, shown.next)]

        def value(ends, name):
            entry, leave = ends
            return next((end.values[name] for end in (leave, entry) if end and name in end.values), 0)

        assert chosen == [ends for ends in every if value(ends, "dfd") < 0 and value(ends, "ret") > 2]
        assert 0 < len(chosen) < len(every)


@pytest.mark.parametrize("key", ["S", "apostrophe"])
async def test_what_cannot_be_done_yet_says_how(key):
    async with live() as (pilot, _, _):
        await pilot.press(key)
        await pilot.pause()
        assert any(
            said in line
            for line in screen_text(pilot.app)
            for said in ("first", "nothing is marked", "which column?")
        )


def test_a_field_that_goes_takes_its_column_along():
    choice = ColumnChoice().with_fields(["a", "b"]).turned(1)
    assert choice.current == EventColumn("a")
    choice = choice.without_current()
    assert (choice.current, choice.shown) == (EventColumn("b"), (*FIXED, EventColumn("b")))
    choice = choice.with_fields(["c", "a"])
    assert choice.shown == (*FIXED, EventColumn("c"))
    assert choice.current is None
    assert choice.with_all().shown == (*FIXED, EventColumn("c"), EventColumn("a"))


def test_lines_of_a_command_have_their_columns_behind_those_of_probes():
    lines = ColumnChoice().with_fields(["text", "stream"])
    choice = lines.with_fields(["count", "pos", "text", "stream"])
    assert choice.fields == ("count", "pos", "text", "stream")
    assert choice.with_fields(["count", "pos", "ret", "text", "stream"]).fields[-3:] == ("ret", "text", "stream")
    moved = choice.at(len(FIXED)).moved(1)
    assert moved.with_fields(["count", "pos", "ret"]).fields == ("pos", "count", "ret"), "what was moved stays there"


async def test_a_condition_on_cgroups_completes_names_and_says_what_is_not_known():
    async with live() as (pilot, pane, every):
        store = pane.shown.store
        inside, elsewhere = sorted({record.pid for record in every})[:2]
        store.cgroups.know(
            {inside: TaskCgroup("/system.slice/docker-3f2a.scope"), elsewhere: TaskCgroup("/user.slice")}, 0
        )
        await pilot.press("f")
        await paste(pilot, "cgroup == docker-3")
        await until(lambda: "docker-3f2a.scope" in "\n".join(screen_text(pilot.app)), pilot)
        await pilot.press("tab", "enter")
        assert pane.condition == "cgroup == docker-3f2a.scope"
        assert rows(pane) == [record for record in every if record.pid == inside]
        unknown = {record.pid for record in every} - {inside, elsewhere}
        said = f"1 cgroup, {len(unknown)} tasks in unknown ones" if unknown else "1 cgroup"
        assert said in "\n".join(screen_text(pilot.app))
        store.cgroups.know({next(iter(unknown)): TaskCgroup("/system.slice/docker-3f2a.scope")}, 0)
        pane.names_changed()
        await pilot.pause()
        assert len(rows(pane)) > sum(record.pid == inside for record in every)


async def test_the_time_of_day_stands_beside_the_seconds_in_every_view_and_in_details():
    async with live() as (pilot, _, every):
        app = pilot.app
        watching = app.current_watch
        await pilot.press("Z")
        assert "the recording does not say it" in app.notice_lines[-1].text
        assert screen_text(app)[2].lstrip().startswith("time")
        base = 1_700_000_000 * 10**9
        watching.clock._wall.measured([ClockReading(base - 500, 0, base + 500)])
        await pilot.press("Z")
        assert "UTC" in app.notice_lines[-1].text
        day = f"{wall_clock(base + every[-1].ts, utc=True)} {seconds(every[-1].ts)}"
        await until(lambda: day in "\n".join(screen_text(app)), pilot)
        await pilot.press("enter")
        await until(lambda: "time of day" in "\n".join(screen_text(app)), pilot)
        assert "±101 µs" in next(row for row in screen_text(app) if "time of day" in row)
        await pilot.press("escape", "x")
        await until(lambda: " 22:13:" in " " + " ".join(screen_text(app)), pilot)
        await pilot.press("e", "Z")
        await until(lambda: day not in "\n".join(screen_text(app)), pilot)
        assert "kernel's seconds" in app.notice_lines[-1].text


async def test_only_events_of_the_function_under_the_cursor(tmp_path):
    app = application(pattern_recording(tmp_path / "pattern.pwr"))
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        pane, store = app.places.live.query_one(EventsPane), app.current_watch.store
        await until(lambda: pane.table.rows.next == store.next_seq, pilot)
        every = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
        await pilot.press("space")
        await to_column(pilot, pane, "func")
        await until(lambda: app.planner.info.symbols.loaded, pilot)
        (name,) = [name for name in FUNCTIONS if name in pane.record.event]
        with pytest.raises(ValueError, match="func: a name for an address"):
            kernel_clause_of(pane.record, pane.columns.choice.current)
        await pilot.press("full_stop")
        assert rows(pane) == [record for record in every if name in record.event]
        assert any(f"func == {name}" in line for line in screen_text(app))


async def test_rows_that_a_filter_chooses_have_the_columns():
    """Not the rows before it, whose fields they have none of."""
    async with live() as (pilot, pane, every):

        def is_chosen(rows: int) -> bool:
            return pane.shown.next - pane.shown.first == rows

        def has_columns(fields: set[str]) -> bool:
            return {one.name for one in pane.columns.choice.shown if not one.of_all} == fields

        assert pane.columns.kinds.mixed
        opened, written = {"dfd", "filename", "flags", "ret"}, {"pos_0", "count", "ret"}
        for name, fields in (("do_sys_openat2__entry", opened), ("vfs_write__exit", written), ("", {"filename"})):
            rows = sum(name in record.event for record in every)
            pilot.app.places.live.filtering.choose(f"event == {name}" if name else "")
            await until(partial(is_chosen, rows), pilot)
            assert pane.table.follow.following
            await until(partial(has_columns, fields), pilot)


async def test_a_watchpoint_needs_an_address_and_a_kernel_that_runs():
    async with live() as (pilot, pane, every):
        await pilot.press("space")
        await to_column(pilot, pane, "task")
        await pilot.press("W")
        await until(lambda: "task: this event has no address" in "\n".join(screen_text(pilot.app)), pilot)
        pane.post_message(EventsPane.WatchpointWanted(0xFFFF888000001000, every[0].event, "file"))
        await until(lambda: "a watchpoint needs a kernel that runs" in "\n".join(screen_text(pilot.app)), pilot)
