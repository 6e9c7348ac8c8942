"""Generate `docs/keys.md`: the keys of every screen, from the tables that the help is made of."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from tui.commands import bindings
from tui.docs.text import MADE, cell, code, table
from tui.help import CLICKS, EVERYWHERE, PANES, SCREENS, explained_bindings, note_on
from widgets.dialogs.help import section

_PACKAGES = ("widgets", "tui.compose", "tui.live", "tui.views", "tui.filter", "tui.hosts", "tui.dialogs")


def keys() -> str:
    """Return the page."""
    kinds = classes()
    parts = [
        MADE.format(source="`tui/commands.py`, `tui/help.py` and the widgets"),
        "# Keys\n\nF1 shows those of the screen you are on. Letters are as they are written: `D` is shift and `d`.\n",
        f"\n## With the mouse\n\n{table(('a click on', 'does'), CLICKS)}",
        f"\n## Everywhere\n\n{EVERYWHERE}\n\n" + _table(Binding.make_bindings(bindings("app"))),
    ]
    for name, (title, intro, _) in SCREENS.items():
        if not (own := [binding for kind in kinds if name in _names(kind) for binding in _own(kind)]) and not any(
            pane.screen == name for pane in PANES.values()
        ):
            continue
        parts.append(f"\n## {title}{_unless_alone(name, title)}\n\n{cell(intro)}\n")
        parts.append("\n" + _table(own) if own else "")
        parts += [_pane(kinds, pane) for pane in PANES if PANES[pane].screen == name]
    parts.append("\n## In several places\n")
    parts += [_pane(kinds, pane) for pane in PANES if not PANES[pane].screen]
    return "".join(parts)


def classes() -> list[type[Widget]]:
    """Return all classes of the application that have keys of their own, by module and name."""
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    derived = {kind for kind in _derived(Widget) if kind.__module__.partition(".")[0] in ("tui", "widgets")}
    return sorted(
        (kind for kind in derived if "BINDINGS" in vars(kind)), key=lambda kind: (kind.__module__, str(kind))
    )


def _derived(kind: type[Widget]) -> Iterator[type[Widget]]:
    for one in kind.__subclasses__():
        yield one
        yield from _derived(one)


def _names(kind: type[Widget]) -> set[str]:
    """Return the name in SCREENS of a screen class, as a set; empty for other widgets."""
    if not issubclass(kind, Screen) or kind.__name__ == "Dialog":
        return set()
    return {name for name in SCREENS if SCREENS[name] == note_on(kind)} & {one.__name__ for one in kind.__mro__}


def _own(kind: type[Widget]) -> list[Binding]:
    return [binding for one, binding in explained_bindings(kind) if one is kind]


def _unless_alone(name: str, title: str) -> str:
    """Return words that distinguish two screens with the same title."""
    names = [one for one in SCREENS if SCREENS[one].title == title]
    return "" if len(names) == 1 else " with two answers" if name == "ConfirmDialog" else " with several answers"


def _pane(kinds: list[type[Widget]], name: str) -> str:
    (kind,) = (one for one in kinds if one.__name__ == name)
    return f"\n### {PANES[name].title}\n\n{_table(_own(kind))}"


def _table(bound: Iterable[Binding]) -> str:
    lines = section("", list(bound)).keys
    return table(("key", "what"), ((code(line.key), cell(line.text)) for line in lines))
