"""Filter line below the views: shows the filter's effect, and edits the filter with completions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import Input, Label

from widgets.safe_content import safe_content
from widgets.search_line import SearchLine

if TYPE_CHECKING:
    from probes.completion.choice import Completion, Completions
    from widgets.spec.completion_list import CompletionList

Complete = Callable[[str, int], "Completions | None"]
"""Text and cursor -> completions there; None: unknown."""


class _FilterInput(SearchLine):
    """Text line whose keys go to the list of completions first."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Only these", key_display="enter")]

    def __init__(self, hint: str, use: Callable[[str], Awaitable[bool]]) -> None:
        super().__init__(hint)
        self._use = use

    async def _on_key(self, event: events.Key) -> None:
        if await self._use(event.key):
            event.stop()
            event.prevent_default()


class FilterLine(Horizontal):
    """Line of the filter; hidden while empty."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", id="filter.leave", tooltip="Back to the rows, as they were"),
        Binding("tab", "take", "Take", key_display="tab", id="filter.take", tooltip="Take a completion"),
        Binding("up", "choose(-1)", "Up", show=False, id="filter.up", tooltip="Completion above"),
        Binding("down", "choose(1)", "Down", show=False, id="filter.down", tooltip="Completion below; opens them"),
    ]

    DEFAULT_CSS = """
    FilterLine {
        display: none; height: auto; max-height: 4; background: $surface;
        &.-shown { display: block; }
        & .prompt { width: auto; color: $text-accent; text-style: bold; }
        & .said { width: auto; max-width: 60%; height: auto; padding: 0 0 0 1; color: $text-muted; }
        & .said.-refused { color: $text-warning; }
    }
    """

    class Changed(Message):
        """Sent when the text has changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Submitted(Message):
        """Request to apply the filter; empty: none."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Sent when typing was cancelled."""

    def __init__(self, hint: str, complete: Complete) -> None:
        super().__init__()
        self._complete = complete
        self._input = _FilterInput(hint, self.use)
        self._effect = Label("", classes="said", markup=False)
        self._list: CompletionList | None = None
        """List of completions; created at first use."""
        self._last = ("", False)

    def compose(self) -> ComposeResult:
        """Yield the text line and the filter's effect."""
        yield Label("filter ", classes="prompt", markup=False)
        yield self._input
        yield self._effect

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow choosing completions only while typing."""
        return self.typing if action in ("take", "choose") else True

    @property
    def typing(self) -> bool:
        """True if the line has the keyboard."""
        return self.is_attached and self.screen.focused is self._input

    @property
    def text(self) -> str:
        """Typed text."""
        return self._input.value

    @text.setter
    def text(self, text: str) -> None:
        with self._input.prevent(Input.Changed):
            self._input.value = text
        self._input.cursor_position = len(text)
        self.set_class(bool(text), "-shown")

    def ask(self) -> None:
        """Take the keyboard."""
        self.add_class("-shown")
        self.screen.set_focus(self._input)

    def say(self, text: str, refused: bool = False) -> None:
        """Show the filter's effect; called at each tick, painted only when the text changes."""
        if (text, refused) == self._last:
            return
        self._last = text, refused
        self._effect.set_class(refused, "-refused")
        self._effect.update(safe_content(text))

    def done(self) -> None:
        """Stop typing; hide an empty line."""
        self._close()
        self.set_class(bool(self.text.strip()), "-shown")

    def action_leave(self) -> None:
        """Cancel typing."""
        self._close()
        self.post_message(self.Left())

    # -- completions ----------------------------------------------------------------------------------------------

    @property
    def _opened(self) -> CompletionList | None:
        return self._list if self._list is not None and self._list.opened else None

    def _close(self) -> None:
        if self._list is not None:
            self._list.close()

    async def offer(self) -> None:
        """Show the completions at the cursor."""
        from widgets.spec.completion_list import CompletionList

        if self._list is None:
            self._list = CompletionList()
            await self.mount(self._list)
        cursor = self._input.cursor_position
        found = self._complete(self.text, cursor)
        if found is None or not found.items or not self.typing:
            self._close()
            return
        at = Offset(self._input.content_region.x + min(found.start, self._input.size.width), self.region.y)
        self._list.open(found, self.text[found.start : cursor], at, after_taking=False, kept=None)

    async def action_choose(self, step: int) -> None:
        """Mark another completion; opens a closed list."""
        if (opened := self._opened) is not None:
            opened.pick(step)
        elif step > 0:
            await self.offer()

    async def action_take(self) -> None:
        """Take the marked completion, else the first."""
        if self._opened is None:
            await self.offer()
        if (opened := self._opened) is not None:
            self._take(opened.chosen or opened.found.items[0])

    async def use(self, key: str) -> bool:
        """Handle a key for the completions before the text gets it; return True if it was handled."""
        picked = self._opened is not None and self._opened.picked
        if key in ("up", "down"):
            await self.action_choose(1 if key == "down" else -1)
        elif key == "tab" or (key == "enter" and picked):
            await self.action_take()
        elif key == "escape" and picked:
            self._close()
        else:
            return False
        return True

    def _take(self, item: Completion) -> None:
        if self._list is None:
            return
        text, cursor = self._list.found.taken(self.text, item)
        self._close()
        self._input.value = text
        self._input.cursor_position = cursor

    def on_completion_list_taken(self, event: CompletionList.Taken) -> None:
        """Take a clicked item."""
        event.stop()
        self._take(event.item)

    def on_descendant_blur(self) -> None:
        """Close the list when typing ends."""
        self._close()

    @on(Input.Changed)
    async def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.typing:
            await self.offer()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
        self.post_message(self.Submitted(event.value))
