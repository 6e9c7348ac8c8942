"""The target chooser says what each target can do, what not, and the way out."""

from __future__ import annotations

from dataclasses import replace

from probes.facts.facts import Trouble
from tests.interface.widget_host import Host, count_paints
from widgets.dialogs.target_chooser import TargetChooser, TargetRow
from widgets.lists.line_list import LineList

CHOICES = (
    TargetRow(
        "local",
        "this machine",
        "Linux 6.1.0 x86-64",
        (("read BTF", True), ("arm probes", False)),
        (
            Trouble("tracefs is not mounted", "mount -t tracefs nodev /sys/kernel/tracing"),
            Trouble("no [fprobe]", "", False),
        ),
    ),
    TargetRow(
        "lab:7.2",
        "lab",
        "Linux 7.2.13 x86-64, boots in 3 s",
        (("arguments by name", True), ("entry arguments at exit", True)),
    ),
    TargetRow("[/b]\x1b[2J.pwr", "recording [/b]\x1b[2J", "", ()),
)


def host() -> Host:
    return Host(lambda: TargetChooser(CHOICES), TargetChooser.Chosen)


async def test_what_it_can_what_not_and_the_way_out():
    app = host()
    async with app.shown() as pilot:
        assert "✗ this machine" in app.text
        assert "✗ tracefs is not mounted" in app.text
        assert "way out: mount -t tracefs nodev /sys/kernel/tracing" in app.text
        assert "! no [fprobe]" in app.text
        await pilot.press("down")
        assert "✓ entry arguments at exit" in app.text
        await pilot.press("down")
        assert r"recording [/b]\x1b[2J" in app.text
        assert "\x1b" not in app.text


async def test_keys_mouse_and_any_other_target():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("down", "enter")
        await pilot.pause(0.2)
        assert [m.spec for m in app.heard] == ["lab:7.2"]
        await pilot.double_click(LineList, offset=(5, 0))
        assert [m.spec for m in app.heard] == ["lab:7.2", "local"]
        await pilot.press("tab", *"ssh://box", "enter")
        await pilot.pause(0.2)
        assert app.heard[-1].spec == "ssh://box"
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert app.widget.query_one(LineList).has_focus


async def test_the_cursor_begins_on_the_one_that_is_open_and_stays():
    found = (CHOICES[0], replace(CHOICES[1], is_open=True), CHOICES[2])
    app = Host(TargetChooser, TargetChooser.Chosen)
    async with app.shown() as pilot:
        app.widget.show(found)
        app.widget.focus_list()
        await pilot.pause()
        (row,) = (line for line in app.text.splitlines() if line.startswith("▌"))
        assert row.split()[:4] == ["▌✓", "lab", "open", "Linux"]
        assert app.text.count(" open  ") == 1
        await pilot.press("up")
        app.widget.show(found)  # what was found out meanwhile
        await pilot.press("enter")
        await pilot.pause()
        assert [m.spec for m in app.heard] == ["local"]


async def test_what_is_found_out_later_and_idle():
    app = host()
    async with app.shown() as pilot:
        await pilot.press("down")
        app.widget.show(
            (CHOICES[0], TargetRow("lab:7.2", "lab", "", (), (Trouble("no QEMU", "apt install qemu-system-x86"),)))
        )
        await pilot.pause()
        assert "way out: apt install qemu-system-x86" in app.text
        painted = [count_paints(widget) for widget in app.screen.query("*")]
        await pilot.pause(0.8)
        assert sum(n[0] for n in painted) == 0


async def test_what_is_typed_over_the_list_is_another_target():
    app = host()
    async with app.shown() as pilot:
        await pilot.press(*"lab:6.1", "enter")
        await pilot.pause(0.2)
        assert [m.spec for m in app.heard] == ["lab:6.1"]


async def test_a_path_typed_over_the_list_keeps_its_first_slash():
    app = host()
    async with app.shown() as pilot:
        await pilot.press(*"/tmp/a.pwr", "enter")
        await pilot.pause(0.2)
        assert [m.spec for m in app.heard] == ["/tmp/a.pwr"]


async def test_where_nothing_is_offered_the_line_has_the_keyboard():
    app = Host(TargetChooser, TargetChooser.Chosen)
    async with app.shown() as pilot:
        app.widget.focus_list()
        app.widget.show(())
        await pilot.pause()
        assert "nothing was found to choose from" in app.text
        assert "escape" not in app.screen.active_bindings  # it leaves the dialog at once
        await pilot.press(*"a.pwr", "enter")
        await pilot.pause()
        assert [m.spec for m in app.heard] == ["a.pwr"]
