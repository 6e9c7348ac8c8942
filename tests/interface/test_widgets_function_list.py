"""Search line and list of functions: keys, counts, marks, reasons."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.interface.widget_host import Host, count_paints, until
from widgets.functions.function_list import FunctionList
from widgets.lists.line_list import LineList

CSS = "FunctionList { width: 37; border: round $primary; }"


class About(NamedTuple):
    module: str | None
    kinds: frozenset[str]
    reason: str = ""
    word: str = ""


HERE = About(None, frozenset("fpr"))
NAMES = [
    "do_readv",
    "ext4_readpage",
    "vfs_read",
    "vfs_readlink",
    "vfs_readv",
    "[/evil]\x1b[31m",
    "very_" * 20 + "long",
]
KNOWN = {
    "do_readv": About(None, frozenset(), "inlined away by the compiler: probe vfs_readv", "inlined"),
    "ext4_readpage": About("ext4", frozenset("p")),
}


def search(query):
    hits = [i for i, name in enumerate(NAMES) if all(word in name for word in query.split())]
    return hits, len(hits)


def host(names=NAMES, find=search, theme=""):
    def make():
        functions = FunctionList()
        functions.call_after_refresh(functions.show, names, find, lambda name: KNOWN.get(name, HERE))
        return functions

    return Host(make, FunctionList.Picked, css=CSS, theme=theme)


async def test_typing_filters_and_enter_picks():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.widget.focus_search()
        await pilot.press(*"vfs_re")
        assert "3 of 7" in app.line(1)
        assert "vfs_read " in app.line(2)
        assert "f p" in app.line(2)
        await pilot.press("down", "enter")
        assert [m.name for m in app.heard] == ["vfs_readlink"]
        await pilot.pause(0.2)  # keys after Enter wait for the keyboard to go elsewhere
        await pilot.press("escape")
        assert app.widget.query_text == ""
        assert "7" in app.line(1)
        assert "of 7" not in app.line(1)


async def test_a_colon_in_front_of_a_name_is_for_the_specification():
    def make():
        functions = FunctionList()
        functions.call_after_refresh(functions.show, NAMES, search, lambda name: KNOWN.get(name, HERE))
        return functions

    app = Host(make, FunctionList.SpecificationWanted, css=CSS)
    async with app.run_test(size=(80, 24)) as pilot:
        app.widget.focus_search()
        await pilot.press("colon")
        await pilot.pause(0.2)  # what is typed behind it waits for the keyboard to go elsewhere
        assert len(app.heard) == 1 and app.widget.query_text == ""
        await pilot.press(*"vfs", "colon")
        await pilot.pause(0.2)
        assert len(app.heard) == 1 and app.widget.query_text == "vfs:"
        app.widget.query_text = "vfs"
        app.widget.focus_search()  # all of it is selected
        await pilot.press("colon")
        await pilot.pause(0.2)
        assert len(app.heard) == 2 and app.widget.query_text == "vfs"


async def test_rows_that_cannot_be_probed_say_why():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "inlined" in app.line(2)
        assert "–" in app.line(2)
        assert "inlined away by the compiler" in app.line(21)
        await pilot.press("down")
        assert "[ext4]" in app.line(3)
        assert "ext4_readpage [ext4]: kprobe" in app.line(21)


async def test_no_match_is_said():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.widget.focus_search()
        await pilot.press(*"zzz", "enter", "down")
        assert "0 of 7" in app.line(1)
        assert "no function matches zzz" in app.line(21)
        assert app.heard == []


async def test_hostile_names_stay_in_their_row():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end", "up")
        assert r"[/evil]\x1b[31m" in app.text
        assert "\x1b" not in app.text
        assert "…" in app.text


async def test_armed_functions_show_their_rate_and_only_their_rows_are_painted():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        painted = count_paints(app.widget.query_one(LineList))
        app.widget.armed = {"vfs_read": None}
        await pilot.pause()
        assert "●" in app.line(4)
        app.widget.armed = {"vfs_read": 1234.0}
        await pilot.pause()
        assert "● 1.2k/s" in app.line(4)
        assert painted[0] == 2


async def test_mouse_picks_and_slash_goes_to_the_search_line():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.double_click(LineList, offset=(4, 3))
        assert [m.name for m in app.heard] == ["vfs_readlink"]
        await pilot.press("slash", "r", "slash")
        assert app.widget.query_text == "r/"


async def test_idle_screen_is_not_painted():
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        app.widget.focus_search()
        await pilot.pause()
        painted = [count_paints(widget) for widget in app.widget.query("*")]
        await pilot.pause(1.2)  # longer than a cursor takes to blink
        assert sum(n[0] for n in painted) == 0


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "textual-light"])
async def test_sixteen_colours(theme):
    app = host(theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"vfs")
        await pilot.pause()
        assert "vfs_read" in app.text


async def test_sixty_thousand_names():
    names = [f"some_function_{n}" for n in range(60_000)]
    asked = []

    def find(query):
        asked.append(query)
        hits = [i for i, name in enumerate(names) if query in name]
        return hits, len(hits)

    app = host(names, find)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "60,000" in app.line(1), pilot)  # else names that come behind the key are searched, too
        app.widget.focus_search()
        await pilot.press("4")
        found = f"{sum('4' in name for name in names):,} of 60,000"
        await until(lambda: found in app.line(1), pilot)
        assert asked == ["4"]
