"""Every text line says at the foot of the screen what Enter does there."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

import tui
import widgets
from tests.interface.test_widgets_target_chooser import CHOICES
from tests.interface.widget_host import Host, until
from widgets.dialogs.target_chooser import TargetChooser
from widgets.footer import KeyFooter
from widgets.search_line import SearchLine

HERE = Path(__file__).parents[2]


def lines(kind: type[Input]) -> Iterator[type[Input]]:
    for one in kind.__subclasses__():
        yield one
        yield from lines(one)


def ours() -> list[type[Input]]:
    """The classes of all text lines: of all modules, but for those of tests."""
    for package in (widgets, tui):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return [kind for kind in lines(Input) if kind.__module__.startswith(("widgets.", "tui."))]


@pytest.mark.parametrize("kind", [one for one in ours() if one is not SearchLine], ids=lambda one: one.__qualname__)
def test_enter_has_a_label(kind: type[Input]):
    bound = kind._merged_bindings.get_bindings_for_key("enter")
    assert bound and all(one.show and one.description for one in bound)


def test_no_line_is_without_a_class_that_names_enter():
    files = [file for folder in ("widgets", "tui") for file in (HERE / folder).rglob("*.py")]
    calls = [
        f"{file.relative_to(HERE)}:{node.lineno}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Input", "SearchLine")
    ]
    assert len(files) > 100 and calls == []


async def test_the_foot_shows_enter_in_a_line():
    app = Host(lambda: TargetChooser(CHOICES))
    async with app.shown() as pilot:
        await app.mount(foot := KeyFooter())
        await pilot.press("tab")
        wanted = {"enter": "Choose", "esc": "List"}.items()
        await until(lambda: wanted <= {key.key_name: key.label for key in foot.keys}.items(), pilot)
