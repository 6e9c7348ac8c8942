"""Regular expressions of the tree: no endless repeat stands in another one unless a sign keeps rounds apart.

Of each pattern that is a literal in a call of `re`, the tree that `re` itself makes of it is looked at. Two
repeats one behind the other, which take quadratic time at worst, are not looked for.
"""

from __future__ import annotations

import ast
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("btf", "events", "foreign", "kernel", "probes", "tui", "widgets")
_CALLS = ("compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer")
_SEPARATED = {
    "probes/completion/argument.py",
    "probes/completion/cast.py",
    "probes/export/yaml_text.py",
    "probes/presets/lines.py",
    "probes/slips/argument.py",
    "probes/slips/condition.py",
    "widgets/c_text.py",
}
"""Have such repeats of which every round needs a sign (`->`, `.`, a blank, a newline, a bracket) that the
repeat within it can't take, or ends at: one text has one way."""
_GREEDY = (codes.MAX_REPEAT, codes.MIN_REPEAT)


def _patterns() -> Iterator[tuple[str, str | bytes]]:
    """Place and text of each pattern that is a literal."""
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in _CALLS
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id == "re"
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                    and isinstance(node.args[0].value, str | bytes)
                ):
                    yield f"{path.relative_to(_ROOT)}:{node.lineno}", node.args[0].value


def _is_endless(item: Any) -> bool:
    op, argument = item
    return op in _GREEDY and argument[1] is codes.MAXREPEAT


def _inside(item: Any) -> list[Any]:
    """The sequences that stand in an item."""
    op, argument = item
    if op in (*_GREEDY, codes.POSSESSIVE_REPEAT):
        return [argument[2]]
    if op is codes.SUBPATTERN:
        return [argument[3]]
    if op is codes.ATOMIC_GROUP:
        return [argument]
    if op is codes.BRANCH:
        return list(argument[1])
    return []


def _nested(sequence: Any, within: bool = False) -> bool:
    """Whether a repeat without end stands in another, and both can give back what they took."""
    for item in sequence:
        op = item[0]
        endless = _is_endless(item)
        if within and endless:
            return True
        keeps = op in (codes.ATOMIC_GROUP, codes.POSSESSIVE_REPEAT)
        if any(_nested(one, (within or endless) and not keeps) for one in _inside(item)):
            return True
    return False


@pytest.mark.parametrize("bad", [r"(a+)+", r"(?:a*b?)*c", r"(?:(?:x+|y)z?)*"])
def test_nested_repeats_are_seen(bad: str) -> None:
    assert _nested(parser.parse(bad))


@pytest.mark.parametrize("good", [r"(a++)+", r"(?:ab)*c+", r"(?>a+)*", r"a+b+"])
def test_repeats_that_keep_what_they_took_are_none(good: str) -> None:
    assert not _nested(parser.parse(good))


def test_no_pattern_has_a_repeat_within_a_repeat_that_nothing_separates() -> None:
    patterns = list(_patterns())
    found = [place for place, text in patterns if _nested(parser.parse(text))]
    assert {place.partition(":")[0] for place in found} == _SEPARATED
    assert len(found) == 8
    assert len(patterns) > 150
