"""Widget of a C prototype, wrapped at commas."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from widgets.fields.c_text import highlighted, parameter_names, wrap
from widgets.safe_text import fit, safe, width

_LINES = 6
"""Greatest number of lines; the rest is replaced by an ellipsis."""


class Prototype(Widget):
    """Prototype like `ssize_t vfs_read(struct file *file, ...)`, with the function's source at the right if it
    fits.
    """

    DEFAULT_CSS = """
    Prototype { height: auto; max-height: 40%; width: 1fr; }
    """

    text: reactive[str] = reactive("", layout=True)
    """Prototype, in one line."""
    function: reactive[str] = reactive("")
    """Function's name in the prototype."""
    where: reactive[str] = reactive("", layout=True)
    """Source file or module."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines."""
        return max(1, len(self._lines(width)))

    def render(self) -> Content:
        """Return the highlighted lines."""
        columns = self.size.width
        names = frozenset(parameter_names(self.text))
        lines = self._lines(columns)
        parts = [highlighted(line, self.function, names) for line in lines]
        where = safe(self.where)
        if parts and where and width(lines[-1]) + width(where) + 2 <= columns:
            blanks = " " * (columns - width(lines[-1]) - width(where))
            parts[-1] = Content.assemble(parts[-1], blanks, (where, "dim"))
        return Content("\n").join(parts)

    def _lines(self, columns: int) -> list[str]:
        lines = wrap(self.text, max(20, columns))
        if len(lines) > _LINES:
            lines = [*lines[: _LINES - 1], lines[_LINES - 1] + " …"]
        return [fit(line, columns).rstrip() for line in lines]
