"""Compiled BPF objects in the application: their programs in the search, with marks; their maps as a live table."""

from __future__ import annotations

import struct
from typing import Any

import pytest

import kernel.watch.object_maps
from kernel.watch.object_maps import ObjectMaps
from probes.objects.object_file import read_object
from probes.objects.shown_maps import ShownMap, shown_map
from tests.interface.test_app import SIZE, application, kernel_only, recording  # noqa: F401
from tests.interface.test_guards import ask_for
from tests.interface.test_histograms_view import living, said  # noqa: F401
from tests.interface.widget_host import screen_text, until
from tests.object_builder import built
from widgets.dialogs.pick_list import PickList
from widgets.functions.function_list import FunctionList
from widgets.functions.object_rows import ObjectRows
from widgets.lists.line_list import LineList
from widgets.spec.spec_pane import SpecPane


def _rows(functions: FunctionList) -> ObjectRows | None:
    rows = functions.query_one(LineList).rows
    return rows if isinstance(rows, ObjectRows) else None


async def searching(app: Any, pilot: Any, text: str) -> FunctionList:
    await until(lambda: app.places.compose.bench.planner is not None, pilot)
    functions = app.places.compose.query_one(FunctionList)
    functions.focus_search()
    functions.query_text = text
    return functions


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_programs_are_marked_and_taken_into_the_specification(
    kernel_only: Any,  # noqa: F811
    size: tuple[int, int],
) -> None:
    path = str(built("unlink"))
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        functions = await searching(app, pilot, path)
        await until(lambda: _rows(functions) is not None, pilot)
        rows = _rows(functions)
        assert rows is not None
        assert rows.marked == {"unlink_begins", "unlink_ends"}
        await until(lambda: said(app, "2 of 4 programs") and said(app, "✓ unlink_ends  f"), pilot)
        await pilot.press("insert")
        assert rows.marked == {"unlink_ends"}
        await pilot.press("down", "space")  # the cursor is on what is optional: it is marked by hand
        assert rows.marked == {"unlink_ends", "rmdir_begins"}
        await pilot.press("down", "insert")  # a map is never marked
        assert rows.marked == {"unlink_ends", "rmdir_begins"}
        await until(lambda: said(app, "2 of 4 programs"), pilot)
        await pilot.press("enter")
        await until(lambda: bool(app.places.compose.query(SpecPane)), pilot)
        spec = app.places.compose.query_one(SpecPane)
        await until(lambda: spec.shown.verdict is not None, pilot)
        assert spec.shown.text == f"{path} programs=unlink_ends,rmdir_begins"
        assert spec.shown.verdict is not None
        assert spec.shown.verdict.ok, spec.shown.verdict


async def test_a_file_that_is_none_says_why(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        functions = await searching(app, pilot, "/nowhere/at/all.bpf.o")
        await until(lambda: said(app, "No such file"), pilot)
        assert _rows(functions) is None
        functions.query_text = "vfs_read"
        await until(lambda: said(app, "vfs_readv"), pilot)


def maps_of(number: int) -> list[ObjectMaps]:
    """Contents of the maps of an object: one reading has more than the one before."""
    found = read_object(built("latency").read_bytes())
    slots = struct.pack("<27I", *(number * at for at in range(27)))
    hists, totals = found.map("hists"), found.map("totals")
    assert hists is not None
    assert totals is not None
    each = [
        (struct.pack("<I", at), (struct.pack("<Q", number * 100 + at), struct.pack("<Q", 1000 * at))) for at in (0, 1)
    ]
    tables: tuple[ShownMap, ...] = (
        shown_map(found.btf, hists, [(b"cat".ljust(16, b"\0"), (slots,))]),
        shown_map(found.btf, totals, each),
    )
    return [ObjectMaps("latency.bpf.o", tables)]


async def test_maps_are_a_table_that_is_sorted_and_changes(
    living: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = list[int]()

    def read_maps(_: object) -> list[ObjectMaps]:
        read.append(1)
        return maps_of(len(read))

    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        await pilot.press("M")
        await until(lambda: said(app, "[maps]") and said(app, "no compiled object is armed"), pilot)
        monkeypatch.setattr(kernel.watch.object_maps, "read_maps", read_maps)
        await until(lambda: said(app, "hists (hash), 1 element, map 1 of 2") and said(app, "67,108,864"), pilot)
        await until(lambda: len(read) > 1 and any("/s" in line for line in screen_text(app)), pilot)
        await pilot.press("Y")
        await until(lambda: isinstance(app.screen, PickList), pilot)
        await pilot.press("down", "enter")
        await until(lambda: said(app, "totals (percpu_array, sums of all CPUs), 2 elements, map 2 of 2"), pilot)

        def order() -> list[str]:
            rows = app.places.live.query_one("#maps").groups.groups.groups
            return [group.cells[0] for group in rows]

        assert order() == ["1", "0"]
        await pilot.press("S")
        await until(lambda: order() == ["0", "1"], pilot)
        await pilot.press("left")
        await until(lambda: order() == ["0", "1"], pilot)
        await pilot.press("S")
        await until(lambda: order() == ["1", "0"], pilot)
