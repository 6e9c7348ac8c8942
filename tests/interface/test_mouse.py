"""What looks like a control answers to a click: keys of the footer, tabs, titles of columns, in each place."""

from __future__ import annotations

from functools import partial

import pytest
from textual import events
from textual.screen import Screen

from kernel.hosts.arm_request import ArmRequest
from tests.interface.test_app import application, kernel_only, open_compose, pick, recording
from tests.interface.test_hosts import lan, running
from tests.interface.test_typing import at_events
from tests.interface.widget_host import Host, screen_text, until
from tests.pure.tui.test_maps_model import counted
from tui.app.palette import Palette
from tui.dialogs.preset_screen import PresetScreen
from tui.dialogs.target_screen import TargetScreen
from tui.docs.keys import classes
from tui.filter.filter import Filter
from tui.live.details.detail_screen import DetailScreen
from tui.live.event_export import EventExportScreen
from tui.live.losses import LossScreen
from tui.live.registry import EXTRA_LABELS, LABELS
from tui.views.maps.view import MapsView
from widgets.aggregates.chooser import AggregateChooser
from widgets.columns import ASCENDING, DESCENDING
from widgets.dialogs.form import FormDialog
from widgets.dialogs.help import HelpScreen
from widgets.dialogs.pick_list import PickList
from widgets.dialogs.probe_export_dialog import ProbeExportDialog
from widgets.events.event_rows import EventColumn
from widgets.events.hot_rows import HotRows, HotText
from widgets.events.status_bar import LiveLine
from widgets.footer import KeyFooter, laid_out
from widgets.lists.row_order import OrderedRows
from widgets.lists.sortable_pane import SORT
from widgets.lists.tail_table import TailTable
from widgets.lists.text_rows import TextRows, text_pane
from widgets.spec.spec_editor import SpecEditor

__all__ = ["kernel_only", "lan", "recording"]

KEYS = {"events": "e", "graph": "g", "calls": "x", "summary": "s", "failures": "E", "references": "R"}
KEYS |= {
    "latencies": "J",
    "numbers": "I",
    "aggregate": "y",
    "histograms": "b",
    "stacks": "F",
    "maps": "M",
    "timeline": "l",
    "compare": "U",
}
"""Key of each view."""


async def footer_answers(app, pilot, place: str) -> set[str]:
    """Each key of the footer does the same by a click as by itself; return the names of the keys."""
    await pilot.pause()
    line, given = app.screen.query_one(KeyFooter), app.keyboard._give_key
    keys = []

    async def note(event: events.Key) -> None:
        keys.append(event.key)

    spans = [span for span in laid_out(line.keys, line.size.width) if span.key.enabled]
    assert spans, place
    app.keyboard._give_key = note
    try:
        for n, span in enumerate(spans):
            await pilot.click(line, offset=(span.end - 1 if n % 2 else span.start, line.size.height - 1))
            assert app.keyboard._command(span.key.key), (place, span.key)
        await until(lambda: len(keys) >= len(spans), pilot)
        assert keys == [span.key.key for span in spans], place
    finally:
        app.keyboard._give_key = given
    return {span.key.key_name for span in spans}


