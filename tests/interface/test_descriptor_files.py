"""Files of descriptors in the rows of events, where many events are to be read before they are known."""

from __future__ import annotations

from kernel.connection.open_target import shipped_recording
from kernel.watch.tasks.descriptor_names import DescriptorNames
from probes.functions.known_numbers import DESCRIPTORS
from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from widgets.lists.tail_table import TailTable


async def test_rows_have_their_files_once_these_are_read(monkeypatch):
    turns = [True, True, False]
    seen_without = []

    def file(names, record, column, value, *, at_once=False):
        if column.naming not in DESCRIPTORS:
            return None
        assert at_once, "a screen waits for no events to be read"
        names.are_wanted = bool(turns)
        return None if turns else "/etc/folder"

    def read_on(names, seconds):
        assert 0 < seconds < 0.1
        seen_without.append(not any("</etc/folder>" in line for line in screen_text(app)))
        names.are_wanted = turns.pop(0)
        return names.are_wanted

    monkeypatch.setattr(DescriptorNames, "file", file)
    monkeypatch.setattr(DescriptorNames, "read_on", read_on)
    app = application(shipped_recording())
    async with app.run_test(size=(240, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
        table = app.screen.query_one("#events TailTable", TailTable)
        await until(lambda: table.has_focus, pilot)
        app.places.live.views.events.pane.only("event == do_sys_openat2__entry")
        await until(lambda: any("</etc/folder>" in line for line in screen_text(app)), pilot)
        assert seen_without == [True] * 3 and not turns
