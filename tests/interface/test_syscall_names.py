"""System calls on the screen, by their names on the machine that was recorded."""

from __future__ import annotations

import re

import pytest

from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from tests.syscall_recording import call_recording
from widgets.events.event_detail import EventDetail
from widgets.lists.tail_table import TailTable

CALLS = [(56, -2), (57, 0), (56, -13), (-1, -38), (63, -11)]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_call_has_its_name_in_the_list_its_details_the_search_and_the_summary(tmp_path, size):
    app = application(call_recording(tmp_path / "calls.pwr", "aarch64", CALLS, opened=56))

    def seen(text: str) -> bool:
        return any(text in line for line in screen_text(app))

    async with app.run_test(size=size) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
        table = app.screen.query_one("#events TailTable", TailTable)
        await until(lambda: table.has_focus and seen("63 read"), pilot)
        assert seen("56 openat") and seen("57 close")
        assert any(re.search(r" -1 +-ENOSYS", line) for line in screen_text(app)), "a call that was skipped has none"
        await pilot.press("slash", *"close", "enter")
        await until(lambda: table.cursor == 1 and table.has_focus, pilot)
        await pilot.press("enter")
        await until(lambda: app.screen.query(EventDetail) and seen("id = 57 close"), pilot)
        await pilot.press("escape")
        await until(lambda: app.places.live.is_current and not seen("id = 57"), pilot)
        await pilot.press("s")
        await until(lambda: seen("56 openat █"), pilot)
        await pilot.press("enter")
        await until(lambda: seen("event == sys_exit && id == 56") or seen("id == 56"), pilot)
        await until(lambda: not seen("57 close"), pilot)
