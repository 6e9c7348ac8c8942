"""Hold the common parts of POSIX shell scripts, which run in dash, busybox's sh and bash.

A script creates its events in its own group, named by the shell's process id and start time as a session's group is,
so that `probewright clean` finds leftovers if the shell is killed with SIGKILL. Steps are counted: at the end, the
steps that were begun are undone in reverse order.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.export.names import group_names, is_synthetic, notes_of
from probes.export.quoting import one_line, sh_parts, sh_word
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

BEGIN = r"""
set -u
LC_ALL=C; export LC_ALL
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
nl='
'

say() { printf 'probewright: %s\n' "$*" >&2; }

case ${1-} in
*[!0-9]* | ?????????*)
  say "usage: $0 [SECONDS]"
  exit 2 ;;
esac
seconds=${1-}
while :; do  # a shell reads 08 as octal
  case $seconds in
  0?*) seconds=${seconds#0} ;;
  *) break ;;
  esac
done

tracing=
for place in /sys/kernel/debug/tracing /sys/kernel/tracing; do
  if [ -w "$place/dynamic_events" ]; then tracing=$place; fi
done
if [ -z "$tracing" ]; then
  say "no tracefs that can be written: as root, mount -t tracefs nodev /sys/kernel/tracing"
  exit 3
fi

# PID_STARTTIME, the time in base 36: no other process of this boot has that name.
start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
owner=
while [ "$start" -gt 0 ]; do
  owner=$(printf 0123456789abcdefghijklmnopqrstuvwxyz | cut -c $((start % 36 + 1)))$owner
  start=$((start / 36))
done
owner=$$_$owner
group=pw_$owner
step=0 reader='' timer='' ended=0

# put FILE TEXT: in one write, as the kernel wants it
put() {
  message=$( { printf '%s\n' "$2" | dd ibs=4096 obs=65536 >>"$1"; } 2>&1 )
}
# try FILE TEXT: without a process of its own, and nobody asks whether it was taken
try() { { printf '%s\n' "$2" >>"$1"; } 2>/dev/null; }
# do_step STEP FILE TEXT LOG: what is refused has not to be taken back
do_step() {
  step=$1
  put "$2" "$3" && return
  step=$((step - 1))
  refused "$2" "$3" "$4"
}
# must FILE TEXT LOG: goes with the step before
must() {
  put "$1" "$2" || refused "$1" "$2" "$3"
}
refused() {
  say "refused: $2$nl  $1: ${message%%"$nl"*}"
  tail -n 3 "$3" >&2
  exit 1
}
# undo STEP FILE TEXT: what is gone already is no trouble, what is busy is for a moment
undo() {
  [ "$step" -ge "$1" ] || return 0
  tries=0
  until put "$2" "$3"; do
    case $message in *'No such file'* | *nonexistent*) return 0 ;; esac
    tries=$((tries + 1))
    if [ "$tries" -ge 10 ]; then
      say "left behind: $3 in $2: ${message%%"$nl"*}"
      return 0
    fi
    nap
  done
}
nap() { sleep 0.1 2>/dev/null || sleep 1; }
# Until the reader ends or the time is over.
wait_for_end() {
  if [ -z "$seconds" ]; then
    wait "$reader"
    ended=$?
  fi
  while [ "${seconds:-0}" -gt 0 ] && kill -0 "$reader" 2>/dev/null; do
    sleep 1 & timer=$!
    wait "$timer"
    seconds=$((seconds - 1))
  done
  return 0
}
"""
"""Beginning of every script."""

TRAPS = """
trap take_away EXIT
trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 131' QUIT; trap 'exit 141' PIPE; trap 'exit 143' TERM
trap 'exit 1' ALRM USR1 USR2
"""

CALM = """\
  trap '' HUP INT QUIT PIPE TERM ALRM USR1 USR2; trap - EXIT
  [ -z "$timer" ] || kill "$timer" 2>/dev/null
