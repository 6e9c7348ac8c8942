"""Counts in messages agree with their nouns: `foreign.count_text.counted` writes both."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreign.count_text import counted, shortened

ROOT = Path(__file__).parents[2]
NOUNS = (
    "argument|caller|cgroup|copie|CPU|entrie|event|file|function|histogram|hit|host|level|line|member|name|page|pair|"
    "probe|process|read|row|second|span|task|thing|thread"
)
"""What is counted in messages, each with an `s` behind it; not units, as the bytes of a bound."""
VERBS = "call|end|record"
"""Nouns that are verbs, too, behind another thing than a number."""
COUNTED = re.compile(rf" (?:more |older |other )?(?:{NOUNS})s\b")
COUNTED_OR_VERB = re.compile(rf" (?:{VERBS})s\b")
NUMBER = re.compile(r"\b(?:len|sum|grouped|counts?)\b")
BOUND = re.compile(r"\b_?[A-Z][A-Z_]+\b")
AT_LEAST_TWO = (
    *("probes: paste it for all", "functions have this name", "names fit, and each needs a kprobe", "lines: "),
    *("lines were pasted", "entries: a key that a process chose looks like more", "CPUs"),
)
"""Beginnings of what follows numbers that are never one."""
RATES = ("events a second",)
NO_NUMBERS = ("command.kind", "hits")
"""Expressions for a word, and for a rounded rate."""


def texts() -> Iterator[tuple[str, str, str]]:
    """Module, expression and following text of each value in an f-string."""
    for folder in ("tui", "widgets", "kernel", "probes", "events"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.JoinedStr):
                    for value, text in zip(node.values, node.values[1:], strict=False):
                        if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                            yield str(path.relative_to(ROOT)), ast.unparse(value.value), str(text.value)


def test_no_number_has_a_noun_that_it_may_not_agree_with() -> None:
    known = tuple(f" {text}" for text in (*AT_LEAST_TWO, *RATES))
    every = list(texts())
    assert len(every) > 1000
    assert [
        (module, value, text)
        for module, value, text in every
        if (COUNTED.match(text) or (COUNTED_OR_VERB.match(text) and NUMBER.search(value)))
        and not BOUND.search(value)
        and not text.startswith(known)
        and value not in NO_NUMBERS
    ] == []


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (counted(1, "event"), "1 event"),
        (counted(0, "event"), "0 events"),
        (counted(12_345, "event was", "events were"), "12,345 events were"),
        (counted(1, "entry", "entries"), "1 entry"),
        (shortened(["a", "b"]), "a, b"),
        (shortened(list("abcdef")), "a, b, c, d and 2 more"),
    ],
)
def test_counts_and_lists(written: str, text: str) -> None:
    assert written == text
