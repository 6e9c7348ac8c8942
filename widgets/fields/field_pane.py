"""Pane with the argument tree, and a search among the fields of all arguments."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Label

from widgets.fields.field_list import FieldList, Ticks
from widgets.fields.field_tree import FieldTree, TreeRow
from widgets.highlight import has_words
from widgets.search_line import SearchLine


class _FieldLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Tick", key_display="enter")]


class FieldPane(Vertical):
    """Pane of tree and query; requests ticks by message."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "find", "Field", key_display="/", id="fields.find", tooltip="Find a field by part of its name"
        ),
        Binding("escape", "leave", "Back", id="fields.leave", tooltip="Back from the search to the tree"),
        Binding("up", "found(-1)", "Up", show=False, id="fields.found_up", tooltip="Found field above"),
        Binding("down", "found(1)", "Down", show=False, id="fields.found_down", tooltip="Found field below"),
        Binding("tab", "take", "Take", show=False, id="fields.take", tooltip="Take a similar name"),
    ]

    DEFAULT_CSS = """
    FieldPane {
        height: 1fr;
        & FieldList { height: 1fr; }
        & Horizontal { display: none; height: 1; background: $surface; }
        & .prompt { width: 2; color: $text-accent; text-style: bold; }
        &.-finding Horizontal { display: block; }
    }
    """

    class Found(Message):
        """Request to tick a found field."""

        def __init__(self, row: TreeRow) -> None:
            super().__init__()
            self.row = row

    class NothingFound(Message):
        """Sent if no field has the query in its name."""

        def __init__(self, nearest: str = "") -> None:
            super().__init__()
            self.nearest = nearest
            """Most similar name; empty: there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.tree_of = FieldTree(())
        self.list = FieldList()
        self.list.cursor_scope = self
        self._query = _FieldLine("part of a field's name")
        self._from: TreeRow | None = None
        self._moved = False
        """True if a key chose a row since the text was typed."""

    def compose(self) -> ComposeResult:
        """Yield the query, hidden until it is needed, and the tree."""
        with Horizontal():
            yield Label("/ ", classes="prompt", markup=False)
            yield self._query
        yield self.list

    def show(self, tree: FieldTree, ticks: Ticks) -> None:
        """Show another tree, with the cursor on its first row."""
        self.tree_of, self._from = tree, None
        self.remove_class("-finding")
        self.list.show(tree, ticks)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Enable some keys only during a search."""
        return self.has_class("-finding") if action in ("leave", "found", "take") else True

    def action_find(self) -> None:
        """Search the fields, siblings of the current one first."""
        self._from = self.list.current
        if self._from is not None:
            self.add_class("-finding")
            self._query.value = ""
            self._show_found()
            self.screen.set_focus(self._query)

    def action_found(self, step: int) -> None:
        """Move among the results while the query has the focus."""
        self._moved = True
        self.list.action_move(step)

    def action_leave(self) -> None:
        """Return to the tree."""
        self._leave(self._from)

    def _leave(self, row: TreeRow | None) -> None:
        self.remove_class("-finding")
        if row is not None:
            self.list.show_tree(row)
        self.screen.set_focus(self.list)

    @on(Input.Changed)
    def _show_found(self, event: Input.Changed | None = None) -> None:
        if event is not None:
            event.stop()
        self._moved = False
        if self._from is not None and self.has_class("-finding"):
            found = self.tree_of.find(self._from, self._query.value)
            self.list.show_found(found, self._query.value)
            if not found:
                self.post_message(self.NothingFound())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        row = self.list.current
        if row is None or self._moved or has_words(row.path, event.value.strip()):
            self.action_take()
        else:
            self.post_message(self.NothingFound(row.name))

    def action_take(self) -> None:
        """Take the field under the cursor, even if its name is only similar to the query."""
        row = self.list.current
        if row is None:
            return
        if row.node.fetcharg is None and row.node.expandable:  # a structure on the way: search among its fields
            self._from, self._query.value = row, ""
            self._show_found()
            return
        self._leave(row)
        self.post_message(self.Found(row))
