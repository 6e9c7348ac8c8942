"""Write a POSIX shell script that arms the probes, prints their events, and removes everything it made.

The script needs tracefs and the usual programs (busybox has them), makes its own trace instance, and ends after
SECONDS, by a signal, or when its output is closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export.dialect import CannotExport, ExportText
from probes.export.names import events_of, notes_of
from probes.export.shell import BEGIN, CALM, INSTANCE, MAKE_INSTANCE, PUT, TRAPS, WAIT, Script, header
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan

_USAGE = ("as root: sh THIS [SECONDS]; prints events until the time is over or Ctrl+C comes, leaves nothing behind",)

_TAKE_AWAY = r"""  put "$instance/tracing_on" 0
  if [ -n "$reader" ]; then
    # A reader that has seen something ends when the buffers are empty, one that never did waits on.
    tries=0
    while [ "$tries" -lt 30 ] && kill -0 "$reader" 2>/dev/null; do
      grep -q '^entries: [1-9]' "$instance"/per_cpu/cpu*/stats || tries=$((tries + 9))
      tries=$((tries + 1))
      nap
    done
    kill "$reader" 2>/dev/null
    wait "$reader" 2>/dev/null || [ $? -ne 1 ] || ended=1
    lost=$(awk '/^(overrun|dropped events):/ { n += $NF } END { print n + 0 }' "$instance"/per_cpu/cpu*/stats)
    [ "$lost" -eq 0 ] || say "$lost events were lost: more came than were read"
  fi
"""

_END = """\
  [ "$ended" -ne 1 ] || { say "the events end early: they could not be read or written"; exit 1; }
}
"""
"""End of `take_away`: dd's status is 1 where it can't read, or can't write what it has read, as on a full disk."""

FOLLOW = (
    r"""
# No cat: busybox's does it by sendfile, and the kernel then waits for events with the pipe's lock held.
dd if="$instance/trace_pipe" bs=65536 2>/dev/null &
reader=$!
"""
    + WAIT
)
"""End of the script, when all probes are armed."""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a script for the plans. Raises CannotExport for text with NUL in it."""
    events = events_of(plans)
    script = Script(events)
    try:
        for event in events:
            script.define(event)
        for event in events:
            script.condition(event)
        # The exit is enabled first: an exit without an entry is recognizable, an entry without an exit is not.
        for event in reversed(events):
            script.enable(event)
    except ValueError as error:
        raise CannotExport(str(error)) from None
    text = header("shell script", plans, facts, _USAGE) + BEGIN + PUT + INSTANCE
    text += "take_away() {\n" + CALM + _TAKE_AWAY + script.back + _END + TRAPS + MAKE_INSTANCE
    return ExportText(text + "\n".join(script.forth) + "\n" + FOLLOW, notes_of(plans))
