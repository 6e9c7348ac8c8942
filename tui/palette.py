"""The commands that the palette offers: those with the words that were typed in their names, as they were typed."""

from __future__ import annotations

from textual.command import DiscoveryHit, Hit, Hits, Provider

from widgets.matching import has_words


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
