"""Write a script in which perf creates the probes, records them, prints their events, and removes the probes.

perf probe has kprobes, kretprobes and uprobes. It passes arguments unchanged to the kernel unless they are names, for
which perf would need debug information; so arguments are lowered to registers and offsets. Existing events, such as
sched:sched_switch, are recorded by perf with all their fields.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from probes.command import UserProbe, parse_command
from probes.export.dialect import CannotExport, ExportText, gather
from probes.export.names import events_of, notes_of
from probes.export.quoting import sh_word
from probes.export.shell import BEGIN, CALM, SET_ASIDE, TRAPS, WAIT, header
from probes.facts.facts import TargetFacts
from probes.fetcharg import EventField, FetchArg
from probes.lowering.filters.field_names import first_unknown
from probes.names import split_name
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind
from probes.syntax.parse_error import ParseError

_USAGE = (
    "usage, as root: sh THIS [SECONDS [FILE]]",
    "Records until SECONDS are over or Ctrl+C comes, then prints the events; they stay in FILE (perf.data).",
    "A FILE that is there already becomes FILE.old.",
)
_ARGUMENT = re.compile(r"[A-Za-z0-9_+\-()$%@:.=/\[\]]+")
"""Pattern for the arguments that perf passes on unchanged; quotes and backslashes are perf's own syntax."""
_PATH = re.compile(r"/[A-Za-z0-9_./+-]+")

_NEEDS = """
file=${2-perf.data}
if ! command -v perf >/dev/null; then
  say "perf is not installed"
  exit 3
fi
# Each call reads all symbols of the kernel: what can be is added by one. One that fails may have added some.
add() { perf probe -q "$@" >&2 || exit 1; }
"""

_TAKE_AWAY = """\
  if [ -n "$reader" ]; then
    kill -INT "$reader" 2>/dev/null
    wait "$reader" 2>/dev/null
  fi
  if grep -q ":$group/" "$tracing/dynamic_events"; then
    perf probe -q --del "$group:*" >&2 || say "left behind: $group:*"
  fi
}
"""

_FOLLOW = """
# perf begins with the command when its events are on, and ends it.
if [ -n "$seconds" ]; then set -- sleep "$seconds"; else set --; fi
"""

_REPORT = """
reader=$!
trap 'seconds=0' INT
seconds=''
"""

_PRINT = """
take_away
perf script -i "$file"
"""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a script for the plans. Raises CannotExport."""
    events, reasons, records = events_of(plans), list[str](), list[str]()
    adds: list[tuple[str, str]] = []
    untyped_notes: list[str] = []
    for event in events:
        try:
            add, record = _event(event)
            adds += add
            records.append(record)
            untyped_notes += _untyped_notes(event)
            untyped_notes += [f"{event.event}: perf shows the address in place of {mark}" for mark in _marks(event)]
        except CannotExport as error:
            reasons += error.reasons
    gather(reasons)
    stacks = any("stacktrace" in event.triggers for event in events)
    notes = [*notes_of(plans), *untyped_notes]
    if stacks and not all("stacktrace" in event.triggers for event in events):
        notes.append("perf records the stack with every event, not only where it was asked for")
    # Only stacks need the programs that were hit: without stacks, perf does not look for them when the recording
    # ends.
    begin = f'perf record -q -a -k CLOCK_MONOTONIC {"-g" if stacks else "-B -N"} -o "$file"'
    record_all = " \\\n  ".join([begin, *records])
    text = header("perf script", plans, facts, (*_USAGE, *(f"note: {n}" for n in notes[len(notes_of(plans)) :])))
    text += BEGIN + _NEEDS + "\ntake_away() {\n" + CALM + _TAKE_AWAY + TRAPS + "\n" + "\n".join(_calls(adds))
    text += f'\n{_FOLLOW}{SET_ASIDE}{record_all} \\\n  -- "$@" >&2 &{_REPORT}{WAIT}{_PRINT}'
    return ExportText(text, tuple(notes))


def _calls(adds: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines that add probes; consecutive probes with equal options share a line."""
    return [
        " \\\n  ".join([f"add {options}".rstrip(), *(f"--add {probe}" for _, probe in group)])
        for options, group in itertools.groupby(adds, lambda add: add[0])
    ]


