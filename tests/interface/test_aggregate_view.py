"""The table by key of the recording that comes with the application, on the screen."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from widgets.aggregates.chooser import AggregateChooser


def text(app) -> str:
    return "\n".join(screen_text(app))


async def _table(app, pilot):
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
    await pilot.press("y")
    await until(lambda: "[by key]" in text(app) and "790 events" in text(app), pilot)
    return app.places.live.views.current


def _records(app):
    store = app.current_watch.store
    return [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_rows_are_what_a_count_gives(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        await _table(app, pilot)
        for comm, hits in Counter(record.comm for record in _records(app)).items():
            print(text(app)); assert any(f" {comm} " in line and f" {hits} " in line for line in screen_text(app)), comm
        assert "count by comm" in text(app)
        print(text(app))
