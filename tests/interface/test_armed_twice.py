"""The same probe armed twice is told before it is armed: typed, ticked, pasted and by presets."""

from __future__ import annotations

import struct

from events.batch import Batch, Chunk
from probes.command import parse_armable
from tests.interface.test_app import SIZE, application, open_compose, recording, says
from tests.interface.test_guards import ask_for, living
from tests.interface.test_typing import paste
from tests.interface.widget_host import until
from widgets.dialogs.choose import ChoiceDialog
from widgets.dialogs.pasted_probes import PastedProbes
from widgets.spec.spec_editor import SpecEditor

__all__ = ["living", "recording"]


def armed(app: object) -> list[str]:
    return sorted(str(one.plan.probe) for one in app.current_watch.armed.probes)  # type: ignore[attr-defined]


async def again(app, pilot, text: str) -> None:
    await pilot.press("f2", "f6")
    await until(lambda: isinstance(app.focused, SpecEditor), pilot)
    app.focused.put(text, len(text))
    await until(
        lambda: (
            app.places.compose.specification.current is not None and app.places.compose.panes.spec.shown.text == text
        ),
        pilot,
    )
    await pilot.press("enter")
    await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)


async def test_the_one_that_is_armed_is_shown_or_another_has_its_own_name(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: armed(app) == ["f vfs_read"], pilot)
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await again(app, pilot, "f  vfs_read ")
        assert says(app, "f vfs_read is armed already")
        assert says(app, "f:vfs_read_2 vfs_read")
        await pilot.press("escape")
        await until(lambda: app.places.compose.is_current, pilot)
        assert armed(app) == ["f vfs_read"]
        await again(app, pilot, "f vfs_read")
        await pilot.press("enter")
        await until(lambda: app.places.live.is_current, pilot)
        assert armed(app) == ["f vfs_read"]
        await again(app, pilot, "f vfs_read")
        await pilot.press("a")
        await until(lambda: armed(app) == ["f vfs_read", "f:vfs_read_2 vfs_read"], pilot)
        names = {event.event for one in app.current_watch.armed.probes for event in one.plan.events}
        assert len(names) == 2 and "vfs_read_2" in names


async def test_its_newest_event_has_the_cursor(living):
    """Whatever view is on the screen, and wherever its cursor stands."""
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: armed(app) and app.places.live and app.places.live.is_current, pilot)
        (number,) = app.current_watch.armed.probes[0].formats
        await until(lambda: number in app.current_watch.store.decoder.formats, pilot)
        for ts in range(50):
            data = struct.pack("<IHHi", 2, number, 0, 812)
            page = struct.pack("<QQ", 1000 + ts, len(data)) + data
            app.current_watch.store.feed(Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True))
        await pilot.press("x")
        await until(lambda: app.places.live.views.current.name == "calls", pilot)
        await again(app, pilot, "f vfs_read")
        await pilot.press("enter")
        await until(lambda: app.places.live.is_current and app.places.live.views.current.name == "events", pilot)
        view = app.places.live.views.current
        await until(lambda: view.record_under_cursor(app.current_watch.store) is not None, pilot)
        shown = view.record_under_cursor(app.current_watch.store)
        assert shown.event.endswith("/vfs_read__entry")
        assert shown.seq == app.current_watch.store.next_seq - 1 > 40
        assert not view.table.follow.following


async def test_of_lines_that_are_pasted_one_is_armed(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, "f vfs_read count\nf vfs_write\nf vfs_read  count\n")
        await until(lambda: isinstance(app.screen, PastedProbes), pilot)
        assert says(app, "arm 2 of 3 probes?")
        assert says(app, "it stands there twice")
        await pilot.press("enter")
        await until(lambda: armed(app) == ["f vfs_read count", "f vfs_write"], pilot)


async def test_a_preset_arms_what_is_not_armed_yet(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(lambda: armed(app) == ["f vfs_read"], pilot)
        app.arming.arm_all([parse_armable(text) for text in ("f vfs_write", "f vfs_read", "f vfs_write")])
        await until(lambda: len(armed(app)) == 2, pilot)
        assert any(one.text == "armed already: f vfs_read, f vfs_write" for one in app.notice_lines)
        app.arming.arm_all([parse_armable(text) for text in ("f vfs_write", "f vfs_read")])
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        assert says(app, "2 of these are armed already")
        await pilot.press("escape")
        assert armed(app) == ["f vfs_read", "f vfs_write"]


async def test_a_recording_is_asked_for_what_it_holds(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        app.arming.arm_all([one.plan.probe for one in app.current_watch.armed.probes])
        await pilot.pause(0.3)
        assert not isinstance(app.screen, ChoiceDialog)