async def test_keys_of_the_footer_can_be_clicked_in_each_view(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_events(app, pilot)
        for view, key in KEYS.items():
            await pilot.press(key)
            await until(lambda: app.places.live.views.current.name == view, pilot)  # noqa: B023
            assert "f1" in await footer_answers(app, pilot, view)
        await pilot.press("e", "slash", *"cat", "enter")
        assert "esc" in await footer_answers(app, pilot, "search")
        await pilot.press("escape", "f")
        await until(lambda: app.focused is not app.places.live.views.current.focus, pilot)
        await footer_answers(app, pilot, "filter")


async def test_keys_of_the_footer_can_be_clicked_over_the_live_place(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        for keys, kind in (
            (["home", "enter"], DetailScreen),
            (["L"], LossScreen),
            (["o"], EventExportScreen),
            (["f4"], TargetScreen),
            (["f5"], PresetScreen),
            (["f1"], HelpScreen),
            (["ctrl+p"], Palette),
            (["S"], PickList),
            (["y", "Y"], AggregateChooser),
        ):
            await pilot.press(*keys)
            await until(partial(shown, app, kind), pilot)
            await footer_answers(app, pilot, kind.__name__)
            await pilot.press("escape")
            await until(lambda: app.places.live.is_current, pilot)


async def test_keys_of_the_footer_can_be_clicked_where_probes_are_built(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        await footer_answers(app, pilot, "functions")
        await pick(app, pilot, "vfs_read")
        assert "enter" in await footer_answers(app, pilot, "fields")
        await pilot.press("slash")
        await footer_answers(app, pilot, "search of a field")
        await pilot.press("escape")
        for keys, kind in ((["o"], ProbeExportDialog), (["s"], FormDialog)):
            await pilot.press(*keys)
            await until(partial(shown, app, kind), pilot)
            await footer_answers(app, pilot, kind.__name__)
            await pilot.press("escape")
            await until(lambda: app.places.compose.is_current, pilot)
        await pilot.press("colon")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await footer_answers(app, pilot, "specification")


def shown(app, kind: type[Screen[object]]) -> bool:
    return isinstance(app.screen, kind)


def label_of(view: str) -> str:
    return f"[{(LABELS | EXTRA_LABELS)[view]}]"


async def click_text(app, pilot, text: str, row: int) -> None:
    """Click on a text in a row of the screen."""
    await until(lambda: text in screen_text(app)[row], pilot)
    await pilot.click(offset=(screen_text(app)[row].index(text) + 1, row))
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_each_tab_can_be_clicked_from_each_view(recording, size):
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await at_events(app, pilot)
        live = app.places.live

        async def go_to(here: str) -> list[str]:
            """Return the views whose labels stand there then."""
            await pilot.press(KEYS[here])
            await until(lambda: live.views.current.name == here, pilot)
            live.status.show_line()
            await until(lambda: label_of(here) in screen_text(app)[1] or "[" not in screen_text(app)[1], pilot)
            line = screen_text(app)[1]
            is_of_tabs = line.lstrip(" [").startswith("events")
            return [view for view, label in LABELS.items() if is_of_tabs and f" {label} " in line]

        for here in KEYS:
            for view in await go_to(here):
                if live.views.current.name != here:
                    assert view in await go_to(here)
                await click_text(app, pilot, f" {LABELS[view]} ", 1)
                await until(lambda: live.views.current.name == view, pilot)  # noqa: B023
                assert live.focused is live.views.current.focus
        await pilot.press("e")
        await click_text(app, pilot, " ■", 1)
        await until(lambda: not live.views.events.pane.table.follow.following, pilot)
        await click_text(app, pilot, " ■", 1)
        await until(lambda: live.views.events.pane.table.follow.following, pilot)
        assert set(KEYS) == {*LABELS, *EXTRA_LABELS}
        assert live.query_one(LiveLine)


async def test_a_title_of_the_events_sorts_by_its_column(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        pane = app.places.live.views.events.pane
        await pilot.press("A")  # columns of all kinds of events
        await until(lambda: "count" in screen_text(app)[2], pilot)
        for column in ("count", "event", "time"):
            for sign in (ASCENDING, DESCENDING):
                await click_text(app, pilot, column, 2)
                await until(lambda: f"{column} {sign}" in screen_text(app)[2], pilot)  # noqa: B023
                assert pane.shown is not None and pane.shown.order == (
                    EventColumn(column, column != "count"),
                    sign == DESCENDING,
                )
            await click_text(app, pilot, column, 2)
            await until(lambda: pane.shown.order is None, pilot)
            assert not {ASCENDING, DESCENDING} & set(screen_text(app)[2])
        await click_text(app, pilot, "count", 2)
        await pilot.press("S")
        await until(lambda: f"count {DESCENDING}" in screen_text(app)[2], pilot)
        counts = [int(pane.shown.items.cells(pane.shown.item(row)).get("count") or 0) for row in range(5)]
        assert counts == sorted(counts, reverse=True) and counts[0] == 4096


async def test_titles_of_calls_and_groups_sort(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        await pilot.press("x")
        for sign in (DESCENDING, ASCENDING):
            await click_text(app, pilot, "latency", 2)
            await until(lambda: f"latency {sign}" in screen_text(app)[2], pilot)  # noqa: B023
        await click_text(app, pilot, "time", 2)
        await until(lambda: "latency " + ASCENDING not in screen_text(app)[2], pilot)
        await click_text(app, pilot, "what changed", 2)
        await until(lambda: any("calls are in the order of time" in line for line in screen_text(app)), pilot)
        await pilot.press("y")
        await until(lambda: f"count {DESCENDING}" in screen_text(app)[3], pilot)
        names = ["head", "cat", "workload", "exe", "sleep"]
        assert groups(app) == names
        await click_text(app, pilot, "count", 3)
        await until(lambda: f"count {ASCENDING}" in screen_text(app)[3] and groups(app) == names[::-1], pilot)
        await click_text(app, pilot, "comm", 3)
        await until(lambda: f"comm {ASCENDING}" in screen_text(app)[3] and groups(app) == sorted(names), pilot)


def groups(app) -> list[str]:
    return [line[1:].split()[0] for line in screen_text(app)[4:9]]


async def test_titles_of_a_table_that_is_replaced_sort_it():
    """The row of the details is the one under the cursor, whatever the order; S does what a click does."""
    host = Host(lambda: text_pane(TextRows(("name", "took"), {}, {})))
    async with host.shown() as pilot:
        table = host.widget.table
        table.ordered.take([("b", "2.00 ms"), ("a", "10.0 us"), ("c", ""), ("d", "1.00 s")])
        for sign, order in ((DESCENDING, "dbac"), (ASCENDING, "abdc")):
            await click_text(host, pilot, "took", 0)
            await until(lambda: f"took {sign}" in screen_text(host)[0], pilot)  # noqa: B023
            assert "".join(str(row[0]) for row in table.text_rows.rows) == order
        table.move_to(0)
        assert table.ordered.number(table.cursor) == 1, "a is the second that came"
        table.ordered.take([("b", "2.00 ms"), ("e", "1.00 us"), ("a", "10.0 us")])
        assert [row[0] for row in table.text_rows.rows] == ["e", "a", "b"], "the order stays"
        table.focus()
        await pilot.press("end")
        assert (table.cursor, table.follow.following) == (2, False), "no row is the newest"
        await pilot.press("S")
        assert [row[0] for row in table.text_rows.rows] == ["b", "e", "a"] and table.cursor == 0
        await pilot.press("S")
        await until(lambda: isinstance(host.screen, PickList), pilot)
        await pilot.press("enter")
        await until(lambda: [row[0] for row in table.text_rows.rows] == ["a", "b", "e"], pilot)


def test_hot_spots_are_sorted_by_each_column():
    rows, spots = HotRows(), [HotText("a", 1, 30, 9, 1, 1, 1, 0), HotText("b", 5, 20, 20, 1, 1, 1, 2)]
    rows.spots = spots
    rows.prepare(0, len(spots))
    titles = "".join(piece.text for piece in rows.header(100))
    assert [rows.column_at(titles.index(title), 100) for title in ("function", "calls", "errors")] == [0, 1, 7]
    ordered: OrderedRows[HotText] = OrderedRows((), lambda _: None)
    ordered.take(spots)
    for column, names in ((1, "ba"), (1, "ab"), (1, "ab"), (0, "ab"), (0, "ba"), (7, "ba")):
        ordered.sort(column)
        assert "".join(spot.name for spot in ordered.rows) == names, column


async def test_the_target_and_losses_of_the_first_line_can_be_clicked(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_events(app, pilot)
        for text, kind in (("default.pwr", TargetScreen), ("missed", LossScreen)):
            await click_text(app, pilot, text, 0)
            await until(partial(shown, app, kind), pilot)
            await pilot.press("escape")
            await until(lambda: app.places.live.is_current, pilot)
        await click_text(app, pilot, "probes", 0)
        assert app.places.live.is_current


async def test_keys_of_the_footer_can_be_clicked_among_several_hosts(lan):
    async with running(lan, "web1", "web2.example.com") as (app, pilot):
        app.hosts.fleet.arm(ArmRequest(("f vfs_read",)))
        await until(lambda: any("armed" in line for line in screen_text(app)[1:3]), pilot)
        assert {"f", "f1"} <= await footer_answers(app, pilot, "hosts")
        await pilot.press("shift+tab")
        await footer_answers(app, pilot, "table of hosts")
        table = app.screen.query_one(TailTable)
        await pilot.click(table, offset=(8, 0))
        await until(lambda: any("in the order of time" in line for line in screen_text(app)), pilot)


@pytest.mark.parametrize("kind", [kind for kind in classes() if SORT in vars(kind)["BINDINGS"]], ids=str)
def test_each_pane_that_a_key_sorts_is_sorted_by_its_titles(kind):
    assert any(TailTable.HeadingClicked in vars(one).get("_decorated_handlers", {}) for one in kind.__mro__)


async def test_titles_of_a_map_sort_it():
    view = MapsView(Filter())
    host = Host(lambda: view.pane)
    async with host.shown() as pilot:
        view.came([counted({"b": 3, "a": 2, "c": 9})])
        table = view.pane.groups
        for column, sign, keys in (
            ("value", ASCENDING, "abc"),
            ("value", DESCENDING, "cba"),
            ("key", ASCENDING, "abc"),
            ("key", DESCENDING, "cba"),
        ):
            await click_text(host, pilot, column, table.region.y)
            await until(lambda: f"{column} {sign}" in screen_text(host)[table.region.y], pilot)  # noqa: B023
            assert "".join(row.cells[0] for row in table.groups.groups) == keys
