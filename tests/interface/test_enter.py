"""Enter takes exactly what is written: what is only like it is taken by another key, or chosen first."""

from __future__ import annotations

from functools import partial

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from probes.command import Armable
from tests.interface.test_app import SIZE, application, kernel_only, open_compose, pick, says
from tests.interface.test_typed_spec import editing, typed
from tests.interface.widget_host import until
from tui.app.arming_control import ArmingControl
from widgets.dialogs.preset_chooser import ListedPreset, PresetChooser
from widgets.fields.field_list import FieldList
from widgets.functions.function_list import FunctionList
from widgets.spec.completion_list import CompletionList
from widgets.spec.spec_pane import SpecPane

__all__ = ["kernel_only"]


@pytest.fixture
def armed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of the probes that were to be armed; nothing is."""
    texts: list[str] = []

    def arm(_: ArmingControl, probe: Armable, **__: object) -> None:
        texts.append(str(probe))

    monkeypatch.setattr(ArmingControl, "arm", arm)
    return texts


LIKE_OTHERS = (
    "f __schedule",
    "f vfs_raed",
    "f do_sys_open",
    "p vfs_rea",
    "f vfs_read file->f_poss",
    "f vfs_read cuont",
    "f vfs_read fil",
    "f vfs_read count:int",
    "f vfs_read %di",
    "f vfs_read count if cuont > 1",
    "f vfs_read count if count == -ENONT",
    "t sched_swich",
    "e sched/sched_swich",
    "p vfs_read $arg9",
)
"""What is right, or only like something that is."""


@pytest.mark.parametrize("waited", [True, False])
async def test_a_specification_is_armed_as_it_is_written(kernel_only, armed, waited):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)

        def is_judged(text: str) -> bool:
            return spec.shown.text == text and spec.shown.verdict is not None

        for text in LIKE_OTHERS:
            await pilot.press("f6")
            await until(lambda: app.focused is spec.editor, pilot)
            spec.editor.put(text[:-1], len(text) - 1)
            await pilot.press(text[-1])
            if waited:
                await until(partial(is_judged, text), pilot)
            await pilot.press("enter")
            await pilot.pause(0.2)
            assert spec.editor.value == text
            assert set(armed) <= {text, text.removeprefix("e sched/")}
            await until(partial(is_judged, text), pilot)  # before the next one
            armed.clear()


async def test_a_chosen_completion_is_enters_and_stays_chosen(kernel_only, armed):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        found = spec.query_one(CompletionList)
        await typed(pilot, "f vfs_rea")
        await until(lambda: found.opened and found.found.items, pilot)
        await pilot.press("down")
        chosen = found.chosen
        assert chosen is not None
        spec.completion.offer_again()  # an answer of the target comes meanwhile
        await pilot.press("enter")
        assert spec.editor.value == f"f {chosen.text}"
        await typed(pilot, "x")
        await pilot.press("enter")
        assert spec.editor.value == f"f {chosen.text}x"
        assert armed


async def test_the_suggestion_is_told_with_the_key_that_takes_it(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await typed(pilot, "f vfs_read file->f_poss")
        await pilot.press("escape")
        await until(lambda: says(app, "did you mean f_pos? (tab)"), pilot)
        await pilot.press("tab")
        assert spec.editor.value == "f vfs_read file->f_pos"
        await pilot.press("s", "escape", "escape", "escape")
        await until(lambda: app.focused is not spec.editor, pilot)
        await until(lambda: says(app, "did you mean f_pos? (F6, tab)"), pilot)
        await pilot.press("f6", "tab")
        assert spec.editor.value == "f vfs_read file->f_pos"


async def test_what_the_kernel_refuses_keeps_the_names_that_are_near(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await typed(pilot, "f vfs_raed")
        await until(lambda: spec.shown.verdict is not None and spec.shown.text == "f vfs_raed", pilot)
        await pilot.press("enter")
        await until(lambda: says(app, "not armed"), pilot)
        error = spec.shown.verdict.error if spec.shown.verdict else None
        assert error is not None and error.nearest[0] == "vfs_read"
        assert says(app, "did you mean vfs_read")


async def test_a_search_for_a_function_takes_none_that_is_only_like_it(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        functions = app.places.compose.query_one(FunctionList)
        editor = app.places.compose.panes.editor
        for text in ("vfs_raed", "vfsrd", "vfs_readx"):
            functions.query_text = text
            await until(lambda: functions.current, pilot)
            await pilot.press("enter")
            await pilot.pause(0.2)
            assert editor.probe is None
            assert says(app, "has") and says(app, "Tab takes")
            near = functions.current
        await pilot.press("tab")
        await until(lambda: editor.probe is not None and editor.probe.place.symbol == near, pilot)


@pytest.mark.parametrize("text", ["f __schedule", "p vfs_read count", "t sched_switch", "f vfs_raed"])
async def test_a_whole_probe_in_the_search_becomes_a_specification(kernel_only, text):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        functions, spec = app.places.compose.query_one(FunctionList), app.places.compose.query_one(SpecPane)
        functions.query_text = text
        await until(lambda: says(app, "a whole probe: Enter"), pilot)
        await pilot.press("enter")
        await until(lambda: app.focused is spec.editor, pilot)
        assert spec.editor.value == text


async def test_a_field_that_is_only_like_the_text_is_not_ticked(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        await pilot.press("slash", *"cnt", "enter")
        await pilot.pause(0.2)
        assert str(editor.probe) == "f vfs_read"
        assert says(app, "Tab takes count")
        await pilot.press("tab")
        await until(lambda: str(editor.probe) == "f vfs_read count", pilot)
        await pilot.press("slash", *"po", "enter")
        await until(lambda: str(editor.probe) == "f vfs_read count pos", pilot)


async def test_the_palette_offers_only_what_has_the_words(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        for text, there in (("pst", 0), ("xport", 1), ("EXPORT", 1)):
            app.action_command_palette()
            await until(lambda: isinstance(app.screen, CommandPalette), pilot)
            palette = app.screen
            palette.query_one(Input).value = text
            await until(lambda: not says(app, "Palette"), pilot)
            await pilot.pause(0.3)
            assert sum("Export" in line or "Presets" in line for line in rows_of(palette)) == there, text
            palette.dismiss()
            await until(lambda: not isinstance(app.screen, CommandPalette), pilot)


def rows_of(palette: object) -> list[str]:
    from textual.command import CommandList

    assert isinstance(palette, CommandPalette)
    found = palette.query_one(CommandList)
    return [str(getattr(option, "hit", option.prompt) and option.prompt) for option in found.options]


async def test_of_several_presets_enter_arms_the_marked_one_where_its_row_has_the_text_as_the_footer_says(
    kernel_only, monkeypatch
):
    chosen: list[ListedPreset] = []
    monkeypatch.setattr(PresetChooser, "post_message", _keep(chosen))
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f5")
        await until(lambda: app.screen.query(PresetChooser), pilot)
        chooser = app.screen.query_one(PresetChooser)
        await until(lambda: chooser.current is not None, pilot)
        every = [one.name for one in chooser._all]
        await write(pilot, chooser, "openat")  # of a probe, which no row shows
        marked = chooser.current.name
        assert not chosen and len(chooser._shown) > 1 and says(app, f"{marked} has the text in its description")
        await until(lambda: says(app, "enter Show"), pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert [one.name for one in chosen] == [marked]
        chooser.query_one(Input).value = "filename"
        await until(lambda: says(app, "enter Choose"), pilot)
        await write(pilot, chooser, "sys")
        assert len(chooser._shown) > 1 and [one.name for one in chosen[1:]] == [chooser._shown[0].name]
        assert "sys" in chosen[1].name
        await write(pilot, chooser, "who")
        assert chosen[2].name == "who-kills"
        chooser.query_one(Input).value = "sy"
        await pilot.press("down", "enter")
        await pilot.pause()
        assert len(chosen) == 4 and chosen[3].name == chooser._shown[1].name
        named = every[-1]
        await write(pilot, chooser, named)
        assert chosen[-1].name == named


async def write(pilot: Pilot[None], chooser: PresetChooser, text: str) -> None:
    chooser.query_one(Input).value = text
    await pilot.pause(0.1)
    await pilot.press("enter")
    await pilot.pause(0.1)


def _keep(chosen: list[ListedPreset]) -> object:
    post = PresetChooser.post_message

    def keep(chooser: PresetChooser, message: object) -> bool:
        if isinstance(message, PresetChooser.Chosen):
            chosen.append(message.one)
            return True
        return post(chooser, message)  # type: ignore[arg-type]

    return keep


async def test_a_refusal_says_what_puts_the_text_right_and_goes_with_the_text(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        spec, _ = await editing(app, pilot)
        text = "p:vfs_read count"
        spec.editor.put(text, len(text))
        await until(lambda: says(app, "put right: p vfs_read count"), pilot)
        await pilot.press("enter")
        await until(lambda: [one.title for one in app.notice_lines] == ["not armed"], pilot)
        (said,) = app.notice_lines
        assert "put right (tab): p vfs_read count" in said.text and "compiler" not in said.text
        await pilot.press("backspace")
        await until(lambda: not app.notice_lines, pilot)
