"""Ways to break a command: what people mistype, and what lies just beyond a limit."""

from __future__ import annotations

import random
import re
import string

_STRAY = "[]()+-@%$\\\"':;,.=*!&|<>/~^?{}0aZ_ \t"
_TYPES: tuple[str, ...] = (
    "u7",
    "int",
    "u128",
    "strings",
    "b33@0/32",
    "b1@8/8",
    "b0@0/8",
    "u8[0]",
    "u8[65]",
    "u8[2][2]",
    "u8[",
    "",
    "U8",
)
_TYPES += (
    "symbol[2]",
    "symstr[2]",
    "ustring",
    "string[64]",
    "%pd",
    "%px",
    "b4@0/7",
    "b4@",
    "u8]",
    "x64[x]",
    "char[4]",
)
_NUMBERS: tuple[str, ...] = (
    "0",
    "1",
    "64",
    "65",
    "129",
    "4097",
    "0x",
    "08",
    "-1",
    "4294967296",
    "9223372036854775808",
)
_NUMBERS += ("18446744073709551616", "0xffffffffffffffff", "1x", "+1")


def broken(text: str, rng: random.Random) -> str:
    """Break a command in one place, now and then in two."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        text = rng.choice(_WAYS)(text, rng)
    return text


def _typo(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text)) if text else 0
    letter = rng.choice(string.ascii_letters + string.digits + "_")
    changed = (text[at : at + 1].swapcase(), letter, text[at : at + 1] * 2, "", letter + text[at : at + 1])
    return text[:at] + rng.choice(changed) + text[at + 1 :]


def _stray(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_STRAY) + text[at:]


def _gone(text: str, rng: random.Random) -> str:
    """One character that means something is missing."""
    places = [match.start() for match in re.finditer(r"[^A-Za-z0-9_]", text)]
    if not places:
        return _typo(text, rng)
    at = rng.choice(places)
    return text[:at] + text[at + 1 :]


def _word(text: str, rng: random.Random) -> str:
    """A word dropped, doubled, moved, cut."""
    words = text.split(" ")
    at = rng.randrange(len(words))
    word = words.pop(at)
    way = rng.randrange(4)
    if way == 1:
        words[at:at] = [word, word]
    elif way == 2:
        words.insert(rng.randrange(len(words) + 1), word)
    elif way == 3:
        words.insert(at, word[: rng.randrange(len(word) + 1)])
    return " ".join(words)


def _number(text: str, rng: random.Random) -> str:
    places = list(re.finditer(r"(?:0x)?[0-9]+", text))
    if not places:
        return _typo(text, rng)
    match = rng.choice(places)
    return text[: match.start()] + rng.choice(_NUMBERS) + text[match.end() :]


def _type(text: str, rng: random.Random) -> str:
    """Another type behind an argument."""
    words = text.split(" ")
    if len(words) < 3:
        return text + f" x=\\1:{rng.choice(_TYPES)}"
    at = rng.randrange(2, len(words))
    words[at] = words[at].partition(":")[0] + ":" + rng.choice(_TYPES)
    return " ".join(words)


def _name(text: str, rng: random.Random) -> str:
    """Another name in front of an argument, or of the event."""
    words = text.split(" ")
    names = ("", "9", "common_pid", "__probe_ip", "a-b", "n" * 33, "a.b", "x[2]", "if")
    if len(words) < 3 or rng.random() < 0.3:
        bad = ("", "/", "g/", "/e", "9/e", "g/9", "g/e/f", "g.e.f", "x" * 64, "x" * 64 + "/e", "g/a-b", "a b", "g!/e")
        return f"{words[0].partition(':')[0]}:{rng.choice(bad)} {' '.join(words[1:])}"
    at = rng.randrange(2, len(words))
    words[at] = f"{rng.choice(names)}={words[at].rpartition('=')[2]}"
    return " ".join(words)


def _value(text: str, rng: random.Random) -> str:
    """An expression that fits nowhere, or only elsewhere."""
    bad: tuple[str, ...] = (
        "$arg",
        "$argx",
        "$retval",
        "$retvalx",
        "$stackx",
        "$foo",
        "$",
        "%nosuch",
        "%",
        "@",
        "@+8",
        "@0x",
        "+0",
        "+0(",
    )
    bad += (
        "+(%di)",
        "+x(%di)",
        "+0($comm)",
        '+0(\\"a")',
        "\\",
        "\\x",
        '\\"a',
        "(file)file->f_mode",
        "(file",
        "()x->y",
    )
    bad += (
        "$arg*",
        "$arg*:u8",
        "$arg1x",
        "file->",
        "file.",
        "file->f_pos-x",
        "nosuch",
        "$comm:u8",
        "$current",
        "[2]",
    )
    bad += (
        "$arg0",
        "a->b->c",
        "count->x",
        "$retval->x",
        "$retval.x",
        "this_cpu_read(@x)",
        "x=y=z",
        "=",
        "a=",
        "@jiffies+x",
    )
    return f"{text} {rng.choice(('', 'z='))}{rng.choice(bad)}"


def _limit(text: str, rng: random.Random) -> str:
    """Just at, or beyond, a limit."""
    ways = (
        lambda: text + "".join(f" p{n}=\\1" for n in range(rng.choice((127, 128, 129)))),
        lambda: text + " d=" + "+0(" * (n := rng.randrange(9, 16)) + "@0" + ")" * n,
        lambda: text + f" l=\\{'0' * rng.choice((61, 62, 63))}1",
        lambda: text + "".join(f" w{n}=@0:x64[64]" for n in range(rng.choice((5, 6, 7)))),
        lambda: f"{text} {'m' * rng.choice((32, 33))}=\\1",
        lambda: text + " " * rng.choice((1, 40)) + "# why",
        lambda: rng.choice((" ", "\t", "  ")) + text.replace(" ", rng.choice(("  ", "\t", " \v"))),
        lambda: text + f" b={'x' * rng.choice((62, 63, 64))}",
        lambda: text.ljust(rng.choice((4093, 4094, 4095))),
        lambda: text + " " + " ".join(f"$arg{n + 1}" for n in range(rng.randrange(2, 9))),
        lambda: text + "".join(f" q{n}=%di:%pd" for n in range(rng.randrange(4, 9))),
    )
    return rng.choice(ways)()


_WAYS = (_typo, _typo, _stray, _gone, _word, _number, _type, _name, _value, _value, _limit)
