"""Texts that stand for several functions: which names they mean, and what is none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.function_choice import ChoiceError, FunctionChoice, is_choice, is_type
from events.names.kallsyms import Symbols

NAMES = [("vfs_read", ""), ("vfs_fsync", ""), ("ext4_sync", "ext4"), ("ext4_read", "ext4"), ("tcp_sendmsg", "")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("vfs_*", "vfs_read vfs_fsync"),
        ("vfs_read,tcp_*", "vfs_read tcp_sendmsg"),
        ("vfs_*,!vfs_f*", "vfs_read"),
        ("!vfs_*", "ext4_sync ext4_read tcp_sendmsg"),
        ("ext4:*", "ext4_sync ext4_read"),
        ("ext4:*,!ext4:*sync", "ext4_read"),
        ("e*:*_read", "ext4_read"),
        ("/^tcp_(send|recv)/", "tcp_sendmsg"),
        ("/_read$/", "vfs_read ext4_read"),
        ("/s.nc/", "vfs_fsync ext4_sync"),
        ("[v]fs_read", "vfs_read"),
        ("/_read$/,!vfs_*", "ext4_read"),
        ("/read|fsync/,!ext4:*,!*sync", "vfs_read"),
        ("/^(vfs|ext4|tcp|udp)_(read|sync|write|open)[a-z]*(page|msg)?$/", "vfs_read ext4_sync ext4_read"),
        ("/^v(fs|z)_.*r.*d$/", "vfs_read"),
    ],
)
def test_names_that_a_text_means(text: str, wanted: str) -> None:
    choice = FunctionChoice.parse(text)
    assert is_choice(text) and not choice.type and not choice.file and str(choice.text) == text
    assert [name for name, module in NAMES if choice.matches(name, module)] == wanted.split()
    assert choice.among(dict(NAMES)) == wanted.split()


@pytest.mark.parametrize(
    ("text", "type_name", "returns"),
    [
        ("[struct file *]", "struct file *", False),
        ("[  struct   file * ]", "struct file *", False),
        ("[returns struct file *]", "struct file *", True),
        ("[loff_t]", "loff_t", False),
    ],
)
def test_types(text: str, type_name: str, returns: bool) -> None:
    choice = FunctionChoice.parse(text)
    assert (choice.type, choice.returns) == (type_name, returns)
    assert choice.matches("any_name")


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("vfs_*", "vfs_*"), ("a,b,c,d", "a,b,c,d"), ("a,b,c,d,e,f", "a, b, c, d and 2 more"),
        ("a,b,c,d,e,!f,!g", "a, b, c, d and 1 more, !f, !g"), ("[struct file *],!a,!b,!c,!d,!e", ""),
        ("/a,b,c,d,e/", ""), ("a,b,!c,!d,!e,!f,!g", "a,b,!c,!d,!e,!f,!g"),
    ],
)  # fmt: skip
def test_of_many_names_a_message_has_a_few(text: str, short: str) -> None:
    assert FunctionChoice.parse(text).short_text == (short or text)


def test_a_file_is_named_behind_the_sign() -> None:
    assert FunctionChoice.parse("@lists/mine.txt").file == "lists/mine.txt"
    assert FunctionChoice.parse("@lists/a,b,!vfs_*").file == "lists/a,b"


@pytest.mark.parametrize("text", ["@mine,!vfs_*,!ext4:*", "[struct file *],!vfs_*,!ext4:*"])
def test_names_are_left_out_of_any_choice(text: str) -> None:
    choice = FunctionChoice.parse(text)
    assert [name for name, module in NAMES if choice.matches(name, module)] == ["tcp_sendmsg"]
    assert is_type(text) is bool(choice.type)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("@", 1),
        ("//", 0),
        ("/a", 0),
        ("/(a+)+b/", 5),
        ("/(a|b)*c/", 6),
        (r"/(a)\1/", 4),
        ("/(?:a)/", 2),
        ("/a*b*c*/", 6),
        ("/a?b?c?d?e?f?g?/", 14),
        ("/(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)/", 31),
        ("/((a|.)(a|.)(a|.))?((a|.)(a|.))?.*/", 31),
        ("/[a/", 1),
        ("/a{/b", 0),
        ("/[a||b]/", 1),
        ("a,,b", 2),
        (",a", 0),
        ("a,!", 2),
        (":a*", 0),
        ("[]", 1),
        ("[returns ]", 1),
        ("[struct", 0),
        ("[struct file *],!", 16),
        ("/a/,!b,c", 4),
    ],
)
def test_what_is_none_is_refused_at_its_place(text: str, column: int) -> None:
    with pytest.raises(ChoiceError) as caught:
        FunctionChoice.parse(text)
    assert caught.value.offset == column


@pytest.mark.parametrize("text", ["vfs_read", "0xffffffff81000000", "ext4:ext4_readdir", "vfs_read(file, count)"])
def test_one_function_is_no_choice(text: str) -> None:
    assert not is_choice(text)


@pytest.mark.parametrize("text", ["[a-z]*", "[v]fs[_]", "vfs_[rw]"])
def test_a_class_of_letters_is_no_type(text: str) -> None:
    assert is_choice(text) and not is_type(text)


@given(st.text(alphabet="abt(|)*+?{}[]^$.\\1,!:/", max_size=24))
def test_any_text_is_a_choice_or_refused_and_no_expression_is_slow(body: str) -> None:
    own = body[1:-1] if len(body) > 1 and body[0] == body[-1] == "/" else body  # between slashes once more
    for text, expression in ((f"/{body}/", body), (body, own)):
        try:
            choice = FunctionChoice.parse(text)
        except ChoiceError as error:
            assert 0 <= error.offset <= len(text)
            continue
        for name in ("a" * 64, "ab" * 32, "t" * 63 + "b"):  # an expression of exponential time would never end
            assert choice.expression is None or choice.matches(name) is (re.search(expression, name) is not None)


def test_a_name_that_the_text_means_stands_for_the_address_of_several() -> None:
    symbols = Symbols(b"ffffffff81000000 T do_first\nffffffff81000000 T vfs_second\n")
    assert symbols.function_name(0xFFFFFFFF81000000, "other,vfs_*") == "vfs_second"
    assert symbols.function_name(0xFFFFFFFF81000000, "/second$/") == "vfs_second"
    assert symbols.function_name(0xFFFFFFFF81000000, "[struct file *]") == "do_first"
    assert symbols.function_name(0xFFFFFFFF81000000, "/((/") == "do_first"
