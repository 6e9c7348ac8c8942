"""Reconnect when the connection is lost while a command opens a target, arms or follows: wait, report, and go on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection
from typing import TypeVar

from events.store.outage_mark import total_outage_text
from kernel.errors import KernelError, TargetLost
from kernel.watch.reconnect import (
    ReconnectAbandoned,
    ReconnectAttempt,
    Reconnected,
    can_be_reached_again,
    can_reconnect,
)
from kernel.watch.watch import Watch
from tui.cli.console.output import plain
from tui.cli.follow.signals import is_stop_requested

T = TypeVar("T")
_NOTICED_WITHIN = 60.0
"""Seconds until the reader of a session has noticed that its connection is lost."""


def retry_after_reconnect(
    watch: Watch, arguments: argparse.Namespace, act: Callable[[], T], events: Collection[str] = frozenset()
) -> T:
    """Call a function that needs the connection; if that is lost, reconnect, arm all probes again, and call the
    function again.

    Args:
        watch: watch of the target; its session need not be open.
        arguments: `reconnect` has the seconds to try for.
        act: function that may be called again after it raised TargetLost; its other errors are raised.
        events: as for `reconnect`.
    """
    until = 0.0
    while True:
        try:
            return act()
        except TargetLost as error:
            until = until or time.monotonic() + getattr(arguments, "reconnect", 0)
            if not _is_loss_noticed(watch) or not reconnect(watch, arguments, events, until, error):
                raise


def _is_loss_noticed(watch: Watch) -> bool:
    """Return True once the loss is known: leave a session without armed probes, else wait for the session's reader to
    notice.
    """
    if not watch.armed.probes:
        watch.queue.leave()
        return True
    end = time.monotonic() + _NOTICED_WITHIN
    while watch.error is None and time.monotonic() < end:
        time.sleep(0.02)
    return watch.error is not None


def reconnect(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    end: float,
    error: KernelError | None = None,
) -> bool:
    """Reconnect a watch that has ended, if its connection was lost; return False if it has ended for good.

    Args:
        watch: watch that has ended.
        arguments: `reconnect` has the seconds to try for.
        events: paths of the wanted events, perhaps with the fields not requested; the new paths are added.
        end: time after which no more events are wanted, by time.monotonic().
        error: error that revealed the loss, if the watch has no session with one.
    """
    # A signal may have arrived in a section that must not be interrupted, and ended in this loss.
    patience = 0.0 if is_stop_requested() else min(getattr(arguments, "reconnect", 0), end - time.monotonic())
    reachable_unarmed = watch.session is None and can_be_reached_again(watch.info.target)
    if patience <= 0 or not (reachable_unarmed or can_reconnect(watch)):
        return False
    attempt = ReconnectAttempt(watch, patience=patience)
    print_message(f"{watch.error or error}; trying again for {patience:.0f} s")
    try:
        back = attempt.run()
    except ReconnectAbandoned as error:
        print_message(str(error))
        return False
    print_message(back.text)
    for error_text in back.rejected_probes:
        print_message(f"not armed again: {error_text}")
    _replace_paths(events, back)
    watch.info.symbols.renew()
    return True


def _replace_paths(events: Collection[str], back: Reconnected) -> None:
    """Replace the paths of wanted events by those of the probes armed again, whose rows have the new path from now
    on.
    """
    for old, new in back.rearmed:
        for was, event in zip(old.plan.events, new.plan.events, strict=True):
            if isinstance(events, dict) and was.path in events:
                events[event.path] = events.pop(was.path)
            elif isinstance(events, set) and was.path in events:
                events.add(event.path)
                events.discard(was.path)


def print_outages(watch: Watch) -> None:
    """Print on standard error how long the connection was lost, if it was."""
    if len(watch.outages) == 1 and watch.info.holds_events:
        print_message(watch.outages[0].text)
    elif gap := total_outage_text(watch.outages):
        print_message(f"disconnected: events of {gap} lost")


def print_message(text: str) -> None:
    """Print one line on standard error."""
    print(f"probewright: {plain(text)}", file=sys.stderr, flush=True)
