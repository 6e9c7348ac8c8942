"""Foreign text: whatever goes in, one line of printable characters comes out."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.safe_content import safe_content
from widgets.safe_text import ELLIPSIS, LIMIT, cut, cut_middle, fit, safe, safe_lines, stand_ins, width


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"cat", "cat"),
        ("kworker/0:1-events", "kworker/0:1-events"),
        (b"\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        (b"\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("[/bad][@click=app.quit]x[/]", "[/bad][@click=app.quit]x[/]"),
        ("a\tb\nc\rd\0e", r"a\tb\nc\rd\0e"),
        (b"\xff\xfe ok", r"\xff\xfe ok"),
        (b"\x9b31m", r"\x9b31m"),
        ("\x9b31m", r"\x9b31m"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("a\u2066b\u2069\u200f\ufeff", r"a\u2066b\u2069\u200f\ufeff"),
        ("zero\u200bwidth\u00ad", r"zero\u200bwidth\xad"),
        ("line\u2028sep\u2029\x85", r"line\u2028sep\u2029\x85"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("blank\u3164\u2800", r"blank\u3164\u2800"),
        ("Z\u0301\u0302\u0303\u0304", "Z\u0301\u0302" + r"\u0303\u0304"),
        ("\u0301start", r"\u0301start"),
        ("naïve 日本", "naïve 日本"),
    ],
)
def test_each_kind_of_mischief(raw, shown):
    assert safe(raw) == shown


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_always_one_printable_line(raw):
    text = safe(raw)
    assert all(char.isprintable() or cell_len(char) == 0 for char in text)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text)
    assert "\n" not in text
    assert width(text) == cell_len(text)
    text.encode("utf-8")  # no lone surrogate is left


@given(st.text(max_size=60), st.integers(min_value=0, max_value=70))
def test_cut_and_fit_keep_to_their_columns(raw, columns):
    text = safe(raw)
    assert width(cut(text, columns)) <= columns
    assert width(fit(text, columns)) == columns
    assert width(fit(text, columns, right=True)) == columns
    if width(text) <= columns:
        assert cut(text, columns) == text
    elif columns > 0:
        assert cut(text, columns).endswith(ELLIPSIS)


@given(st.text(), st.integers(0, 40))
def test_a_cut_in_the_middle_keeps_both_ends(raw, columns):
    text = safe(raw)
    cut = cut_middle(text, columns)
    assert width(cut) <= columns
    if text.isascii() and len(text) > columns >= 3:
        before, after = cut.split("…")
        assert len(cut) == columns
        assert text.startswith(before)
        assert text.endswith(after)
        assert 0 <= len(before) - len(after) <= 1


def test_wide_letters_are_not_halved():
    assert cut("日本語", 4) == "日…"
    assert cut("日本語", 3) == "日…"
    assert cut("日本語", 2) == "…"
    assert fit("日本語", 4) == "日… "


def test_only_the_start_of_a_flood_is_read():
    assert safe("x" * 10_000_000) == "x" * LIMIT + ELLIPSIS
    assert len(safe(b"\x00" * 10_000_000)) == 2 * LIMIT + 1


def test_lines_break_at_line_feeds_only():
    assert safe_lines(b"one\r\ntwo\x0bthree\xff\nfour") == ["one", r"two\x0bthree\xff", "four"]
    assert safe_lines("a\n" * 5, limit=2) == ["a", "a", ELLIPSIS]


def test_content_takes_no_markup():
    assert safe_content("[bold]x[/bold] [/]").plain == "[bold]x[/bold] [/]"


@given(st.text(max_size=60))
@example("\U00011a33")  # a mark that has no letter before it
def test_what_is_edited_has_a_sign_for_each_letter_and_none_that_is_harmful(raw):
    text = stand_ins(raw)
    assert len(text) == len(raw)
    assert safe(text, len(text) + 1) == text
    assert all(shown == char for shown, char in zip(text, raw, strict=True) if safe(char) == char)


def test_a_control_character_is_shown_by_its_picture():
    assert stand_ins("a\x1b[31m\n\u202e漢e\u0301") == "a␛[31m␊\ufffd漢e\u0301"
