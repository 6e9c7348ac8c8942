"""The specification as a text that is edited: colours, caret, completions, undo, filter, the lines below."""

from __future__ import annotations

import pytest
from textual import events
from textual.pilot import Pilot

from probes.completion.choice import NOTHING, Completion, Completions, ItemKind, Priority
from probes.verdict import Refusal, Verdict
from tests.interface.widget_host import Host, count_paints, paste, until
from widgets.spec.completion_list import CompletionList
from widgets.spec.highlight import spans
from widgets.spec.layout import LONGEST, OtherKernel, Specification, broken, column_in, head, tail
from widgets.spec.spec_pane import SpecPane
from widgets.spec.undo_history import TextState, UndoHistory

CSS = "SpecPane { border: round $primary; dock: bottom; }"
LINE = "f:pw_3f/vfs_read__exit vfs_read%return f_pos=file->f_pos:s64 count ret=$retval"
WRONG = "f:pw_3f/vfs_read__exit vfs_read%return file->f_poss count"
REFUSED = Verdict(
    WRONG,
    Refusal("NO_BTF_FIELD", "This field is not found.", WRONG.index("f_poss"), "f_poss", "no such field", ("f_pos",)),
)
KINDS = (SpecPane.Edited, SpecPane.ArmRequested, SpecPane.Left)
NAMES = ",".join(f"function_{number}" for number in range(600))
ITEMS = (
    Completion("file->", ItemKind.ARGUMENT, "file->", "struct file *"),
    Completion("f_pos ", ItemKind.FIELD, "f_pos", "loff_t", 104, "s64"),
    Completion("f_flags ", ItemKind.FIELD, "f_flags", "unsigned int", 40, "u32"),
)


def begins(text: str, cursor: int) -> Completions:
    """Items that begin with the last word; three `x` can stand as they are."""
    start = text.rfind(" ", 0, cursor) + 1
    word = text[start:cursor]
    if word == "nothing":
        return NOTHING
    items = tuple(item for item in ITEMS if item.label.startswith(word))
    urge = Priority.STANDS if word == "" else Priority.NEEDED
    return Completions(start, cursor, items, urge, "" if items else "nothing begins so")


def host(shown: Specification, theme: str = "") -> Host:
    def make() -> SpecPane:
        pane = SpecPane(complete=begins)
        pane.show(shown)
        return pane

    return Host(make, *KINDS, css=CSS, theme=theme)


async def typed(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if letter == " " else letter for letter in text))


def left(app: Host) -> int:
    return sum(isinstance(message, SpecPane.Left) for message in app.heard)


def edits(app: Host) -> list[str]:
    return [m.text for m in app.heard if type(m) is SpecPane.Edited]


def lines_of(shown: Specification, columns: int, lowered: bool = False) -> list[str]:
    return [line.plain for line in (*head(shown, columns).lines, *tail(shown, columns, lowered))]


@pytest.mark.parametrize("columns", [30, 40, 60, 78, 120])
def test_the_caret_stands_under_its_token(columns):
    lines = lines_of(Specification(WRONG, REFUSED), columns)
    above = next(n for n, line in enumerate(lines) if "f_poss" in line)
    caret = next(line for line in lines[above + 1 :] if "^" in line)
    assert caret.index("^") == lines[above].index("f_poss")
    assert caret.count("~") == len("f_poss") - 1
    assert "This field is not found." in " ".join(" ".join(lines).split())
    assert "did you mean f_pos?" in " ".join(" ".join(lines).split())
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("typed", [WRONG, WRONG.replace(" ", "   "), f"  {WRONG}", WRONG.replace(" ", "\t")])
def test_the_caret_follows_the_text_as_typed(typed):
    column = column_in(typed, REFUSED)
    assert column is not None
    assert typed[column:].startswith("f_poss")


def test_a_caret_in_the_filter_and_one_in_another_text():
    text = "f vfs_read count  if  nonsense > 1"
    error = Refusal("FIELD_NOT_FOUND", "Field not found", 0, "nonsense")
    assert column_in(text, Verdict("nonsense > 1", error)) == text.index("nonsense")
    assert column_in(text, Verdict("p:pw/x vfs_read +0(%zz)", error)) is None
    assert column_in("", Verdict("", error)) == 0


