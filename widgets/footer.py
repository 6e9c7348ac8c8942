"""Foot of a screen: the keys that work now, and notifications above them.

Keys that do not fit are left out from the end, except help. Textual's Footer is a widget for each key, which costs
the first picture as much as everything else on a screen; this is a single widget.
"""

from __future__ import annotations

from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from widgets.notice import Notice, lines
from widgets.safe_text import width


class FooterKey(NamedTuple):
    """Key in the footer."""

    key: str
    """Name of the key in Textual."""
    key_name: str
    """Name of the key for people."""
    label: str
    """Label, in a word or two."""
    enabled: bool = True


class KeySpan(NamedTuple):
    """Place of a key in the line."""

    start: int
    end: int
    key: FooterKey


class KeyFooter(Widget):
    """Footer that follows the bindings of its screen and the notifications of its application; a click on a key does
    what the key does.
    """

    DEFAULT_CSS = """
    KeyFooter { dock: bottom; height: auto; width: 1fr; background: $panel; color: $text; }
    """
    ALLOW_SELECT = False

    keys: reactive[tuple[FooterKey, ...]] = reactive(())
    """Keys that are shown."""
    notice_lines: reactive[tuple[Notice, ...]] = reactive((), layout=True)
    """Notifications above the keys."""

    def __init__(self, last: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Set the action whose key stands at the right end and is never left out."""
        super().__init__(id=id)
        self._last = last

    def on_mount(self) -> None:
        """Subscribe to bindings and notifications."""
        self.screen.bindings_updated_signal.subscribe(self, self._follow)
        self._follow(self.screen)
        if hasattr(self.app, "notice_lines"):
            self.watch(self.app, "notice_lines", self._set_said)

    def _set_said(self, said: tuple[Notice, ...]) -> None:
        self.notice_lines = said

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines: those of the notifications, and one for the keys."""
        return len(lines(self.notice_lines, width)) + 1

    def _follow(self, screen: Screen[object]) -> None:
        if not screen.app.app_focus or not self.is_attached:
            return
        found: dict[str, FooterKey] = {}
        last: list[FooterKey] = []
        offers = getattr(self.app, "offers", None)
        words_of = getattr(self.app, "words_of", None)
        for _, binding, enabled, _ in screen.active_bindings.values():
            if not binding.show or binding.action in found or (offers and not offers(binding.action, screen)):
                continue
            label = binding.description
            if words_of:
                label, _ = words_of(binding.action, label, key_id=binding.id or "")
            key = FooterKey(binding.key, self.app.get_key_display(binding), label, enabled)
            # Textual leaves out letters that a text line takes, but does not recognize "slash" as a letter.
            if len(key.key_name) == 1 and screen.focused and screen.focused.check_consume_key(key.key, key.key_name):
                continue
            if binding.action == self._last:
                last = last or [key]
            else:
                found[binding.action] = key
        self.keys = (*found.values(), *last)

    def render(self) -> Content:
        """Return the notifications, then the keys with their labels."""
        return Content("\n").join([*lines(self.notice_lines, self.size.width), self._keys()])

    def _keys(self) -> Content:
        spans = laid_out(self.keys, self.size.width)
        parts: list[Content] = []
        at = 0
        for span in spans:
            style = "bold $text-accent" if span.key.enabled else "dim"
            parts.append(Content(" " * (span.start - at)))
            parts.append(
                Content.assemble(
                    (span.key.key_name, style), (f" {span.key.label}", "" if span.key.enabled else "dim")
                )
            )
            at = span.end
        return Content("").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        if event.y < self.size.height - 1:
            return
        for span in laid_out(self.keys, self.size.width):
            if span.start <= event.x < span.end and span.key.enabled:
                event.stop()
                self.app.simulate_key(span.key.key)  # no letter, which might be taken as typed ahead


def laid_out(keys: tuple[FooterKey, ...], columns: int) -> list[KeySpan]:
    """Return the places of the keys; the last one at the right end, others as far as they fit."""
    if not keys:
        return []
    *others, last = keys
    end = columns - 1
    start = max(1, end - _wide(last))
    spans: list[KeySpan] = []
    at = 1
    for key in others:
        if at + _wide(key) + 2 > start:
            break
        spans.append(KeySpan(at, at + _wide(key), key))
        at += _wide(key) + 2
    return [*spans, KeySpan(start, start + _wide(last), last)]


def _wide(key: FooterKey) -> int:
    return width(key.key_name) + 1 + width(key.label)
