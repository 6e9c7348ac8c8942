"""A line that is cut while a command opens a target, arms or follows: it waits for it, says so, and goes on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection
from typing import TypeVar

from events.store.outage_mark import gap_of
from kernel.errors import KernelError, TargetLost
from kernel.watch.reconnect import (
    ReconnectAbandoned,
    ReconnectAttempt,
    Reconnected,
    can_be_reached_again,
    can_come_back,
)
from kernel.watch.watch import Watch
from tui.cli.console.output import plain
from tui.cli.follow.signals import has_been_asked

T = TypeVar("T")
_NOTICED = 60.0
"""Seconds until the reader of a session knows that its line is cut."""


def despite_cuts(
    watch: Watch, arguments: argparse.Namespace, act: Callable[[], T], events: Collection[str] = frozenset()
) -> T:
    """Do what needs the line; where that is cut meanwhile bring it back, with all that is armed, and do it again.

    Args:
        watch: of the target; its session need not be open.
        arguments: `reconnect` has the seconds to try for.
        act: may be done again after it raised TargetLost; what else it raises is raised.
        events: as for `comes_back`.
    """
    until = 0.0
    while True:
        try:
            return act()
        except TargetLost as error:
            until = until or time.monotonic() + getattr(arguments, "reconnect", 0)
            if not _is_known_to_be_cut(watch) or not comes_back(watch, arguments, events, until, error):
                raise


def _is_known_to_be_cut(watch: Watch) -> bool:
    """Leave a session in which nothing is armed; of another one wait until its reader has noticed."""
    if not watch.armed:
        watch.leave_session()
        return True
    end = time.monotonic() + _NOTICED
    while watch.error is None and time.monotonic() < end:
        time.sleep(0.02)
    return watch.error is not None


def comes_back(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    end: float,
    error: KernelError | None = None,
) -> bool:
    """Bring back a watch that has ended, where its line was cut; False: it has ended for good.

    Args:
        watch: that has ended.
        arguments: `reconnect` has the seconds to try for.
        events: paths of the events that are wanted, perhaps with the fields nobody asked for; grows by the new ones.
        end: when nothing more is wanted, by time.monotonic().
        error: what told that the line is cut, where the watch has no session that could.
    """
    # A signal may have come in the midst of what had to be whole, and ended in this cut.
    patience = 0.0 if has_been_asked() else min(getattr(arguments, "reconnect", 0), end - time.monotonic())
    unarmed = watch.session is None and can_be_reached_again(watch.connection.target)
    if patience <= 0 or not (unarmed or can_come_back(watch)):
        return False
    reconnecting = ReconnectAttempt(watch, patience=patience)
    say(f"{watch.error or error}; trying again for {patience:.0f} s")
    try:
        back = reconnecting.run()
    except ReconnectAbandoned as error:
        say(str(error))
        return False
    say(back.text)
    for refused in back.refused:
        say(f"not armed again: {refused}")
    _want(events, back)
    return True


def _want(events: Collection[str], back: Reconnected) -> None:
    """Want what stands for an event that was wanted, whose rows go by that name too from now on."""
    for old, new in back.again:
        for was, event in zip(old.plan.events, new.plan.events, strict=True):
            if isinstance(events, dict) and was.path in events:
                events[event.path] = events.pop(was.path)
            elif isinstance(events, set) and was.path in events:
                events.add(event.path)
                events.discard(was.path)


def tell_cuts(watch: Watch) -> None:
    """Say on standard error how long the line was cut, where it was."""
    if len(watch.cuts) == 1 and watch.connection.holds_events:
        say(watch.cuts[0].text)
    elif gap := gap_of(watch.cuts):
        say(f"the line was cut: events of {gap} lost")


def say(text: str) -> None:
    """On standard error, in a line."""
    print(f"probewright: {plain(text)}", file=sys.stderr, flush=True)
