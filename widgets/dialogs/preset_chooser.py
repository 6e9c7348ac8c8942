"""Chooser of presets: search line, list, and the description of the current preset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from probes.presets.schema import Preset
from probes.presets.search import matches, nearest, ranked, words_of
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width
from widgets.search_line import SearchLine


@dataclass(frozen=True, slots=True)
class ListedPreset:
    """Preset in the list."""

    name: str
    origin: str
    """Place where it was found: `project`, `user` or `shipped`."""
    path: str
    preset: Preset | None
    error: str = ""
    """Reason why it can't be used; empty: it can."""


@dataclass(frozen=True, slots=True)
class PresetCheck:
    """Result of checking a preset against the target."""

    accepted: bool
    verdict: str
    """Text `accepted by Linux 7.2`, or what is rejected and why; empty: the check is running."""
    lines: tuple[str, ...] = ()
    """Lines that would be written."""
    losses: tuple[str, ...] = ()
    in_list: str = ""
    """Short reason for a row of the list; empty: the verdict."""
    depends_on_values: bool = False
    """True if it is rejected with its default values, and others may be accepted."""

    @property
    def is_final(self) -> bool:
        """True if it is rejected whatever the values of its parameters are."""
        return not self.accepted and not self.depends_on_values


_LEAST_REASON = 21
"""Columns that a reason gets of a row that has twice as many: `not in this recording`."""


