"""The filter as a person uses it: typed once, it holds in every place and is said there in the same line."""

from __future__ import annotations

import json
from functools import partial

import pytest

from events.search.filtered_rows import FilteredRows
from foreign.count_text import counted
from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import says
from tests.interface.test_events_pane import live, rows
from tests.interface.widget_host import paste, screen_text, until
from tui.app.typed_ahead import PAUSE
from tui.filter.filter import PassCount
from tui.live.event_export import EventExportScreen
from tui.live.registry import EXTRA_LABELS, LABELS
from tui.messages import EventsWanted
from tui.present.ways_out import NO_FILTER
from widgets.search_line import SearchLine


def line_of(app) -> str:
    """The filter's line."""
    return next((line for line in screen_text(app) if line.startswith("filter ")), "")


def is_said(app, text: str) -> bool:
    return text in line_of(app)


async def choose(pilot, text: str) -> None:
    await pilot.press("f", "ctrl+u")
    await paste(pilot, text)
    await pilot.press("enter")
    await until(lambda: pilot.app.places.live.views.current.focus.has_focus, pilot)


async def settled(pilot) -> None:
    await pilot.pause()
    await until(lambda: pilot.app.places.live._more is None, pilot)
    await pilot.pause()


async def test_a_view_of_which_the_filter_hides_all_says_so_with_the_way_out():
    async with live() as (pilot, _, every):
        app = pilot.app
        await choose(pilot, "event == no_such_event")
        for name, unit in (("calls", "call"), ("events", "event")):
            await app.places.live.action_view(name)
            await settled(pilot)
            found = app.places.live.views.current.filtered
            assert found.of and (name != "events" or found.of == len(every))
            sentence = f"the filter hides all {counted(found.of, unit)}: {NO_FILTER}"
            await until(partial(says, app, sentence), pilot)
        await pilot.pause(PAUSE + 0.05)
        await pilot.press(*NO_FILTER.keys)
        await until(
            lambda: not says(app, "the filter hides") and app.places.live.views.current.place.row_count, pilot
        )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_view_says_how_many_pass(size):
    async with live() as (pilot, pane, every):
        await pilot.resize_terminal(*size)
        app = pilot.app
        place = app.places.live
        await choose(pilot, "comm == cat")
        wanted = [record for record in every if record.comm == "cat"]
        await until(lambda: rows(pane) == wanted, pilot)
        said = {}
        for name in (*LABELS, *EXTRA_LABELS):
            await place.action_view(name)
            await settled(pilot)
            said[name] = line_of(app)
            found = place.views.current.filtered
            assert not place.views.current.note(app.current_watch).rstrip().endswith(","), name
            # Neither a graph with return values nor latencies, numbers or stacks are recorded there.
            is_empty = name in ("failures", "latencies", "numbers", "stacks")
            assert isinstance(found, str) or (found.of > found.passing > 0) == (not is_empty)
            assert (found if isinstance(found, str) else found.text)[:20] in said[name], name
        assert all(line.startswith("filter comm == cat ") for line in said.values())
        assert f"{len(wanted)} of {len(every)} events" in said["events"] and said["summary"] == said["events"]
        assert "not filtered: the kernel counts all" in said["histograms"]
        assert f"on the screen: {len(wanted)} events" in place.views.by_name["summary"].pane.panel._shown.head
        calls = place.views.by_name["calls"].pane.shown
        shown = [
            [end for end in calls.items.texts.records(calls.number(row)) if end]
            for row in range(calls.first, calls.next)
        ]
        assert shown and all(any(end.comm == "cat" for end in ends) for ends in shown)
        graph = place.views.by_name["graph"]
        await place.action_view("graph")
        assert place.views.current.filtered.passing == len(shown)
        await pilot.press("h")
        await until(lambda: graph._hot_calls > 0, pilot)
        await settled(pilot)
        assert f"{graph._hot_calls} of " in line_of(app) and " calls" in line_of(app)
        await pilot.press("f", "ctrl+u", "enter")
        await settled(pilot)
        assert not line_of(app)
        await until(lambda: graph._hot_calls > len(shown), pilot)
        await pilot.press("s")
        await settled(pilot)
        assert place.views.current.filtered == PassCount(len(every), len(every))


