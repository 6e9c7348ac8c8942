"""Tracepoints and events in the search: listed with functions, one kind alone, their fields ticked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events.recording.reader import Recording
from tests.interface.test_app import SIZE, application, kernel_only, recording, says  # noqa: F401
from tests.interface.test_marked_functions import searching, specification
from tests.interface.test_typed_spec import editing, put
from tests.interface.widget_host import screen_text, until
from tests.pure.probes.test_places import kernel  # noqa: F401
from widgets.dialogs.pick_list import PickRows
from widgets.fields.when_bar import WhenBar


async def picked(app: Any, pilot: Any, text: str, name: str) -> Any:
    """Pick the row of a name among those that a text finds; return the editor of its fields."""
    functions = await searching(app, pilot, text)
    while functions.current != name:
        await pilot.press("down")
    await pilot.press("enter")
    await until(lambda: app.places.compose.panes.editor.signature.field_tree.roots, pilot)
    return app.places.compose.panes.editor


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_the_arguments_of_a_tracepoint_are_opened_and_ticked(
    kernel_only: Any,  # noqa: F811
    size: tuple[int, int],
) -> None:
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        editor = await picked(app, pilot, "sched_switch", "t sched_switch")
        assert says(app, "struct task_struct") and not app.screen.query_one(WhenBar).display
        await pilot.press("x")  # a tracepoint has one end
        assert editor.probe.when.value == "entry"
        await pilot.press("1", "2")
        await specification(app, pilot, "t sched_switch preempt prev")
        await pilot.press("f2", "f6")
        await put(pilot, "->pid")
        await specification(app, pilot, "t sched_switch preempt prev->pid")
        assert [str(arg) for arg in editor.probe.fetchargs] == ["preempt", "prev->pid"]


async def test_an_event_is_recorded_as_it_is_until_a_field_is_ticked(kernel: str) -> None:  # noqa: F811
    app = application(Path(kernel))
    async with app.run_test(size=SIZE) as pilot:
        editor = await picked(app, pilot, "sched_sw", "sched/sched_switch")
        await specification(app, pilot, "on sched/sched_switch")
        await pilot.press("2")
        await specification(app, pilot, "e sched/sched_switch $next_pid")
        await pilot.press("1")
        await specification(app, pilot, "e sched/sched_switch $comm $next_pid")
        await pilot.press("1", "2")
        await specification(app, pilot, "on sched/sched_switch")
        assert editor.probe.fetchargs == ()


async def test_the_fields_of_a_typed_event_are_ticked(kernel: str) -> None:  # noqa: F811
    app = application(Path(kernel))
    async with app.run_test(size=SIZE) as pilot:
        _, editor = await editing(app, pilot)
        await put(pilot, "on sched/sched_switch if next_pid > 10")
        await until(lambda: editor.probe is not None and says(app, "[ ] next_pid"), pilot)
        await specification(app, pilot, "on sched/sched_switch if next_pid > 10")
        assert str(app.places.compose.specification.current) == "on sched/sched_switch if next_pid > 10"
        await pilot.press("escape", "2")
        await specification(app, pilot, "e sched/sched_switch $next_pid if next_pid > 10")


async def test_one_kind_alone(kernel: str) -> None:  # noqa: F811
    app = application(Path(kernel))
    async with app.run_test(size=(120, 30)) as pilot:
        functions = await searching(app, pilot, "read")
        assert functions.current == "syscalls/sys_enter_read" and functions.border_title == "functions and events"
        titles: list[tuple[object, str | None]] = []
        while not titles or functions.border_title != "functions and events":
            await pilot.press("ctrl+n")
            titles.append((functions.border_title, functions.current))
        assert titles[0][0] == "functions alone" and titles[0][1] is not None and "/" not in titles[0][1]
        assert titles[1] == ("events alone", None) and ("syscalls alone", "syscalls/sys_enter_read") in titles
        await pilot.press("ctrl+n", "ctrl+n")
        assert "no event matches read" in "\n".join(screen_text(app))
        await pilot.press("escape")
        assert functions.border_title == "functions and events" and functions.query_text == ""


async def test_code_and_calls_are_those_of_functions(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await picked(app, pilot, "sched_switch", "t sched_switch")
        await pilot.press("d")
        await until(lambda: says(app, "the code of which function?"), pilot)
        rows = app.screen.query_one(PickRows).rows
        texts = ["".join(piece.text for piece in rows.pieces(row, 80)) for row in range(rows.next)]
        assert any("__probestub_sched_switch" in text for text in texts)
        assert "t sched_switch" not in {text.strip() for text in texts}


@pytest.mark.parametrize(
    ("typed", "text"), [("/bin/busybox", "p /bin/busybox:"), ("/bin/busybox:ma", "p /bin/busybox:ma")]
)
async def test_a_path_leads_to_the_functions_of_a_program(kernel_only: Any, typed: str, text: str) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, typed)
        assert says(app, "a program: Enter takes it")
        await pilot.press("enter")
        editor = app.places.compose.panes.spec.editor
        await until(lambda: app.focused is editor, pilot)
        assert editor.value == text and editor.cursor_position == len(text)
        assert functions.current is None


async def test_an_expression_between_slashes_is_no_path(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, "/^vfs_read/")
        assert functions.current == "vfs_read" and not says(app, "a program")


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_an_event_of_a_recording_shows_its_fields_and_its_rows(recording: Path, size: tuple[int, int]) -> None:  # noqa: F811
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.planner is not None, pilot)
        await pilot.press("f2")
        functions = await searching(app, pilot, "vfs_write__exit")
        assert functions.current is not None and functions.current.endswith("/vfs_write__exit")
        shown = "\n".join(screen_text(app))
        assert "vfs_write__exit" in shown and functions.current not in shown.replace(f"{functions.current}: ", "")
        await pilot.press("enter")
        await until(lambda: says(app, "[ ] ret"), pilot)
        await pilot.press("enter")
        live = app.places.live
        await until(lambda: app.screen is live and live.filter.text == "event == vfs_write__exit", pilot)
        await until(lambda: says(app, "vfs_write__exit"), pilot)
        assert not says(app, "vfs_read__exit  ")
        await pilot.press("u")
        await until(lambda: live.filter.text == "", pilot)


async def test_a_recording_lists_the_events_that_it_holds(recording: Path) -> None:  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.planner is not None, pilot)
        await pilot.press("f2")
        functions = await searching(app, pilot, "")
        while functions.border_title != "events alone":
            await pilot.press("ctrl+n")
        rows = functions._list.rows
        names = {rows.name(row) for row in range(rows.next)}
        assert names == {fmt.path for fmt in Recording.open(recording).formats.values()}
