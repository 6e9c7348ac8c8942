"""The application itself; whatever ends it, the probes are taken away after the screen is given back."""

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
from tui.cli.follow.ending import AGAIN
from tui.cli.main import DONE, REFUSED, USAGE
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
    gc.disable()  # until the first picture: all that is made by then stays, and collections cost it a sixth
    options = {name: getattr(arguments, name, None) for name in ("max_rate", "storm")}
    asked = {name: float(value) for name, value in options.items() if value is not None}
    fleet = _fleet(arguments, asked)
    opening = _opening(fleet, getattr(arguments, "recording", None) or arguments.target)
    of_file = fleet is None and PreviewReader.suits(opening.spec)
    if of_file:
        _require_target(opening.spec)
    preview = PreviewReader(opening.spec) if of_file else None
    (preview or opening).start()
    # Textual's default of 60 pictures a second costs a key twice the time to its answer.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from tui.app.app import Probewright
    from tui.app.driver import Terminal

    if fleet is None and opening.spec.startswith("ssh://"):
        opening.join()  # ssh may ask for a password or about a host key: the terminal is still its own
    app = Probewright(opening, preview, fleet)
    app.asked_limits = asked
    if issubclass(Terminal, app.driver_class):  # else the environment names another
        app.driver_class = Terminal
    try:
        app.run()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, AGAIN):  # a second one must not cut this short
            signal.signal(number, signal.SIG_IGN)
        left = _take_away(app)
    return REFUSED if left else app.return_code or DONE


def _fleet(arguments: argparse.Namespace | SimpleNamespace, asked: dict[str, float]) -> Fleet | None:
    """The hosts, where several or a group were named; none is opened yet. Raises GroupError, TargetUnusable."""
    targets, groups = getattr(arguments, "targets", ()), getattr(arguments, "groups", ())
    if len(targets) < 2 and not groups:
        return None
    from kernel.guards.limits import Limits
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.selection import specs_of
    from tui.cli.commands.hosts import window_of

    first = [arguments.recording] if arguments.recording else []
    specs = specs_of([*first, *targets], groups)
    return Fleet(specs, limits=Limits(**asked), window=window_of(getattr(arguments, "window", None)))


def _opening(fleet: Fleet | None, spec: str) -> Opening:
    if fleet is None:
        return Opening(spec)
    from tui.hosts.control import LentOpening

    return LentOpening(fleet)


def _require_target(spec: str) -> None:
    """As `require_target`; a word that is no target may have been meant for a command."""
    try:
        require_target(spec)
    except TargetUnusable as error:
        import difflib

        meant = difflib.get_close_matches(spec, COMMANDS, 1)
        hint = f"did you mean `probewright {meant[0]}`?" if meant else f"commands are {', '.join(COMMANDS)}"
        raise TargetUnusable(str(error), f"{error.remedy}\n  {hint}") from None


def _take_away(app: Probewright) -> int:
    """Leave nothing behind, also where nobody can be told any more: the terminal may be what went away."""
    from tui.cli.follow.follow import take_away  # not before the first paint: it brings the kernel's side along

    left = 0
    try:
        if app.watching is not None:
            with contextlib.suppress(OSError):
                if app.watching.live:  # what a recording was made with is not in a kernel
                    print("taking the probes away ...", file=sys.stderr, flush=True)
            left = take_away(app.watching)
        with contextlib.suppress(OSError):
            if app.graphing.busy:
                print(
                    "taking the call graph's tracer away, which can take half a minute ...",
                    file=sys.stderr,
                    flush=True,
                )
        if (graph := app.graphing.last()) is not None:
            left |= take_away(graph)
    finally:
        app.opening.cancel.set()
        if app.connection is not None:
            app.connection.close()
        if app.hosting is not None:
            left |= _close_hosts(app.hosting.fleet)
    return left


def _close_hosts(fleet: Fleet) -> int:
    """Take everything away on all hosts; 1 where something stays, and says what."""
    from tui.cli.host_stream.stream import tell_left

    with contextlib.suppress(OSError):
        if fleet.armed:
            print("taking the probes away from the hosts ...", file=sys.stderr, flush=True)
    fleet.close()
    with contextlib.suppress(OSError):  # the terminal may be gone
        for host in fleet.all_hosts:
            tell_left(host)
    return int(any(host.left for host in fleet.all_hosts))
