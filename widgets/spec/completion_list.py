"""List of completions over the edited line, with types and offsets."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.geometry import Offset
from textual.message import Message

from probes.completion.choice import Completion, Completions, ItemKind, Priority
from widgets.highlight import highlighted, matched
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import ELLIPSIS, cut, cut_parts, fit, safe, width

_MOST_ROWS = 10
_WIDEST = 100
_NARROWEST = 44
_LABEL = 36
_C_TYPE = 40
_LOOKS = {
    ItemKind.LETTER: "key",
    ItemKind.WORD: "key",
    ItemKind.TYPE: "good",
    ItemKind.VARIABLE: "type",
    ItemKind.REGISTER: "type",
}
"""Styles as `spec_look` has them in the text; others are names."""
_LEAST = 6
"""Minimum useful width of a column, unless its texts are shorter."""
_FRAME = 2


class CompletionRows:
    """Row for each item; without items a row with the reason."""

    first = 0

    def __init__(self, found: Completions, typed: str) -> None:
        self.found = found
        self.next = max(1, len(found.items))
        self._typed = typed.lstrip("->.[$%")
        items = found.items
        self._label = max((len(item.label) for item in items), default=0)
        # If no item has both, one column is enough for C types and notes.
        self._merged = not any(item.c_type and item.description for item in items)
        self._widths = tuple(
            max((len(text) for text in column), default=0) for column in zip(*map(self._texts, items), strict=True)
        )

    def _texts(self, item: Completion) -> tuple[str, ...]:
        """Return the texts of an item after its label."""
        offset = "" if item.offset is None else f"+{item.offset}"
        if self._merged:
            return item.c_type or item.description, offset
        return cut(item.c_type, _C_TYPE), offset, item.description

    @property
    def columns(self) -> int:
        """Columns that all rows would take."""
        if not self.found.items:
            return len(self.found.note)
        return min(self._label, _LABEL) + sum(columns + 2 for columns in self._widths if columns)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return label, C type, offset and note, cut to the available columns."""
        if not self.found.items:
            yield Piece(cut_parts(safe(self.found.note), columns), "dim")
            return
        item = self.found.items[row]
        label = min(self._label, _LABEL, columns)
        shown = cut(safe(item.label), label)
        yield from highlighted(
            shown, matched(shown.removesuffix(ELLIPSIS), self._typed), _LOOKS.get(item.kind, "name")
        )
        yield Piece(" " * (label - width(shown)))
        room = columns - label
        looks = ("type" if item.c_type else "dim", "number") if self._merged else ("type", "number", "dim")
        for text, wanted, look in zip(self._texts(item), self._widths, looks, strict=True):
            cell_width = min(wanted, room - 2)
            if cell_width >= min(wanted, _LEAST) > 0:
                room -= cell_width + 2
                yield Piece("  " + fit(safe(text), cell_width), look)


class CompletionList(LineList, can_focus=False):
    """List that floats over the screen; the focus stays in the line."""

    DEFAULT_CSS = """
    CompletionList {
        overlay: screen;
        display: none;
        width: 20;
        height: 5;
        background: $panel;
        border: round $primary;
        border-subtitle-color: $text-muted;
        &.-open { display: block; }
        & > .line-list--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }
    }
    """

    class Taken(Message):
        """Sent when an item was clicked."""

        def __init__(self, item: Completion) -> None:
            super().__init__()
            self.item = item

    def __init__(self) -> None:
        super().__init__()
        self.found = Completions(0, 0)
        self.after_taking = False
        """True if an item was taken just before the list was opened."""
        self.picked = False
        """True if a key moved the cursor to its item: only then Enter takes it. Tab takes a marked item as well."""

    @property
    def opened(self) -> bool:
        """True if the list is on the screen."""
        return self.has_class("-open")

    @property
    def chosen(self) -> Completion | None:
        """Item under the cursor; None: none is marked."""
        return self.found.items[self.cursor] if 0 <= self.cursor < len(self.found.items) else None

    def open(self, found: Completions, typed: str, at: Offset, after_taking: bool, kept: Completion | None) -> None:
        """Show completions above a cell of the screen, or below it if there is no room.

        The first item is marked if the text is incomplete without one, or if one was just taken and usually another
        follows. `kept` was chosen before and stays so if it is still listed.
        """
        self.found, self.after_taking = found, after_taking
        rows = CompletionRows(found, typed)
        self.rows = rows
        wanted = found.urge is Priority.NEEDED or (after_taking and found.urge is Priority.USUAL)
        self.picked = kept is not None and kept in found.items
        self.cursor = found.items.index(kept) if kept and self.picked else 0 if wanted and found.items else -1
        self.watch_cursor(-1, self.cursor)
        self.place(at)
        self.add_class("-open")

    def close(self) -> None:
        """Hide the list."""
        self.remove_class("-open")
        self.found, self.picked = Completions(0, 0), False

    def pick(self, step: int) -> None:
        """Move to another item by a key; Enter takes it from now on."""
        self.picked = bool(self.found.items)
        self.move_to(max(0, self.cursor + step))
        self.watch_cursor(self.cursor, self.cursor)

    def watch_cursor(self, old: int, new: int) -> None:
        """Show the keys of the list."""
        super().watch_cursor(old, new)
        if not self.found.items:
            self.border_subtitle = ""
        else:
            self.border_subtitle = "enter takes · esc closes" if self.picked else "tab takes · ↓ chooses"

    def place(self, at: Offset) -> None:
        """Place the list above a cell of the screen if there is room, else below it."""
        rows, screen = self.rows, self.screen.size
        if not isinstance(rows, CompletionRows):
            return
        wide = min(max(rows.columns + 3 + _FRAME, _NARROWEST), _WIDEST, screen.width)
        above, below = at.y, screen.height - at.y - 1
        high = min(rows.next, _MOST_ROWS, max(above, below) - _FRAME) + _FRAME
        top = at.y - high if above >= high else at.y + 1
        self.styles.width, self.styles.height = wide, max(high, 1 + _FRAME)
        self.absolute_offset = Offset(min(max(0, at.x - 2), screen.width - wide), max(0, top))
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        """Take the clicked item."""
        event.stop()
        offset = event.get_content_offset(self)
        row = -1 if offset is None else self.window.top + offset.y
        if 0 <= row < len(self.found.items):
            self.post_message(self.Taken(self.found.items[row]))
