"""A flame graph in the terminal: frames as wide as their weight, the root on top, a cursor, and a zoom."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle

from events.stacks.call_tree import ROOT, StackTree
from events.stacks.stack_paths import Path
from widgets.stacks.flame_lines import FlameLines, FlamePicture

LOOKS: Final = {
    "": "",
    "root": "$foreground on $foreground 15%",
    "kernel": "$text-primary on $primary-muted",
    "module": "$text-success on $success-muted",
    "program": "$text-warning on $warning-muted",
    "task": "$text-secondary on $secondary-muted",
    "unknown": "$foreground on $foreground 15%",
    "more": "$text-error on $error-muted",
    "less": "$text-primary on $primary-muted",
    "equal": "$foreground on $foreground 15%",
    "match": "bold $text-accent on $accent-muted",
    "cursor": "$block-cursor-foreground on $block-cursor-background",
}
"""Styles of frames."""


class FlameGraph(ScrollView, can_focus=True):
    """Frames of a `FlamePicture`; a picture is drawn in time proportional to the screen, not to the tree."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "up", "Up", show=False, id="flame.up", tooltip="To the frame above"),
        Binding("down", "down", "Down", show=False, id="flame.down", tooltip="To the widest frame below"),
        Binding("left", "beside(-1)", "Left", show=False, id="flame.left", tooltip="To the frame to the left"),
        Binding("right", "beside(1)", "Right", show=False, id="flame.right", tooltip="To the frame to the right"),
        Binding("pageup", "up(True)", "Page up", show=False, id="flame.page_up", tooltip="Up by a screenful"),
        Binding("pagedown", "down(True)", "Page down", show=False, id="flame.page_down", tooltip="Down likewise"),
        Binding("home", "top", "Top", show=False, id="flame.top", tooltip="To the frame of everything"),
        Binding(
            "enter", "zoom", "Zoom", key_display="enter", id="flame.zoom", tooltip="Give this frame the whole width"
        ),
        Binding("backspace", "out", "Out", key_display="⌫", id="flame.out", tooltip="Back to the width before"),
    ]

    DEFAULT_CSS = """
    FlameGraph {
        background: $surface;
        color: $text;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    ALLOW_SELECT = False

    class FrameChanged(Message):
        """The cursor came to another frame, or the zoom changed."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: FlameLines | None = None
        """Lines for the present width; None: there is nothing to show."""
        self.cursor = ROOT
        self._picture: FlamePicture | None = None
        self._zooms: list[int] = []
        """Frames that were zoomed into before, the last one is zoomed into now."""
        self._columns = 0
        self._styles: dict[str, Style] = {}
        self._strips: dict[int, Strip] = {}
        self._below: dict[int, int] = {}
        """Child that the cursor came from, by its parent."""

    @property
    def zoom(self) -> int:
        """Frame that has the whole width."""
        return self._zooms[-1] if self._zooms else ROOT

    def show(self, picture: FlamePicture | None, *, anew: bool = False) -> None:
        """Show a picture; cursor and zoom stay at frames of the same paths. `anew`: they are of another shape."""
        before = self._picture
        if picture is None or anew:
            self._zooms, self.cursor = [], ROOT
        elif before is not None and picture.tree is not before.tree:
            paths = [before.tree.path(node) for node in self._zooms]
            self._zooms = [found for path in paths if (found := picture.tree.find(path)) is not None]
            self.cursor = _nearest(picture.tree, before.tree.path(self.cursor))
            self._below.clear()
        if picture is not None:
            self._zooms = [node for node in self._zooms if picture.widths[node]]
        self._picture = picture
        self._layout()

    def go_to(self, node: int) -> None:
        """Put the cursor on a frame, which is zoomed into if it has no column."""
        if self._picture is None:
            return
        if self.lines is not None and node not in self.lines.line_of:
            self._zooms.append(node)
            self.cursor = node
            self._layout()
            return
        self._move(node)

    def repaint(self) -> None:
        """Paint anew: frames look different."""
        self._strips.clear()
        self.refresh()

    def _layout(self) -> None:
        self._strips.clear()
        self._columns = max(1, self.scrollable_content_region.width)
        self.lines = None
        if self._picture is not None:
            self.lines = FlameLines(self._picture, self.zoom, self._columns)
            self.cursor = self.lines.visible(self.cursor)
        height = len(self.lines.lines) if self.lines is not None else 1
        if self.virtual_size != Size(1, height):
            self.virtual_size = Size(1, height)
        self._show_cursor()
        self.refresh()
        self.post_message(self.FrameChanged())

    def _show_cursor(self) -> None:
        if self.lines is None:
            return
        line, page = self.lines.line_of[self.cursor], max(1, self.scrollable_content_region.height)
        top = min(max(self.scroll_offset.y, line - page + 1), line)
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)

    def _move(self, node: int) -> None:
        if self.lines is None or node == self.cursor:
            return
        for one in (self.cursor, node):
            self._strips.pop(self.lines.line_of[one], None)
        self.cursor = node
        self._show_cursor()
        self.refresh()
        self.post_message(self.FrameChanged())

    # -- drawing ---------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Lay the frames out for another width."""
        if self._columns != max(1, self.scrollable_content_region.width):
            self._layout()
        else:
            self._show_cursor()

    def notify_style_update(self) -> None:
        """Forget styles: theme or focus changed."""
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lay out first, if the width has changed since."""
        if self._picture is not None and self._columns != max(1, self.scrollable_content_region.width):
            self._layout()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        line = y + self.scroll_offset.y
        if self.lines is None or line >= len(self.lines.lines):
            return Strip.blank(self._columns, self._style(""))
        strip = self._strips.get(line)
        if strip is None:
            strip = self._strips[line] = self._strip(self.lines, line)
        return strip

    def _strip(self, lines: FlameLines, line: int) -> Strip:
        segments, at = [], 0
        for cell in lines.lines[line]:
            if cell.start > at:
                segments.append(Segment(" " * (cell.start - at), self._style("")))
            is_cursor = cell.node == self.cursor
            look = "cursor" if is_cursor and self.has_focus else lines.picture.look(cell.node)
            segments.append(Segment(lines.text(cell, is_cursor=is_cursor), self._style(look)))
            at = cell.after
        return Strip(segments, at).adjust_cell_length(self._columns, self._style(""))

    def _style(self, look: str) -> Style:
        if look not in self._styles:
            style = self.visual_style + VisualStyle.parse(LOOKS[look]) if LOOKS[look] else self.visual_style
            self._styles[look] = style.rich_style
        return self._styles[look]

    # -- keys and mouse --------------------------------------------------------------------------------------------

    def action_up(self, page: bool = False) -> None:
        """Move to the frame above."""
        node = self.cursor
        for _ in range(self._page(page)):
            if self._picture is not None and node != ROOT:
                parent = self._picture.tree.parents[node]
                self._below[parent] = node
                node = parent
        self._move(node)

    def action_down(self, page: bool = False) -> None:
        """Move to the frame below that the cursor came from, or the widest one."""
        node = self.cursor
        for _ in range(self._page(page)):
            if self.lines is not None:
                below = self._below.get(node, node)
                on_line = below in self.lines.line_of and below != node
                inner = self.lines.line_of[node] < self.lines.line_of.get(self.zoom, 0)
                node = below if on_line else self._inwards(node) if inner else self.lines.widest_below(node)
        self._move(node)

    def _inwards(self, node: int) -> int:
        """Return the only frame below one that is around the zoomed frame."""
        return self.lines.lines[self.lines.line_of[node] + 1][0].node if self.lines is not None else node

    def _page(self, page: bool) -> int:
        return max(1, self.scrollable_content_region.height - 1) if page else 1

    def action_beside(self, step: int) -> None:
        """Move to the frame beside."""
        if self.lines is not None:
            self._move(self.lines.beside(self.cursor, step))

    def action_top(self) -> None:
        """Move to the root."""
        self._move(ROOT)

    def action_zoom(self) -> None:
        """Give the frame under the cursor the whole width."""
        if self.lines is not None and self.cursor != self.zoom:
            self._zooms.append(self.cursor)
            self._layout()

    def action_out(self) -> None:
        """Go back to the frame that had the whole width before."""
        if self._zooms:
            self._zooms.pop()
            self._layout()

    def on_click(self, event: events.Click) -> None:
        """Zoom into the frame that was clicked, or out to one around."""
        offset = event.get_content_offset(self)
        if offset is None or self.lines is None:
            return
        node = self.lines.at(offset.y + self.scroll_offset.y, offset.x)
        if node is not None:
            self._move(node)
            self.action_zoom()


def _nearest(tree: StackTree, path: Path) -> int:
    """Return the node of a path, or of the longest beginning of it that there is."""
    while (node := tree.find(path)) is None:
        path = path[:-1]
    return node
