"""Write a script in which trace-cmd records the probes; the script itself creates and removes their events.

trace-cmd(1) can't create events. It records ring-buffer pages into a file, without formatting events meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export.dialect import CannotExport, ExportText, gather
from probes.export.names import events_of, notes_of
from probes.export.quoting import sh_word
from probes.export.shell import BEGIN, CALM, INSTANCE, MAKE_INSTANCE, PUT, SET_ASIDE, TRAPS, WAIT, Script, header
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

_USAGE = (
    "usage, as root: sh THIS [SECONDS [FILE]]",
    "Records until SECONDS are over or Ctrl+C comes, then prints the events; they stay in FILE (probewright.dat).",
    "A FILE that is there already becomes FILE.old.",
)

_NEEDS = """
file=${2-probewright.dat}
if ! command -v trace-cmd >/dev/null; then
  say "trace-cmd is not installed"
  exit 3
fi
"""

_STOP = """\
  if [ -n "$reader" ]; then
    kill -INT "$reader" 2>/dev/null
    wait "$reader" 2>/dev/null
  fi
"""

_REPORT = """
reader=$!
trap 'seconds=0' INT
# Reading takes a moment to begin; the time counts from then on.
tries=0
while [ "$tries" -lt 600 ] && kill -0 "$reader" 2>/dev/null && ! grep -q 1 LAST; do
  tries=$((tries + 1))
  nap
done 2>/dev/null
"""

_PRINT = """
take_away
trace-cmd report -i "$file"
"""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a script for the plans. Raises CannotExport for text with NUL in it."""
    events = events_of(plans)
    gather([f"{e.event}: trace-cmd records each event that it gives a trigger" for e in events if not e.recorded])
    script = Script(events)
    try:
        for event in events:
            script.define(event)
        words = [word for event in events for word in _options(script, event)]
    except ValueError as error:
        raise CannotExport(str(error)) from None
    record = " \\\n  ".join(['trace-cmd record -q -o "$file" -B "probewright-$owner" -C mono', *words])
    take_away = "take_away() {\n" + CALM + _STOP + script.back + "}\n"
    text = header("trace-cmd script", plans, facts, _USAGE) + BEGIN + _NEEDS + PUT + INSTANCE + take_away + TRAPS
    last = f'"$instance"/events/{script.group(events[-1])}/{script.word(events[-1].event)}/enable'
    text += (
        MAKE_INSTANCE
        + "\n".join(script.forth)
        + f"\n{SET_ASIDE}{record} >&2 &{_REPORT.replace('LAST', last)}{WAIT}{_PRINT}"
    )
    return ExportText(text, notes_of(plans))


def _options(script: Script, event: PlannedEvent) -> list[str]:
    """Return the options that enable an event; -f and -R apply to the -e before them (trace-cmd-record(1))."""
    words = [f"-e {script.group(event)}:{script.word(event.event)}"]
    if event.filter:
        words.append(f"-f {sh_word(event.filter)}")
    words += [f"-R {script.word(trigger)}" for trigger in event.triggers]
    return words
