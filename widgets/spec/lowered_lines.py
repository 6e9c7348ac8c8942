"""The lines below a specification: what is written to this kernel, to others, and what one should know."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from widgets.spec.layout import Specification, tail


class LoweredLines(Widget):
    """The lines below the text; as high as they are."""

    DEFAULT_CSS = """
    LoweredLines { height: auto; width: 1fr; text-wrap: nowrap; }
    """

    shown: reactive[Specification] = reactive(Specification(), layout=True)
    """What is shown."""
    lowered: reactive[bool] = reactive(False, layout=True)
    """Whether the lines for the kernel are shown too."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """As many lines as it takes."""
        return len(tail(self.shown, width, self.lowered))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(tail(self.shown, self.size.width, self.lowered))
