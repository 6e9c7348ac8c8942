"""Ways out that depend on the screen on top: how a step is undone from a dialog, and how a dialog is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.screen import ModalScreen

from tui.present.ways_out import OTHER_TARGET, SEE_HOSTS, TAKE_BACK, TAKE_BACK_BEHIND, TAKE_BACK_ELSEWHERE, TRY_AGAIN
from widgets.way_out import Way

if TYPE_CHECKING:
    from tui.present.option_keys import KeysForOptions


def take_back(app: App[None]) -> Way:
    """Return the way back from what was done last, from where the keyboard is: `u` is no key of every place."""
    bound = app.active_bindings.get("u")
    if bound is not None and bound.binding.action == "take_back":
        return TAKE_BACK
    return TAKE_BACK_BEHIND if isinstance(app.screen, ModalScreen) else TAKE_BACK_ELSEWHERE


def of_dialog(app: App[None]) -> tuple[Way, ...]:
    """Return the ways out of a trouble that can be taken now; the dialog that offers them takes their keys."""
    return tuple(way for way in (TRY_AGAIN, SEE_HOSTS, OTHER_TARGET) if app.check_action(way.action, ()))


def keys_for_options(app: App[None]) -> KeysForOptions:
    """Return the keys in place of the options in a message, from where the keyboard is."""
    from tui.present.option_keys import BEHIND_DIALOG, WHERE_BUILT, WHERE_SHOWN  # imports probes

    if isinstance(app.screen, ModalScreen):
        return BEHIND_DIALOG
    return WHERE_BUILT if app.current_mode == "compose" else WHERE_SHOWN
