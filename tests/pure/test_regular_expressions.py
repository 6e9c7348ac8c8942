"""Regular expressions of the tree: no endless repeat stands in another one unless a sign keeps rounds apart, or
behind another one with which it can share a run of letters.

Of each pattern that is a literal in a call of `re`, or a value of a module, the tree that `re` makes is looked at.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pure.pattern_tree import quadratic, restarts

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("btf", "events", "foreign", "kernel", "probes", "tui", "widgets")
_SEARCHES = ("search", "sub", "subn", "split", "findall", "finditer")
_CALLS = ("compile", "match", "fullmatch", *_SEARCHES)
_SEPARATED = {
    "probes/completion/argument.py",
    "probes/completion/cast.py",
    "probes/export/fleets/yaml_text.py",
    "probes/presets/lines.py",
    "probes/corrections/argument.py",
    "probes/corrections/condition.py",
    "widgets/fields/c_text.py",
}
"""Have such repeats of which every round needs a sign (`->`, `.`, a blank, a newline, a bracket) that the
repeat within it can't take, or ends at: one text has one way."""
_GREEDY = (codes.MAX_REPEAT, codes.MIN_REPEAT)


@functools.cache
def _literals() -> tuple[tuple[str, str, str | bytes], ...]:
    """Call of `re`, place and text of each pattern that is a literal in one."""
    return tuple(_literal_arguments())


def _literal_arguments() -> Iterator[tuple[str, str, str | bytes]]:
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            source = path.read_text()
            for node in ast.walk(ast.parse(source)) if "re." in source else ():
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id == "re"
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                    and isinstance(node.args[0].value, str | bytes)
                ):
                    yield node.func.attr, f"{path.relative_to(_ROOT)}:{node.lineno}", node.args[0].value


def _patterns(calls: Container[str] = _CALLS) -> Iterator[tuple[str, str | bytes]]:
    """Place and text of each pattern that is a literal in one of some calls of `re`."""
    return ((place, text) for call, place, text in _literals() if call in calls)


def _values(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Patterns in a value of a module."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple | set | frozenset | dict) and depth < 4:
        for one in (*value, *(value.values() if isinstance(value, dict) else ())):
            yield from _values(one, depth + 1)


def _compiled() -> Iterator[tuple[str, str | bytes]]:
    """Place and text of each pattern that a module has, however it was put together."""
    for folder in _FOLDERS:
        for module in pkgutil.walk_packages([str(_ROOT / folder)], f"{folder}."):
            if not module.name.endswith(("agent", "__main__")):  # they begin their work when they are imported
                for name, value in vars(importlib.import_module(module.name)).items():
                    for found in _values(value):
                        yield f"{module.name}.{name}", found.pattern


def _searched() -> Iterator[tuple[str, str | bytes]]:
    """Place and text of each pattern of a module that this module, or for a public one any, searches for."""
    searches = re.compile(rf"\b(\w+)\.(?:{'|'.join(_SEARCHES)})\(")
    files = [path for folder in _FOLDERS for path in sorted((_ROOT / folder).rglob("*.py"))]
    used = {path: set(searches.findall(path.read_text())) for path in files}
    anywhere = set().union(*used.values())
    for place, text in _compiled():
        module, _, name = place.rpartition(".")
        own = used.get(_ROOT / f"{module.replace('.', '/')}.py", set())
        if name in (own if name.startswith("_") else anywhere):
            yield place, text


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


_SHARED = (
    r"a*a*b", r"\w+\w*", r"\s*=?\s*x", r".*ab.*c", r".*=.*c", r"a*(?:b|a)a*c", r"(a|b)*a*c", r"\s*\s*+x",
    r"(?i)a*A*x", r".*(?=a*b)x", r"a+(?:ab)*?a+b", r"(\S+\.ko\S*):", r"[^:]*x?[a-z]*$", r"(x)\1*x*y", r"(?:a|b+)b*c",
)  # fmt: skip
_APART = (
    r"a*b", r"a*(?:ab)*c", r"\s*+\s*x", r"(?>a*)a*", r"\w+ \w+", r"(?s).*.*", r"(?:a*,)*", r"\d+\.\d+",
    r".*?(?<!\s)\s++#", r"((?>[^:]+?\.ko)[^:]*+):", r"([\"']).*?\1\s*$", r"[!-~][ -~]*(?:\n[ -~]*)*\n", rb"a*\xffb*",
)  # fmt: skip


@pytest.mark.parametrize("bad", _SHARED)
def test_repeats_that_share_letters_are_seen(bad: str) -> None:
    assert quadratic(bad)


@pytest.mark.parametrize("good", _APART)
def test_repeats_that_share_none_or_keep_them_are_not(good: str | bytes) -> None:
    assert not quadratic(good)


def test_no_pattern_has_two_repeats_that_share_letters() -> None:
    patterns = {text: place for place, text in (*_compiled(), *_patterns())}
    assert not {place: text for text, place in patterns.items() if quadratic(text)}
    assert len(patterns) > 280


@pytest.mark.parametrize("bad", [r"\w+=", r"(\w+)\s*=", r"\s*$", r"(?:a|b*)c", r"x?\s*+y", r"(?:\s*)y", r"(?>a*)b"])
def test_a_search_that_begins_anew_within_a_run_is_seen(bad: str) -> None:
    assert restarts(bad)


@pytest.mark.parametrize("good", [r"\w+", r"(?<!\w)\w+=", r"=\w*x", r"^\s*x", r"\b\w+=", r"a?b", r"\s*x?"])
def test_a_search_that_takes_each_run_once_is_not(good: str) -> None:
    assert not restarts(good)


def test_no_search_begins_anew_within_a_run() -> None:
    patterns = {text: place for place, text in (*_searched(), *_patterns(_SEARCHES))}
    assert not {place: text for text, place in patterns.items() if restarts(text)}
    assert len(patterns) > 100
