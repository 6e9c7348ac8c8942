"""The one door to a far shell, seen by real shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.remote.protocol.shell_quote import escape, quote

HOSTILE = [
    "",
    "'",
    "''",
    "a'b",
    "$(id)",
    "`id`",
    "$HOME",
    "\\",
    "\\'",
    "a\nb",
    "\n",
    "; rm -rf /",
    "-n",
    "*",
    "~root",
    "{a,b}",
    "!!",
    "#",
    "\x1b[31m",
    "\u202e\u0301é",
    " ",
]
SHELLS = [shell for shell in (["dash"], ["busybox", "sh"], ["bash", "--posix"]) if shutil.which(shell[0])]


def words(shell: list[str], command: str) -> bytes:
    return subprocess.run([*shell, "-c", command], capture_output=True, check=True).stdout


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
@pytest.mark.parametrize("text", HOSTILE)
def test_a_quoted_word_is_that_word(shell: list[str], text: str) -> None:
    assert words(shell, f"printf '%s|' {quote(text)} end") == f"{text}|end|".encode()


@settings(max_examples=30)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_word(text: str) -> None:
    for shell in SHELLS:
        assert words(shell, f"printf '%s' {quote(text)}") == text.encode()


@settings(max_examples=30)
@given(st.binary(max_size=300))
def test_any_data(data: bytes) -> None:
    for shell in SHELLS:
        assert words(shell, f"printf '%b' {quote(escape(data))}") == data


def test_all_bytes() -> None:
    data = bytes(range(256)) * 2 + b"\0" + b"77\0008"
    for shell in SHELLS:
        assert words(shell, f"printf '%b' {quote(escape(data))}") == data
    assert all(" " <= char <= "~" for char in escape(data))


def test_no_word_holds_nul() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")
