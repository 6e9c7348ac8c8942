"""A line that is cut while a command follows events: it waits for it, says so, and goes on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection

from events.cut_mark import gap_of
from kernel.reconnect import Back, GaveUp, Reconnecting, can_come_back
from kernel.watch import Watch
from tui.cli.output import plain


def comes_back(watch: Watch, arguments: argparse.Namespace, events: Collection[str], end: float) -> bool:
    """Bring back a watch that has ended, where its line was cut; False: it has ended for good.

    Args:
        watch: that has ended.
        arguments: `reconnect` has the seconds to try for.
        events: paths of the events that are wanted, perhaps with the fields nobody asked for; grows by the new ones.
        end: when nothing more is wanted, by time.monotonic().
    """
    patience = min(getattr(arguments, "reconnect", 0), end - time.monotonic())
    if patience <= 0 or not can_come_back(watch):
        return False
    reconnecting = Reconnecting(watch, patience=patience)
    say(f"{watch.error}; trying again for {patience:.0f} s")
    try:
        back = reconnecting.run()
    except GaveUp as error:
        say(str(error))
        return False
    say(back.cut.text)
    for refused in back.refused:
        say(f"not armed again: {refused}")
    _want(events, back)
    return True


def _want(events: Collection[str], back: Back) -> None:
    """What stands for an event that was wanted is wanted too."""
    for old, new in back.again:
        for was, event in zip(old.plan.events, new.plan.events, strict=True):
            if isinstance(events, dict) and was.path in events:
                events[event.path] = events[was.path]
            elif isinstance(events, set) and was.path in events:
                events.add(event.path)


def tell_cuts(watch: Watch) -> None:
    """Say on standard error how long the line was cut, where it was."""
    if len(watch.cuts) == 1 and watch.connection.holds_events:
        say(watch.cuts[0].text)
    elif watch.cuts:
        say(f"the line was cut: events of {gap_of(watch.cuts)} lost")


def say(text: str) -> None:
    """On standard error, in a line."""
    print(f"probewright: {plain(text)}", file=sys.stderr, flush=True)