"""
"""Beginning of `take_away`: no second signal interrupts it."""

SET_ASIDE = """\
# What is left of an earlier recording must not be taken for this one, should it fail.
[ ! -f "$file" ] || mv -f -- "$file" "$file.old" || exit 1
"""
"""Lines before a tool records into `$file`."""

INSTANCE = r"""
instance=$tracing/instances/probewright-$owner
unread() { sed -n 's/^entries: //p' "$instance"/per_cpu/cpu*/stats | grep -qv '^0$'; }
lost() {
  lost=$(sed -n -e 's/^overrun: //p' -e 's/^dropped events: //p' "$instance"/per_cpu/cpu*/stats | {
    sum=0
    while read -r number; do sum=$((sum + number)); done
    echo "$sum"
  })
  [ "$lost" -eq 0 ] || say "$lost events were lost: more came than were read"
}
remove_instance() {
  tries=0
  until rmdir "$instance" 2>/dev/null || [ ! -d "$instance" ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 20 ]; then
      say "left behind: $instance"
      return 0
    fi
    nap
  done
}
"""
"""Functions for the script's own trace instance."""

MAKE_INSTANCE = r"""
step=1
mkdir "$instance" || { step=0; exit 1; }
try "$instance/trace_clock" mono
# A new instance takes over what somebody has set for the whole machine.
for option in record-cmd overwrite context-info irq-info markers event-fork noraw nohex nobin noblock nofields \
  noverbose nolatency-format nostacktrace nouserstacktrace nosym-addr nodisable_on_free nopause-on-trace \
  norecord-tgid; do
  try "$instance/trace_options" "$option"
done
# What reads the events must not make any.
try "$instance/set_event_notrace_pid" $$
"""


class Script:
    """Writer of a script's steps, and of their undo."""

    def __init__(self, events: Sequence[PlannedEvent], *, instance: bool) -> None:
        """Start a script without steps.

        Args:
            events: all events of the script.
            instance: the script makes a trace instance as its first step.
        """
        self._groups = group_names(events)
        self._steps = 1 if instance else 0
        self.forth: list[str] = []
        self.back: list[str] = []
        """Undo lines, the newest last."""

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
        if not event.line:
            return
        self._step(
            f'"$tracing/dynamic_events" {self.word(event.line)} "$tracing/error_log"',
            f'"$tracing/dynamic_events" {self.word(event.remove)}',
        )
        for line in event.more:  # removing the event removes these lines too
            self.forth.append(f'must "$tracing/dynamic_events" {self.word(line)} "$tracing/error_log"')

    def condition(self, event: PlannedEvent) -> None:
        """Add the steps that set the event's filter and triggers in the instance."""
        folder = f'"$instance"/events/{self.name(event)}'
        if event.filter:  # the filter is removed with its event
            self.forth.append(f'must {folder}/filter {sh_word(event.filter)} "$instance/error_log"')
        for trigger in event.triggers:
            forth = f'{folder}/trigger {self.word(trigger)} "$instance/error_log"'
            self._step(forth, f"{folder}/trigger {self.word(f'!{trigger}')}")

    def enable(self, event: PlannedEvent) -> None:
        """Add the step that enables the event in the instance, if it is to be recorded."""
        if not event.recorded:
            return
        file = f'"$instance"/events/{self.name(event)}/enable'
        self._step(f'{file} 1 "$tracing/error_log"', f"{file} 0")

    def _step(self, forth: str, back: str) -> None:
        """Add a step and its undo. The script forgets the undo if the kernel rejects the step."""
        self._steps += 1
        self.forth.append(f"do_step {self._steps} {forth}")
        self.back.append(f"  undo {self._steps} {back}")


def header(tool: str, plans: Sequence[Plan], facts: TargetFacts, usage: Sequence[str]) -> str:
    """Return the first lines of a script: title, probes, usage and notes."""
    lines = [f"{tool}, made by probewright for {facts.title}", *(f"  {plan.probe}" for plan in plans), *usage]
    lines += [f"note: {note}" for note in notes_of(plans)]
    comments = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in lines)
    shellcheck = (
        "# It is the kernel that reads each $ in single quotes; not every script asks how its reader ended.\n"
    )
    shellcheck += "# shellcheck disable=SC2016,SC2034\n"
    return f"#!/bin/sh\n{comments}#\n{shellcheck}"