async def test_escape_restores_what_was_and_takes_its_error_along():
    async with live() as (pilot, pane, every):
        for before, count in (("", len(every)), ("ret < 0", None)):
            if before:
                await choose(pilot, before)
            count = count or len(rows(pane))
            said = line_of(pilot.app)
            for keys in (["escape"], ["enter", "escape"]):
                await pilot.press("f")
                await paste(pilot, " && nosuch == 1")
                await until(lambda: "no field nosuch" in line_of(pilot.app) or "missing" in line_of(pilot.app), pilot)
                await pilot.press(*keys)
                await until(lambda: pane.table.has_focus, pilot)
                await pilot.pause()
                assert line_of(pilot.app) == said
                assert len(rows(pane)) == count


async def test_a_long_reason_is_read_whole_on_a_narrow_screen():
    async with live() as (pilot, _, every):
        await pilot.resize_terminal(80, 24)
        await pilot.press("f")
        await paste(pilot, "dfd == /etc/passwd")
        await pilot.press("enter")

        def whole() -> bool:
            said = pilot.app.places.live.filtering.bar.query_one(".said")
            lines = [line[said.region.x :].strip() for line in screen_text(pilot.app)]
            shown = " ".join(lines[said.region.y : said.region.bottom])
            return shown.startswith("at 8: dfd is a number") and shown.endswith("not recorded")

        await until(whole, pilot)
        await pilot.press("ctrl+u")
        await paste(pilot, "cpu >= 0")
        await pilot.press("enter")
        await until(lambda: is_said(pilot.app, f"{len(every)} of {len(every)} events"), pilot)
        assert pilot.app.places.live.filtering.bar.size.height == 1


async def test_matches_are_counted_as_typed_and_nothing_is_chosen_yet():
    async with live() as (pilot, pane, every):
        await pilot.press("f")
        for text, wanted in (
            ("count > 1024", lambda record: (record.values.get("count") or 0) > 1024),
            (" && comm == cat", lambda record: (record.values.get("count") or 0) > 1024 and record.comm == "cat"),
        ):
            await paste(pilot, text)
            said = f"{sum(map(wanted, every))} of {len(every)} events"
            await until(partial(is_said, pilot.app, said), pilot)
            assert rows(pane) == every
        await pilot.press("enter")
        await until(lambda: rows(pane) == [record for record in every if wanted(record)], pilot)


async def test_a_key_ends_the_count_of_what_was_typed_before(monkeypatch):
    """However many events there are: one look takes one piece, and is for the newest text."""
    looked: list[str] = []
    tick = FilteredRows.tick

    def slow(self: FilteredRows, budget: float) -> None:
        looked.append(self.condition.text)
        if len(looked) % 3:  # as where there are millions: each look leaves some
            return
        tick(self, budget)

    monkeypatch.setattr(FilteredRows, "tick", slow)
    monkeypatch.setattr(FilteredRows, "backlog", property(lambda self: self.store.next_seq - self.looked))
    async with live() as (pilot, _, every):
        await pilot.press("f", *"pid > 1")
        await until(lambda: looked and looked[-1] == "pid > 1", pilot)
        await pilot.press("5")
        await until(lambda: looked[-1] == "pid > 15", pilot)
        at = looked.index("pid > 15")
        assert "pid > 1" not in looked[at:]
        number = sum(record.pid > 15 for record in every)
        await until(lambda: f"{number} of {len(every)} events" in line_of(pilot.app), pilot)
        await pilot.press("escape")
        await until(lambda: not line_of(pilot.app), pilot)


