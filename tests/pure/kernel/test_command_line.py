"""A typed command line is split as a shell splits it, and is given to one where it has its signs."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.commands.command_line import MOST_CHARACTERS, CommandLine, read_command_line

PIECES = st.sampled_from(["a", " ", "'", '"', "\\", "$", "|", ">", "*", "b=1", "`", "~", "(", "-x", "#", "\n", "{}"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat /etc/hostname", ["cat", "/etc/hostname"]),
        ("echo 'a | b' \"c d\" e\\ f", ["echo", "a | b", "c d", "e f"]),
        ("find . -name '*.c'", ["find", ".", "-name", "*.c"]),
    ],
)
def test_plain_words_are_executed_without_a_shell(text: str, words: list[str]) -> None:
    assert read_command_line(text) == CommandLine(tuple(words), by_shell=False)


@pytest.mark.parametrize(
    "text",
    ["a | b", "a; b", "a >f", "echo $HOME", 'echo "$HOME"', "ls *.c", "A=1 b", "a &", "(a)", "echo `a`", "~/a"],
)
def test_signs_of_a_shell_take_one(text: str) -> None:
    assert read_command_line(text) == CommandLine(("sh", "-c", text), by_shell=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no command"),
        ("  ", "no command"),
        ("a 'b", "quote"),
        ("a\0", "NUL"),
        ("x" * MOST_CHARACTERS + "x", "long"),
    ],
)
def test_what_is_no_command_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_command_line(text)


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_shell_would_take_plain_words_likewise(text: str) -> None:
    try:
        line = read_command_line(text)
    except ValueError:
        return
    if not line.by_shell:
        script = f"set -- {text}\nprintf '%s\\0' \"$@\""
        done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
        assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in line.words], shlex.quote(text)
