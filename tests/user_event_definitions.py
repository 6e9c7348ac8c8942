"""Definitions of user events by chance: right ones, and those with mistakes that people and tools make."""

from __future__ import annotations

import random

_TYPES = (
    *(f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64)),
    *("int", "short", "char", "unsigned int", "unsigned short", "unsigned char", "long", "unsigned long", "unsigned"),
    *(
        "size_t",
        "bool",
        "u128",
        "float",
        "U32",
        "char *",
        "void*",
        "signed char",
        "unsigned u32",
        "unsigned long long",
    ),
    *("char[1]", "char[16]", "char[0]", "char[]", "char[1024]", "char[1025]", "char[0x10]", "char[010]", "char[08]"),
    *(
        "char[+4]",
        "char[-4]",
        "char[4",
        "char[4]]",
        "char[4][2]",
        "char[ 4]",
        "char[1000000]",
        "char[00004]",
        "char[4]x",
    ),
    *("unsigned char[8]", "unsigned char[]", "u8[8]", "int[2]", "unsigned int[2]", "chars[4]", "char4]", "char[0x]"),
    *("__data_loc char[]", "__rel_loc char[]", "__rel_loc u8[]", "__data_loc unsigned char[]", "__rel_loc unsigned"),
    *(
        "__rel_loc unsigned char[]",
        "__data_loc",
        "__rel_loc",
        "__rel_loc  char[]",
        "__data_loc struct foo",
        "__dyn x",
    ),
    *("struct foo", "struct", "struct  foo", "structfoo", "unsigned struct foo", "enum foo", "union foo"),
)
_NAMES = (
    "a",
    "b",
    "count",
    "a_b",
    "a-b",
    "9a",
    "",
    "a[4]",
    "common_pid",
    "a b",
    "if",
    "*p",
    "a\tb",
    "é",
    "a.b",
    "a:b",
)
_SIZES = (
    "8",
    "0",
    "1",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-1",
    "+8",
    "0x8",
    "",
    "8 8",
    "x",
)
_GAPS = (";", "; ", " ;", ";;", "; ;", ";\t", " ; ", ";  ", ",", "")
_BEGINS = (" ", "  ", "\t", " ;", "; ", " ; ", "")


def field_text(chance: random.Random) -> str:
    """Return a field: mostly as the kernel takes it."""
    kind = chance.choice(_TYPES[:14]) if chance.random() < 0.4 else chance.choice(_TYPES)
    name = f"f{chance.randrange(4)}" if chance.random() < 0.7 else chance.choice(_NAMES)
    blank = " " if chance.random() < 0.95 else chance.choice(("  ", "\t", ""))
    text = f"{kind}{blank}{name}"
    if chance.random() < (0.8 if kind == "struct foo" else 0.05):
        text += f" {chance.choice(_SIZES[:4] if chance.random() < 0.6 else _SIZES)}"
    return text


def fields_text(chance: random.Random) -> str:
    """Return what follows the name of an event, its first blank included."""
    number = chance.choice((0, 1, 1, 1, 2, 2, 3, 5, 40))
    usual = chance.random() < 0.7
    begin = " " if usual else chance.choice(_BEGINS)
    text = begin if number or chance.random() < 0.3 else ""
    for at in range(number):
        text += field_text(chance) if number < 40 else f"u32 field_{at}"
        if at < number - 1 or chance.random() < 0.2:
            text += "; " if chance.random() < 0.8 else chance.choice(_GAPS)
    return text
