"""Bootconfig text by the kernel's rules: as its own tool reads it, round trips, and limits.

`tests/data/bootconfig_tool.json` holds the answers of tools/bootconfig of Linux 6.1: `parsed` those of `-l` on texts,
most of them drawn by chance, with its error; `applied` the bytes of small initrds after `-a`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.bootconfig.initrd_tail import MAGIC, find_tail, tail
from probes.bootconfig.text import (
    MOST_BYTES,
    MOST_DEPTH,
    MOST_KEY,
    MOST_NODES,
    BootconfigError,
    Pairs,
    compose,
    in_pieces,
    parse,
    quoted,
)

TOOL: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data/bootconfig_tool.json").read_text())
WORDS = st.text("abcXYZ019-_", min_size=1, max_size=6)
KEYS = st.lists(WORDS, min_size=1, max_size=5).map(".".join)
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)
VALUES = TEXTS.filter(lambda text: not ('"' in text and "'" in text))
PRINTABLE = st.text(st.sampled_from("ab.={}+:;,#\"' \n\t"), max_size=40)


def listed(pairs: Pairs) -> str:
    """Return keys and values as `bootconfig -l` prints them."""
    lines = []
    for key, values in pairs:
        if not values or not values[0]:
            lines.append(f'{key} = ""\n')
            continue
        texts = [f"'{value}'" if '"' in value else f'"{value}"' for value in values]
        lines.append(f"{key} = {', '.join(texts)}\n")
    return "".join(lines)


def test_texts_are_read_as_the_tool_of_the_kernel_reads_them() -> None:
    accepted = rejected = 0
    for case in TOOL["parsed"]:
        try:
            found, error = listed(parse(case["text"])), None
        except BootconfigError as refusal:
            found, error = None, refusal.message
        assert (found, error) == (case["list"], case["error"]), case["text"]
        accepted, rejected = accepted + (error is None), rejected + (error is not None)
    assert accepted > 90 and rejected > 30


def test_an_initrd_gets_the_bytes_that_the_tool_writes() -> None:
    for case in TOOL["applied"]:
        initrd, text, result = bytes.fromhex(case["initrd"]), case["text"], bytes.fromhex(case["result"])
        assert initrd + tail(text, len(initrd)) == result
        found = find_tail(result, len(result))
        assert found is not None
        assert (found.text, len(result) - found.size) == (text, len(initrd))
    assert len({len(bytes.fromhex(case["result"])) % 4 for case in TOOL["applied"]}) == 1


@given(values=st.dictionaries(KEYS, st.lists(VALUES, max_size=4).map(tuple), min_size=1, max_size=8))
def test_what_is_composed_is_parsed_again(values: dict[str, tuple[str, ...]]) -> None:
    found = dict(parse(compose(values)))
    # A key without a value that has words behind it is a part of their keys.
    parts = {key for key in values if not values[key] and any(other.startswith(f"{key}.") for other in values)}
    assert found == {key: texts for key, texts in values.items() if key not in parts}


@given(text=TEXTS)
def test_any_text_is_the_pieces_of_an_array(text: str) -> None:
    pieces = in_pieces(text)
    assert "".join(pieces) == text
    config = f"k = {', '.join(map(quoted, pieces))}\n"
    assert "".join(dict(parse(config))["k"]) == text


@given(text=PRINTABLE)
def test_any_text_is_parsed_or_refused_at_a_place_in_it(text: str) -> None:
    try:
        pairs = parse(text)
    except BootconfigError as error:
        assert error.message and -1 <= error.offset <= len(text)
    else:
        assert all(key and not key.startswith(".") for key, _ in pairs)


@given(
    text=st.lists(KEYS, min_size=1, max_size=5).map(lambda keys: "".join(f"{key}\n" for key in keys)),
    initrd=st.binary(max_size=40),
)
def test_a_tail_is_found_again(text: str, initrd: bytes) -> None:
    whole = initrd + tail(text, len(initrd))
    assert len(whole) % 4 == 0 and whole.endswith(MAGIC)
    found = find_tail(whole, len(whole))
    assert found is not None
    assert (found.text, found.size) == (text, len(whole) - len(initrd))


@given(place=st.integers(0, 60), bit=st.integers(0, 7))
def test_a_damaged_tail_is_told_or_is_none(place: int, bit: int) -> None:
    whole = bytearray(b"initrd" + tail("a.b = c\nd = e\n", 6))
    place %= len(whole)
    whole[place] ^= 1 << bit
    damaged = bytes(whole)
    try:
        found = find_tail(damaged, len(damaged))
    except BootconfigError:
        return
    assert found is None or place < len(whole) - found.size


def test_limits_are_those_of_the_kernel() -> None:
    with pytest.raises(BootconfigError, match="Too many nodes"):
        parse("a = " + ",".join(["1"] * MOST_NODES))
    parse("a = " + ",".join(["1"] * (MOST_NODES - 1)))
    parse(".".join("k" * MOST_DEPTH) + "\n")
    with pytest.raises(BootconfigError, match="Too many key words"):
        parse(".".join("k" * (MOST_DEPTH + 1)) + "\n")
    parse("k" * (MOST_KEY - 1) + "\n")
    with pytest.raises(BootconfigError, match="Too long key"):
        parse("k" * MOST_KEY + "\n")
    longest = "a = " + "x" * (MOST_BYTES - 4)
    parse(longest)
    with pytest.raises(BootconfigError, match="too big"):
        parse(longest + "x")
    # Of an initrd the padding counts too: 4-byte steps of the whole, less 20 bytes behind the data.
    assert find_tail(tail(longest[:-3], 0), 1 << 20) is not None
    with pytest.raises(BootconfigError, match="greater than max size"):
        tail(longest, 0)
