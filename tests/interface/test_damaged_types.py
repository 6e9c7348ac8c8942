"""Damaged types in the running application: one line names the damage, and everything else goes on."""

from __future__ import annotations

import zlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btf.btf import Btf
from btf.types import Func
from tests.btf_writer import every_kind
from tests.fuzz import material
from tests.fuzz.commands import damaged_words
from tests.interface.test_app import SIZE, application, open_compose, pick, says
from tests.interface.widget_host import paste, screen_text, until
from tui.app.app import Probewright
from widgets.functions.function_list import FunctionList
from widgets.spec.spec_pane import SpecPane

TEXTS = (
    "f record_read record->inner.value record->matrix[1] $retval",
    "f record_find%return $retval->name",
    "f record_read $$args",
    "p record_read n if n > ",
)


def recorded(path: Path, types: bytes) -> Path:
    """A recording of a small kernel that has these types."""
    path.write_bytes(material.recording(blobs={("btf", ""): types}))
    return path


async def look_around(app: Probewright, pilot) -> None:
    """Go through the functions, their fields, the specification, and the events with all their views."""
    functions = app.places.compose.query_one(FunctionList)
    for name in [one for one in app.planner.info.catalog.names if one.startswith("record")][:3]:
        await pilot.press("f2")
        await pick(app, pilot, name)
        await pilot.press("right", "down", "right", "x", "down", "right", "x", "w", "escape", "escape", "escape")
    functions.query_text = "record_read"
    await pilot.press("f2", "enter", "f6")
    spec = app.places.compose.query_one(SpecPane)
    for text in TEXTS:
        spec.editor.value = ""
        await paste(pilot, text)
        await pilot.press("ctrl+space", "down", "escape")
    await pilot.press("f7", "escape", "f3")
    for key in "egxsdL":
        await pilot.press(key, "down", "enter", "escape")


def lying_function(name: str) -> bytes:
    """Types of which one function points at nothing."""
    data = bytearray(every_kind())
    types = Btf.load(bytes(data))
    func = types.function(name)
    assert isinstance(func, Func)
    at = types.offset(func.id) + 8
    data[at : at + 4] = (0xFFFFFF).to_bytes(4, "little")
    return bytes(data)


async def test_a_function_whose_type_is_missing_is_named_once_and_refused(tmp_path):
    app = application(recorded(tmp_path / "x.pwr", lying_function("record_read")))
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f2")
        await pick(app, pilot, "record_read")
        await until(lambda: says(app, "no type 16777215"), pilot)
        checked = app.planner.check("f record_read record->inner.value")
        assert checked.verdict.error.code == "damaged_types"
        await pilot.press("f2")
        await pick(app, pilot, "record_find")  # the others are as they were
        assert app.planner.check("f record_find%return $retval").verdict.ok
        assert sum("no type 16777215" in said.text for said in app.notice_lines) == 1


@pytest.mark.parametrize("each", range(2))
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32))
async def test_any_damage_leaves_the_screens_whole(tmp_path_factory, each, seed):
    types = damaged_words(Random(seed))
    path = recorded(tmp_path_factory.mktemp("damaged") / f"{zlib.crc32(types)}.pwr", types)
    app = application(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.planner is not None, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await look_around(app, pilot)
        assert app.is_running
        assert not any(ord(letter) < 32 for line in screen_text(app) for letter in line)
