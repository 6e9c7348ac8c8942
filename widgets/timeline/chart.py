"""A time line on the screen: draws the lines of a picture, and tells keys and mouse what to do with the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widget import Widget

from widgets.rows import Piece
from widgets.safe_text import width
from widgets.timeline.chart_lines import ChartLayout

LOOKS: Final = {
    "": "",
    "title": "bold $text-accent",
    "ruler": "$foreground 70%",
    "name": "bold",
    "lane": "",
    "chosen": "bold",
    "count": "$text-warning",
    "dim": "$foreground 50%",
    "key": "bold $text-accent",
    "all": "$text-primary",
    "low": "$text-primary",
    "mid": "$text-success",
    "high": "bold $text-warning",
    "grid": "$foreground 25%",
    "lost": "bold $text-error",
    "outage": "$text-error 60%",
    "selected": "on $accent 30%",
    "column": "on $foreground 20%",
    "cursor": "$block-cursor-foreground on $block-cursor-background",
}
"""Styles of words in the looks of pieces; a later word of a look wins."""


class TimelineChart(Widget, can_focus=True):
    """Lines of `widgets.timeline.chart_lines.ChartLines`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "act('events')", "Events", key_display="enter", id="timeline.events",
                tooltip="To the event of this cell, among the events"),
        Binding("plus,equals_sign", "act('in')", "Zoom", key_display="+", id="timeline.in",
                tooltip="Show half of the time around the cursor, or the selected interval"),
        Binding("minus", "act('out')", "Out", key_display="-", id="timeline.out", tooltip="Show twice the time"),
        Binding("0", "act('all')", "All", id="timeline.all", tooltip="Show all of the time, and follow what is new"),
        Binding("v", "act('lanes')", "Lanes", id="timeline.lanes", tooltip="Lanes by event, CPU, task, function"),
        Binding("full_stop", "act('only')", "Only this", key_display=".", id="timeline.only",
                tooltip="Only events of the selected interval, else of this lane, else of the time shown"),
        Binding("space", "act('follow')", "Pause/follow", show=False, id="timeline.follow",
                tooltip="Hold the picture, or follow what is new"),
        Binding("left", "step(-1)", "Left", show=False, id="timeline.left", tooltip="To the cell before"),
        Binding("right", "step(1)", "Right", show=False, id="timeline.right", tooltip="To the next cell"),
        Binding("shift+left", "step(-1, True)", "Select left", show=False, id="timeline.select_left",
                tooltip="Select an interval, to the left"),
        Binding("shift+right", "step(1, True)", "Select right", show=False, id="timeline.select_right",
                tooltip="Select an interval, to the right"),
        Binding("up", "lane(-1)", "Up", show=False, id="timeline.up", tooltip="To the lane above"),
        Binding("down", "lane(1)", "Down", show=False, id="timeline.down", tooltip="To the lane below"),
        Binding("n", "act('next')", "Next", show=False, id="timeline.next", tooltip="To the next event of this lane"),
        Binding("N", "act('before')", "Before", show=False, id="timeline.before",
                tooltip="To the event of this lane before"),
        Binding("pageup", "act('earlier')", "Earlier", show=False, id="timeline.earlier",
                tooltip="Earlier by half of the time shown"),
        Binding("pagedown", "act('later')", "Later", show=False, id="timeline.later", tooltip="Later likewise"),
        Binding("home", "act('begin')", "Oldest", show=False, id="timeline.begin", tooltip="To the oldest event"),
        Binding("end", "act('end')", "Newest", show=False, id="timeline.end", tooltip="To the newest, and follow"),
        Binding("escape", "act('none')", "Unselect", show=False, id="timeline.none", tooltip="Select nothing"),
    ]  # fmt: skip

    DEFAULT_CSS = """
    TimelineChart { background: $surface; color: $text; height: 1fr; width: 1fr; }
    """

    ALLOW_SELECT = False

    class Resized(Message):
        """The chart has another size: its lines are to be made anew."""

    class Acted(Message):
        """A key asks for an action, by its name; `in` and `out`, with a cell: a wheel does, there."""

        def __init__(self, action: str, cell: int | None = None) -> None:
            super().__init__()
            self.action = action
            self.cell = cell

    class Stepped(Message):
        """The cursor is to move by cells and lanes; `extends`: the selection with it."""

        def __init__(self, cells: int = 0, lanes: int = 0, *, extends: bool = False) -> None:
            super().__init__()
            self.cells = cells
            self.lanes = lanes
            self.extends = extends

    class Pointed(Message):
        """The mouse was pressed on a cell of a lane (`begin` is `end`) or on its name (both None), or was dragged
        from a cell to another one (`row` is None).
        """

        def __init__(self, row: int | None, begin: int | None = None, end: int | None = None) -> None:
            super().__init__()
            self.row = row
            self.begin = begin
            self.end = end

    def __init__(self) -> None:
        super().__init__()
        self.chart_layout = ChartLayout.of(1, 1, gaps=False)
        self._lines: Sequence[Sequence[Piece]] = ()
        self._strips: dict[int, Strip] = {}
        self._styles: dict[str, Style] = {}
        self._pressed: int | None = None
        """Cell at which the mouse was pressed; None: it is not."""

    def show(self, lines: Sequence[Sequence[Piece]], layout: ChartLayout) -> None:
        """Show the lines of a layout."""
        self._lines, self.chart_layout = lines, layout
        self._strips.clear()
        self.refresh()

    # -- drawing -----------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Ask for lines of the new size."""
        self.post_message(self.Resized())

    def notify_style_update(self) -> None:
        """Forget styles: theme or focus changed."""
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self._style(""))
        strip = self._strips.get(y)
        if strip is None:
            segments = [Segment(text, self._style(look)) for text, look in self._lines[y] if text]
            used = sum(width(segment.text) for segment in segments)
            strip = self._strips[y] = Strip(segments, used).adjust_cell_length(self.size.width, self._style(""))
        return strip

    def _style(self, look: str) -> Style:
        if look not in self._styles:
            style = self.visual_style
            for word in look.split():
                style = style + VisualStyle.parse(LOOKS[word])
            self._styles[look] = style.rich_style
        return self._styles[look]

    # -- keys and mouse ----------------------------------------------------------------------------------------------

    def action_act(self, action: str) -> None:
        """Ask for an action."""
        self.post_message(self.Acted(action))

    def action_step(self, cells: int, extends: bool = False) -> None:
        """Ask for another cell."""
        self.post_message(self.Stepped(cells, extends=extends))

    def action_lane(self, lanes: int) -> None:
        """Ask for another lane."""
        self.post_message(self.Stepped(lanes=lanes))

    def _cell_at(self, event: events.MouseEvent) -> int:
        """Return the nearest cell to the mouse."""
        cell = int(event.x) - self.chart_layout.names
        return min(max(cell, 0), self.chart_layout.cells - 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor on the cell; what is dragged from there is selected."""
        if event.button != 1:
            return
        event.stop()
        self.focus()
        row = self.chart_layout.row_at(int(event.y))
        if int(event.x) < self.chart_layout.names:
            self.post_message(self.Pointed(row))
            return
        self.capture_mouse()
        self._pressed = cell = self._cell_at(event)
        self.post_message(self.Pointed(row, cell, cell))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select the cells that the mouse is dragged over."""
        if self._pressed is not None:
            event.stop()
            self.post_message(self.Pointed(None, self._pressed, self._cell_at(event)))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the selection."""
        if self._pressed is not None:
            event.stop()
            self._pressed = None
            self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom into the time at the mouse."""
        event.stop()
        event.prevent_default()
        self.post_message(self.Acted("in", self._cell_at(event)))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Show more of the time around the mouse."""
        event.stop()
        event.prevent_default()
        self.post_message(self.Acted("out", self._cell_at(event)))
