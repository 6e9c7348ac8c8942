"""A tiny app around one widget: records its messages, counts its repaints, reads the screen as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget


class Host(App[None]):
    """Shows the widgets that `make` builds and keeps every message of the kinds it is told to."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, make: Callable[[], Widget], *kinds: type[Message], css: str = "", theme: str = "") -> None:
        super().__init__()
        self._make = make
        self._kinds = kinds
        self.heard: list[Any] = []
        if css:
            self.stylesheet.add_source(css, ("host", ""))
        if theme:
            self.theme = theme

    def compose(self) -> ComposeResult:
        self.widget = self._make()
        yield self.widget

    async def _dispatch_message(self, message: Message) -> None:
        if self._kinds and isinstance(message, self._kinds):
            self.heard.append(message)
        await super()._dispatch_message(message)

    @property
    def text(self) -> str:
        """The screen, line by line, blanks at the ends taken away."""
        strips = self.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def line(self, y: int) -> str:
        return self.text.split("\n")[y]

    def picture(self, name: str) -> None:
        """For the eye: /tmp/shots/NAME.svg where that folder is."""
        folder = Path("/tmp/shots")
        if folder.is_dir():
            (folder / f"{name}.svg").write_text(self.export_screenshot())


def count_paints(widget: Widget) -> list[int]:
    """Count how often lines of the widget are rendered from now on; the number is the list's only item."""
    painted = [0]
    render_line = widget.render_line

    def counted(y: int):
        painted[0] += 1
        return render_line(y)

    widget.render_line = counted  # type: ignore[method-assign]
    return painted
