"""Damage: of bytes, of text, and of the values of JSON, each by a generator of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

_NUMBERS = (
    *("0", "-1", "1e999", "Infinity", "-Infinity", "NaN", "9" * 5000, "0x" + "f" * 5000, "2147483648", "-2147483649"),
    *(
        "4294967296",
        "18446744073709551616",
        "1.5",
        "007",
        "١٢",
        "²",
        "+1",
        "1_000",
        "",
        " ",
        "0x",
        "-",
        "99999999999",
    ),
)
_WORDS = (
    *(
        "\ud800",
        "\udc80",
        "\0",
        "\x1b[2J",
        "\r",
        "\u2028",
        "\x85",
        "ä",
        "𝕏",
        "\ufeff",
        "(" * 2000,
        "[" * 2000,
        "{" * 2000,
    ),
    *(
        " " * 3000,
        "\t" * 3000,
        "0" * 8000,
        "a" * 70000,
        "%s%n",
        "${x}",
        "../..",
        "-",
        '"',
        "'",
        "\\",
        ";",
        "\n",
        "\n\n",
    ),
    *("+0(" * 2000 + "$arg1" + ")" * 2000, "(file)" * 2000, "[1:1]" * 2000, "[1:9999]", ".a" * 2000, "=1\na." * 2000),
)
_BYTES = (b"\0", b"\xff", b"\x80", b"\x7f", b"\1", b"\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f")


def damaged(data: bytes, random: Random) -> bytes:
    """One to eight changes of bytes."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(found) + 1)
        end = min(len(found), at + random.choice((1, 2, 4, 8, 64, 512)))
        random.choice(_DAMAGES)(found, at, end, random)
    return bytes(found[: 1 << 20])


def _flip(found: bytearray, at: int, end: int, random: Random) -> None:
    if at < len(found):
        found[at] ^= 1 << random.randrange(8)


def _overwrite(found: bytearray, at: int, end: int, random: Random) -> None:
    some = random.choice(_BYTES)
    found[at : at + len(some)] = some


def _random(found: bytearray, at: int, end: int, random: Random) -> None:
    found[at:end] = random.randbytes(end - at)


def _remove(found: bytearray, at: int, end: int, random: Random) -> None:
    del found[at:end]


def _repeat(found: bytearray, at: int, end: int, random: Random) -> None:
    found[at:at] = found[at:end] * random.choice((1, 2, 50))


def _move(found: bytearray, at: int, end: int, random: Random) -> None:
    part = found[at:end]
    to = random.randrange(len(found) + 1)
    found[to:to] = part


def _cut(found: bytearray, at: int, end: int, random: Random) -> None:
    del found[at:]


def _word(found: bytearray, at: int, end: int, random: Random) -> None:
    at &= ~3
    value = random.choice((0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFF, random.getrandbits(8), random.getrandbits(32)))
    found[at : at + 4] = value.to_bytes(4, random.choice(("little", "big")))


_DAMAGES: tuple[Callable[[bytearray, int, int, Random], None], ...] = (
    *(_flip, _overwrite, _random, _remove, _repeat, _move, _cut, _word, _flip, _word),
)


def damaged_text(text: str, random: Random) -> str:
    """One to six changes of words, lines and numbers."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        lines = text.split("\n")
        at = random.randrange(len(lines))
        match random.randrange(9):
            case 0:
                del lines[at]
            case 1:
                lines.insert(random.randrange(len(lines) + 1), lines[at])
            case 2:
                lines[at] = _spliced(lines[at], random.choice(_WORDS), random)
            case 3 | 4:
                lines[at] = _renumbered(lines[at], random)
            case 5:
                lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
            case 6:
                words = lines[at].split(" ")
                words[random.randrange(len(words))] = random.choice((*_WORDS, *_NUMBERS))
                lines[at] = " ".join(words)
            case 7:
                other = random.choice(lines)
                lines[at] = _spliced(lines[at], other, random)
            case _:
                return damaged(text.encode("utf-8", "surrogatepass"), random).decode("utf-8", "surrogateescape")
        text = "\n".join(lines)
    return text[: 1 << 20]


def _spliced(line: str, more: str, random: Random) -> str:
    at = random.randrange(len(line) + 1)
    return line[:at] + more + line[at + random.choice((0, 0, 1, 5)) :]


def _renumbered(line: str, random: Random) -> str:
    digits = [at for at, ch in enumerate(line) if ch.isdigit()]
    if not digits:
        return line + random.choice(_NUMBERS)
    at = end = random.choice(digits)
    while end < len(line) and line[end].isalnum():
        end += 1
    return line[:at] + random.choice(_NUMBERS) + line[end:]


_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1 << 70,
        10**30,
        1.5,
        float("inf"),
        float("nan"),
        "",
        "x",
        "\ud800",
        [],
        [[]],
        {},
        {"a": 1},
    ),
    *([None], ["x"], "9" * 5000, [1, "x", None], -(1 << 31), 1 << 31, "\n", "f vfs_read", "a" * 5000),
    *("f vfs_read " + "+0(" * 2000 + "$arg1" + ")" * 2000, f"f vfs_read $arg{'9' * 5000}"),
)


def damaged_value(value: Any, random: Random) -> Any:
    """JSON with one to three of its values replaced, removed or put elsewhere."""
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _changed(value, random)
    return value


def _changed(value: Any, random: Random) -> Any:
    if not isinstance(value, dict | list) or not value or random.random() < 0.12:
        return random.choice(_VALUES)
    inside: Any = dict(value) if isinstance(value, dict) else list(value)
    key = random.choice(list(inside)) if isinstance(inside, dict) else random.randrange(len(inside))
    if random.random() < 0.1:
        del inside[key]
    elif random.random() < 0.1:
        inside[key] = value
    else:
        inside[key] = _changed(inside[key], random)
    return inside
