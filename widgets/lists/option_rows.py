"""A short list of options to choose from, which may get no row on a small screen."""

from __future__ import annotations

from typing import Literal

from textual.widgets import OptionList


class OptionRows(OptionList):
    """Options whose text is shown as it is."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        """Move the cursor a page; not before a row is drawn, as `OptionList` does not know its lines then."""
        if self.scrollable_content_region:
            super()._move_page(direction)
