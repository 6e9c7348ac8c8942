"""Tell which keys can work on the target that is open, and their words there: for footers, the palette and help.

Apart from the application, as what is true of a target depends on its kind alone, and on the place on the screen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.actions import parse
from textual.screen import Screen

from tui.commands import (
    BEFORE_OPEN,
    CODE_ACTIONS,
    COMPOSE_ACTIONS,
    KERNEL_ACTIONS,
    MARK_ACTIONS,
    ON_RECORDING,
    ON_SAVED_FACTS,
    RECONNECT_ACTIONS,
)
from tui.present.ways_out import CHOOSE_TARGET, RUNNING_KERNEL

if TYPE_CHECKING:
    from kernel.target import Target
    from tui.app.places import AppPlaces
    from tui.app.target_control import TargetControl

NO_KERNEL = f"no kernel runs here; {RUNNING_KERNEL}"
NO_CODE = f"a recording has no code of its kernel; {RUNNING_KERNEL}"
NOT_OPEN = f"no target is open yet; {CHOOSE_TARGET}"
"""Reasons for which keys have no effect."""


class KeyWords:
    """Words of keys on the target that is open, and the reasons for which some have no effect there."""

    def __init__(self, target: TargetControl, places: AppPlaces, *, several_hosts: bool) -> None:
        self._target = target
        self._places = places
        self._several_hosts = several_hosts

    @property
    def _open(self) -> Target | None:
        planner = self._target.planner
        return planner.info.target if planner is not None else None

    @property
    def has_kernel(self) -> bool:
        """True where a kernel runs, or no target is open."""
        return (target := self._open) is None or target.is_kernel

    def lack(self, action: str, screen: Screen[object]) -> str:
        """Return why an action, with its parameters, cannot work on a screen with this target; empty: it may."""
        name = parse(action)[1]
        if self._open is None:
            return NOT_OPEN if self._waits_for_target(action, screen) else ""
        alone = name in RECONNECT_ACTIONS and not self._several_hosts
        if self.has_kernel:
            return ""
        if name in KERNEL_ACTIONS or action in KERNEL_ACTIONS or alone:
            return NO_KERNEL
        planner = self._target.planner
        return NO_CODE if name in CODE_ACTIONS and planner is not None and planner.info.holds_events else ""

    def _waits_for_target(self, action: str, screen: Screen[object]) -> bool:
        """Return whether an action on the place on the screen is about a target; in a dialog none is."""
        if action in BEFORE_OPEN:
            return False
        builds = action in COMPOSE_ACTIONS or action in MARK_ACTIONS
        return screen is self._places.live or (screen is self._places.compose and builds)

    def words(self, action: str, label: str, help_text: str, key_id: str) -> tuple[str, str]:
        """Return label and help of an action on the target that is open; `key_id`: that of its binding."""
        if self._target.planner is None or self.has_kernel:
            return label, help_text
        tables = (ON_RECORDING,) if self._target.planner.info.holds_events else (ON_SAVED_FACTS, ON_RECORDING)
        names = (key_id, action, parse(action)[1])
        found = (table[name] for table in tables for name in names if name in table)
        return next(found, (label, help_text))
