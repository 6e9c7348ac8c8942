"""The smallest Textual application that shows a word: the peer of our first paint."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Minimal(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("peer-is-painted")


Minimal().run()
