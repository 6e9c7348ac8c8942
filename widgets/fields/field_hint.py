"""Line below the fields: description of the current one, or why something can't be done."""

from __future__ import annotations

from textual.widgets import Label

from probes.fetcharg import FetchArg
from widgets.fields.field_tree import TreeRow
from widgets.safe_content import safe_content


class FieldHint(Label):
    """Single line, cut if it is too long."""

    DEFAULT_CSS = """
    FieldHint { height: 1; width: 1fr; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis;
        &.-refused { color: $text-warning; } }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def explain(self, row: TreeRow | None, trouble: str = "", *, recorded: FetchArg | None = None) -> None:
        """Show a row's description; or why nothing can be captured of the row or of the whole function.

        Args:
            row: the row under the cursor.
            trouble: why nothing can be captured at all.
            recorded: its value as it is ticked, with the type that was chosen; None: it is not ticked.
        """
        if row is None or row.node.reason or trouble:
            self.refuse((row.node.reason if row else "") or trouble or "no arguments")
            return
        node = row.node
        self.remove_class("-refused")
        place = "" if node.offset is None else f"   +{node.offset}"
        self.update(safe_content(f"{recorded or node.fetcharg or node.label}   {node.c_type}{place}"))

    def refuse(self, why: str) -> None:
        """Show why something can't be done."""
        self.add_class("-refused")
        self.update(safe_content(why))