@pytest.mark.parametrize("columns", [8, 20, 33, 79])
@pytest.mark.parametrize("text", [LINE, "", "x" * 100, "a " * 60, f"f {NAMES} count", f"f {NAMES}"])
def test_a_broken_line_loses_nothing_but_blanks(text, columns):
    slices = broken(text, columns)
    assert "".join(text[s.start : s.end] for s in slices).replace(" ", "") == text.replace(" ", "")
    shown = "\n".join(lines_of(Specification(text), columns))
    assert shown.replace(" ", "").replace("\n", "") == text.replace(" ", "")


@pytest.mark.parametrize("columns", [20, 33, 79])
def test_every_place_of_the_text_has_its_cell(columns):
    laid = head(Specification(WRONG, REFUSED), columns)
    for index, letter in enumerate(WRONG):
        x, y = laid.cell(index)
        assert letter == " " or laid.lines[y].plain[x] == letter
        assert letter == " " or laid.place(x, y) == index
    assert laid.place(500, 99) == len(WRONG)
    assert laid.place(0, 0) == 0


def test_every_part_has_its_look():
    text = 'f:g/e vfs_read%return n=file->f_pos:s64 $retval if n > 3 && comm == "a b" # why'
    seen = {text[span.start : span.end]: span.style for span in spans(text)}
    for part in ("f", ":g/e", "vfs_read", "%return", "n=", ":s64", "$retval", "if", "3", ">", "&&", '"a b"', "# why"):
        assert part in seen, part
    assert len({seen[part] for part in ("vfs_read", "%return", "n=", ":s64", "$retval", '"a b"')}) == 6
    assert all(a.end <= b.start for a, b in zip(spans(text), spans(text)[1:], strict=False))


def test_undo_takes_a_word_at_a_time():
    history, text = UndoHistory(), ""
    for letter in "f vfs":
        history.change(TextState(text, len(text)), TextState(text + letter, len(text) + 1))
        text += letter
    state = history.undo(TextState(text, 5))
    assert state is not None and state.text == "f"
    state = history.undo(state)
    assert state == TextState("", 0)
    assert history.undo(TextState("", 0)) is None
    redone = history.redo(TextState("", 0))
    assert redone is not None and redone.text == "f"
    history.change(redone, TextState("fx", 2))
    assert history.redo(TextState("fx", 2)) is None


async def test_accepted_with_notes_and_lowered_lines():
    shown = Specification(
        f"{LINE} if count > 4096",
        Verdict(LINE),
        ("f:pw_3f/x vfs_read%return +64($arg1):s64",),
        ("read at exit",),
        (
            OtherKernel("6.1", ("r:pw_3f/x vfs_read ret=$retval",), "no names"),
            OtherKernel("arm64", (), "no: no fprobes", refused=True),
        ),
    )
    app = host(shown)
    async with app.shown() as pilot:
        assert "✓ this kernel" in app.text
        assert "note: read at exit" in app.text
        assert "if count > 4096" in app.text
        assert "+64($arg1)" not in app.text
        app.widget.editor.focus()
        await pilot.press("ctrl+l")
        assert "→ f:pw_3f/x" in app.text
        assert "6.1: no names" in app.text
        assert "→ r:pw_3f/x vfs_read ret=$retval" in app.text
        assert "arm64: no: no fprobes" in app.text


async def test_refused_and_the_suggestion_is_taken():
    app = host(Specification(WRONG, REFUSED))
    async with app.shown() as pilot:
        app.widget.editor.focus()
        await pilot.press("tab")
        assert edits(app) == [WRONG.replace("f_poss", "f_pos")]
        await pilot.pause(0.2)
        await pilot.press("ctrl+z")
        assert edits(app)[-1] == WRONG


