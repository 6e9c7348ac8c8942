"""Hold the common parts of POSIX shell scripts, which run in dash, busybox's sh and bash.

A script creates its events in its own group, named by the shell's process id and start time as a session's group is,
so that `probewright clean` finds leftovers if the shell is killed with SIGKILL. At the end all steps are undone in
reverse order, whether they were reached or not: nobody else has events and an instance of those names.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export.names import group_names, is_synthetic, notes_of
from probes.export.quoting import one_line, sh_parts, sh_word
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

BEGIN = r"""
set -u
export LC_ALL=C

say() { printf 'probewright: %s\n' "$*" >&2; }

seconds=${1-}
case $seconds in *[!0-9]* | ?????????*) say "usage: $0 [SECONDS]"; exit 2 ;; esac
tracing=/sys/kernel/tracing
[ -w "$tracing/dynamic_events" ] || tracing=/sys/kernel/debug/tracing
[ -w "$tracing/dynamic_events" ] || {
  say "no tracefs that can be written: as root, mount -t tracefs nodev /sys/kernel/tracing"
  exit 3
}

# PID_STARTTIME, the time in base 36: no other process of this boot has that name.
owner=$$_$(awk '{
  sub(/.*[)] /, "")
  for (n = $20; n > 0; n = int(n / 36)) o = substr("0123456789abcdefghijklmnopqrstuvwxyz", n % 36 + 1, 1) o
  print o
}' "/proc/$$/stat")
group=pw_$owner reader='' ended=0
"""
"""Beginning of every script."""

PUT = r"""
# put FILE TEXT: in one write, as the kernel wants it
put() { message=$( { printf '%s\n' "$2" | dd ibs=4096 obs=65536 >>"$1"; } 2>&1 ); }
arm() {
  put "$1" "$2" && return
  say "refused: $2: ${message%%?[0-9]+[0-9]*}"  # without what dd counts
  log=${1%/dynamic_events}
  tail -n 3 "${log%%/events/*}/error_log" >&2
  exit 1
}
# undo FILE TEXT: what is not there is no trouble
undo() { put "$1" "$2" || case $message in *'No such file'* | *nonexistent*) ;; *) return 1 ;; esac; }
nap() { sleep 0.1 2>/dev/null || sleep 1; }
# again COMMAND...: what is busy is for a moment
again() {
  for try in 1 2 3 4 5 6 7 8 9 10; do
    "$@" && return
    nap
  done
  say "left behind: $*"
}
"""
"""Functions that write to tracefs."""

WAIT = """
# Until the reader ends or the time is over.
if [ -z "$seconds" ]; then wait "$reader"; ended=$?; fi
passed=0
while [ "$passed" -lt "${seconds:-0}" ] && kill -0 "$reader" 2>/dev/null; do
  sleep 1 >/dev/null 2>&1 & wait $!
  passed=$((passed + 1))
done
"""

TRAPS = """
trap take_away EXIT
trap 'exit 130' INT; trap 'exit 143' HUP QUIT PIPE TERM ALRM USR1 USR2
"""

CALM = """\
  trap '' HUP INT QUIT PIPE TERM ALRM USR1 USR2; trap - EXIT
"""
"""Beginning of `take_away`: no second signal interrupts it."""

SET_ASIDE = """\
# What is left of an earlier recording must not be taken for this one, should it fail.
[ ! -f "$file" ] || mv -f -- "$file" "$file.old" || exit 1
"""
"""Lines before a tool records into `$file`."""

INSTANCE = r"""
instance=$tracing/instances/probewright-$owner
remove_instance() { [ ! -d "$instance" ] || rmdir "$instance" 2>/dev/null; }
"""
"""Function for the script's own trace instance."""

MAKE_INSTANCE = r"""
mkdir "$instance" || exit 1
echo mono >"$instance/trace_clock"
# A new instance takes over what somebody has set for the whole machine.
for option in record-cmd context-info event-fork noraw nohex nobin nofields nostacktrace; do
  echo "$option" >"$instance/trace_options"
done 2>/dev/null
# What reads the events must not make any.
echo $$ 2>/dev/null >"$instance/set_event_notrace_pid"
"""


class Script:
    """Writer of a script's steps, and of their undo."""

    def __init__(self, events: Sequence[PlannedEvent]) -> None:
        """Start a script without steps for these events, which are all that it has."""
        self._groups = group_names(events)
        self.forth: list[str] = []
        self._triggers: list[str] = []
        self._events: list[str] = []
        """Lines that remove an event, the newest last; each holds, too, where its step was not reached."""
        if any(event.line and is_synthetic(event) for event in events):
            self.forth.append("made=''")

    @property
    def back(self) -> str:
        """Lines that undo all steps: an event can be removed once no instance has it enabled."""
        return "".join([*reversed(self._triggers), "  again remove_instance\n", *reversed(self._events)])

    def word(self, text: str) -> str:
        """Return a shell word, with the script's own group in place of the planned one."""
        return sh_parts(text, self._groups, "group")

    def name(self, event: PlannedEvent) -> str:
        """Return `GROUP/EVENT` as a shell word."""
        return self.word(event.path)

    def group(self, event: PlannedEvent) -> str:
        """Return the event's group as a shell word."""
        return sh_word(event.group) if is_synthetic(event) or not event.line else '"$group"'

    def define(self, event: PlannedEvent) -> None:
        """Add the step that creates the event, unless the kernel has it already."""
        for line in event.lines:  # removing the event removes all its lines
            self.forth.append(f'arm "$tracing/dynamic_events" {self.word(line)}')
        if not event.line:
            return
        back = f'again undo "$tracing/dynamic_events" {self.word(event.remove)}'
        if is_synthetic(event):  # its name is global: what somebody else has made stays
            mark = sh_word(event.event)
            self.forth.append(f'made="$made "{mark}')
            back = f'case ${{made-}} in *" "{mark}*) {back} ;; esac'
        self._events.append(f"  {back}\n")

    def condition(self, event: PlannedEvent) -> None:
        """Add the steps that set the event's filter and triggers in the instance."""
        folder = f'"$instance"/events/{self.name(event)}'
        if event.filter:  # the filter is removed with its event or instance
            self.forth.append(f"arm {folder}/filter {sh_word(event.filter)}")
        for trigger in event.triggers:
            self.forth.append(f"arm {folder}/trigger {self.word(trigger)}")
            self._triggers.append(f"  again undo {folder}/trigger {self.word(f'!{trigger}')}\n")

    def enable(self, event: PlannedEvent) -> None:
        """Add the step that enables the event, if it is to be recorded; removing the instance disables it."""
        if event.recorded:
            self.forth.append(f'arm "$instance"/events/{self.name(event)}/enable 1')


def header(tool: str, plans: Sequence[Plan], facts: TargetFacts, usage: Sequence[str]) -> str:
    """Return the first lines of a script: title, probes, usage and notes."""
    lines = [*(f"{plan.probe}" for plan in plans), f"{tool}, made by probewright for {facts.title}", *usage]
    lines += [f"note: {note}" for note in notes_of(plans)]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in lines)
    shellcheck = "# shellcheck disable=SC2016,SC2034  # the kernel reads each $ in single quotes\n"
    return f"#!/bin/sh\n{comments}{shellcheck}"
