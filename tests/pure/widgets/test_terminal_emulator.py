"""The terminal of a command: what programs write is drawn as on a terminal, and hostile bytes grow nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from widgets.safe_text import safe
from widgets.terminal.emulator import Emulator, Look
from widgets.terminal.output_filter import OutputFilter
from widgets.terminal.typed_bytes import bytes_of, pasted

ROWS, COLUMNS, HISTORY = 5, 20, 10
FINALS = "@ABCDEFGHJKLMPSTXZ`abcdefghilmnqrstux~"
SEQUENCES = st.one_of(
    st.builds(
        lambda private, numbers, between, final: f"\x1b[{private}{';'.join(numbers)}{between}{final}".encode(),
        st.sampled_from(["", "?", ">", "="]),
        st.lists(
            st.sampled_from(["", "0", "1", "3", "5", "6", "38", "48", "2", "47", "255", "1049", "9999", "9" * 30])
        ),
        st.sampled_from(["", "", "", " ", "$", "!"]),
        st.sampled_from(FINALS),
    ),
    st.sampled_from(
        [b"\x1b7", b"\x1b8", b"\x1bc", b"\x1bD", b"\x1bE", b"\x1bM", b"\x1bH", b"\x1b#8", b"\x1b(0", b"\x1b%G"]
    ),
    st.sampled_from([b"\x1b]0;", b"\x1bP", b"\x1b_", b"\x1b\\", b"\a", b"\x9c", b"\x18", b"\x1b", b"\x1b["]),
)
TEXT = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(
        ["é".encode(), "e\u0301".encode() * 50, "\u0301".encode() * 50, "漢字".encode() * 30, b"\r", b"\n", b"\t"]
    ),
    st.sampled_from([b"x" * 500, "²".encode(), "a\u200db".encode()]),
)
HOSTILE = st.lists(st.one_of(SEQUENCES, TEXT), max_size=60)


def check_bounds(emulator: Emulator, widest: int = COLUMNS) -> None:
    """Nothing is larger than the screen and the lines that are kept, as wide as it was; each line can be drawn."""
    assert (emulator.rows, emulator.columns) == (ROWS, COLUMNS)
    assert emulator.gone <= HISTORY
    for number in range(emulator.gone + ROWS):
        line = emulator.line(number)
        text = "".join(run.text for run in line)
        assert len(text) <= (widest if number < emulator.gone else COLUMNS)
        assert safe(text) == text
    cursor = emulator.cursor
    assert cursor is None or (0 <= cursor[0] < ROWS and 0 <= cursor[1] < COLUMNS)
    screen = emulator._screen
    assert len(screen.savepoints) <= 2 and len(screen.mode) <= 20 and len(screen.tabstops) <= COLUMNS
    assert screen.title == screen.icon_name == ""
    assert set(screen.buffer) <= set(range(ROWS + 1))


@pytest.mark.parametrize("part", [4, 9, 9999])
@pytest.mark.parametrize("what", "JK")
def test_to_erase_a_part_that_is_unknown_erases_nothing(part: int, what: str) -> None:
    emulator = Emulator(ROWS, COLUMNS, HISTORY)
    emulator.feed(f"here\x1b[{part}{what}".encode())
    assert "".join(run.text for run in emulator.line(0)).startswith("here")


@settings(max_examples=100)
@given(HOSTILE, st.integers(1, 50))
def test_hostile_output_raises_nothing_and_grows_nothing(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    emulator = Emulator(ROWS, COLUMNS, HISTORY)
    answers = 0
    for at in range(0, len(data), size):
        answers += len(emulator.feed(data[at : at + size]))
    check_bounds(emulator)
    assert answers <= 12 * len(data)


@settings(max_examples=100)
@given(HOSTILE, st.integers(1, 7))
def test_pieces_make_no_difference(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    whole, pieces = OutputFilter(), OutputFilter()
    told, fed = whole.feed(data), "".join(pieces.feed(data[at : at + size]) for at in range(0, len(data), size))
    # A mark is composed with the letter before it, where both come at once.
    if told.isascii() and len(data) < 60:  # and a sequence is dropped from some length on
        assert fed == told
    assert len(pieces._rest) <= 65


@settings(max_examples=50)
@example([b"\x1b7", b"e" * 50], [(0, 21)])
@given(HOSTILE, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 90)), min_size=1, max_size=5))
def test_any_size_can_be_taken_at_any_time(parts: list[bytes], sizes: list[tuple[int, int]]) -> None:
    emulator = Emulator(ROWS, COLUMNS, HISTORY)
    for number, part in enumerate(parts or [b""]):
        emulator.feed(part)
        emulator.resize(*sizes[number % len(sizes)])
    emulator.resize(ROWS, COLUMNS)
    check_bounds(emulator, max(COLUMNS, *(columns for _, columns in sizes)))


def test_what_never_ends_is_dropped() -> None:
    emulator = Emulator(ROWS, COLUMNS, HISTORY)
    for begin, end in ((b"\x1b]0;", b"\a"), (b"\x1bPq", b"\x1b\\"), (b"\x1b[", b"m"), (b"\x1b[1;", b"$p")):
        emulator.feed(begin)
        for _ in range(100):
            emulator.feed(b"1" * 10_000)
            assert len(emulator._filter._rest) <= 64
        emulator.feed(end + b"x")
    assert emulator.text() == "xxxx"


def test_progress_colours_and_the_cursor_are_those_of_a_terminal() -> None:
    emulator = Emulator(4, 30)
    emulator.feed(b"\x1b[1;31mred\x1b[0m \x1b[38;5;208mx\x1b[48;2;1;2;3my\x1b[m\r\n")
    emulator.feed(b"  1%\r 50%\r100%\r\nab\x1b[2D\x1b[K!\x1b[1;10Hover")
    assert emulator.text() == "red xy   over\n100%\n!"
    assert [run.look for run in emulator.line(0)][:4] == [
        Look("red", bold=True),
        Look(),
        Look("ff8700"),
        Look("ff8700", "010203"),
    ]
    assert emulator.cursor == (0, 13)
    emulator.feed(b"\x1b[?25l")
    assert emulator.cursor is None


def test_lines_that_went_up_are_kept_but_not_those_of_the_other_screen() -> None:
    emulator = Emulator(3, 30, history=5)
    emulator.feed(b"".join(b"line %d\r\n" % number for number in range(20)))
    assert emulator.gone == 5
    assert emulator.text().split("\n") == [f"line {number}" for number in range(13, 20)]
    emulator.feed(b"\x1b[?1049h\x1b[H" + b"full screen\r\n" * 10)
    assert "full screen" in emulator.text() and emulator.gone == 5
    emulator.feed(b"\x1b[?1049l")
    assert emulator.text().split("\n") == [f"line {number}" for number in range(13, 20)]


def test_requests_are_answered() -> None:
    emulator = Emulator(4, 30)
    assert emulator.feed(b"ab\x1b[6n") == b"\x1b[1;3R"
    assert emulator.feed(b"\x1b[c") == b"\x1b[?6c"
    assert len(emulator.feed(b"\x1b[6n" * 10_000)) <= 1024


def test_keys_are_those_of_a_linux_terminal() -> None:
    keys = {("a", "a"): b"a", ("ä", "ä"): "ä".encode(), ("enter", "\r"): b"\r", ("ctrl+c", "\x03"): b"\x03",
            ("up", None): b"\x1b[A", ("escape", "\x1b"): b"\x1b", ("f13", None): b"", ("tab", "\t"): b"\t",
            ("left_square_bracket", "["): b"[", ("space", " "): b" "}  # fmt: skip
    assert {key: bytes_of(*key) for key in keys} == keys
    assert bytes_of("up", None, keys_of_cursor=True) == b"\x1bOA"
    assert pasted("a\nb", marks=False) == b"a\rb"
    assert pasted("a", marks=True) == b"\x1b[200~a\x1b[201~"


@given(st.text())
def test_what_is_pasted_ends_no_mark(text: str) -> None:
    """The application has made control characters visible before (`Probewright.on_event`)."""
    shown = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", "?", text)
    assert pasted(shown, marks=True).count(b"\x1b") == 2
