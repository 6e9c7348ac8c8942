"""Disarm the probes of a command at its end, and report what is left behind."""

from __future__ import annotations

import contextlib
import sys
import time
from types import TracebackType

from kernel.cleanup.undo import failure_lines
from kernel.errors import SettingChanged, TargetLost
from kernel.watch.reconnect import effects_note
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.once import is_first_report
from tui.cli.console.output import plain


class Disarming:
    """Block at whose end all is disarmed; that nobody reads the output ends the command unless something is left."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.left = 0
        """1 if something is left behind."""

    def __enter__(self) -> Disarming:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.left = disarm_all(self._watch)
        return isinstance(error, BrokenPipeError) and bool(self.left)


def disarm_all(watch: Watch) -> int:
    """Disarm and close; print what is left behind, and return 1 if something is."""
    watch.set_deadline(time.monotonic())  # the command ends: don't wait for the remote host as long as before
    failures = watch.close()
    lost = [failure.error for failure in failures if isinstance(failure.error, TargetLost)]
    with contextlib.suppress(OSError), at_priority(Level.ERROR):  # the terminal may be gone
        if lost:
            why = f"{plain(str(lost[0]))}\n  " if is_first_report(lost[0]) else ""
            print(f"probewright: {why}{plain(effects_note(watch.info.target))}", file=sys.stderr)
        for failure in failures:
            if isinstance(failure.error, SettingChanged):
                print(f"probewright: {plain(str(failure.error))}", file=sys.stderr)
            elif failure.error not in lost:
                print(f"probewright: left behind: {plain(failure_lines([failure])[0])}", file=sys.stderr)
                print("  `clean` with this target tries again", file=sys.stderr)
    return 1 if any(not isinstance(failure.error, SettingChanged) for failure in failures) else 0
