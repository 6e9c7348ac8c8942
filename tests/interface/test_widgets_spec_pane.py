"""The specification and its verdict: caret under the token at any width, filter, suggestion."""

from __future__ import annotations

import pytest

from probes.verdict import Refusal, Verdict
from tests.interface.widget_host import Host, count_paints
from widgets.spec_pane import SpecPane
from widgets.spec_text import Specification, broken, content

CSS = "SpecPane { border: round $primary; }"
LINE = "f:pw_3f/vfs_read__exit vfs_read%return f_pos=file->f_pos:s64 count ret=$retval"
WRONG = "f:pw_3f/vfs_read__exit vfs_read%return file->f_poss count"
REFUSED = Verdict(
    WRONG,
    Refusal("NO_BTF_FIELD", "This field is not found.", WRONG.index("f_poss"), "f_poss", "no such field", ("f_pos",)),
)
KINDS = (SpecPane.FilterChanged, SpecPane.FixRequested, SpecPane.Left)


def host(shown: Specification, theme: str = "") -> Host:
    def make() -> SpecPane:
        pane = SpecPane()
        pane.shown = shown
        return pane

    return Host(make, *KINDS, css=CSS, theme=theme)


@pytest.mark.parametrize("columns", [30, 40, 60, 78, 120])
def test_the_caret_stands_under_its_token(columns):
    lines = content(Specification((WRONG,), REFUSED), columns, False).plain.split("\n")
    above = next(n for n, line in enumerate(lines) if "f_poss" in line)
    caret = next(line for line in lines[above + 1 :] if "^" in line)
    assert caret.index("^") == lines[above].index("f_poss")
    assert caret.count("~") == len("f_poss") - 1
    assert "This field is not found." in " ".join(" ".join(lines).split())
    assert "did you mean f_pos?" in " ".join(" ".join(lines).split())
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("columns", [8, 20, 33, 79])
@pytest.mark.parametrize("text", [LINE, "", "x" * 100, "a " * 60])
def test_a_broken_line_loses_nothing_but_blanks(text, columns):
    slices = broken(text, columns)
    assert "".join(text[s.start : s.end] for s in slices).replace(" ", "") == text.replace(" ", "")
    shown = content(Specification((text,)), columns, False).plain
    assert shown.replace(" ", "").replace("\n", "") == text.replace(" ", "")


async def test_accepted_with_notes_and_lowered_lines():
    shown = Specification(
        (LINE,), Verdict(LINE), ("f:pw_3f/x vfs_read%return +64($arg1):s64",), ("read at exit",), "count > 4096"
    )
    app = host(shown)
    async with app.shown() as pilot:
        assert "✓ this kernel" in app.text
        assert "note: read at exit" in app.text
        assert "count > 4096" in app.text
        assert "+64($arg1)" not in app.text
        app.widget.focus()
        await pilot.press("l")
        assert "→ f:pw_3f/x" in app.text
        app.picture("spec_ok")


async def test_refused_and_the_suggestion_is_taken():
    app = host(Specification((WRONG,), REFUSED))
    async with app.shown() as pilot:
        app.picture("spec_refused")
        app.widget.focus()
        await pilot.press("enter")
        assert [(m.token, m.name) for m in app.heard] == [("f_poss", "f_pos")]


async def test_filter_is_typed_agreed_and_left():
    app = host(Specification((LINE,), Verdict(LINE)))
    async with app.shown() as pilot:
        app.widget.focus()
        await pilot.press("f", *"count > 1")
        assert app.heard == []
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert [m.text for m in app.heard if isinstance(m, SpecPane.FilterChanged)] == ["count > 1"]
        assert isinstance(app.heard[-1], SpecPane.Left)
        app.widget.shown = Specification((LINE,), Verdict(LINE), filter="count > 1")
        await pilot.press("f", "2", "escape")
        await pilot.pause(0.2)
        assert "count > 1 " in app.text + " "
        assert "count > 12" not in app.text
        assert len([m for m in app.heard if isinstance(m, SpecPane.FilterChanged)]) == 1


async def test_a_refusal_without_a_place_and_hostile_words():
    error = Refusal("missing_[/b]", "\x1b[31mno fprobe[/]", None, "", "use\na kprobe [red]")
    app = host(
        Specification((LINE + "[/x]\x1b]0;t\x07",), Verdict(LINE, error), notes=("[/]\x1b",)), theme="ansi-dark"
    )
    async with app.shown():
        app.picture("spec_hostile")
        assert r"missing_[/b]  \x1b[31mno fprobe[/]" in app.text
        assert "\x1b" not in app.text


async def test_idle():
    app = host(Specification((WRONG,), REFUSED))
    async with app.shown() as pilot:
        painted = [count_paints(widget) for widget in app.screen.query("*")]
        app.widget.shown = Specification((WRONG,), REFUSED)  # the same again
        await pilot.pause(0.5)
        assert sum(n[0] for n in painted) == 0
