"""The signature pane: ticks, ends of the call, the search for a field, keys typed in one go."""

from __future__ import annotations

import pytest

from probes.probe import Probe, ProbeEnds, ProbePlace
from tests.interface.fields_of_vfs_read import VFS_READ
from tests.interface.widget_host import Host, count_paints
from widgets.fields.field_list import FieldList
from widgets.fields.probe_editor import ProbeEditor
from widgets.fields.signature import SignatureText

CSS = "ProbeEditor { width: 52; height: 17; border: round $primary; }"
PROBE = Probe(ProbePlace("vfs_read"))


def host(signature: SignatureText = VFS_READ, css: str = CSS, theme: str = "") -> Host:
    def make() -> ProbeEditor:
        editor = ProbeEditor()

        def ready() -> None:
            editor.show(signature, PROBE)
            editor.focus_fields()

        editor.call_after_refresh(ready)
        return editor

    return Host(make, ProbeEditor.Changed, ProbeEditor.ArmRequested, css=css, theme=theme)


async def test_the_keys_of_the_story():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("x", "3", "slash", "f", "_", "p")
        assert "file->f_pos   loff_t" in app.text
        await pilot.press("enter")
        await pilot.press("enter")
        await pilot.pause(0.3)
        armed = [m for m in app.heard if isinstance(m, ProbeEditor.ArmRequested)]
        assert len(armed) == 1 and str(app.widget.probe) == "f vfs_read%return file->f_pos count ret=$retval"
        assert "[x] ->f_pos" in app.text
        assert app.widget.query_one(FieldList).has_focus


async def test_exit_ticks_the_return_value_only_where_nothing_was_chosen():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("x")
        assert str(app.widget.probe) == "f vfs_read%return ret=$retval"
        assert "[exit]" in app.text
        await pilot.press("e")
        assert str(app.widget.probe) == "f vfs_read"
        await pilot.press("3", "b")
        assert str(app.widget.probe) == "f vfs_read%both count ret=$retval"  # comes back: it was chosen before
        app = host()
    async with app.shown() as pilot:
        await pilot.press("3", "x")
        assert str(app.widget.probe) == "f vfs_read%return count"


async def test_a_return_value_at_entry_is_refused_with_the_way_out():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("5")
        assert app.widget.probe == PROBE
        assert "at exit only: x or b" in app.text
        await pilot.press("9")
        assert "there are 5" in app.text


async def test_open_close_tick_and_types():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("right", "down", "down", "space")
        assert str(app.widget.probe) == "f vfs_read file->f_mode"
        await pilot.press("t")
        assert str(app.widget.probe) == "f vfs_read file->f_mode:s32"
        assert "file->f_mode:s32   " in app.text, "the line below says the type that is recorded"
        await pilot.press("3")
        assert "file->f_mode:s32   " in app.text, "of the field under the cursor, whatever is ticked"
        await pilot.press("3")
        await pilot.press("t", "t")
        assert str(app.widget.probe) == "f vfs_read file->f_mode"
        await pilot.press("up", "space")
        assert "open it" in app.text
        await pilot.press("left", "left")
        assert "->f_mode" not in app.text
        assert app.widget.query_one(FieldList).cursor == 0


async def test_all_arguments():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("3", "a")
        assert str(app.widget.probe) == "f vfs_read $$args count"
        assert app.text.count("[*]") == 3
        assert app.text.count("[x]") == 1
        await pilot.press("a")
        assert str(app.widget.probe) == "f vfs_read count"


async def test_one_of_all_arguments_is_ticked_off():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("a", "2")
        assert str(app.widget.probe) == "f vfs_read file count pos"
        await pilot.press("4")
        assert str(app.widget.probe) == "f vfs_read file count"
        await pilot.press("a", "1")
        assert str(app.widget.probe) == "f vfs_read $$args count"  # it was there beside all: now it comes with them
        await pilot.press("1")
        assert str(app.widget.probe) == "f vfs_read buf pos count"


async def test_a_search_steps_through_structures_and_escape_leaves_it():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("slash", *"path", "enter")
        await pilot.pause(0.2)
        await pilot.press(*"den", "enter")
        await pilot.pause(0.2)
        assert str(app.widget.probe) == "f vfs_read file->f_path.dentry"
        assert "[x] .dentry" in app.text
        await pilot.press("slash", *"zzz")
        assert "no field here" in app.text
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert "[x] .dentry" in app.text
        assert app.widget.query_one(FieldList).has_focus


