"""Rows of a recording whose addresses get their names when the symbols have been read, which nobody waits for."""

from __future__ import annotations

import threading

from kernel.symbols.kernel_symbols import KernelSymbols
from kernel.watch.event_fields import EventFields
from tests.interface.test_app import application, recording  # noqa: F401 - a fixture
from tests.interface.widget_host import screen_text, until


async def test_rows_that_are_there_get_the_names_of_their_addresses(recording, monkeypatch):  # noqa: F811
    may_read, read = threading.Event(), threading.Event()
    values = EventFields.values

    def load(self: KernelSymbols, *, by_name: bool = True) -> None:
        may_read.wait(60)
        read.set()

    def named(self: EventFields, record, *, at_once: bool = False) -> list[tuple[str, str]]:
        found = values(self, record, at_once=at_once)
        return [
            (name, "proc_reg_file_ops" if name == "count" else text) for name, text in found if read.is_set()
        ] or found

    monkeypatch.setattr(KernelSymbols, "load", load)
    monkeypatch.setattr(EventFields, "values", named)
    app = application(recording)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(lambda: app.current_watch is not None and app.current_watch.ended, pilot)
        await until(lambda: "4096" in "".join(screen_text(app)), pilot)
        assert "proc_reg_file_ops" not in "".join(screen_text(app))
        may_read.set()
        await until(lambda: "proc_reg_file_ops" in "".join(screen_text(app)), pilot)