async def test_fields_operators_and_values_are_completed():
    async with live() as (pilot, pane, every):
        await pilot.press("f", "r", "e")
        await until(lambda: any("ret " in line and "a number" in line for line in screen_text(pilot.app)), pilot)
        await pilot.press("tab")
        await until(lambda: pilot.app.places.live.filtering.bar.text == "ret ", pilot)
        await pilot.press("tab", "down")
        await until(lambda: pilot.app.places.live.filtering.bar._list.chosen is not None, pilot)
        value = pilot.app.places.live.filtering.bar._list.chosen.text
        await pilot.press("enter")
        text = f"ret == {value}"
        await until(lambda: pilot.app.places.live.filtering.bar.text == text, pilot)
        assert rows(pane) == every, "Enter took the value, and no filter yet"
        await pilot.press("enter")
        await until(lambda: pane.condition == text and 0 < len(rows(pane)) < len(every), pilot)
        assert pane.table.has_focus


async def test_an_export_has_what_passes_and_says_so(tmp_path):
    async with live() as (pilot, _, every):
        await choose(pilot, "comm == cat")
        wanted = [record for record in every if record.comm == "cat"]
        await pilot.press("o")
        await until(lambda: isinstance(pilot.app.screen, EventExportScreen), pilot)
        said = f"{len(wanted)} of {len(every)} events of"
        await until(lambda: any(said in line for line in screen_text(pilot.app)), pilot)
        assert any("filter comm == cat" in line for line in screen_text(pilot.app))
        path = tmp_path / "x.jsonl"
        pilot.app.screen.query_one(SearchLine).value = str(path)
        # An Enter just after the dialog was opened does nothing.
        while isinstance(pilot.app.screen, EventExportScreen):
            await pilot.press("enter")
            await pilot.pause(0.5)
        found = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(one["ts"], one["comm"]) for one in found] == [(record.ts, "cat") for record in wanted]


async def test_a_value_of_the_summary_narrows_what_is_filtered_already():
    async with live() as (pilot, pane, every):
        await choose(pilot, "comm == cat")
        await pilot.press("s")
        await settled(pilot)
        summary = pilot.app.places.live.views.current.pane
        summary.post_message(EventsWanted("ret < 0"))
        wanted = [record for record in every if record.comm == "cat" and (record.values.get("ret") or 0) < 0]
        await until(lambda: rows(pane) == wanted, pilot)
        assert pane.condition == "comm == cat && ret < 0"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("time > 1", ""),
        ("cpu >= 0 && time >= 1.000000000 && time < 2.000000000", "cpu >= 0"),
        ("cpu >= 0", "cpu >= 0"),
    ],
)
async def test_times_of_one_target_filter_no_events_of_another(tmp_path, typed, kept):
    async with live() as (pilot, _, every):
        app = pilot.app
        await choose(pilot, typed)
        other = tmp_path / "other.pwr"
        other.write_bytes(shipped_recording().read_bytes())
        before = app.current_watch
        app.open_target(str(other))
        await until(lambda: app.current_watch not in (None, before) and app.current_watch.ended, pilot)
        await until(lambda: app.places.live.is_current, pilot)
        await until(lambda: app.places.live.views.current.filter.text == kept, pilot)
        await settled(pilot)
        assert app.places.live.views.current.place.row_count == len(every)
        told = [one.text for one in app.notice_lines if "its times were of the target before" in one.text]
        assert len(told) == (typed != kept)


async def test_a_filter_ends_no_held_picture_in_any_view():
    async with live() as (pilot, pane, every):
        place, wanted = pilot.app.places.live, [record.seq for record in every if record.comm == "cat"]
        for name in (*LABELS, *EXTRA_LABELS):
            await place.action_view(name)
            await settled(pilot)
            view = place.views.current
            if view.place.row_count is None or not view.hold():
                continue
            for text in ("comm == cat", "comm == nobody", ""):
                await choose(pilot, text)
                await settled(pilot)
                await until(lambda: not view.place.following, pilot)  # noqa: B023 - awaited within
            await pilot.press("end")
        await place.action_view("events")
        pane.table.go_to(pane.shown.row_of(wanted[2]))
        pane.table.follow.hold(pane.table.cursor, pane.shown.row_of(wanted[3]))
        await choose(pilot, "comm == cat")
        await until(lambda: [record.seq for record in rows(pane)] == wanted, pilot)
        await until(lambda: not pane.table.follow.following and pane.record.seq == wanted[2], pilot)
        assert pane.table.follow.new == len(wanted) - 3
