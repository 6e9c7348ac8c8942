"""JSON for machines: one encoder, whose lines a reader with doubles and a strict one read back without a loss."""

from __future__ import annotations

import ast
import enum
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.json_text import EXACT, json_line

ROOT = Path(__file__).parents[3]
OWN_FORMATS = {"events/recording/writer.py", "kernel/lab/build.py", "kernel/lab/kernels.py"}
"""Files of ours that only our own reader reads, which keeps every digit."""
NUMBERS = st.one_of(
    st.integers(), st.integers(-(2**64), 2**64), st.sampled_from((EXACT, EXACT - 1, -EXACT, 1 - EXACT))
)
TEXTS = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(), TEXTS, st.binary(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.tuples(inner, inner), st.dictionaries(TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)


def wanted(value: object) -> object:
    """What a reader has to get, said in another way than the encoder says it."""
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 - 1 else f"{value:d}"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), value)
    if isinstance(value, bytes):
        return "".join(f"{byte:02x}" for byte in value)
    if isinstance(value, str):
        return "".join(_letter(letter) for letter in value)
    if isinstance(value, dict):
        return {wanted(name): wanted(part) for name, part in value.items()}
    assert isinstance(value, list | tuple)
    return [wanted(part) for part in value]


def _letter(letter: str) -> str:
    if 0xDC80 <= ord(letter) < 0xDD00:
        return letter.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return letter.encode("utf-8", "backslashreplace").decode()


def read_with_doubles(line: str) -> object:
    """As a reader of JSON that knows no other numbers, which refuses what no number is."""

    def refuse(word: str) -> object:
        raise ValueError(word)

    def number(word: str) -> int | float:
        found = float(word)
        return int(found) if re.fullmatch(r"-?\d+", word) else found

    return json.loads(line, parse_int=number, parse_float=float, parse_constant=refuse)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
@example({"a": 2**53, "b": 2**53 - 1, "c": -(2**53), "d": [2**64 - 1, {"e": 10**400}]})
@example({"a": "\ud800", "b": "\udcff\udcfe", "\udcff": math.nan, "ok": "\U0001f600"})
@example({"digits": "1234567890123456789", "x": 0.1234567890123456})
def test_nothing_is_rounded_and_nothing_is_refused(value: dict[str, object]) -> None:
    line = json_line(value)
    assert line.isascii() and line.isprintable()
    found = read_with_doubles(line)
    assert found == wanted(value)
    json.dumps(found, ensure_ascii=False).encode()  # no half of a pair of surrogates


def test_kinds_of_numbers_and_texts_are_what_they_are_kinds_of() -> None:
    class Number(enum.IntEnum):
        SMALL, LARGE = 3, 1 << 60

    class Word(enum.StrEnum):
        ONE = "one"

    value = {"a": Number.SMALL, "b": Number.LARGE, "c": Word.ONE, "d": frozenset((2, 1)), Word.ONE: 1}
    assert json.loads(json_line(value)) == {"a": 3, "b": str(1 << 60), "c": "one", "d": [1, 2], "one": 1}
    with pytest.raises(TypeError, match="object has no form in JSON"):
        json_line({"a": object()})


def test_no_other_place_makes_json() -> None:
    """Whoever writes JSON in a way of his own forgets one of these rules."""
    found = set()
    for folder in ("btf", "events", "foreign", "kernel", "probes", "tui", "widgets"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                named = isinstance(node, ast.Attribute) and node.attr in ("dump", "dumps", "JSONEncoder")
                if named and isinstance(node.value, ast.Name) and node.value.id == "json":
                    found.add(str(path.relative_to(ROOT)))
                if isinstance(node, ast.ImportFrom) and node.module == "json":
                    found.add(str(path.relative_to(ROOT)))
    assert found == {"events/json_text.py", *OWN_FORMATS}