class _PresetRows:
    """Rows of presets: the question of each, and why the target can't answer it."""

    first = 0

    def __init__(self, presets: Sequence[ListedPreset], checks: Mapping[ListedPreset, PresetCheck]) -> None:
        self.presets = tuple(presets)
        self.next = len(self.presets)
        self._checks = checks

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        one = self.presets[row]
        named = min(max((width(safe(other.name)) for other in self.presets), default=0), columns // 2)
        checked = self._checks.get(one)
        refused = one.preset is None or (checked is not None and not checked.accepted)
        yield Piece("✗ " if refused else "  ", "bad")
        yield Piece(fit(safe(one.name), named), "dim" if refused else "name")
        asked = one.preset.question or one.preset.title if one.preset else f"can't be used: {one.error}"
        own = f"  [{one.origin}]" if one.origin != "shipped" else ""
        room = max(0, columns - named - 4 - width(own))
        reason = safe(checked.in_list or checked.verdict) if checked is not None and refused else ""
        kept = min(width(reason), _LEAST_REASON) + 2 if reason and room >= 2 * _LEAST_REASON else 0
        asked = cut(safe(asked), room - kept)
        yield Piece(f"  {asked}", ("dim" if refused else "") if one.preset else "bad")
        yield Piece(own, "dim")
        room -= width(asked) + 2
        if reason and (room >= _LEAST_REASON or kept):
            yield Piece("  " + cut(reason, room), "bad")


class _Search(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Arm", key_display="enter", id="presets.choose"),
        Binding("enter", "submit_first", "Choose", key_display="enter"),
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to arm a row that has the text, and to choose another one."""
        if action not in ("submit", "submit_first"):
            return True
        takes = next(node for node in self.ancestors if isinstance(node, PresetChooser)).takes_current
        return takes == (action == "submit")

    async def action_submit_first(self) -> None:
        """Submit the text."""
        await self.action_submit()


class PresetChooser(Vertical):
    """Chooser with the keyboard in the search line; up and down move in the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Arm", key_display="enter", id="presets.choose", tooltip="Arm it"),
        Binding("up", "move(-1)", "Up", show=False, id="presets.up", tooltip="To the preset above"),
        Binding("down", "move(1)", "Down", show=False, id="presets.down", tooltip="To the preset below"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="presets.page_up", tooltip="Description, a page up"),
        Binding("pagedown", "page(1)", "Read on", id="presets.page_down", tooltip="Description, a page down"),
        Binding("f6", "edit", "Edit", id="presets.edit", tooltip="Edit its file in $EDITOR, then check it again"),
    ]

    DEFAULT_CSS = """
    PresetChooser {
        background: $surface;
        & Horizontal { height: 1; }
        & .prompt { width: 4; color: $text-accent; text-style: bold; }
        & LineList { height: auto; max-height: 40%; min-height: 1; }
        & VerticalScroll { height: 1fr; padding: 0 1; border-top: solid $foreground 30%; }
        & Static { height: auto; }
    }
    """

    class Highlighted(Message):
        """Sent when another preset is current; the receiver checks it against the target."""

        def __init__(self, one: ListedPreset) -> None:
            super().__init__()
            self.one = one

    class Chosen(Highlighted):
        """Request to arm the preset."""

    class EditRequested(Highlighted):
        """Request to edit the preset's file."""

    def __init__(self, searched: str = "") -> None:
        """Set the text that is searched first."""
        super().__init__()
        self.border_title = "presets"
        self._all: tuple[ListedPreset, ...] = ()
        self._moved = False
        """True if a key chose a row since the text was typed."""
        self._search = _Search("words, #tag")
        self._search.value = searched
        self._checks: dict[ListedPreset, PresetCheck] = {}
        self._list = LineList(_PresetRows((), self._checks))
        self._list.can_focus = False
        self._about = Static("", markup=False)
        self._scroll = VerticalScroll(self._about, can_focus=False)

    def compose(self) -> ComposeResult:
        """Yield search line, list and description."""
        with Horizontal():
            yield Label(" / ", classes="prompt", markup=False)
            yield self._search
        yield self._list
        yield self._scroll

    @property
    def current(self) -> ListedPreset | None:
        """Current preset of the list."""
        presets = self._shown
        return presets[self._list.cursor] if 0 <= self._list.cursor < len(presets) else None

    def show(self, presets: Sequence[ListedPreset]) -> None:
        """Show other presets; the cursor stays on the current name."""
        name = self.current.name if self.current else ""
        self._all = tuple(presets)
        self._search_for(self._search.value, name)

    def say(self, one: ListedPreset, looked: PresetCheck) -> None:
        """Show the result of a check: in the preset's row, and below if it is still current."""
        self._checks[one] = looked
        self._list.rows_changed()
        if self.current == one:
            self._about.update(about(one, looked))

    def rank(self) -> None:
        """List first, of equally good matches, what the target accepts; the cursor goes along with a preset that a
        key chose, or to the top.
        """
        current, is_chosen = self.current, self._moved or bool(self._search.value.strip())
        self._search_for(self._search.value, current.name if current is not None and is_chosen else "")

    def forget_checks(self) -> None:
        """Drop the results of all checks, as another target is open."""
        self._checks.clear()
        self._list.rows_changed()

    def focus_search(self) -> None:
        """Focus the search line."""
        self.screen.set_focus(self._search)

    @property
    def _shown(self) -> tuple[ListedPreset, ...]:
        rows = self._list.rows
        return rows.presets if isinstance(rows, _PresetRows) else ()

    def _search_for(self, text: str, name: str) -> None:
        every = sorted(self._all, key=self._is_refused)  # equally good matches keep this order
        found = [every[n] for n in ranked([(one.name, one.preset) for one in every], text)]
        self._list.rows = _PresetRows(found, self._checks)
        self._list.move_to(next((row for row, one in enumerate(found) if one.name == name), 0))
        self.border_subtitle = f"{len(found)} of {len(self._all)}"
        self.refresh_bindings()
        if not found:
            self._about.update(Content("\n".join(nothing_fits(self._all, text))))
        elif self.current is not None:
            self.post_message(self.Highlighted(self.current))

    def _is_refused(self, one: ListedPreset) -> bool:
        checked = self._checks.get(one)
        return one.preset is None or (checked is not None and checked.is_final)

    def action_move(self, step: int) -> None:
        """Move the cursor up or down."""
        self._moved = True
        self._list.action_move(step)
        self.refresh_bindings()

    def action_page(self, step: int) -> None:
        """Scroll the description."""
        self._scroll.scroll_relative(y=step * max(1, self._scroll.size.height - 1), animate=False)

    @property
    def takes_current(self) -> bool:
        """True where Enter arms: a key chose the row under the cursor, its row has the text, or no other is left."""
        text, one = self._search.value.strip(), self.current
        if one is None or not text or self._moved or len(self._shown) == 1:
            return True
        asked = f"{one.preset.question or one.preset.title} #{' #'.join(one.preset.tags)}" if one.preset else ""
        return all(word in f"{one.name} {asked}".lower() for word in words_of(text))

    def action_choose(self) -> None:
        """Arm the preset with the typed name, or the current one; one whose row has not the text is chosen first."""
        text = self._search.value.strip()
        named = next((one for one in self._shown if one.name == text), None)
        one = named or self.current
        if one is None:
            return
        if named is not None or self.takes_current:
            self.post_message(self.Chosen(one))
        else:
            self._moved = True
            self.refresh_bindings()
            told = f"{one.name} has the text in its description: Enter once more takes it, ↓ goes to the next one"
            self.notify(told, markup=False)

    def action_edit(self) -> None:
        """Request to edit the current preset's file."""
        if self.current is not None:
            self.post_message(self.EditRequested(self.current))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._moved = False
        self._search_for(event.value, "")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        self._moved = True
        self.action_choose()

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if self.current is not None:
            self._scroll.scroll_home(animate=False)
            self._about.update(about(self.current, PresetCheck(True, "")))
            self.post_message(self.Highlighted(self.current))


def nothing_fits(presets: Sequence[ListedPreset], text: str) -> list[str]:
    """Return the text for a search without results: similar words, and existing tags."""
    lines = ["nothing fits; Esc goes back, `probewright preset save` makes one"]
    own = [(one.name, one.preset) for one in presets]
    for word in words_of(text):
        alone = not word.startswith("#") and not any(matches(*one, word) for one in own)
        if alone and (near := nearest(word, own)):
            lines.append(f"{safe(word)}: did you mean {' or '.join(map(safe, near))}?")
    if any(word.startswith("#") for word in text.split()):
        tags = sorted({tag.lower() for one in presets if one.preset for tag in one.preset.tags})
        lines.append("tags that there are: " + (" ".join(f"#{safe(tag)}" for tag in tags) or "none"))
    return lines


def about(one: ListedPreset, looked: PresetCheck) -> Content:
    """Return the description of a preset."""
    preset = one.preset
    if preset is None:
        return Content.assemble(("✗ ", "bold $text-error"), safe(one.error), "\n", (safe(one.path), "dim"))
    lines = [Content.assemble((safe(preset.question or preset.title), "bold"))]
    if preset.question:
        lines.append(Content(safe(preset.title)))
    if looked.verdict:
        sign = ("✓ ", "$text-success") if looked.accepted else ("✗ ", "bold $text-error")
        lines.append(Content.assemble(sign, safe(looked.verdict)))
    lines += [Content.assemble(("! ", "bold $text-warning"), safe(loss)) for loss in looked.losses]
    if preset.tags:
        lines.append(Content.assemble((" ".join(f"#{safe(tag)}" for tag in preset.tags), "$text-accent")))
    lines += [Content(safe(" ".join(part.split()))) for part in preset.description.split("\n\n") if part.strip()]
    for parameter in preset.parameters:
        default = f" = {parameter.default}" if parameter.default else ""
        lines.append(
            Content.assemble(
                (safe(parameter.name), "$text-accent"), safe(f" {parameter.type}{default}  {parameter.help}")
            )
        )
    lines += [Content.assemble(("  ", ""), (safe(line), "dim")) for line in looked.lines]
    lines.append(
        Content.assemble(
            (safe(f"{one.origin}: {one.path if one.origin != 'shipped' else Path(one.path).name}"), "dim")
        )
    )
    return Content("\n").join(lines)
