"""Patterns beside lib/glob.c, written down here once more as the pointers of C go."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.names import glob
from events.names.glob import Glob

SIGNS = st.text(alphabet="ab*?[]!-\\ä1", max_size=12)
TEXTS = st.text(alphabet="abc[]!-\\ä1*", max_size=12)


def like_the_kernel(pattern: str, text: str) -> bool:
    """glob_match of lib/glob.c, byte by byte with a NUL at the end of both."""
    pat, chars = pattern.encode() + b"\0", text.encode() + b"\0"
    p = s = 0
    back: tuple[int, int] | None = None
    while True:
        c, d = chars[s], pat[p]
        s, p = s + 1, p + 1
        matched = c != 0
        if d == ord("*"):
            if pat[p] == 0:
                return True
            s -= 1
            back = (p, s)
            continue
        if d == ord("["):
            if c == 0:
                return False
            found = in_class(pat, p, c)
            matched = c == d if found is None else found[0]
            p = p if found is None else found[1]
        elif d != ord("?"):
            if d == ord("\\"):
                d = pat[p]
                p += 1
            if c == d == 0:
                return True
            matched = c == d
        elif c == 0:
            return False
        if not matched:
            if c == 0 or back is None:
                return False
            back = (back[0], back[1] + 1)
            p, s = back


def in_class(pat: bytes, p: int, c: int) -> tuple[bool, int] | None:
    """Whether a byte is in the class that begins at p, and where the pattern goes on; None: it is not closed."""
    inverted = pat[p] == ord("!")
    at = p + inverted
    a, at, match = pat[at], at + 1, False
    while True:
        b = a
        if a == 0:
            return None
        if pat[at] == ord("-") and pat[at + 1] != ord("]"):
            b = pat[at + 1]
            if b == 0:
                return None
            at += 2
        match = match or a <= c <= b
        a, at = pat[at], at + 1
        if a == ord("]"):
            return match != inverted, at


@given(SIGNS, TEXTS)
@example("a\\", "a")
@example("[a-]", "-")
@example("[]a]", "]")
@example("[b-a]", "b")
@example("*[a", "[a")
@example("*a*a", "a")
def test_a_pattern_matches_what_the_kernel_says(pattern: str, text: str) -> None:
    negated = pattern.startswith("!")
    assert Glob(pattern).matches(text) == (like_the_kernel(pattern.removeprefix("!"), text) != negated)


@example("[a" * 3 + "]", "[a[a")
@example("[[]][", "[][")
@example("[a-", "[a-")
@given(st.text(alphabet="[]-!a", max_size=14), st.text(alphabet="[]-!a", max_size=8))
def test_brackets_match_what_the_kernel_says(pattern: str, text: str) -> None:
    negated = pattern.startswith("!")
    assert Glob(pattern).matches(text) == (like_the_kernel(pattern.removeprefix("!"), text) != negated)


def test_brackets_that_nothing_closes_are_looked_at_once(monkeypatch) -> None:
    seen = []
    look = glob._class

    def counted(pattern: bytes, at: int) -> tuple[bytes, int] | None:
        seen.append(at)
        return look(pattern, at)

    monkeypatch.setattr(glob, "_class", counted)
    assert Glob("[" * 500).matches("[" * 500)
    assert seen == [1]


@given(TEXTS)
def test_a_text_without_signs_matches_itself(text: str) -> None:
    plain = "".join(f"\\{sign}" if sign in "*?[\\!" else sign for sign in text)
    assert Glob(plain).matches(text)
    assert not Glob(plain).matches(f"{text}x")


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        ("*foo", "a foo", True), ("foo*", "foo", True), ("*foo*", "xfoox", True), ("foo", "Foo", False),
        ("", "", True), ("", "a", False), ("*", "", True), ("?", "ä", False), ("??", "ä", True),
        ("[ab]*", "bash", True), ("[!ab]*", "bash", False), ("!", "", False), ("![ab]*", "bash", False),
        ("1*", "12", True), ("*" * 4000 + "a", "b" * 4000, False), ("*ab" * 200, "ab" * 199 + "a", False),
        ("[" + "-a" * 200, "[" + "-a" * 200, True), ("*e" * 12 + "*x", "e" * 500, False),
    ],
)  # fmt: skip
def test_patterns(pattern: str, text: str, holds: bool) -> None:
    assert Glob(pattern).matches(text) == holds
