"""Bar `when  entry  [exit]  both     with  fprobe`: the end of the call where a probe sits, chosen by key or
click.
"""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from probes.probe import CALL_ENDS, ProbeEnds


class WhenBar(Widget):
    """Bar with the choice in brackets; a click posts `Chosen`."""

    DEFAULT_CSS = """
    WhenBar { height: 1; width: 1fr; }
    """

    when: reactive[ProbeEnds] = reactive(ProbeEnds.ENTRY)
    """Chosen end."""
    ends: reactive[tuple[ProbeEnds, ...]] = reactive(CALL_ENDS)
    """Ends to choose from."""

    class Chosen(Message):
        """Sent when an end was clicked."""

        def __init__(self, when: ProbeEnds) -> None:
            super().__init__()
            self.when = when

    def render(self) -> Content:
        """Return the line; brackets mark the choice, as colour alone is not enough."""
        parts: list[tuple[str, str]] = [("when ", "dim")]
        for when in self.ends:
            is_chosen = when is self.when
            parts.append(
                (f"[{when.value}]" if is_chosen else f" {when.value} ", "bold $text-accent" if is_chosen else "")
            )
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Choose the end under the mouse."""
        column = 5
        for when in self.ends:
            if column <= event.x < column + len(when.value) + 2:
                self.post_message(self.Chosen(when))
            column += len(when.value) + 2
