"""The next action, by what is on the screen: what was done least there comes first, so that nothing is left out."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from random import Random
from typing import Any

from textual.widget import Widget
from textual.widgets import Input, TextArea

from tests.monkey.actions import LEAVING, SIZES, Action, random_action
from tui.commands import COMMANDS
from tui.live.screen import LiveScreen

Tried = Counter[tuple[str, ...]]
"""Times that each thing was done: the kind of thing, its place, and the thing."""

_ENTRANCES: dict[str, tuple[Action, ...]] = {
    "app": (),
    "live": (Action("key", "f3"),),
    "hosts": (Action("key", "f9"),),
    "compose": (Action("key", "f2"), Action("burst", "vfs_read\n"), Action("wait", "", 0.02)),
}
"""Actions that lead to where the commands of a place (`tui.commands`) are."""
_WAYS = {
    f"{command.place} {command.action}": (
        Action("key", "escape"),
        *_ENTRANCES[command.place],
        Action("key", command.keys.split(",")[0], 1.0),
    )
    for command in COMMANDS
    if not LEAVING & set(command.keys.split(","))
}
"""Actions that lead to what each command shows."""


class Chooser:
    """Chooses one action after the other."""

    def __init__(self, random: Random, material: str, tried: Tried) -> None:
        """Go on from what was tried; that is counted on in place.

        Args:
            random: decides among what was tried equally often.
            material: name of what the application shows (`tests.monkey.materials`).
            tried: by earlier sessions, too.
        """
        self.tried = tried
        self._random = random
        self._material = material
        self._way: deque[Action] = deque()
        """The rest of a way that was begun."""

    def choose(self, app: Any) -> Action:
        """Return what is to be done next."""
        if self._way:
            return self._way.popleft()
        sort = self._random.random()
        if sort < 0.08:
            self._way.extend(_WAYS[self._least("way", self._material, sorted(_WAYS))])
            return self._way.popleft()
        if sort < 0.45:
            return self._own_key(app)
        if sort < 0.62:
            return self._aimed_mouse(app)
        if sort < 0.70:
            size = self._least("size", screen_name(app), [f"{width}x{height}" for width, height in SIZES])
            width, _, height = size.partition("x")
            return Action("size", "", float(width), float(height))
        return random_action(self._random)

    def _own_key(self, app: Any) -> Action:
        """Return a key that has a binding here: mostly of the widget that has the keyboard, else of the screen."""
        focused = app.focused
        nodes = [keys for node, bound in app.screen._modal_binding_chain if (keys := self._keys(focused, bound))]
        if not nodes:
            return random_action(self._random)
        keys = nodes[0] if self._random.random() < 0.5 else self._random.choice(nodes)
        place = f"{self._material} {screen_name(app)} {type(focused).__name__}"
        return Action("key", self._least("key", place, keys), self._random.choice((0.0, 1.0, 1.0)))

    @staticmethod
    def _keys(focused: Widget | None, bound: Any) -> list[str]:
        """Return the keys of one node that are no text here, and don't end the application."""
        text = isinstance(focused, Input | TextArea)
        return [
            key
            for key, bindings in bound.key_to_bindings.items()
            if key not in LEAVING and not (text and any(len(one.key) == 1 for one in bindings))
        ]

    def _aimed_mouse(self, app: Any) -> Action:
        """Return the use of the mouse on a widget of a class that is on the screen."""
        regions = {
            f"{type(widget).__name__}": region.intersection(clip)
            for widget, (region, clip) in app.screen._compositor.visible_widgets.items()
            if region.intersection(clip)
        }
        if not regions:
            return random_action(self._random)
        kinds = [f"{kind} {name}" for name in sorted(regions) for kind in ("click", "double", "wheel")]
        kind, name = self._least("mouse", f"{self._material} {screen_name(app)}", kinds).split(" ")
        x, y, width, height = regions[name]
        # Rows of a list stand at its top; below may be none.
        across, down = self._random.random(), self._random.random() ** self._random.choice((1, 3))
        columns, rows = app.screen.size
        return Action(
            kind,
            self._random.choice(("up", "down")),
            (x + int(across * width) + 0.5) / columns,
            (y + int(down * height) + 0.5) / rows,
        )

    def _least(self, kind: str, place: str, things: Sequence[str]) -> str:
        """Return one of the things that was tried least, and count it."""
        counts = [self.tried[kind, place, thing] for thing in things]
        least = min(counts)
        chosen = self._random.choice([thing for thing, count in zip(things, counts, strict=True) if count == least])
        self.tried[kind, place, chosen] += 1
        return chosen


def screen_name(app: Any) -> str:
    """Return the class of the screen on top, with that of the view where it has several."""
    screen = app.screen
    return f"{type(screen).__name__}" + (
        f" {type(screen.views.current).__name__}" if isinstance(screen, LiveScreen) else ""
    )
