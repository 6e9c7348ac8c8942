"""Rows, buttons and lines of dialogs answer to a click: the first puts the cursor, a second takes it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from textual.widgets import Button, Input

from tests.interface import test_mouse, test_stacks_view
from tests.interface.test_app import application, kernel_only, open_compose, pick, recording
from tests.interface.test_hosts import lan, running
from tests.interface.test_mouse import shown
from tests.interface.test_typing import at_events
from tests.interface.widget_host import screen_text, until
from tui.dialogs.preset_screen import PresetScreen
from tui.dialogs.target_screen import TargetScreen
from tui.help import CLICKS
from tui.live.details.detail_screen import DetailScreen
from tui.live.event_export import EventExportScreen
from tui.live.losses import LossScreen
from widgets.dialogs.choose import Answer, ChoiceDialog
from widgets.dialogs.confirm import ConfirmDialog
from widgets.dialogs.form import FormDialog, FormField
from widgets.dialogs.pick_list import PickList
from widgets.dialogs.probe_export_dialog import ProbeExportDialog
from widgets.events.host_table import HostTable
from widgets.lists.line_list import LineList
from widgets.lists.option_rows import OptionRows

__all__ = ["kernel_only", "lan", "recording"]

SIZES = [(80, 24), (120, 40)]
DRIVEN = {
    "a key at the foot": "test_keys_of_the_footer_can_be_clicked_in_each_view",
    "a row": "test_rows_of_lists_in_dialogs_are_taken_by_a_second_click",
    "a host": "test_a_host_is_shown_by_a_click_and_all_of_it_by_a_second",
    "a button": "test_buttons_and_lines_of_dialogs_can_be_clicked",
    "a line to type in": "test_buttons_and_lines_of_dialogs_can_be_clicked",
    "the name of a view": "test_each_tab_can_be_clicked_from_each_view",
    "following, paused": "test_each_tab_can_be_clicked_from_each_view",
    "the target": "test_the_target_and_losses_of_the_first_line_can_be_clicked",
    "a loss": "test_the_target_and_losses_of_the_first_line_can_be_clicked",
    "the title of a column": "test_a_title_of_the_events_sorts_by_its_column",
    "▸ or ▾": "test_an_arrow_and_a_box_of_a_field_can_be_clicked",
    "[ ]": "test_an_arrow_and_a_box_of_a_field_can_be_clicked",
    "a frame of the flame graph": "test_a_click_zooms_in_and_out",
}


async def click_row(pilot: Any, rows: LineList, row: int, times: int = 1) -> None:
    """Click on a row of a list that is on the screen."""
    offset = (4, row - rows.window.top + rows.window.header_lines)
    await pilot.click(rows, offset=offset, times=times)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_rows_of_lists_in_dialogs_are_taken_by_a_second_click(recording: Any, size: tuple[int, int]) -> None:
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await at_events(app, pilot)
        answers: list[object] = []
        app.push_screen(PickList("which one?", ["first", "second", "third"]), answers.append)
        await until(partial(shown, app, PickList), pilot)
        rows = app.screen.query_one(LineList)
        await click_row(pilot, rows, 1)
        assert rows.cursor == 1 and not answers, "one click takes nothing"
        await click_row(pilot, rows, 2, times=2)
        await until(lambda: answers == [2], pilot)
        for key, kind in (("f4", TargetScreen), ("f5", PresetScreen), ("o", EventExportScreen), ("L", LossScreen)):
            await pilot.press(key)
            await until(partial(shown, app, kind), pilot)
            rows = next(one for one in app.screen.query(LineList) if one.rows.next > 1)
            row = rows.window.top + 1
            await click_row(pilot, rows, row)
            assert rows.cursor == row and isinstance(app.screen, kind), kind
            await pilot.press("escape")
            await until(lambda: app.places.live.is_current, pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_a_tool_is_shown_by_a_click_and_taken_by_a_second(kernel_only: Any, size: tuple[int, int]) -> None:
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("o")
        await until(partial(shown, app, ProbeExportDialog), pilot)
        tools = app.screen.query_one(OptionRows)
        await until(lambda: tools.option_count > 2, pilot)
        await pilot.click(tools, offset=(3, 1))
        await until(lambda: tools.highlighted == 1, pilot)
        assert not app.screen.has_class("-saving")
        await pilot.click(tools, offset=(3, 0), times=2)
        await until(lambda: tools.highlighted == 0 and app.screen.has_class("-saving"), pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_buttons_and_lines_of_dialogs_can_be_clicked(recording: Any, size: tuple[int, int]) -> None:
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await at_events(app, pilot)
        answers: list[object] = []
        app.push_screen(ConfirmDialog("really?"), answers.append)
        await until(partial(shown, app, ConfirmDialog), pilot)
        await pilot.click("#no")
        await until(lambda: answers == [False], pilot)
        choice = ChoiceDialog("which?", (), [Answer("one", "o", "One"), Answer("two", "t", "Two")])
        app.push_screen(choice, answers.append)
        await until(partial(shown, app, ChoiceDialog), pilot)
        await pilot.click(choice.query(Button).last())
        await until(lambda: answers == [False, "two"], pilot)
        app.push_screen(FormDialog("fill in", [FormField("first", "a"), FormField("second", "b")]), answers.append)
        await until(partial(shown, app, FormDialog), pilot)
        second = list(app.screen.query(Input))[1]
        await pilot.click(second, offset=(2, 0))
        await until(lambda: app.focused is second, pilot)
        await pilot.press("end", "c", "enter")
        await until(lambda: answers[2:] == [{"first": "a", "second": "bc"}], pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_a_host_is_shown_by_a_click_and_all_of_it_by_a_second(lan: Any, size: tuple[int, int]) -> None:
    async with running(lan, "web1", "web2.example.com", size=size) as (app, pilot):
        table = app.screen.query_one(HostTable)
        await until(lambda: len(table.hosts) == 2 and all(host.kernel for host in table.hosts), pilot)
        await click_row(pilot, table, 1)
        assert table.cursor == 1
        await until(
            lambda: any(line.startswith(" ssh://") or "web2" in line for line in screen_text(app)[3:6]), pilot
        )
        await click_row(pilot, table, 1, times=2)
        await until(partial(shown, app, DetailScreen), pilot)
        text = "\n".join(screen_text(app))
        assert "web2.example.com" in text and "state" in text and "missed" in text
        await pilot.press("escape")
        await until(lambda: app.screen.query(HostTable), pilot)
        assert app.focused is table
        await pilot.press("enter")
        await until(partial(shown, app, DetailScreen), pilot)


async def test_an_arrow_and_a_box_of_a_field_can_be_clicked(kernel_only: Any) -> None:
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        fields = editor.signature.fields
        row = next(at for at, one in enumerate(editor.signature.field_tree.rows) if one.node.expandable)
        shown_rows = len(editor.signature.field_tree.rows)
        await pilot.click(fields, offset=(3, row))
        await until(lambda: len(editor.signature.field_tree.rows) > shown_rows, pilot)
        await pilot.click(fields, offset=(6, row))
        await until(lambda: len(editor.probe.fetchargs) == 1, pilot)


def test_each_click_of_the_table_is_driven() -> None:
    """The table of docs/keys.md and of help is this one."""
    here = {**vars(test_mouse), **vars(test_stacks_view), **globals()}
    assert set(DRIVEN) == {what for what, _ in CLICKS}
    assert all(callable(here.get(name)) for name in DRIVEN.values())
