"""A probe on several functions, typed: completion, fields that its functions share, programs where tracefs can't."""

from __future__ import annotations

from typing import Any

import pytest

from kernel.bpf import attaching
from probes.facts.program_support import ProgramSupport
from tests.interface.test_app import SIZE, application, kernel_only, recording  # noqa: F401
from tests.interface.test_marked_functions import searching, specification
from tests.interface.test_typed_spec import editing
from tests.interface.widget_host import screen_text, until
from widgets.spec.completion_list import CompletionList
from widgets.spec.spec_pane import SpecPane


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_the_functions_of_a_type_are_chosen_by_completion(kernel_only: Any, size: tuple[int, int]) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        spec, editor = await editing(app, pilot)
        found = spec.query_one(CompletionList)
        await pilot.press(*"f", "space", "left_square_bracket", *"fil")
        await until(lambda: found.opened and "struct file *" in [one.label for one in found.found.items], pilot)
        while found.chosen is None or found.chosen.label != "struct file *":
            await pilot.press("down")
        await pilot.press("tab")
        await until(lambda: spec.editor.value == "f [struct file *]", pilot)
        await until(lambda: editor.probe is not None and editor.probe.place.symbol == "[struct file *]", pilot)
        text = "\n".join(screen_text(app))
        assert "[ ] file" in text and "[ ] $retval" in text


@pytest.mark.parametrize(("place", "result"), [("vfs_writ*", "$retval"), ("vfs_re*", "$retval:s32")])
async def test_both_ends_of_several_functions_have_a_result_with_its_sign(
    kernel_only: Any,  # noqa: F811
    place: str,
    result: str,
) -> None:
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await searching(app, pilot, place)
        await pilot.press("enter")
        await specification(app, pilot, f"f {place}")
        await pilot.press("b")
        await specification(app, pilot, f"f {place}%both {result}")
        lines = app.places.compose.query_one(SpecPane).shown.lowered
        assert any(f"$retval:s{bits}" in line for line in lines for bits in (32, 64)), lines


async def test_what_tracefs_refuses_of_many_functions_is_recorded_by_programs(
    kernel_only: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attaching, "program_support", lambda *_: ProgramSupport())
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        spec.editor.value = "f [struct file *] file->f_pos"
        await until(lambda: spec.shown.text == spec.editor.value and spec.shown.verdict is not None, pilot)
        assert spec.shown.verdict is not None and spec.shown.verdict.ok, spec.shown.verdict
        assert any("tracefs does not do this" in note for note in spec.shown.notes)
        spec.editor.value = "f [struct file *] nobody"
        await until(lambda: spec.shown.text == spec.editor.value and spec.shown.verdict is not None, pilot)
        refused = spec.shown.verdict.error
        assert refused is not None and (refused.code, refused.token) == ("no_program", "nobody")


async def test_without_programs_the_refusal_says_how_many_fit(kernel_only: Any) -> None:  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        spec.editor.value = "f [struct file *]"
        await until(lambda: spec.shown.text == spec.editor.value and spec.shown.verdict is not None, pilot)
        refused = spec.shown.verdict.error if spec.shown.verdict is not None else None
        assert refused is not None and refused.code == "too_many_functions"
        assert "without BPF programs" in "\n".join(screen_text(app))
