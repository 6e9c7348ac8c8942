"""Widget below a specification: lines for this kernel and for others, and notes."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from widgets.spec.layout import Specification, tail


class LoweredLines(Widget):
    """Lines below the text; as high as necessary."""

    DEFAULT_CSS = """
    LoweredLines { height: auto; width: 1fr; text-wrap: nowrap; }
    """

    shown: reactive[Specification] = reactive(Specification(), layout=True)
    """Content that is shown."""
    lowered: reactive[bool] = reactive(False, layout=True)
    """True if the lines for the kernel are shown too."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines."""
        return len(tail(self.shown, width, self.lowered))

    def render(self) -> Content:
        """Return the lines."""
        return Content("\n").join(tail(self.shown, self.size.width, self.lowered))
