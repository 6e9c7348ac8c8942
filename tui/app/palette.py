"""Commands that the palette offers, with their keys: those whose names have the typed words, of this place first.

Behind them stand presets, by the words of their questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from textual import actions
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from tui.commands import COMMANDS
from widgets.dialogs.help import shown_key
from widgets.footer import KeyFooter
from widgets.highlight import has_words
from widgets.safe_text import safe

if TYPE_CHECKING:
    from widgets.dialogs.preset_chooser import ListedPreset

_NAME: Final = 14
"""Columns of a name, before its key."""
_LEAST: Final = 3
"""Letters before presets are offered beside the commands."""


class PaletteRow(NamedTuple):
    """Command of the palette."""

    name: str
    key: str
    """Key as people write it: `L`, `f4`."""
    is_here: bool
    """True for a command of the present place, False for one that works everywhere."""
    help: str
    run: Callable[[], Awaitable[bool]]

    def shown(self, name: Content) -> Content:
        """Return the row: its name, which may be highlighted, and its key."""
        return Content.assemble(name, " " * max(2, _NAME - len(self.name)), (self.key, "bold $text-accent"))


def rows_of(app: App[Any], screen: Screen[object]) -> Iterator[PaletteRow]:
    """Yield the commands that have keys here, and can be done: of this place first, then those of everywhere."""
    seen: set[str] = set()
    offers = getattr(app, "offers", lambda *_: True)
    words_of = getattr(app, "words_of", lambda _, *words: words)
    for place in (app.current_mode, "app"):
        node = app if place == "app" else screen
        for command in COMMANDS:
            _, name, parameters = actions.parse(command.action)
            if command.place != place or command.action in (*seen, "command_palette"):
                continue
            if node.check_action(name, parameters) and offers(command.action, screen):
                seen.add(command.action)
                key = shown_key(Binding(command.keys.partition(",")[0], command.action))
                run = partial(app.run_action, command.action, node)
                label, text = words_of(command.action, command.label, command.help)
                yield PaletteRow(label, key, place != "app", text, run)


def commands_of(app: App[None], screen: Screen[object]) -> Iterator[SystemCommand]:
    """Yield the commands of the palette, as Textual wants them."""
    for row in rows_of(app, screen):
        yield SystemCommand(row.name, row.help, row.run)


class Palette(CommandPalette):
    """The list of commands, which on a screen of few rows has none for them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "escape", "Close", key_display="esc")]

    WAITS_FOR_TARGET: ClassVar[bool] = True
    """Another place is not shown instead of it by itself."""

    def compose(self) -> ComposeResult:
        """Show the keys that work here at the foot, in place of those of the screen behind."""
        yield from super().compose()
        yield KeyFooter()

    def _action_command_list(self, action: str) -> None:
        """Pass an action to the list; while no row of it is drawn it knows of no page
        (`widgets.lists.option_rows`).
        """
        if self.query_one(CommandList).scrollable_content_region or not action.startswith("page_"):
            super()._action_command_list(action)

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        """Show what was found; a search that ends as the application does finds no list any more."""
        if self.query(CommandList):
            super()._refresh_command_list(command_list, commands, clear_current)


class CommandsByName(Provider):
    """Offers no command for letters that are scattered over its name: Enter runs the only one that is offered."""

    async def discover(self) -> Hits:
        """Offer all that can be done here, the commands of this place first."""
        for row in sorted(rows_of(self.app, self.screen), key=lambda one: (not one.is_here, one.name)):
            yield DiscoveryHit(row.shown(Content(row.name)), row.run, text=row.name, help=row.help)

    async def search(self, query: str) -> Hits:
        """Offer what has all words of the query in its name: the commands of this place first, then the shorter
        name.
        """
        matcher = self.matcher(query)
        for row in rows_of(self.app, self.screen):
            if has_words(row.name, query.strip()):
                shown = row.shown(matcher.highlight(row.name))
                yield Hit((row.is_here + 1 / len(row.name)) / 2, shown, row.run, text=row.name, help=row.help)


class PresetsByQuestion(Provider):
    """Offers presets whose questions or names have all words of the query, behind the commands."""

    _presets: tuple[ListedPreset, ...] = ()

    async def startup(self) -> None:
        """Read the presets."""
        from tui.dialogs.preset_model import listed

        self._presets = await asyncio.to_thread(listed)

    async def search(self, query: str) -> Hits:
        """Offer to look at a preset, and to choose it."""
        matcher, key = self.matcher(query), next(command.keys for command in COMMANDS if command.action == "presets")
        for one in self._presets if len(query.strip()) >= _LEAST else ():
            question = safe(one.preset.question or one.preset.title) if one.preset is not None else ""
            if question and has_words(f"{question} {one.name}", query.strip()):
                shown = Content.assemble(matcher.highlight(question), "  ", (key, "bold $text-accent"))
                run = partial(self.app.run_action, f"app.presets({one.name!r})")
                yield Hit(1 / (2 + len(question)), shown, run, text=question, help=f"preset {one.name}")
