"""Write a POSIX shell script that arms the probes, prints their events, and removes everything it made.

The script needs tracefs and the usual programs (busybox has them), makes its own trace instance, and ends after
SECONDS, by a signal, or when its output is closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export.dialect import CannotExport, ExportText
from probes.export.names import events_of, notes_of
from probes.export.shell import BEGIN, CALM, INSTANCE, MAKE_INSTANCE, TRAPS, Script, header
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan

_USAGE = (
    "usage, as root: sh THIS [SECONDS]",
    "Prints events until SECONDS are over or Ctrl+C comes; nothing is left behind.",
)

_TAKE_AWAY = """
  if [ "$step" -ge 1 ]; then
    try "$instance/tracing_on" 0
    tries=0 idle=0
    # A reader that has seen something ends when tracing is off and the buffers are empty.
    while [ -n "$reader" ] && kill -0 "$reader" 2>/dev/null; do
      if unread; then idle=0; else idle=$((idle + 1)); fi
      tries=$((tries + 1))
      if [ "$tries" -ge 30 ] || [ "$idle" -ge 3 ]; then
        kill "$reader" 2>/dev/null
        break
      fi
      nap
    done
    [ -z "$reader" ] || wait "$reader" 2>/dev/null || [ $? -ne 1 ] || ended=1
    lost
  fi
"""

_NOT_ALL = """\
  # dd ends so where it can't read, or can't write what it has read: a disk that is full.
  if [ "$ended" -eq 1 ]; then
    say "the events end early: they could not be read or written"
    exit 1
  fi
}
"""

_FOLLOW = """
# No cat: busybox's does it by sendfile, and the kernel then waits for events with the pipe's lock held.
dd if="$instance/trace_pipe" bs=65536 2>/dev/null &
reader=$!
wait_for_end
"""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a script for the plans. Raises CannotExport for text with NUL in it."""
    events = events_of(plans)
    script = Script(events, instance=True)
    try:
        for event in events:
            script.define(event)
        for event in events:
            script.condition(event)
        # The exit is enabled first: an exit without an entry is recognizable, an entry without an exit is not.
        split = len(script.back)
        for event in reversed(events):
            script.enable(event)
    except ValueError as error:
        raise CannotExport(str(error)) from None
    disabling, removing = script.back[split:], script.back[:split]
    take_away = [
        "\ntake_away() {\n" + CALM,
        "\n".join(reversed(disabling)),
        _TAKE_AWAY,
        "\n".join(reversed(removing)),
        '\n  [ "$step" -lt 1 ] || remove_instance\n' + _NOT_ALL,
    ]
    text = header("shell script", plans, facts, _USAGE) + BEGIN + INSTANCE + "".join(take_away) + TRAPS
    return ExportText(text + MAKE_INSTANCE + "\n".join(script.forth) + "\n" + _FOLLOW, notes_of(plans))
