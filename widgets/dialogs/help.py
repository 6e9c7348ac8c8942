"""Help screen, generated from the tables of keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.keys import format_key
from textual.widget import Widget

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import fit, safe, width

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
    """Return the key of a binding as people write it."""
    return binding.key_display or _NAMES.get(binding.key) or format_key(binding.key)


class HelpScreen(Dialog[None]):
    """Dialog with the sections one below the other; scrolls by keys and wheel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1,enter,q", "leave", "Close", show=False, id="help.close", tooltip="Close help"),
    ]

    DEFAULT_CSS = """
    HelpScreen .box { height: 90%; }
    """

    def __init__(self, title: str, sections: Sequence[HelpSection]) -> None:
        super().__init__()
        self._title = title
        self._sections = tuple(sections)

    def compose(self) -> ComposeResult:
        """Yield all sections."""
        with VerticalScroll(classes="box") as box:
            box.border_title = safe_content(self._title)
            box.border_subtitle = "esc closes"
            yield HelpText(self._sections)


class HelpText(Widget):
    """Text of the sections, as high as necessary."""

    DEFAULT_CSS = """
    HelpText { width: 1fr; height: auto; }
    """

    def __init__(self, sections: Sequence[HelpSection]) -> None:
        super().__init__()
        self._sections = sections

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines."""
        return help_text(self._sections, width).plain.count("\n") + 1

    def render(self) -> Content:
        """Return the lines."""
        return help_text(self._sections, self.size.width)


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


def _keys(keys: list[str]) -> str:
    return f"{keys[0]} … {keys[-1]}" if len(keys) > 3 else " ".join(keys)
