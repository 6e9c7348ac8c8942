"""The palette, and short lists of options, on screens that have no row for them."""

from __future__ import annotations

import pytest
from textual.command import CommandList
from textual.widgets import Input, OptionList

from tests.interface.test_app import application, recording
from tests.interface.test_typing import at_events
from tests.interface.widget_host import Host, screen_text, until
from tui.app.palette import Palette
from tui.dialogs.preset_screen import PresetScreen
from widgets.dialogs.preset_chooser import PresetChooser
from widgets.lists.option_rows import OptionRows

__all__ = ["recording"]


@pytest.mark.parametrize("rows", [4, 5, 24])
async def test_pages_of_the_palette_end_nothing_on_any_screen(recording, rows):
    app = application(recording)
    async with app.run_test(size=(80, rows)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette), pilot)
        options = app.screen.query_one(OptionList)
        await until(lambda: options.option_count > 5, pilot)
        await pilot.press("down", "down", "down")
        last = options.highlighted
        assert last is not None
        await pilot.press("pageup", "pageup")
        assert (options.highlighted != last) == bool(options.scrollable_content_region)
        await pilot.press("pagedown", "pagedown", "escape")
        await until(lambda: not isinstance(app.screen, Palette), pilot)


async def test_the_foot_of_the_palette_has_its_own_keys(recording):
    """The keys of the screen behind do nothing here."""
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette), pilot)
        await until(lambda: screen_text(app)[-1].strip() == "esc Close", pilot)


async def test_of_what_was_copied_a_line_takes_one_line(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_events(app, pilot)
        app.copy_to_clipboard("one\nF4 two")
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.focused, Input), pilot)
        await pilot.press("ctrl+v")
        assert app.focused.value == "one"
        assert app._clipboard == "one\nF4 two"


async def test_a_recording_that_opens_takes_nobody_from_the_palette(recording):
    """The first key comes before its events."""
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        app.action_command_palette()
        app.places.replayed()
        await until(lambda: isinstance(app.focused, Input), pilot)
        assert isinstance(app.screen, Palette)


async def test_a_search_that_ends_behind_the_palette_ends_nothing(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.screen, Palette), pilot)
        found = app.screen.query_one(CommandList)
        await found.remove()
        app.screen._refresh_command_list(found, [], True)


@pytest.mark.parametrize("height", [0, 3])
async def test_options_without_a_row_on_the_screen_have_no_pages(height):
    host = Host(OptionRows, css=f"OptionRows {{ height: {height}; border: none; }}")
    async with host.shown() as pilot:
        host.widget.add_options([f"option {number}" for number in range(10)])
        host.widget.focus()
        await pilot.press("end", "pageup", "pageup", "pageup")
        assert host.widget.highlighted == (0 if height else 9)
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        assert host.widget.highlighted == 9


async def test_the_palette_has_keys_and_the_commands_of_this_place_first(recording):
    app = application(recording)
    async with app.run_test(size=(80, 40)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        here, everywhere = ("Clear", "Contents", "Losses"), ("Compose", "Target", "Quit")
        await until(lambda: {*here, *everywhere} <= set(names(app)), pilot)
        assert max(names(app).index(name) for name in here) < min(names(app).index(name) for name in everywhere)
        await pilot.press(*"los")
        await until(lambda: any(line.split() == ["Losses", "L"] for line in screen_text(app)), pilot)
        await pilot.press("backspace", "backspace", "backspace", *"e")
        await until(lambda: {"Entry→exit", "Help"} <= set(names(app)), pilot)
        assert names(app).index("Entry→exit") < names(app).index("Help"), "though it is longer"


def names(app) -> list[str]:
    """The commands of the list."""
    return [str(option.hit.text) for option in app.screen.query_one(OptionList).options]


@pytest.mark.parametrize("words", ["returned this error", "which function returned this error first?"])
async def test_a_question_of_a_preset_leads_to_it(recording, words):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.focused, Input), pilot)
        await pilot.press(*words)
        await until(lambda: any("error first?  f5" in line for line in screen_text(app)), pilot)
        await until(lambda: app.screen.query_one(CommandList).option_count == 1, pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, PresetScreen), pilot)
        chooser = app.screen.query_one(PresetChooser)
        await until(lambda: chooser.current is not None and chooser.current.name == "first-failure", pilot)


async def test_a_command_stands_before_presets_with_the_same_word(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await until(lambda: isinstance(app.focused, Input), pilot)
        await pilot.press(*"fail")
        await until(lambda: any("fail, and with which error?" in line for line in screen_text(app)), pilot)
        rows = [line for line in screen_text(app) if "Failures" in line or "which error?" in line]
        assert "Failures" in rows[0] and "which error?" in rows[1]
