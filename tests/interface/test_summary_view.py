"""The summary of the recording that comes with it, on the screen."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application, records_of
from tests.interface.widget_host import screen_text, until
from widgets.events.summary_panel import SummaryPanel


async def _summary(app, pilot) -> SummaryPanel:
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
    await pilot.press("s")
    panel = app.places.live.query_one(SummaryPanel)
    await until(lambda: "790 events" in "\n".join(screen_text(app)), pilot)
    return panel


def _gone(app, text: str) -> bool:
    return text not in "\n".join(screen_text(app))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_on_the_screen_is_what_a_count_gives(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        await _summary(app, pilot)
        records = records_of(app)
        text = "\n".join(screen_text(app))
        events = Counter(record.event.rpartition("/")[2] for record in records)
        for event, hits in events.items():
            line = next(line for line in text.splitlines() if line[1:].startswith(event))
            assert f" {hits} " in line
        positions = Counter(record.values["f_pos"] for record in records if "f_pos" in record.values)
        assert f"vfs_read__exit f_pos  {len(positions)} in {positions.total()} events" in text
        for value, hits in positions.items():
            assert any(f" {value} █" in line and f" {hits}  " in line for line in text.splitlines())
        assert "do_sys_openat2  159 pairs" in text and "max 17.0 ms" in text
        assert ("process  " in text) == (size[0] == 120)
        assert (", v V: processes" in text) == (size[0] == 80), "what has no place has a way"
        rates = next(line for line in text.splitlines() if "events over" in line)
        timeline = app.places.live.views.current._summary.timeline
        told = float(rates.split(", ")[1].removesuffix(" a column").removesuffix(" ms").strip())
        drawn = next(line for line in text.splitlines() if line[1:].startswith("vfs_read__exit") and " max " in line)
        assert told % (timeline.width / 1e6) == 0, "a column is so many intervals"
        room = len(drawn.partition(" max ")[0].rstrip()) - len("vfs_read__exit ") - len("        448")
        assert timeline.used * timeline.width / 1e6 <= told * room, "all of them are there"


async def test_it_opens_on_a_field_that_has_values_and_keeps_what_was_picked():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await _summary(app, pilot)
        view = app.places.live.views.current
        paths = {
            event.path: n
            for n, event in enumerate(e for plan in app.current_watch.event_fields.plans for e in plan.events)
        }
        assert paths[view._subject.event] == 0
        app.current_watch.armed.disarm(app.current_watch.armed.probes[0])
        await pilot.press("c")
        assert view._subject.event not in {event.path for event in app.current_watch.event_fields.plans[0].events}
        picked = view._subjects[2]
        await pilot.press("s", "v", "v")
        assert view._subject == picked and panel.display
        app.places.live.tick()
        assert view._subject == picked, "although it has no values yet"


async def test_under_a_filter_it_opens_on_a_field_of_an_event_that_passes():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        panel = await _summary(app, pilot)
        summary = app.places.live.views.by_name["summary"]
        before = summary._subject
        other = next(one for one in summary._subjects if one.event != before.event and one.field)
        app.places.live.filtering.choose(f"event == {other.event.rpartition('/')[2]}")
        await until(lambda: summary._subject.event == other.event, pilot)
        await until(lambda: "0 in 0 events" not in "\n".join(screen_text(app)), pilot)
        app.places.live.filtering.choose("")
        await until(lambda: panel.display and summary._passing is None, pilot)
        assert summary._subject.field, "it stays at one that has values"


async def test_what_was_picked_stays_when_events_are_cleared():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await _summary(app, pilot)
        view = app.places.live.views.current
        await pilot.press("v", "v")
        picked = view._subject
        assert picked.field and picked != view._subjects[0]
        await pilot.press("c")
        await until(lambda: not len(app.current_watch.store), pilot)
        app.places.live.tick()
        assert view._subject == picked
        values = view._summary.values
        assert (values.event, values.field) == (picked.event, picked.field), "and it is counted"


async def test_v_goes_through_the_fields_and_comes_back():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        await _summary(app, pilot)
        seen = []
        for _ in range(30):
            title = next(line for line in screen_text(app) if "latency of pairs" in line).split("pairs", 1)[1].strip()
            if title in seen:
                break
            seen.append(title)
            await pilot.press("v")
            await until(partial(_gone, app, title), pilot)
        assert title == seen[0] and len(seen) > 10
        assert seen[-1].startswith("process") and any("filename" in one for one in seen)
        await pilot.press("V")
        await until(lambda: seen[-1] in "\n".join(screen_text(app)), pilot)


async def test_enter_on_a_value_shows_the_events_that_have_it():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await _summary(app, pilot)
        await pilot.press("down", "enter")
        value = int(panel.values.rows.bars[1].label)
        await until(lambda: app.places.live.views.current.name == "events", pilot)
        shown = f"event == vfs_read__exit && f_pos == {value}"
        await until(lambda: shown in "\n".join(screen_text(app)), pilot)
        hits = sum(record.values.get("f_pos") == value for record in records_of(app))
        assert 0 < hits < 790
        await until(lambda: f"{hits} of 790" in "\n".join(screen_text(app)), pilot)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("comm == nobody", "no event passes the filter"),
        ("event == bprm_execve__entry", "no ended call passes the filter"),
    ],
)
async def test_where_the_filter_leaves_no_call_that_is_said(condition, told):
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await _summary(app, pilot)
        await pilot.press("f", *condition, "enter")
        await until(lambda: told in "\n".join(screen_text(app)), pilot)
        await until(partial(_gone, app, "no call has ended yet"), pilot)


async def test_a_recording_can_not_count_in_a_kernel():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await _summary(app, pilot)
        await pilot.press("k")
        await until(lambda: "only a probe that is armed" in "\n".join(screen_text(app)), pilot)
        assert "790 events" in "\n".join(screen_text(app)), "what was counted from the events stays"
