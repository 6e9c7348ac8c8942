"""Functions marked in the search list: one probe on all of them, as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events.names.place_kinds import PlaceKind, kind_of_place
from tests.interface.test_app import SIZE, application, kernel_only, recording  # noqa: F401
from tests.interface.widget_host import screen_text, until
from tests.pure.probes.test_places import kernel  # noqa: F401
from widgets.dialogs.pasted_probes import PastedProbes
from widgets.functions.function_list import FunctionList
from widgets.functions.function_rows import FunctionRows
from widgets.lists.line_list import LineList
from widgets.spec.spec_pane import SpecPane


async def searching(app: Any, pilot: Any, text: str) -> FunctionList:
    """Search for a text, and wait for its rows."""
    await until(lambda: app.places.compose.bench.planner is not None, pilot)
    functions = app.places.compose.query_one(FunctionList)
    functions.focus_search()
    functions.query_text = text
    await until(lambda: _rows(functions) is not None and _rows(functions)._query == text, pilot)
    return functions


def _rows(functions: FunctionList) -> Any:
    rows = functions.query_one(LineList).rows
    return rows if isinstance(rows, FunctionRows) else None


async def specification(app: Any, pilot: Any, text: str) -> None:
    await until(lambda: bool(app.places.compose.query(SpecPane)), pilot)
    spec = app.places.compose.query_one(SpecPane)
    await until(lambda: spec.shown.text == text and spec.shown.verdict is not None, pilot)
    assert spec.shown.verdict is not None and spec.shown.verdict.ok, spec.shown.verdict


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_marked_functions_become_one_probe(kernel_only: Any, size: tuple[int, int]) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        functions = await searching(app, pilot, "vfs_rea")
        await pilot.press("insert")
        first = functions._marks.names
        await pilot.press("space")  # a row was chosen by a key: no text
        assert len(functions._marks.names) == 2 and functions.query_text == "vfs_rea"
        functions.query_text = "vfs_write"
        await until(lambda: _rows(functions)._query == "vfs_write", pilot)
        await pilot.press("insert")
        marked = functions._marks.names
        assert "3 marked" in "\n".join(screen_text(app)) and first < marked
        await pilot.press("enter")
        await specification(app, pilot, f"f {','.join(sorted(marked))}")
        assert not functions._marks.names and not functions.border_subtitle, "the next are those of another probe"


async def test_all_that_match_are_marked_but_one(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, "/^vfs_(read|write)/")
        names = {_rows(functions).name(row) for row in range(_rows(functions).next)}
        await pilot.press("ctrl+g")
        assert functions._marks.names == names
        await pilot.press("down", "space", "up")
        left_out = names - functions._marks.names
        assert len(left_out) == 1
        wanted = {name for name in functions._marks.names if functions._marks.places.traceable(name)}
        await pilot.press("enter")
        await until(lambda: bool(app.places.compose.query(SpecPane)), pilot)
        spec = app.places.compose.query_one(SpecPane)
        await until(
            lambda: (
                spec.shown.text in (f"f /^vfs_(read|write)/,!{next(iter(left_out))}", f"f {','.join(sorted(wanted))}")
            ),
            pilot,
        )
        await pilot.press("f2")
        functions.focus_search()
        await pilot.press("ctrl+g")
        assert functions._marks.names == names
        await pilot.press("ctrl+g")
        assert not functions._marks.names and not functions.border_subtitle


async def test_what_enter_takes_is_told_where_functions_are_marked(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await searching(app, pilot, "vfs_write")
        await pilot.press("enter")
        await specification(app, pilot, "f vfs_write")
        functions = await searching(app, pilot, "vfs_writ*")
        foot = lambda: screen_text(app)[-1]  # noqa: E731
        await until(lambda: "enter Pick" in foot(), pilot)
        await pilot.press("ctrl+g")
        number = len(functions._marks.names)
        editor = app.places.compose.panes.editor
        await until(lambda: "enter Take marked" in foot(), pilot)
        text = "\n".join(screen_text(app))
        assert f"{number} marked; Enter takes them into one probe" in " ".join(text.split())
        assert f"{number} marked functions not in it yet" in text
        await pilot.press("ctrl+g")
        await until(lambda: "enter Pick" in foot() and not editor.border_subtitle, pilot)
        await pilot.press("ctrl+g", "enter")
        await specification(app, pilot, "f vfs_writ*")
        assert not editor.border_subtitle


async def test_marked_functions_that_cannot_be_armed_are_counted_and_listed_first(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, "vfs_*")
        await pilot.press("ctrl+g")
        without = {name for name in functions._marks.names if not functions._marks.places.traceable(name)}
        assert without and f"{len(functions._marks.names)} marked, {len(without)} can't" in "\n".join(
            screen_text(app)
        )
        assert "can't be armed:" in "\n".join(screen_text(app))
        await pilot.press("ctrl+o")
        rows = _rows(functions)
        assert {rows.name(row) for row in range(len(without))} == without
        assert rows.next == len(functions._marks.names)
        await pilot.press("escape")
        assert _rows(functions).next > rows.next and functions.query_text == ""


async def test_enter_takes_the_place_that_is_typed_and_tab_a_row(kernel_only: Any, tmp_path: Path) -> None:  # noqa: F811
    chosen = tmp_path / "mine.txt"
    chosen.write_text("vfs_read\nvfs_wr*\n")
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await searching(app, pilot, f"@{chosen}")
        await pilot.press("enter")
        await specification(app, pilot, f"f @{chosen}")
        functions = await searching(app, pilot, "[struct file *]")
        name, panes = functions.current, app.places.compose.panes
        await pilot.press("tab")
        await until(lambda: panes.probe is not None and panes.probe.place.symbol == name, pilot)


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_marked_events_are_offered_to_be_armed_together(kernel: str, size: tuple[int, int]) -> None:  # noqa: F811
    app = application(Path(kernel))
    async with app.run_test(size=size) as pilot:
        functions = await searching(app, pilot, "sched_switch")
        await pilot.press("insert")
        functions.query_text = "sys_enter_read"
        await until(lambda: _rows(functions)._query == "sys_enter_read", pilot)
        await pilot.press("insert")
        functions.query_text = "vfs_"
        await until(lambda: _rows(functions)._query == "vfs_", pilot)
        await pilot.press("insert", "space")
        marked = functions._marks.names
        assert len(marked) == 4 and "4 marked" in "\n".join(screen_text(app)), marked
        plain = functions._marks.place  # those of them that are traceable
        assert plain.startswith("vfs_")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, PastedProbes), pilot)
        shown = "\n".join(screen_text(app))
        events = ("on sched/sched_switch", "on syscalls/sys_enter_read", f"f {plain}")
        assert "arm 3 of 3 probes?" in shown and all(f"✓ {line}" in shown for line in events), shown
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, PastedProbes), pilot)
        assert functions._marks.names == marked, "nothing was armed: the marks stay"


async def test_all_events_of_a_kind_that_match_are_marked(kernel: str) -> None:  # noqa: F811
    app = application(Path(kernel))
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, "s")
        while functions.border_title != "events alone":
            await pilot.press("ctrl+n")
        await pilot.press("ctrl+g")
        marked = functions._marks.names
        assert marked == {
            name for name in functions._search.names if kind_of_place(name) is PlaceKind.EVENT and "s" in name
        }
        assert "Enter arms them together" in "\n".join(screen_text(app))
        await pilot.press("ctrl+o")
        assert _rows(functions).next == len(marked)
        await pilot.press("ctrl+o", "ctrl+g")
        assert not functions._marks.names