async def test_letters_open_the_list_and_keys_take_from_it():
    app = host(Specification())
    async with app.shown() as pilot:
        found = app.widget.query_one(CompletionList)
        app.widget.action_edit()
        await pilot.pause()
        assert found.opened
        assert found.chosen is None
        await typed(pilot, "f_")
        assert found.chosen == ITEMS[1]
        assert "loff_t" in app.text
        assert "+104" in app.text
        await pilot.press("down", "enter")
        assert edits(app)[-1] == "f_flags "
        await pilot.press("space", "tab")  # a blank that was put need not be typed
        assert edits(app)[-1] == "f_flags file->"
        await typed(pilot, "->")  # nor an arrow
        assert app.widget.editor.value == "f_flags file->"
        await typed(pilot, "zz")
        assert "nothing begins so" in app.text
        await pilot.press("escape")
        assert not found.opened
        assert not any(isinstance(m, SpecPane.Left) for m in app.heard)
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert isinstance(app.heard[-1], SpecPane.Left)
        assert app.widget.editor.value == "f_flags file->zz"


async def test_a_completion_has_tab_and_not_the_suggestion():
    app = host(Specification())
    async with app.shown() as pilot:
        app.widget.action_edit()
        await typed(pilot, "f_poss")
        error = Refusal("NO_BTF_FIELD", "This field is not found.", 0, "f_poss", "", ("f_pos",))
        app.widget.shown = Specification("f_poss", Verdict("f_poss", error))
        await pilot.pause()
        assert "did you mean f_pos? (tab)" in app.text  # nothing in the list
        await pilot.press("backspace")
        app.widget.shown = Specification("f_pos", Verdict("f_pos", error))
        await pilot.pause()
        assert app.widget.query_one(CompletionList).chosen is not None
        assert "NO_BTF_FIELD" in app.text
        assert "did you mean f_pos?" in app.text
        assert "(tab)" not in app.text


async def test_enter_arms_where_nothing_is_marked():
    app = host(Specification(LINE, Verdict(LINE)))
    async with app.shown() as pilot:
        app.widget.action_edit()
        await pilot.press("space")
        assert app.widget.query_one(CompletionList).opened
        await pilot.press("enter")
        assert isinstance(app.heard[-1], SpecPane.ArmRequested)
        assert not app.widget.query_one(CompletionList).opened


async def test_a_click_takes_and_places_the_cursor():
    app = host(Specification("f_pos f_fl", Verdict("")))
    async with app.shown() as pilot:
        await pilot.click(app.widget.editor, offset=(3, 0))
        assert app.widget.editor.cursor_position == 3
        app.widget.action_edit()
        await pilot.press("a", "backspace")
        found = app.widget.query_one(CompletionList)
        assert found.opened
        await pilot.click(found, offset=(4, 1))
        assert edits(app)[-1] == "f_pos f_flags "


async def test_another_text_comes_and_undo_brings_back_what_was_typed():
    app = host(Specification("f vfs_read"))
    async with app.shown() as pilot:
        app.widget.action_edit()
        await typed(pilot, " nothing")
        app.widget.show(Specification("f vfs_write count"))
        await pilot.pause()
        assert app.widget.editor.value == "f vfs_write count"
        await pilot.press("ctrl+z")
        assert app.widget.editor.value == "f vfs_read nothing"
        await pilot.press("ctrl+y")
        assert app.widget.editor.value == "f vfs_write count"
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert app.widget.editor.value == "f vfs_read"


async def test_an_answer_that_comes_late_changes_no_text():
    app = host(Specification("f vfs_read"))
    async with app.shown() as pilot:
        app.widget.action_edit()
        await typed(pilot, " f_p")
        app.widget.shown = Specification("f vfs_read f_", Verdict("f vfs_read f_", REFUSED.error))
        await pilot.pause()
        assert app.widget.editor.value == "f vfs_read f_p"
        assert "NO_BTF_FIELD" not in app.text
        assert app.widget.query_one(CompletionList).opened


async def test_keys_that_come_together_are_taken_for_what_they_are():
    """Over a slow connection keys come in one packet: none may overtake another on its way through the parents."""
    app = host(Specification())
    async with app.shown() as pilot:
        app.widget.action_edit()
        await pilot.pause()
        for key in ("f", "underscore", "p", "tab", "f", "underscore", "f", "tab", "f", "down", "down", "enter"):
            character = {"underscore": "_"}.get(key, key if len(key) == 1 else None)
            app.widget.editor.post_message(events.Key(key, character))
        await pilot.pause(0.3)
        assert app.widget.editor.value == "f_pos f_flags f_flags "
        assert edits(app)[-1] == app.widget.editor.value


