"""Help of every screen: all of its keys, under a heading, and no key that does two things in one place."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial

import pytest
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from events.aggregates.request import AggregateRequest
from tests.interface.test_app import application, kernel_only, open_compose, pick, recording
from tests.interface.widget_host import screen_text, until
from tui.dialogs.preset_screen import PresetScreen
from tui.dialogs.target_screen import TargetScreen
from tui.docs.keys import classes, keys
from tui.help import PANES, SCREENS, can_be_done, chain, explained_bindings, help_of, note_on
from tui.live.details.detail_screen import DetailScreen
from tui.live.event_export import EventExportScreen
from tui.live.losses import LossScreen
from tui.views.events.pane import EventsPane
from widgets.aggregates.chooser import AggregateChooser, NameChoice
from widgets.dialogs.choose import ChoiceDialog
from widgets.dialogs.confirm import ConfirmDialog
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.dialogs.form import FormDialog
from widgets.dialogs.help import HelpScreen, shown_key
from widgets.dialogs.pasted_probes import PastedLine, PastedProbes
from widgets.dialogs.pick_list import PickList
from widgets.dialogs.probe_export_dialog import ProbeExportDialog
from widgets.dialogs.progress import ProgressDialog
from widgets.dialogs.trigger_dialog import TriggerDialog, TriggerVerdict
from widgets.spec.spec_editor import SpecEditor

__all__ = ["kernel_only", "recording"]

WALKING = {"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "escape", "tab"}
"""Each means one thing, move, take or leave, of what the keyboard is in."""


BY_FOCUS = {"enter", "esc", "tab", "↑", "↓", "/", "end"}
"""Keys that help explains for each pane of a screen by itself: they choose, leave, move and search within it; a table
of events follows from its end on, which a list of hosts beside it does not."""


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_everything_that_has_keys_has_a_heading(kind):
    own = [binding for one, binding in explained_bindings(kind) if one is kind]
    if own:
        name = kind.__name__
        assert name in PANES or (issubclass(kind, Screen) and note_on(kind).title != "This screen"), name


def test_headings_are_of_what_is_there():
    names = {kind.__name__ for kind in classes()}
    assert set(PANES) <= names
    assert {pane.screen for pane in PANES.values()} <= {*SCREENS, ""}


def held(screen: Screen[object]) -> None:
    """What must be true of the help of a screen as it is now."""
    sections = help_of(screen)
    titles = [one.title for one in sections]
    assert len(set(titles)) == len(titles), titles
    assert note_on(type(screen)).title in titles and note_on(type(screen)).title != "This screen"
    assert {
        key: texts for key, texts in meanings_in_help(screen).items() if key not in BY_FOCUS and len(texts) > 1
    } == {}
    explanations = told(screen)
    shadowed = set()
    for start in (*screen.focus_chain, screen):
        meanings = defaultdict(list)
        for node, _, binding in chain(start):
            meanings[binding.key].append(binding.tooltip)
            if can_be_done(node, binding) and len(meanings[binding.key]) > 1:
                if binding.key not in WALKING:
                    assert len(set(meanings[binding.key])) == 1, (binding.key, meanings[binding.key])
                shadowed.add(binding.tooltip)
    for widget in (*screen.query("*"), screen):
        if widget is screen or all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget)):
            for _, binding in explained_bindings(type(widget)):
                assert (
                    words_here(screen, binding) in explanations
                    or lacks(screen, binding)
                    or (binding.key in WALKING and (binding.tooltip in shadowed or not widget.focusable))
                ), (widget, binding)


def test_a_key_has_one_name_in_help_and_in_the_page_of_all_keys():
    """The foot has its own short one: `^t`."""
    page = keys()
    assert "`ctrl+t`" in page and not re.findall(r"(?<!/)\^[a-z\]]", page)


def words_here(screen: Screen[object], binding: Binding) -> str:
    """The help of a key on the target that is open."""
    return screen.app.words_of(binding.action, binding.description, binding.tooltip, binding.id or "")[1]


def lacks(screen: Screen[object], binding: Binding) -> bool:
    """Whether help says that a key has no effect here; it says nothing else of it then."""
    if screen.app.offers(binding.action, screen):
        return False
    (without,) = (one.intro for one in help_of(screen) if one.title == "Without effect here")
    keys = {key for part in without.split(".") for key in part.partition(": ")[0].strip().split(", ")}
    return shown_key(binding) in keys and binding.tooltip not in told(screen)


def meanings_in_help(screen: Screen[object]) -> dict[str, set[str]]:
    """What help says of each key, whatever has the keyboard."""
    meanings = defaultdict(set)
    for one in help_of(screen):
        for line in one.keys:
            for key in line.key.split():
                meanings[key].add(line.text)
    return meanings


def told(screen: Screen[object]) -> set[str]:
    """What the keys of a screen do."""
    return {key.text for one in help_of(screen) for key in one.keys}


def shown(app, text: str) -> bool:
    return text in told(app.screen)


def over(app, kind: type[Screen[object]]) -> bool:
    return isinstance(app.screen, kind)


async def asked(app, pilot) -> str:
    """What F1 says of the screen that is seen; Escape leads back to it."""
    below = app.screen
    held(below)
    await pilot.press("f1")
    title = note_on(type(below)).title
    await until(lambda: isinstance(app.screen, HelpScreen) and title in "\n".join(screen_text(app)), pilot)
    said = "\n".join(screen_text(app))
    await pilot.press("escape")
    await until(lambda: app.screen is below, pilot)
    return said


async def test_every_view_of_the_live_place_is_explained(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        for key, own in (
            ("e", "Only events with this value"),
            ("x", "Go to a time, as 12.304 or +0.5 or -2"),
            ("g", "Time by function; again: back to the tree"),
            ("s", "Count the values of the next field"),
            ("y", "Choose keys and values of the table"),
        ):
            await pilot.press(key)
            await until(partial(shown, app, own), pilot)
            await asked(app, pilot)
        await pilot.press("e")
        assert "Count the values of the next field" not in str(help_of(app.screen))


async def test_every_screen_over_the_live_place_is_explained(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        for keys, kind in (
            (["home", "enter"], DetailScreen),
            (["L"], LossScreen),
            (["o"], EventExportScreen),
            (["f4"], TargetScreen),
            (["f5"], PresetScreen),
        ):
            await pilot.press(*keys)
            await until(partial(over, app, kind), pilot)
            assert note_on(kind).title in await asked(app, pilot)
            await pilot.press("escape")
            await until(lambda: app.places.live.is_current, pilot)


async def test_the_place_where_probes_are_built_is_explained(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await asked(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("3")
        await asked(app, pilot)
        for keys, kind in ((["G"], ChoiceDialog), (["o"], ProbeExportDialog), (["s"], FormDialog)):
            await pilot.press(*keys)
            await until(partial(over, app, kind), pilot)
            assert note_on(kind).title in await asked(app, pilot)
            await pilot.press("escape")
            await until(lambda: app.places.compose.is_current, pilot)
        await pilot.press("i")
        await until(lambda: "Alternatives" in {one.title for one in help_of(app.screen)}, pilot)
        await asked(app, pilot)
        await pilot.press("colon")
        await asked(app, pilot)


@pytest.mark.parametrize(
    "dialog",
    [
        lambda: ConfirmDialog("Remove it?"),
        lambda: ErrorDialog("no", "why", ["the way out"]),
        lambda: TriggerDialog("triggers", (), lambda _: TriggerVerdict(True, "")),
        lambda: PickList("which?", ["one", "two"]),
        lambda: AggregateChooser([NameChoice("comm", True, False)], AggregateRequest(("comm",))),
        lambda: PastedProbes([PastedLine("f vfs_read", ""), PastedLine("x", "no")], 1),
        lambda: ProgressDialog("opening", lambda: ("", None), lambda: None),
    ],
)
async def test_dialogs_are_explained(kernel_only, dialog):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        app.push_screen(made := dialog())
        await until(lambda: app.screen is made, pilot)
        assert note_on(type(made)).title in await asked(app, pilot)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_help_begins_with_what_has_the_keyboard(kernel_only, size):
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        titles = [one.title for one in help_of(app.screen)]
        assert titles[0] == "Fields" and titles[3:5] == ["Any list", "Build a probe"], titles
        await pilot.press("colon")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        titles = [one.title for one in help_of(app.screen)]
        assert titles[0] == "Specification as text" and "Build a probe" in titles, titles
        assert titles[-1] == "Everywhere" and len(set(titles)) == len(titles)
        await pilot.press("f1")
        await until(lambda: isinstance(app.screen, HelpScreen), pilot)
        await until(lambda: any("Specification as text" in line for line in screen_text(app)[: size[1] - 4]), pilot)


async def test_keys_that_choose_a_tool_are_explained(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("3", "o")
        await until(lambda: isinstance(app.screen, ProbeExportDialog) and app.screen.current, pilot)
        assert {"The tool above", "The tool below"} <= told(app.screen)
        first = app.screen.current
        await pilot.press("down")
        await until(lambda: app.screen.current != first, pilot)
        assert any("DaemonSet for Kubernetes" in line for line in screen_text(app)), "a tool has one line"


async def test_enter_leaves_the_details(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("home", "enter")
        await until(lambda: isinstance(app.screen, DetailScreen), pilot)
        await pilot.press("enter")
        await until(lambda: app.places.live.is_current, pilot)
        assert not app.places.live.query_one(EventsPane).table.follow.following, "the event is still under the cursor"


async def test_the_palette_offers_what_has_keys_here(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Losses", "Target", "Quit"} <= offered and not {"Lines", "Palette"} & offered
        await pilot.press("ctrl+p", *"losses")
        await until(lambda: "Show lost events by CPU" in "\n".join(screen_text(app)), pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, LossScreen), pilot)


async def test_help_can_be_searched(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("f1")
        await until(lambda: over(app, HelpScreen), pilot)
        assert "/ Search" in screen_text(app)[-1] and "Next hit" not in screen_text(app)[-1]
        await pilot.press("slash", *"cursoR to the row")
        await until(lambda: "1 of 2" in "\n".join(screen_text(app)), pilot)
        assert any("Cursor to the row above" in line for line in screen_text(app)), "it came into sight"
        await pilot.press("enter", "n")
        await until(lambda: "2 of 2" in "\n".join(screen_text(app)), pilot)
        assert "n Next hit" in screen_text(app)[-1]
        await pilot.press("n")
        await until(lambda: "1 of 2" in "\n".join(screen_text(app)), pilot)
        await pilot.press("N")
        await until(lambda: "2 of 2" in "\n".join(screen_text(app)), pilot)
        await pilot.press("escape")
        await until(lambda: "of 2" not in "\n".join(screen_text(app)), pilot)
        assert over(app, HelpScreen)
        await pilot.pause(0.4)  # a letter that comes at once is typed ahead
        await pilot.press(*"nzz")
        await until(lambda: "no line has that" in "\n".join(screen_text(app)), pilot)
        await pilot.press("escape", "escape")
        await until(lambda: app.places.live.is_current, pilot)
