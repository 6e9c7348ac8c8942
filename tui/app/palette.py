"""Commands that the palette offers: those whose names have the typed words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual import actions
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from tui.commands import COMMANDS
from widgets.footer import KeyFooter
from widgets.highlight import has_words


def commands_of(app: App[None], screen: Screen[object]) -> Iterator[SystemCommand]:
    """Yield the commands for the palette: those that have keys here, and can be done."""
    for command in COMMANDS:
        if command.place in ("app", app.current_mode) and command.action != "command_palette":
            node = app if command.place == "app" else screen
            _, name, parameters = actions.parse(command.action)
            if node.check_action(name, parameters):
                yield SystemCommand(command.label, command.help, partial(app.run_action, command.action, node))


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
        """Offer all that can be done here."""
        for name, about, run, _ in sorted(self.app.get_system_commands(self.screen), key=lambda one: one[0]):
            yield DiscoveryHit(name, run, help=about)

    async def search(self, query: str) -> Hits:
        """Offer what has all words of the query in its name, the shorter name first."""
        shown = self.matcher(query)
        for name, about, run, _ in self.app.get_system_commands(self.screen):
            if has_words(name, query.strip()):
                yield Hit(1 / len(name), shown.highlight(name), run, help=about)