async def test_the_cursor_walks_over_broken_lines():
    app = host(Specification(f"{LINE} {LINE}"))
    async with app.shown(40, 24) as pilot:
        app.widget.action_edit()
        editor = app.widget.editor
        await pilot.press("home")
        assert editor.cursor_cell == (0, 0)
        await pilot.press("end")
        assert editor.cursor_cell.y == editor.size.height - 1
        assert editor.size.height >= 4


async def test_the_list_fits_at_the_edges():
    app = host(Specification(f"{LINE} {LINE[:60]}"))
    async with app.shown(60, 12) as pilot:
        app.widget.action_edit()
        await typed(pilot, " f")
        found = app.widget.query_one(CompletionList)
        assert found.opened
        assert app.screen.region.contains_region(found.region)
        assert not found.region.overlaps(app.widget.editor.region)


async def test_filter_is_typed_agreed_and_left():
    app = host(Specification(LINE, Verdict(LINE)))
    async with app.shown() as pilot:
        pane = app.widget
        pane.action_filter()
        assert pane.editor.value == f"{LINE} if "
        await until(lambda: pane.completion.found_list.opened, pilot)
        await typed(pilot, "count > 1")
        await pilot.press("enter")
        assert pane.editor.value == f"{LINE} if count > 1"
        await until(lambda: left(app) == 1, pilot)
        pane.action_filter()
        await typed(pilot, "2")
        assert pane.editor.value == f"{LINE} if count > 12"
        pane.completion.close_list()
        await pilot.press("escape")
        assert pane.editor.value == f"{LINE} if count > 1"
        await until(lambda: left(app) == 2, pilot)
        pane.action_filter()
        await pilot.press("ctrl+u")
        assert pane.editor.value == f"{LINE} if ", "the probe is not part of its filter"
        await pilot.press("enter")
        assert pane.editor.value == LINE
        assert not any(isinstance(m, SpecPane.ArmRequested) for m in app.heard)
        pane.action_edit()
        await pilot.press("enter")
        await until(lambda: isinstance(app.heard[-1], SpecPane.ArmRequested), pilot)


async def test_blanks_in_the_text_of_a_filter_stay():
    app = host(Specification(LINE, Verdict(LINE)))
    async with app.shown() as pilot:
        app.widget.action_filter()
        await typed(pilot, 'COMM  == "a  b"')
        await pilot.press("enter")
        assert app.widget.editor.value == f'{LINE} if COMM == "a  b"'


async def test_a_refusal_without_a_place_and_hostile_words():
    error = Refusal("missing_[/b]", "\x1b[31mno fprobe[/]", None, "", "use\na kprobe [red]")
    app = host(Specification(LINE + "[/x]\x1b]0;t\x07", Verdict(LINE, error), notes=("[/]\x1b",)), theme="ansi-dark")
    async with app.shown():
        assert r"missing_[/b]  \x1b[31mno fprobe[/]" in app.text
        assert "\x1b" not in app.text


async def test_what_is_pasted_is_harmless():
    app = host(Specification())
    async with app.shown() as pilot:
        app.widget.action_edit()
        app.widget.editor.insert("f \x1b[31m\u202evfs", 0)
        await pilot.pause()
        assert app.widget.editor.value == r"f \x1b[31m\u202evfs"
        assert "\x1b" not in app.text


async def test_idle():
    app = host(Specification(WRONG, REFUSED))
    async with app.shown() as pilot:
        painted = [count_paints(widget) for widget in app.screen.query("*")]
        app.widget.show(Specification(WRONG, REFUSED))  # the same again
        await pilot.pause(0.5)
        assert sum(n[0] for n in painted) == 0


