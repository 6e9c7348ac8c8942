"""Texts and styles of the frames of a tree of stacks, and the frames that have a text. Imports no screen code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from events.stacks.call_tree import ROOT
from events.stacks.stack_paths import FrameKind, PathFrame
from widgets.safe_text import safe
from widgets.stacks.flame_lines import FlamePicture

if TYPE_CHECKING:
    from tui.views.stacks.model import StackModel, WeighedTree

_SEEN: Final = 0.005
"""Least change of a share that has a colour."""
_LOOKS: Final = {
    FrameKind.KERNEL: "kernel",
    FrameKind.MODULE: "module",
    FrameKind.PROGRAM: "program",
    FrameKind.TASK: "task",
    FrameKind.UNKNOWN: "unknown",
}


class FrameTexts:
    """Texts of the frames of one moment."""

    def __init__(self, model: StackModel, weighed: WeighedTree, search: str) -> None:
        """Take the stacks, their tree, and the text that is searched; empty: none."""
        self._model = model
        self._weighed = weighed
        self.comparison = weighed.comparison
        """Comparison of before and after; None: nothing is compared."""
        self._search = search.lower()

    @property
    def picture(self) -> FlamePicture:
        """Picture of the tree."""
        weighed = self._weighed
        return FlamePicture(weighed.tree, weighed.widths, self._name, self._share, self._change, self._look)

    def _name(self, node: int) -> str:
        weighed = self._weighed
        if node == ROOT:
            return f"all: {self._model.weight_text(weighed.totals[ROOT])}"
        return safe(weighed.tree.frames[node].name)

    def _share(self, node: int) -> str:
        totals = self._weighed.totals
        return share_text(totals[node], totals[ROOT]) if node != ROOT and self.comparison is None else ""

    def _change(self, node: int) -> str:
        return change_text(self.comparison.change(node)) if node != ROOT and self.comparison is not None else ""

    def _look(self, node: int) -> str:
        if node == ROOT:
            return "root"
        if self.matches(node):
            return "match"
        if self.comparison is not None:
            change = self.comparison.change(node)
            return "more" if change >= _SEEN else "less" if change <= -_SEEN else "equal"
        return _LOOKS[self._weighed.tree.frames[node].kind]

    def about(self, node: int) -> str:
        """Return what is known of a frame, foreign text."""
        if node >= len(self._weighed.tree):
            return ""
        name = "all" if node == ROOT else self._weighed.tree.frames[node].name
        return f"{name}: {node_text(self._model, self._weighed, node)}"

    def matches(self, node: int) -> bool:
        """Tell whether a frame has the text that is searched."""
        return bool(self._search) and self._has_text(self._weighed.tree.frames[node])

    def _has_text(self, frame: PathFrame) -> bool:
        return self._search in frame.name.lower()

    def searched(self, text: str) -> str:
        """Mark the frames with a text; return the share of the stacks that have one, in words."""
        self._search = text.lower()
        totals = self._weighed.totals
        if not text or not totals[ROOT]:
            return ""
        found = self._weighed.tree.matched(totals, self._has_text)
        return f"{share_text(found, totals[ROOT])}, {self._model.weight_text(found)}" if found else "in no stack"


def share_text(weight: int, total: int) -> str:
    """Return a share: `21.7%`; empty: there is nothing."""
    return f"{100 * weight / total:.1f}%" if total else ""


def change_text(change: float) -> str:
    """Return the change of a share in hundredths: `+14.2%`, `-0.3%`; empty: none that is seen."""
    points = round(100 * change, 1)
    return f"{points:+.1f}%" if points else ""


def node_text(model: StackModel, weighed: WeighedTree, node: int) -> str:
    """Return what is known of a frame, in one line: its weight, its share, its own part, and the change."""
    totals, before = weighed.totals, weighed.before
    parts = [f"{model.weight_text(totals[node])}"]
    if node != ROOT:
        parts[0] += f" ({share_text(totals[node], totals[ROOT]) or '0%'})"
        if weighed.own[node]:
            parts.append(f"itself {share_text(weighed.own[node], totals[ROOT])}")
    if before is not None:
        share = f" ({share_text(before[node], before[ROOT]) or '0%'})" if node != ROOT else ""
        parts.append(f"before {model.weight_text(before[node])}{share}")
    comparison = weighed.comparison
    if comparison is not None and node != ROOT and before is not None and before[ROOT] and totals[ROOT]:
        parts.append(f"share {100 * comparison.change(node):+.1f} points")
    return ", ".join(parts)
