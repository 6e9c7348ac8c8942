"""A short list of options to choose from, which may get no row on a small screen."""

from __future__ import annotations

from typing import Literal

from textual import events
from textual.widgets import OptionList


class OptionRows(OptionList):
    """Options whose text is shown as it is."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    async def on_click(self, event: events.Click) -> None:
        """Move the cursor on a click; take the option at a second one, as the rows of other lists do."""
        event.prevent_default()  # a list of Textual takes it at the first
        option = event.style.meta.get("option")
        if option is None or self.get_option_at_index(option).disabled:
            return
        self.highlighted = option
        if event.chain == 2:
            self.action_select()

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        """Move the cursor a page; not before a row is drawn, as `OptionList` does not know its lines then."""
        if self.scrollable_content_region:
            super()._move_page(direction)
