"""Programs of bpftrace and definitions of perf probe on the screen: pasted, typed, searched for."""

from __future__ import annotations

from tests.interface.test_app import SIZE, application, kernel_only, open_compose, says
from tests.interface.test_guards import living
from tests.interface.test_typed_spec import editing
from tests.interface.test_typing import paste
from tests.interface.widget_host import until
from widgets.dialogs.pasted_probes import PastedProbes
from widgets.functions.function_list import FunctionList
from widgets.spec.spec_editor import SpecEditor
from widgets.spec.spec_pane import SpecPane

__all__ = ["kernel_only", "living"]

PROGRAM = 'kprobe:vfs_read /arg2 > 9/ { printf("%d", arg2); @[comm] = count(); }'
OURS = "p vfs_read arg2=$arg3 $comm if arg2 > 9"


async def test_a_program_is_said_in_our_words_and_tab_takes_them(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await paste(pilot, f"{PROGRAM}\n")
        await until(lambda: says(app, "This is bpftrace's"), pilot)
        assert says(app, "hist:keys=comm")
        assert says(app, f"put right (tab): {OURS}")
        await pilot.press("enter")  # is no other probe
        await until(lambda: says(app, "not armed"), pilot)
        assert spec.editor.value == PROGRAM
        await pilot.press("tab")
        await until(lambda: spec.shown.text == OURS and spec.shown.verdict is not None, pilot)
        assert spec.shown.verdict is not None and spec.shown.verdict.ok


async def test_a_program_of_some_lines_is_one_text(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        spec, _ = await editing(app, pilot)
        await paste(pilot, 'kprobe:vfs_read\n/arg2 > 9/\n{\n  printf("%d", arg2);\n}\n')
        await until(lambda: says(app, "put right (tab): p vfs_read arg2=$arg3 if arg2 > 9"), pilot)
        assert app.focused is spec.editor


async def test_a_program_of_several_probes_is_several(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, 'BEGIN { } kprobe:vfs_read,kprobe:vfs_write { printf("%d", arg2); }')
        await until(lambda: isinstance(app.screen, PastedProbes), pilot)
        assert says(app, "arm 2 of 2 probes?")
        assert any("not translated: BEGIN" in one.text for one in app.notice_lines)
        await pilot.press("enter")
        await until(lambda: len(app.current_watch.armed.probes) == 2, pilot)


async def test_what_is_typed_into_the_search_for_functions_is_no_function(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        functions, spec = app.places.compose.query_one(FunctionList), app.places.compose.query_one(SpecPane)
        for text in (PROGRAM, "perf probe -a 'vfs_read count'"):
            functions.focus_search()
            functions.query_text = text
            await until(lambda: says(app, "a whole probe: Enter"), pilot)
            await pilot.press("enter")
            await until(lambda: app.focused is spec.editor, pilot)
            assert spec.editor.value == text
            assert says(app, "put right (tab): p vfs_read")