def _event(event: PlannedEvent) -> tuple[list[tuple[str, str]], str]:
    """Return perf's arguments that create an event's probes, and those that record it. Raises CannotExport."""
    unsupported = [trigger for trigger in event.triggers if trigger != "stacktrace"]
    if unsupported:
        raise CannotExport(f"{event.event}: perf has no triggers: {unsupported[0]}")
    if not event.line:
        return [], _record(f"{event.group}:{event.event}", event.filter)
    try:
        command = parse_command(event.line)
    except ParseError as error:
        raise CannotExport(f"{event.event}: {error}") from None
    if not isinstance(command, Probe | UserProbe):
        raise CannotExport(f"{event.event}: perf makes no synthetic events")
    if isinstance(command, Probe) and command.kind is ProbeKind.EVENT:
        return [], _existing(event, command)
    returns = command.returns if isinstance(command, UserProbe) else command.kind is ProbeKind.KRETPROBE
    base = event.event.removesuffix("__exit") if returns else event.event
    name = f"{base}__return" if returns else base
    if len(name) > 63:
        raise CannotExport(f"{event.event}: perf puts __return behind the name, which is too long then")
    marks = _marks(event)
    if marks and first_unknown(event.filter, [one.name for one in event.columns if one.name not in marks]):
        raise CannotExport(f"{event.event}: perf writes no constants, and the filter names {', '.join(marks)}")
    adds = [_add(base, _without(parse_command(line), marks), returns) for line in event.lines]
    return adds, _record(f'"$group":{name}', event.filter)


def _marks(event: PlannedEvent) -> tuple[str, ...]:
    """Return the fields with constants that tell which of several instructions was hit."""
    return tuple(column.name for column in event.columns if column.names and f" {column.name}=\\" in event.line)


def _without(command: object, marks: Sequence[str]) -> object:
    """Return a probe without the fields of some names."""
    if not isinstance(command, Probe):
        return command
    return replace(command, fetchargs=tuple(arg for arg in command.fetchargs if arg.name not in marks))


def _add(name: str, command: object, returns: bool) -> tuple[str, str]:
    if not isinstance(command, UserProbe | Probe):
        raise CannotExport(f"{name}: perf makes probes only")
    words = [_argument(name, arg) for arg in command.fetchargs]
    options = ""
    if isinstance(command, UserProbe):
        if not _PATH.fullmatch(command.path) or command.reference is not None:
            raise CannotExport(f"{name}: perf takes neither this path nor reference counters: {command.subject}")
        options += f"-x {sh_word(command.path)}"
        place = f"0x{int(command.offset, 0):x}"
    else:
        if command.maxactive:
            raise CannotExport(f"{name}: perf sets no maxactive")
        if command.kind not in (ProbeKind.KPROBE, ProbeKind.KRETPROBE):
            raise CannotExport(f"{name}: perf makes kprobes, no {command.kind} probes")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", command.place.symbol):
            raise CannotExport(f"{name}: perf finds functions by name: {command.place}")
        options += f"-m {sh_word(command.place.module)}" if command.place.module else ""
        offset = command.place.kernel_text.rpartition("+")[2] if "+" in command.place.kernel_text else ""
        place = command.place.symbol + (f"+{int(offset, 0)}" if offset else "")
    text = " ".join([f"={place}{'%return' if returns else ''}", *words])
    return options, f'"$group:"{sh_word(f"{name}{text}")}'


def _argument(name: str, arg: FetchArg) -> str:
    text = str(arg)
    if not _ARGUMENT.fullmatch(text):
        raise CannotExport(f"{name}: perf has quotes and backslashes of its own: {text}")
    return text


def _existing(event: PlannedEvent, command: Probe) -> str:
    """Return perf's arguments that record the event of an event probe, whole. Raises CannotExport."""
    group, name = split_name(command.place.symbol)
    if not re.fullmatch(r"[\w-]+", group) or not re.fullmatch(r"\w+", name):
        raise CannotExport(f"{event.event}: no name of an event: {command.place.symbol}")
    for arg in command.fetchargs:
        plain = isinstance(arg.expression, EventField)
        if not plain and str(arg.expression) not in ("$comm", "$COMM"):
            raise CannotExport(f"{event.event}: perf records an event's fields as they are: {arg}")
        if event.filter and plain and arg.name not in (None, str(arg.expression)[1:]):
            raise CannotExport(f"{event.event}: perf knows the event's own names of fields in a filter: {arg}")
    if event.filter and command.filter:
        raise CannotExport(f"{event.event}: two filters on one event")
    return _record(f"{group}:{name}", command.filter or event.filter)


def _untyped_notes(event: PlannedEvent) -> list[str]:
    """Return notes on the types that an event probe gives to fields of its event, which perf ignores."""
    command = parse_command(event.line) if event.line else None
    if not isinstance(command, Probe) or command.kind is not ProbeKind.EVENT:
        return []
    return [
        f"{event.event}: perf shows the field as its event has it, without the type: {arg}"
        for arg in command.fetchargs
        if arg.type
    ]


def _record(name: str, condition: str) -> str:
    try:
        return f"-e {name}" + (f" --filter {sh_word(condition)}" if condition else "") + " --exclude-perf"
    except ValueError as error:
        raise CannotExport(str(error)) from None
