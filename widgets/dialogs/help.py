"""Help screen, generated from the tables of keys; `/` or any letter that is no key here searches it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.keys import format_key
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Label

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import fit, safe, width
from widgets.search_line import FindLine

_NAMES = {"enter": "enter", "tab": "tab", "backspace": "backspace"}
"""Keys that Textual shows as symbols which many terminal fonts lack."""


class HelpKey(NamedTuple):
    """Line of help."""

    key: str
    """Key as people write it: `space`, `/`, `^q`."""
    text: str


class HelpSection(NamedTuple):
    """Keys of one place."""

    title: str
    keys: tuple[HelpKey, ...]
    intro: str = ""
    """Introduction in a line or two."""


def section(title: str, bindings: Iterable[BindingType], intro: str = "") -> HelpSection:
    """Return the keys of a `BINDINGS` table; keys with the same help share a line."""
    lines: dict[str, list[str]] = {}
    for binding in Binding.make_bindings(bindings):
        text = binding.tooltip or binding.description
        if text and not binding.system:
            lines.setdefault(text, []).append(shown_key(binding))
    return HelpSection(
        title, tuple(HelpKey(_keys(list(dict.fromkeys(keys))), text) for text, keys in lines.items()), intro
    )


def shown_key(binding: Binding) -> str:
    """Return the key of a binding as people write it; `ctrl+t`, not the `^t` for which the foot has room."""
    shown = binding.key_display or _NAMES.get(binding.key) or format_key(binding.key)
    return f"ctrl+{shown[1:]}" if len(shown) > 1 and shown[0] == "^" else shown


class HelpScreen(Dialog[None]):
    """Dialog with the sections one below the other; scrolls by keys and wheel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1,enter,q", "leave", "Close", show=False, id="help.close", tooltip="Close help"),
        Binding(
            "slash",
            "search",
            "Search",
            key_display="/",
            id="help.search",
            tooltip="Find a key, or what one does; so does any letter that is no key here",
        ),
        Binding("n", "hit(1)", "Next hit", id="help.next_hit", tooltip="Next line with the text"),
        Binding("N", "hit(-1)", "Hit before", id="help.hit_before", tooltip="Previous line with the text"),
    ]

    DEFAULT_CSS = """
    HelpScreen {
        & .box { height: 90%; }
        & .sections { height: 1fr; }
        & .search { display: none; height: 1; }
        &.-searching .search { display: block; }
        & .search Label { width: auto; }
        & .prompt { color: $text-accent; text-style: bold; }
        & .found { color: $text-muted; padding: 0 0 0 1; }
    }
    """

    def __init__(self, title: str, sections: Sequence[HelpSection]) -> None:
        super().__init__()
        self._title = title
        self._text = HelpText(sections)
        self._scroll = VerticalScroll(self._text, classes="sections")
        self._query = FindLine("a key, or what it does")
        self._found = Label("", classes="found", markup=False)
        self._at = -1
        """Line of the match that was gone to; -1: none."""

    def compose(self) -> ComposeResult:
        """Yield all sections, and the search line, hidden until it is asked for."""
        with Vertical(classes="box") as box:
            box.border_title = safe_content(self._title)
            box.border_subtitle = "/ searches · esc closes"
            yield self._scroll
            with Horizontal(classes="search"):
                yield Label("/ ", classes="prompt", markup=False)
                yield self._query
                yield self._found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow the keys for matches only during a search."""
        return self.has_class("-searching") if action == "hit" else True

    def on_key(self, event: events.Key) -> None:
        """Begin a search with a letter that is no key of the help."""
        letter = event.character or ""
        bound = self._bindings.key_to_bindings.get(event.key)
        free = not bound or not any(self.check_action(one.action.partition("(")[0], ()) for one in bound)
        if len(letter) == 1 and letter.isalnum() and free and self.focused is not self._query:
            event.stop()
            self.action_search()
            self._query.value = letter

    def action_search(self) -> None:
        """Ask for a text."""
        self.add_class("-searching")
        self.set_focus(self._query)
        self.refresh_bindings()

    def action_leave(self) -> None:
        """Search nothing more; without a search, close."""
        if not self.has_class("-searching"):
            super().action_leave()
            return
        self.remove_class("-searching")
        self._query.value = ""
        self.set_focus(self._scroll)
        self.refresh_bindings()

    def action_hit(self, step: int) -> None:
        """Go to the next line with the text; after the last one to the first."""
        hits = self._text.hits
        if hits:
            at = next((n for n, line in enumerate(hits) if line >= self._at), 0)
            there = self._at in hits
            self._go_to(hits[(at + step if there else at if step > 0 else at - 1) % len(hits)])

    def _go_to(self, line: int) -> None:
        hits = self._text.hits
        self._at = self._text.current = line
        count = f"{hits.index(line) + 1} of {len(hits)}" if line in hits else "no line has that"
        self._found.update(count if self._query.value else "")
        if line >= 0:
            self._scroll.scroll_to(y=line - self._scroll.size.height // 3, animate=False)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """Go to the first line with the text from where one is."""
        event.stop()
        self._text.search = event.value
        hits = self._text.hits
        self._go_to(next((line for line in hits if line >= self._at), hits[0]) if hits else -1)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Give the keyboard to the text, for the keys that go to the next line."""
        event.stop()
        self.set_focus(self._scroll)


