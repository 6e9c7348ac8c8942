"""Completions of a place that stands for several functions."""

from __future__ import annotations

import pytest

from probes.completion.choice import Priority
from tests.pure.probes.test_complete import offered, take, texts


def test_structures_are_offered_behind_the_bracket_of_a_type() -> None:
    assert "struct file *]" in texts("f [fil")
    text = take("f [struct fil", "struct file *")
    assert text == "f [struct file *]"
    assert take("f [ret", "returns") == "f [returns "
    assert take("f:name [returns struct fil", "struct file *") == "f:name [returns struct file *]"
    assert offered("f [").note == "" and texts("f [") == ["returns ", "called by "]
    assert offered("f [struct ").note.startswith("part of a structure's name")
    assert offered("f [struct nobody_has_it").items == ()


def test_members_are_offered_behind_the_argument_of_a_type() -> None:
    found = [item.label for item in offered("f [struct file *] ").items]
    assert found[0] == "file->" and "count" not in found
    assert "f_mode" in [item.label for item in offered("f [struct file *] file->f_m").items]
    text = take("f [struct file *] file->f_m", "f_mode")
    assert text.endswith("file->f_mode")
    assert "$retval->" in [item.label for item in offered("f [returns struct file *]%return ").items]


def test_the_last_name_of_a_list_is_completed() -> None:
    assert take("f vfs_read,vfs_wr", "vfs_write") == "f vfs_read,vfs_write"
    assert take("f vfs_*,!vfs_wr", "vfs_write") == "f vfs_*,!vfs_write"
    assert offered("f vfs_read,").note == "part of a function's name, or a pattern"
    assert offered("f vfs_read,nobody_has").note == "no function has this in its name"
    assert "f vfs_read,vfs_write%both " in [
        take("f vfs_read,vfs_write", label)
        for label in [item.label for item in offered("f vfs_read,vfs_write").items]
    ]


def test_the_function_whose_calls_are_followed_is_completed() -> None:
    assert take("f [called by vfs_wr", "vfs_write") == "f [called by vfs_write"
    assert take("f [called by vfs_write", "vfs_write]") == "f [called by vfs_write]"
    assert take("f [called by vfs_read,vfs_wr", "vfs_write") == "f [called by vfs_read,vfs_write"
    assert "levels of calls" in offered("f [called by vfs_write ").note
    assert offered("f [called by nobody_has").note == "no function has this in its name"


@pytest.mark.parametrize(
    "text", ["f /^vfs_/", "f @names.txt", "f vfs_*,tcp_*", "f [struct file *]", "f [called by x]"]
)
def test_ends_of_the_calls_of_a_choice_are_offered(text: str) -> None:
    found = offered(text)
    assert [item.text for item in found.items] == [f"{text[2:]}{end} " for end in ("", "%return", "%both")]
    assert found.urge is Priority.STANDS
    assert [item.text for item in offered(f"{text}%r").items] == [f"{text[2:]}%return "]


def test_an_expression_that_is_none_yet_is_told() -> None:
    assert offered("f /^vfs_(").note.startswith("a regular expression stands between two slashes")
    assert offered("f /(a+)+/").note == "a group in brackets can't be repeated"
