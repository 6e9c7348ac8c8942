"""Calls as rows: what changed stands first and out, what is alone says why."""

from __future__ import annotations

from dataclasses import dataclass

from events.search.search import SearchStep
from tests.interface.widget_host import Host
from widgets.events.call_rows import CallRows, CallText, CallValue
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import TailTable

READ = CallText(
    12_304_117_999,
    "cat-812",
    "vfs_read",
    3_210,
    "512",
    False,
    (CallValue("count", "131072", None), CallValue("f_mode", "0x1d", "0x1d"), CallValue("f_pos", "0", "512")),
)
OPEN = CallText(12_305_000_000, "cat-812", "vfs_open", 812, "-ENOENT", True, (CallValue("mode", "0", "0"),))
ALONE = CallText(
    12_306_000_000,
    "\x1b[31mevil-9",
    "vfs_read",
    None,
    "",
    False,
    (CallValue("count", None, "7"),),
    "its entry was not seen",
)


@dataclass
class Source:
    calls: tuple[CallText, ...]
    first: int = 0

    @property
    def next(self) -> int:
        return len(self.calls)

    def item(self, row: int) -> CallText:
        if row == 3:
            raise IndexError(row)
        return self.calls[row]

    def find(self, text: str, start: int, direction: int, budget: float) -> SearchStep:
        row = next((n for n in range(start, -1, -1) if text in self.calls[n].function), None)
        return SearchStep(row, start - 1, True)


def host(source: Source) -> Host:
    def make() -> TablePane:
        pane = TablePane()

        def ready() -> None:
            pane.table.show(CallRows(source))
            pane.table.focus()

        pane.call_after_refresh(ready)
        return pane

    return Host(make, TailTable.DetailRequested)


async def test_what_changed_stands_first() -> None:
    app = host(Source((READ, OPEN, ALONE, READ)))
    async with app.shown(110, 12):
        lines = app.text.split("\n")
        assert lines[0].split() == ["time", "task", "call", "latency", "ret", "what", "changed"]
        assert " ".join(lines[1].split()) == (
            "12.304118 cat-812 vfs_read 3.21 us 512 f_pos 0 → 512 count 131072 f_mode 0x1d"
        )
        assert "812 ns" in lines[2]
        assert "-ENOENT" in lines[2]
        assert "(nothing)  mode 0" in lines[2]
        assert "\\x1b[31mevil-9" in lines[3]
        assert "its entry was not seen  count 7" in lines[3]
        assert "(dropped)" in lines[4]


async def test_search_goes_to_a_call() -> None:
    app = host(Source((READ, OPEN, READ, READ)))
    async with app.shown(110, 12) as pilot:
        await pilot.press("slash", *"vfs_open", "enter", "enter")
        assert [m.row for m in app.heard if isinstance(m, TailTable.DetailRequested)] == [1]


async def test_wide_values_scroll_sideways() -> None:
    wide = READ._replace(values=(CallValue("name", "a" * 90, "b" * 90),))
    app = host(Source((wide,)))
    async with app.shown(80, 6) as pilot:
        assert "bbb" not in app.line(1)
        await pilot.press(*["right"] * 20)
        await pilot.pause()
        assert "bbb" in app.line(1)
