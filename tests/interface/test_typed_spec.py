"""A specification that is typed: by completion alone, ticked as it is typed, never lost."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual.geometry import Size
from textual.pilot import Pilot

from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from probes.fetcharg import FetchArg, variable
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from tests.interface.test_app import SIZE, application, kernel_only, open_compose, pick, recording, says  # noqa: F401
from tests.interface.widget_host import paste, until
from tui.app.app import Probewright
from tui.compose.completer import Completer
from widgets.fields.field_list import FieldList
from widgets.fields.probe_editor import ProbeEditor
from widgets.spec.completion_list import CompletionList
from widgets.spec.spec_pane import SpecPane


async def typed(pilot: Pilot[None], text: str) -> None:
    names = {
        " ": "space",
        "*": "asterisk",
        "%": "percent_sign",
        "-": "minus",
        ">": "greater_than_sign",
        "_": "underscore",
    }
    await pilot.press(*(names.get(letter, letter) for letter in text))
    await pilot.pause()


async def put(pilot: Pilot[None], text: str) -> None:
    """Have a text there, its last letter typed: for tests of what follows from it, not of how it came there."""
    await paste(pilot, text[:-1])
    await typed(pilot, text[-1])


async def editing(app: Probewright, pilot: Pilot[None]) -> tuple[SpecPane, ProbeEditor]:
    await open_compose(app, pilot)
    spec, editor = app.places.compose.query_one(SpecPane), app.places.compose.query_one(ProbeEditor)
    await pilot.press("f6")
    await until(lambda: app.focused is spec.editor, pilot)
    return spec, editor


async def test_no_pane_grows_and_shrinks_with_each_letter(kernel_only, monkeypatch):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await typed(pilot, "f v")
        await until(lambda: spec.shown.text == "f v" and spec.shown.verdict, pilot)
        heights, update = [spec.outer_size.height], SpecPane._size_updated

        def note(pane: SpecPane, size: Size, *rest: Any, **more: Any) -> bool:
            heights.append(size.height)
            return update(pane, size, *rest, **more)

        monkeypatch.setattr(SpecPane, "_size_updated", note)
        await typed(pilot, "fs_re")
        await until(lambda: spec.shown.text == "f vfs_re", pilot)
        assert len(heights) > 5 and len(set(heights)) == 1


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_a_novice_gets_there_by_completion_alone(kernel_only, size):  # noqa: F811
    """Only what the list shows is taken; of names no more is typed than tells them from others."""
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        spec, editor = await editing(app, pilot)
        found = spec.query_one(CompletionList)
        steps = [
            ("", "f"),
            ("vfs_r", "vfs_read"),
            ("", "vfs_read"),
            ("", "file->"),
            ("f_pa", "f_path."),
            ("de", "dentry->"),
            ("d_na", "d_name."),
            ("na", "name"),
            ("", "name:string"),
        ]
        for letters, label in steps:
            await typed(pilot, letters)
            assert found.opened
            while found.chosen is None or found.chosen.label != label:
                assert found.chosen is None or found.cursor < len(found.found.items) - 1, label
                await pilot.press("down")
            await pilot.press("tab")
            await pilot.pause()
        assert spec.editor.value == "f vfs_read file->f_path.dentry->d_name.name:string "
        assert spec.shown.verdict is not None and spec.shown.verdict.ok
        name = FetchArg(variable("file", "->f_path", ".dentry", "->d_name", ".name"), None, "string")
        assert editor.probe is not None
        assert editor.probe.fetchargs == (name,)
        assert not found.chosen  # Enter would arm now


async def test_enter_leaves_a_pattern_as_it_is(kernel_only):  # noqa: F811
    """It stands for all functions that fit: one of their names comes with Tab, or where it was marked."""
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await typed(pilot, "f vfs_re*")
        await until(lambda: spec.shown.verdict and spec.shown.verdict.ok and spec.shown.text == "f vfs_re*", pilot)
        assert spec.query_one(CompletionList).opened
        assert spec.query_one(CompletionList).chosen is None
        await pilot.press("enter")
        await pilot.pause()
        assert spec.editor.value == "f vfs_re*"
        await pilot.press("backspace", "asterisk", "tab")
        await until(lambda: spec.editor.value == "f vfs_read", pilot)


@pytest.mark.parametrize("size", [SIZE, (80, 24)])
async def test_of_a_pattern_it_is_said_what_can_be_recorded(kernel_only, size):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        await open_compose(app, pilot)
        app.places.edit_filter(Probe(ProbePlace("vfs_re*")))
        editor, spec = app.places.compose.query_one(ProbeEditor), app.places.compose.query_one(SpecPane)
        await until(lambda: says(app, "all functions that fit vfs_re*"), pilot)
        assert not says(app, "no such function")
        await pilot.press("escape", "escape")  # the completions, then the filter that was begun
        assert spec.editor.value == "f vfs_re*"
        await until(lambda: spec.shown.verdict and spec.shown.verdict.ok, pilot)
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        await pilot.press("2")
        assert str(editor.probe) == "f vfs_re* $comm"


@pytest.mark.parametrize("size", [SIZE, (80, 24), (100, 30)])
async def test_of_many_names_a_few_are_said(kernel_only, size):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        await open_compose(app, pilot)
        assert app.planner is not None
        names = tuple(dict.fromkeys(app.planner.info.facts.functions))[:300]
        app.places.edit_filter(Probe(ProbePlace(",".join(names))))
        await until(lambda: says(app, "and 296 more"), pilot)
        assert says(app, names[0])


async def test_what_is_typed_is_ticked_and_what_is_ticked_is_typed(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, editor = await editing(app, pilot)
        await typed(pilot, "f vfs_read%return count if count > 1")
        assert editor.probe is not None
        assert (editor.probe.when, editor.probe.filter) == (ProbeEnds.EXIT, "count > 1")
        assert editor.border_title is not None and "vfs_read" in str(editor.border_title)
        await pilot.press("escape")
        await pilot.pause()
        if app.focused is spec.editor:  # that was for the list of completions
            await pilot.press("escape")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        await pilot.press("2")
        await until(lambda: "buf:string" in spec.editor.value, pilot)
        assert spec.editor.value == "f vfs_read%return buf:string count if count > 1"
        await pilot.press("f6")
        await until(lambda: app.focused is spec.editor, pilot)
        await pilot.press("ctrl+z")
        await until(lambda: editor.probe and len(editor.probe.fetchargs) == 1, pilot)
        assert spec.editor.value == "f vfs_read%return count if count > 1"


async def test_a_text_that_is_no_probe_is_kept(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        spec = app.places.compose.query_one(SpecPane)
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        await pilot.press("3", "colon")
        await until(lambda: app.focused is spec.editor, pilot)
        await typed(pilot, " +8(")
        error = spec.shown.verdict.error if spec.shown.verdict else None
        assert error is not None and error.code == "DEREF_OPEN_BRACE"
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("escape")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        assert spec.editor.value == "f vfs_read count +8("
        assert editor.probe is not None and str(editor.probe) == "f vfs_read count"
        await pilot.press("enter")  # what stands there is armed, and nothing else
        await pilot.pause(0.3)
        assert app.places.compose.is_current
        assert app.current_watch is not None and not app.current_watch.armed.probes
        await pilot.press("4")
        await until(lambda: spec.editor.value == "f vfs_read count pos", pilot)
        await pilot.press("f6", "ctrl+z")
        await until(lambda: spec.editor.value == "f vfs_read count +8(", pilot)


async def test_the_caret_is_under_the_error_as_typed(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await put(pilot, "f   vfs_read   file->f_poss")
        await pilot.press("escape")
        lines = [line.rstrip() for line in screen(app).split("\n")]
        row = next(n for n, line in enumerate(lines) if "file->f_poss" in line)
        assert lines[row + 1].index("^") == lines[row].index("f_poss")
        assert "NO_BTF_FIELD" in lines[row + 1]
        await pilot.press("tab")
        await until(lambda: spec.editor.value == "f   vfs_read   file->f_pos", pilot)
        assert spec.shown.verdict is not None and spec.shown.verdict.ok


def screen(app: Probewright) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


async def test_a_line_that_is_cut_while_one_types_is_told(kernel_only, monkeypatch):  # noqa: F811
    def cut(*_: object) -> None:
        raise TargetLost("the connection was lost")

    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        monkeypatch.setattr(Planner, "check_typed", cut)
        await put(pilot, "t sched_switch")
        await until(lambda: spec.shown.notes == ("the connection was lost",), pilot)
        assert spec.editor.value == "t sched_switch"


async def test_the_fields_of_a_tracepoint_are_ticked_and_have_their_verdict(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, editor = await editing(app, pilot)
        await put(pilot, "t sched_switch prev->comm")
        await until(lambda: spec.shown.verdict and spec.shown.verdict.ok, pilot)
        assert spec.shown.lowered and "sched_switch" in spec.shown.lowered[0]
        assert editor.probe is not None and [str(arg) for arg in editor.probe.fetchargs] == ["prev->comm"]
        assert app.places.compose.specification.current is not None
        assert getattr(app.places.compose.specification.current, "kind", None) is ProbeKind.TRACEPOINT
        spec.action_filter()
        await typed(pilot, "common_pid > 1")
        await pilot.press("enter")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        assert spec.editor.value == "t sched_switch prev->comm if common_pid > 1"
        await until(lambda: spec.shown.verdict and spec.shown.verdict.ok, pilot)
        spec.action_filter()
        await pilot.press("ctrl+u", "enter")
        await until(lambda: spec.editor.value == "t sched_switch prev->comm", pilot)
        spec.editor.focus()
        await pilot.press("end", "x")
        await until(lambda: spec.shown.verdict and not spec.shown.verdict.ok, pilot)


async def test_a_filter_is_completed_judged_and_put_right_as_the_text_is(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, editor = await editing(app, pilot)
        await put(pilot, "f vfs_read count file->f_flags")
        spec.completion.close_list()
        await pilot.press("escape")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        await pilot.press("f")
        found = spec.completion.found_list
        await until(lambda: found.opened, pilot)
        assert {"count", "f_flags", "COMM"} <= {item.label for item in found.found.items}
        await typed(pilot, "cuont > 1")
        await until(lambda: says(app, "^~~~~") and says(app, "did you mean count? (tab)"), pilot)
        await pilot.press("tab")
        await until(lambda: spec.editor.value == "f vfs_read count file->f_flags if count > 1", pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        assert editor.probe is not None and editor.probe.filter == "count > 1"
        await pilot.press("f", "2", "escape")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        assert editor.probe.filter == "count > 1", "as it was before"
        await pilot.press("f", "ctrl+u", "enter")
        await until(lambda: isinstance(app.focused, FieldList), pilot)
        assert spec.editor.value == "f vfs_read count file->f_flags", (
            "Enter arms nothing, and an empty filter is none"
        )
        assert app.places.compose.is_current


async def test_the_lines_of_this_kernel_and_of_others(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await put(pilot, "f vfs_read%return count $retval")
        await pilot.press("ctrl+l")
        await until(lambda: spec.shown.others, pilot)
        others = {name: other for other in spec.shown.others for name in other.names.split(", ")}
        assert set(others) == {"6.1", "6.12", "7.2", "arm64:6.12", "full"}
        assert others["7.2"].told == "the same"
        assert [line[0] for line in others["6.1"].lines] == ["p", "r"]
        assert [line[0] for line in others["arm64:6.12"].lines] == ["r"]
        assert "with the structures of this one" in screen(app)
        await typed(pilot, " +")
        assert spec.shown.others == ()
        await pilot.press("ctrl+l")
        assert "with the structures of this one" not in screen(app)


async def test_the_mouse_edits_too(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        spec = app.places.compose.query_one(SpecPane)
        await pilot.pause(0.2)
        await pilot.click(spec.editor, offset=(60, 0))
        await until(lambda: app.focused is spec.editor, pilot)
        assert spec.editor.cursor_position == len("f vfs_read")
        await typed(pilot, " co")
        found = spec.query_one(CompletionList)
        await pilot.click(found, offset=(4, 1))
        await until(lambda: spec.editor.value == "f vfs_read count", pilot)


async def test_what_a_beginner_types_is_put_right_by_tab(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await put(pilot, "f vfs_read %di")
        await until(lambda: spec.shown.text == "f vfs_read %di" and spec.shown.verdict, pilot)
        assert spec.shown.verdict.error.corrected == "p vfs_read %di"
        await pilot.press("escape", "tab")
        await until(lambda: spec.shown.text == "p vfs_read %di" and spec.shown.verdict, pilot)
        assert spec.shown.verdict.ok
        await pilot.press("ctrl+u")
        await put(pilot, "f vfs_read $arg9")
        await until(lambda: spec.shown.text == "f vfs_read $arg9" and spec.shown.verdict, pilot)
        assert spec.shown.verdict.error.code == "NO_BTFARG"


async def test_a_colon_where_functions_are_searched_opens_the_specification(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        spec = app.places.compose.query_one(SpecPane)
        await pilot.press("colon", "f", "space")  # in one packet, as over a slow connection
        await until(lambda: spec.editor.value == "f ", pilot)
        assert app.focused is spec.editor


async def test_tab_keeps_the_keyboard_in_a_text_where_nothing_follows(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await put(pilot, "f vfs_read zzz")
        await pilot.press("escape")
        found = spec.query_one(CompletionList)
        await until(lambda: not found.opened, pilot)
        await pilot.press("tab")
        await pilot.pause()
        assert app.focused is spec.editor and found.opened
        assert found.found.note == "nothing to complete here; esc leaves the text"
        await typed(pilot, "x")
        assert spec.editor.value == "f vfs_read zzzx"


async def test_a_recording_says_that_it_arms_nothing(recording):  # noqa: F811
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await editing(app, pilot)
        await put(pilot, "f vfs_read%return count ")
        await pilot.press("escape", "enter")
        await until(lambda: app.places.live.is_current, pilot)
        held = "nothing is armed: this is a recording, which holds f vfs_read%return file->f_pos count $retval"
        await until(lambda: app.notice_lines, pilot)
        assert held in [one.text for one in app.notice_lines]


async def test_v_has_a_probe_recorded_by_a_program_and_by_tracefs_again(kernel_only):  # noqa: F811
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        spec = app.places.compose.query_one(SpecPane)
        await until(lambda: bool(spec.shown.lowered), pilot)
        by_tracefs = spec.shown.lowered
        await pilot.press("v")
        await until(lambda: spec.shown.lowered[0].startswith("fentry on vfs_read"), pilot)
        assert spec.shown.verdict is not None and spec.shown.verdict.ok
        assert "recorded by BPF programs: fentry" in spec.shown.notes
        await pilot.press("v")
        await until(lambda: spec.shown.lowered == by_tracefs, pilot)


async def test_events_that_are_being_read_are_not_said_to_be_missing(recording, monkeypatch):  # noqa: F811
    free, learn = threading.Event(), Completer.learn

    def learn_late(completer: Completer, text: str) -> None:
        free.wait(60)
        learn(completer, text)

    monkeypatch.setattr(Completer, "learn", learn_late)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        try:
            await editing(app, pilot)
            for text in ("on nobo", "-:nobo"):
                await pilot.press("ctrl+a", "ctrl+k")
                await put(pilot, text)
                await until(lambda: says(app, "being read: the "), pilot)
                assert not says(app, "has this in its name") and not says(app, "we have made no events")
            await pilot.press("ctrl+a", "ctrl+k")
            await put(pilot, "on nobo")
            await until(lambda: says(app, "being read: the names of events"), pilot)
        finally:
            free.set()
        await until(lambda: says(app, "no event has this in its name"), pilot)
        assert not says(app, "being read")