@pytest.mark.parametrize("typed", ["f_mode", "file->f_mode"])
async def test_a_search_finds_fields_of_an_argument_that_the_cursor_is_not_on(typed):
    app = host()
    async with app.shown() as pilot:
        await pilot.press("down", "down", "slash", *typed)
        assert "file->f_mode" in app.text
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert str(app.widget.probe) == "f vfs_read file->f_mode"
        assert "[x] ->f_mode" in app.text


async def test_a_slip_in_a_search_is_forgiven_and_tab_takes_what_is_found():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("down", "slash", *"f_mdoe")
        assert "file->f_mode" in app.text
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert str(app.widget.probe) == "f vfs_read"  # not what was written
        await pilot.press("tab")
        await pilot.pause(0.2)
        assert str(app.widget.probe) == "f vfs_read file->f_mode"


async def test_mouse():
    app = host()
    async with app.shown() as pilot:
        await pilot.pause()
        lines = app.text.split("\n")
        y = next(i for i, line in enumerate(lines) if "file   " in line and "[ ]" in line)
        await pilot.click(offset=(lines[y].index("▸"), y))
        assert "->f_pos" in app.text
        lines = app.text.split("\n")
        y = next(i for i, line in enumerate(lines) if "->f_pos " in line)
        await pilot.click(offset=(lines[y].index("[ ]") + 1, y))
        assert str(app.widget.probe) == "f vfs_read file->f_pos"
        y = next(i for i, line in enumerate(lines) if "[entry]" in line)
        await pilot.click(offset=(lines[y].index("both") + 1, y))
        assert app.widget.probe.when is ProbeEnds.BOTH
        await pilot.double_click(FieldList, offset=(30, 0))
        assert not [m for m in app.heard if isinstance(m, ProbeEditor.ArmRequested)]


async def test_hostile_names_and_reasons():
    evil = SignatureText("[/b]\x1b[2J", "int [/b]\x1b[2J(struct [bold] *x)", VFS_READ.arguments, None, "[/]")
    app = host(evil)
    async with app.shown() as pilot:
        await pilot.press("right", "end", "up", "up", "up", "up")
        assert "\x1b" not in app.text
        assert "->f_evil[/b]" in app.text


@pytest.mark.parametrize(("width", "height"), [(30, 10), (46, 14), (110, 30)])
async def test_sizes(width, height):
    app = host(css=f"ProbeEditor {{ width: {width}; height: {height}; border: round $primary; }}")
    async with app.shown(max(80, width), max(24, height)) as pilot:
        await pilot.press("x", "right")
        assert "[x] $retval" in app.text or "$retval" not in app.text
        assert "vfs_read(" in app.text


async def test_functions_without_arguments_or_btf():
    app = host(
        SignatureText("nothing", "void nothing(void)", (), None, "", "no BTF for this function: $arg1 by hand")
    )
    async with app.shown() as pilot:
        await pilot.press("x", "space", "slash", "1", "t", "enter")
        await pilot.pause(0.2)
        assert str(app.widget.probe) == "f vfs_read%return"
        assert isinstance(app.heard[-1], ProbeEditor.ArmRequested)


async def test_idle():
    app = host(theme="ansi-dark")
    async with app.shown() as pilot:
        await pilot.press("x", "right", "slash", "f")
        await pilot.pause(0.3)
        painted = [count_paints(widget) for widget in app.widget.query("*")]
        await pilot.pause(1.2)
        assert sum(n[0] for n in painted) == 0


async def test_all_numbers_of_a_structure_are_ticked_and_the_same_key_takes_that_back():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("n")
        assert str(app.widget.probe) == "f vfs_read file->f_mode file->f_pos", "of the structure behind the pointer"
        assert "[x] ->f_pos" in app.text, "what is ticked is seen"
        await pilot.press("n")
        assert app.widget.probe == PROBE
        await pilot.press("down", "space", "down", "n")
        ticked = str(app.widget.probe)
        assert "file->f_mode" in ticked and "file->f_pos" in ticked and "f_path" not in ticked
        await pilot.press("n")
        assert "file->f_pos" not in str(app.widget.probe)
        await pilot.press("left", "left", "down", "down", "n")
        assert "count" in str(app.widget.probe) and "$retval" not in str(app.widget.probe)


async def test_both_ends_tick_the_return_value_as_the_exit_does():
    for key in ("x", "b"):
        app = host()
        async with app.shown() as pilot:
            await pilot.press(key)
            assert "$retval" in str(app.widget.probe), key
