"""Run the application; whatever ends it, disarm all probes after the terminal is restored."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from kernel.connection.open_target import require_target
from kernel.errors import TargetUnusable
from tui.cli.args.fast_path import COMMANDS
from tui.cli.follow.ending import RERAISE_SIGNAL
from tui.cli.status import DONE, REFUSED, USAGE
from tui.opening import Opening
from tui.preview import PreviewReader

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace

    from kernel.hosts.fleet import Fleet
    from tui.app.app import Probewright


def run(arguments: argparse.Namespace | SimpleNamespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(f"probewright: no terminal; without one there are {', '.join(COMMANDS)}", file=sys.stderr)
        return USAGE
    # until the first picture: all objects made by then stay, and collections cost it a sixth of its time
    gc.disable()
    options = {name: getattr(arguments, name, None) for name in ("max_rate", "storm")}
    asked = {name: float(value) for name, value in options.items() if value is not None}
    fleet = _fleet(arguments, asked)
    opening = _opening(fleet, getattr(arguments, "recording", None) or arguments.target)
    of_file = fleet is None and PreviewReader.suits(opening.spec)
    if of_file:
        _require_target(opening.spec)
    preview = PreviewReader(opening.spec) if of_file else None
    (preview or opening).start()
    # At Textual's default of 60 pictures a second a key takes twice the time to its answer.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from tui.app.app import Probewright
    from tui.app.driver import TerminalDriver

    if fleet is None and opening.spec.startswith("ssh://"):
        # ssh may ask for a password or about a host key: the application does not own the terminal yet
        opening.join()
    app = Probewright(opening, preview, fleet)
    app.target.asked_limits = asked
    if issubclass(TerminalDriver, app.driver_class):  # else the environment names another
        app.driver_class = TerminalDriver
    try:
        app.run()
    finally:
        # a second signal must not interrupt the removal of probes
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, RERAISE_SIGNAL):
            signal.signal(number, signal.SIG_IGN)
        left = _take_away(app)
    return REFUSED if left else app.return_code or DONE


def _fleet(arguments: argparse.Namespace | SimpleNamespace, asked: dict[str, float]) -> Fleet | None:
    """Return the hosts where several targets or a group were named, none opened yet; None: a single target.

    Raises GroupError, TargetUnusable.
    """
    targets, groups = getattr(arguments, "targets", ()), getattr(arguments, "groups", ())
    if len(targets) < 2 and not groups:
        return None
    from kernel.guards.limits import Limits
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.selection import selected_specs
    from tui.cli.commands.hosts import window_of

    first = [arguments.recording] if arguments.recording else []
    specs = selected_specs([*first, *targets], groups)
    return Fleet(specs, limits=Limits.of(asked), window=window_of(getattr(arguments, "window", None)))


def _opening(fleet: Fleet | None, spec: str) -> Opening:
    if fleet is None:
        return Opening(spec)
    from tui.hosts.control import opening_of_fleet

    return opening_of_fleet(fleet)


def _require_target(spec: str) -> None:
    """Raise TargetUnusable if a word is no target, with the nearest command as a hint."""
    try:
        require_target(spec)
    except TargetUnusable as error:
        import difflib

        nearest = difflib.get_close_matches(spec, COMMANDS, 1)
        hint = f"did you mean `probewright {nearest[0]}`?" if nearest else f"commands are {', '.join(COMMANDS)}"
        raise TargetUnusable(str(error), f"{error.remedy}\n  {hint}") from None


def _take_away(app: Probewright) -> int:
    """Disarm all probes and close all connections; return 1 if something is left behind.

    Errors while printing are ignored: the terminal may be gone.
    """
    from tui.cli.follow.disarming import disarm_all  # not before the first picture: it imports the kernel side

    left = 0
    try:
        if app.current_watch is not None:
            with contextlib.suppress(OSError):
                if app.current_watch.live:  # probes recorded in a file are not armed in a kernel
                    print("taking the probes away ...", file=sys.stderr, flush=True)
            left = disarm_all(app.current_watch)
        with contextlib.suppress(OSError):
            if app.tracing.busy:
                print(
                    "taking the call graph's tracer away, which can take half a minute ...",
                    file=sys.stderr,
                    flush=True,
                )
        if (graph := app.tracing.last()) is not None:
            left |= disarm_all(graph)
    finally:
        app.opening.cancel.set()
        if app.planner is not None:
            app.planner.info.close()
        if app.hosts is not None:
            left |= _close_hosts(app.hosts.fleet)
    return left


def _close_hosts(fleet: Fleet) -> int:
    """Disarm all probes on all hosts, and print what is left behind; return 1 if something is."""
    from tui.cli.host_stream.stream import print_leftovers

    with contextlib.suppress(OSError):
        if fleet.armed:
            print("taking the probes away from the hosts ...", file=sys.stderr, flush=True)
    fleet.close()
    with contextlib.suppress(OSError):  # the terminal may be gone
        for host in fleet.all_hosts:
            print_leftovers(host)
    return int(any(host.undo_errors for host in fleet.all_hosts))
