"""Pane of the flame graph: its head, the graph, the line about the frame under the cursor, and the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label

from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, safe
from widgets.search_line import FindLine
from widgets.stacks.flame_graph import FlameGraph


class StacksPane(Vertical):
    """A `FlameGraph` with its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "search",
            "Search",
            key_display="/",
            id="stacks.search",
            tooltip="Mark the frames with a text, and tell the share of the stacks that have one",
        ),
        Binding("n", "hit(1)", "Next hit", show=False, id="stacks.next_hit", tooltip="Next frame with the text"),
        Binding("N", "hit(-1)", "Hit before", show=False, id="stacks.hit_before", tooltip="Frame with it before"),
        Binding(
            "escape", "leave", "Back", id="stacks.leave", tooltip="End the search, or go back to the width before"
        ),
        Binding(
            "i",
            "turn('bottom_up')",
            "Callers",
            id="stacks.bottom_up",
            tooltip="Bottom-up: below each function its callers; again: top-down",
        ),
        Binding(
            "m",
            "turn('by_module')",
            "Modules",
            id="stacks.by_module",
            tooltip="Fold frames by module; again: functions",
        ),
        Binding(
            "t",
            "turn('tasks')",
            "Tasks",
            id="stacks.tasks",
            tooltip="Tasks as the outermost frames; again: all tasks in one",
        ),
        Binding(
            "Y",
            "weigh",
            "Weight",
            id="stacks.weigh",
            tooltip="Choose the weight: the number of events, or the sum of a value",
        ),
        Binding(
            "z",
            "compare",
            "Compare",
            id="stacks.compare",
            tooltip="Compare what comes from now on with what came before; again: all as one",
        ),
    ]

    DEFAULT_CSS = """
    StacksPane {
        & .head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
        & FlameGraph { height: 1fr; }
        & .frame { height: 1; width: 1fr; padding: 0 1; }
        & .search { display: none; height: 1; background: $surface; }
        &.-searching .search { display: block; }
        & .search .prompt { width: 2; color: $text-accent; text-style: bold; }
        & .found { width: auto; padding: 0 0 0 1; color: $text-muted; }
    }
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.graph = FlameGraph()
        self.turn: Callable[[str], None] = lambda _: None
        """Changes the form of the stacks: `bottom_up`, `by_module`, `tasks`."""
        self.weigh: Callable[[], None] = lambda: None
        """Asks for the weight of the stacks."""
        self.compare: Callable[[], None] = lambda: None
        """Compares from now on, or no more."""
        self.searched: Callable[[str], str] = lambda _: ""
        """Marks the frames with a text; returns their share in words."""
        self.matches: Callable[[int], bool] = lambda _: False
        """Tells whether a frame has the text that is searched."""
        self.about: Callable[[int], str] = lambda _: ""
        """Returns what is known of a frame, foreign text."""
        self._head = Label("", classes="head", markup=False)
        self._frame = Label("", classes="frame", markup=False)
        self._query = FindLine("text of a frame; Enter: to the first one, n next, N before")
        self._found = Label("", classes="found", markup=False)
        self._head_text = ""

    def compose(self) -> ComposeResult:
        """Yield head, graph, the line about a frame, and the search line, hidden until it is asked for."""
        yield self._head
        yield self.graph
        yield self._frame
        with Horizontal(classes="search"):
            yield Label("/ ", classes="prompt", markup=False)
            yield self._query
            yield self._found

    @property
    def search(self) -> str:
        """Text that is searched; empty: none."""
        return self._query.value

    def show_texts(self, head: str) -> None:
        """Show what the graph is of, foreign text, and what is known of the frame under the cursor."""
        self._head_text = head
        room = max(0, self.size.width - 2)
        self._head.update(safe_content(cut_parts(safe(head), room)))
        self._frame.update(safe_content(cut_parts(safe(self.about(self.graph.cursor)), room)))
        if self.search:
            self._found.update(safe_content(self.searched(self.search)))

    def on_resize(self) -> None:
        """Fit the texts to the screen."""
        self.show_texts(self._head_text)

    def action_search(self) -> None:
        """Ask for a text."""
        self.add_class("-searching")
        self.screen.set_focus(self._query)

    def action_leave(self) -> None:
        """End the search; without one, zoom out."""
        if not self.has_class("-searching"):
            self.graph.action_out()
            return
        self.remove_class("-searching")
        self._query.value = ""
        self.screen.set_focus(self.graph)

    def action_hit(self, direction: int) -> None:
        """Go to the next frame with the text."""
        lines = self.graph.lines
        if lines is None or not self.search:
            return
        order = lines.in_order()
        at = order.index(self.graph.cursor)
        after = [*order[at + 1 :], *order[:at]] if direction > 0 else [*order[:at][::-1], *order[at + 1 :][::-1]]
        if (node := next((one for one in after if self.matches(one)), None)) is not None:
            self.graph.go_to(node)

    def action_turn(self, what: str) -> None:
        """Change the form of the stacks."""
        self.turn(what)

    def action_weigh(self) -> None:
        """Ask for the weight of the stacks."""
        self.weigh()

    def action_compare(self) -> None:
        """Compare from now on, or no more."""
        self.compare()

    @on(FlameGraph.FrameChanged)
    def _frame_changed(self, event: FlameGraph.FrameChanged) -> None:
        event.stop()
        self.show_texts(self._head_text)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._found.update(safe_content(self.searched(event.value)))
        self.graph.repaint()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.graph)
        if not self.matches(self.graph.cursor):
            self.action_hit(1)