class HelpText(Widget):
    """Text of the sections, as high as necessary."""

    DEFAULT_CSS = """
    HelpText { width: 1fr; height: auto; }
    """

    search: reactive[str] = reactive("")
    """Text that is highlighted."""
    current: reactive[int] = reactive(-1)
    """Line with the match that was gone to; -1: none."""

    def __init__(self, sections: Sequence[HelpSection]) -> None:
        super().__init__()
        self._sections = sections

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines."""
        return help_text(self._sections, width).plain.count("\n") + 1

    @property
    def hits(self) -> list[int]:
        """Numbers of the lines that have the text."""
        pattern = self.search.strip().lower()
        lines = help_text(self._sections, self.size.width).plain.lower().split("\n")
        return [n for n, line in enumerate(lines) if pattern and pattern in line]

    def render(self) -> Content:
        """Return the lines, with the text that is searched marked."""
        text, pattern = help_text(self._sections, self.size.width), self.search.strip().lower()
        if not pattern:
            return text
        return Content("\n").join(
            _marked(line, pattern, is_current=n == self.current) for n, line in enumerate(text.split("\n"))
        )


def help_text(sections: Sequence[HelpSection], columns: int) -> Content:
    """Return titles, keys in one column for all sections, and their help, wrapped at blanks."""
    keys = max((width(key.key) for one in sections for key in one.keys), default=0)
    lines: list[Content] = []
    for one in sections:
        lines += [Content("")] if lines else []
        lines.append(Content.styled(safe(one.title), "bold underline"))
        lines += [Content.styled(line, "dim") for line in wrap(safe(one.intro), max(20, columns))]
        for key in one.keys:
            shown = fit(safe(key.key), keys)
            for text in wrap(safe(key.text), max(20, columns - keys - 4)) or [""]:
                lines.append(Content.assemble((f"  {shown}  ", "bold $text-accent"), text))
                shown = " " * keys
    return Content("\n").join(lines)


def _marked(line: Content, pattern: str, *, is_current: bool) -> Content:
    """Return a line in which each place of the pattern, in small letters, has a colour."""
    plain, at = line.plain.lower(), -1
    look = "$block-cursor-foreground on $block-cursor-background" if is_current else "$text-accent on $accent-muted"
    if len(plain) != len(line.plain):  # a letter whose small form is longer
        return line
    while (at := plain.find(pattern, at + 1)) >= 0:
        line = line.stylize(look, at, at + len(pattern))
    return line


def _keys(keys: list[str]) -> str:
    return f"{keys[0]} … {keys[-1]}" if len(keys) > 3 else " ".join(keys)
