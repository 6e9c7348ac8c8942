"""Random things that a person, or a cat on the keyboard, does to the application."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tui.commands import COMMANDS

SIZES = ((20, 4), (40, 10), (80, 24), (120, 40), (200, 60), (300, 100))
"""Columns and rows that are common, or the least and the most that is tried."""

LEAVING = frozenset({"ctrl+q", "ctrl+c"})
"""Keys that end the application."""

_COMMAND_KEYS = sorted({key for command in COMMANDS for key in command.keys.split(",")} - LEAVING)
_MOVES = (
    "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "ctrl+home", "ctrl+end", "tab", "shift+tab",
    "enter", "space", "escape", "escape", "backspace", "delete", "enter", "down", "tab",
)  # fmt: skip
_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHLMNRTUW0123456789/.:!?*+-<>=[]()$%&|~^#'\"\\ "
_CONTROL = (*(f"ctrl+{letter}" for letter in "abdefghklnoprstuwxyz"), "f1", "f10", "f12", "shift+f2", "alt+x")
_WORDS = (
    "vfs_read", "do_sys_open", "f vfs_read count", "p:mine vfs_read%return $retval", "comm == cat", "count > 4096",
    "ret == -ENOENT", "lat > 1ms", "cgroup == x", 'name ~ "[ab]*"', "99999999999999999999999", "-1", "0x", "'",
    "a b c", "tui/default.pwr", "/nowhere/at/all", "ssh://", "lab:", "local", "hist:keys=common_pid",
    "stacktrace", "on sched/",
)  # fmt: skip
_PASTES = (
    "vfs_read", "vfs_read\nvfs_write\n", "f vfs_read\n# nothing\n\np vfs_write count", "\x1b[31mred\x1b]0;title\x07",
    "\u202ereversed\u200b", "\ud800", "\x00\x01\x02", "x" * 70_000, "line\n" * 3_000, "\r\n", "\t", "", "漢字" * 50,
)  # fmt: skip


class Action(NamedTuple):
    """One thing done: `key`, `burst` (keys at once), `paste`, `click`, `double`, `wheel`, `size` or `wait`."""

    kind: str
    text: str = ""
    x: float = 0.0
    """Share of the screen's width; of `size` the columns; of `key` and `wait` the seconds before."""
    y: float = 0.0
    """Share of the screen's height; of `size` the rows."""


def random_action(random: Random) -> Action:
    """Return one of all actions, most of them keys that mean something somewhere."""
    sort = random.random()
    if sort < 0.60:
        keys = random.choice((_COMMAND_KEYS, _COMMAND_KEYS, _MOVES, _MOVES, _MOVES, _SIGNS, _CONTROL))
        return Action("key", random.choice(keys), random.choice((0.0, 1.0)))
    if sort < 0.75:
        words = random.choice(_WORDS) if random.random() < 0.7 else "".join(random.choices(_SIGNS, k=12))
        return Action("burst", words + random.choice(("", "", "\n")))
    if sort < 0.80:
        return Action("paste", random.choice(_PASTES))
    if sort < 0.90:
        kind = random.choice(("click", "click", "click", "double", "wheel"))
        return Action(kind, random.choice(("up", "down")), random.random(), random.random())
    if sort < 0.95:
        width, height = random.choice(SIZES) if random.random() < 0.6 else (
            random.randint(20, 300), random.randint(4, 100))  # fmt: skip
        return Action("size", "", width, height)
    return Action("wait", "", random.choice((0.0, 0.02, 0.3)))