@pytest.mark.parametrize("columns", [40, 78])
def test_what_is_told_of_other_kernels_is_broken_not_cut(columns):
    told = "no: this kernel has arguments at the entry only; an event of their own shows them before the call"
    other = OtherKernel("6.1, arm64:6.12", (), told, refused=True)
    note = "vfs_read has 1168 bytes: vfs_read+0x99999 is in fscrypt_free_bounce_page, 41 bytes in"
    shown = tail(Specification("f x", Verdict("f x"), notes=(note,), others=(other,)), columns, lowered=True)
    lines = [line.plain for line in shown]
    assert all(len(line) <= columns for line in lines)
    whole = " ".join(" ".join(lines).split())
    assert f"note: {note}" in whole
    assert f"6.1, arm64:6.12: {told}" in whole


async def test_tab_takes_a_text_that_was_put_right():
    error = Refusal(
        "BAD_FETCH_ARG", "Invalid fetch argument", 11, "%di", "a kprobe has registers", (), "p vfs_read %di"
    )
    app = host(Specification("f vfs_read %di", Verdict("f vfs_read %di", error)))
    async with app.shown() as pilot:
        pane = app.query_one(SpecPane)
        assert "put right (tab): p vfs_read %di" in " ".join(lines_of(pane.shown, 78))
        pane.action_edit()
        await pilot.press("tab")
        assert pane.editor.value == "p vfs_read %di"
        assert not [m for m in app.heard if isinstance(m, SpecPane.ArmRequested)]


def test_what_is_only_lowered_says_so():
    shown = Specification("f x%return a", Verdict("f x%return a"), ("r:g/x x a=$arg1",), lowered_only=True)
    assert lines_of(shown, 60)[0].endswith("✓ lowered")


async def test_a_text_that_goes_on_is_not_wrong_yet():
    text = "file->"
    error = Refusal("NO_BTF_FIELD", "This field is not found.", len(text), "", "the name of a member follows")
    app = host(Specification("", None))
    async with app.shown() as pilot:
        pane = app.query_one(SpecPane)
        pane.action_edit()
        await typed(pilot, "fil")
        await pilot.press("tab")
        pane.shown = Specification(text, Verdict(text, error))
        await pilot.pause()
        assert pane.editor.value == text
        pane.editor.listed = True
        await pilot.pause()
        assert "NO_BTF_FIELD" not in app.text
        pane.completion.close_list()
        await pilot.pause()
        assert "NO_BTF_FIELD" in app.text


def test_a_long_list_is_broken_behind_its_commas() -> None:
    lines = ["f tcp_ack,tcp_close,", "tcp_open"]
    text = "".join(lines)
    assert [text[part.start : part.end] for part in broken(text, 24)] == lines


async def test_of_a_long_text_the_cursor_and_the_verdict_stay_in_sight() -> None:
    app = host(Specification("", None))
    async with app.shown() as pilot:
        pane = app.query_one(SpecPane)
        pane.styles.max_height = 8
        pane.action_edit()
        await pilot.pause()
        await paste(pilot, f"f {NAMES}")
        assert pane.editor.value == f"f {NAMES}" and len(NAMES) > 4096
        pane.shown = Specification(pane.editor.value, Verdict("x"), notes=("a note",))
        await until(lambda: "✓ this kernel" in app.text and "function_599" in app.text, pilot)
        await pilot.press("home")
        await until(lambda: "f function_0," in app.text, pilot)
        await pilot.press("end", "x")
        await until(lambda: "function_599x" in app.text, pilot)


async def test_a_text_that_is_too_long_is_not_cut(monkeypatch) -> None:
    app = host(Specification("f vfs_read", None))
    said: list[str] = []
    monkeypatch.setattr(app, "notify", lambda text, **_: said.append(text))
    async with app.shown() as pilot:
        pane = app.query_one(SpecPane)
        pane.action_edit()
        await pilot.pause()
        await paste(pilot, "a" * LONGEST)
        assert pane.editor.value == "f vfs_read"
        assert said == ["not pasted: a specification has at most 262,144 letters; @FILE takes names from a file"]


async def test_a_key_that_comes_before_the_pane_is_whole_gives_the_text_the_keyboard():
    app = host(Specification("", None))
    async with app.shown() as pilot:
        pane = SpecPane(complete=begins)
        waiting = app.screen.mount(pane)
        pane.action_edit()
        await waiting
        await typed(pilot, "fil")
        assert pane.editor.value == "fil"
