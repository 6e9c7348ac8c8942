"""Write a bpftrace script that reads the probes' values by registers and offsets, and prints as the kernel does.

An exit probe that records arguments stores them at the entry by task and stack pointer, as the kernel does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from probes.command import UserProbe, parse_command
from probes.export.bpftrace_filter import condition
from probes.export.bpftrace_value import BpftraceValue, ValuePlace, bpftrace_value_of, numeric
from probes.export.dialect import CannotExport, ExportText, gather
from probes.export.names import events_of, notes_of
from probes.export.quoting import one_line
from probes.facts.facts import TargetFacts
from probes.fetcharg import Dereference, EventField, FetchArg
from probes.functions.convention import pushed_by_call
from probes.names import split_name
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind
from probes.syntax.parse_error import ParseError

_REGISTERS = {"x86_64": 6, "aarch64": 8}
"""Number of arguments that bpftrace can read, those in registers, by machine."""
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PATH = re.compile(r"/[A-Za-z0-9_./+-]+")
_MAX_TEXTS = 3
"""Largest number of strings in an event: each takes 64 bytes of a BPF program's stack of 512, some twice."""
_TEXT_NOTE = "bpftrace cuts strings at 63 characters (BPFTRACE_STRLEN), and shows one that can't be read as empty"


@dataclass(slots=True)
class _EntryArguments:
    """Arguments that an exit needs from the entry."""

    name: str
    machine: str
    numbers: set[int] = field(default_factory=set)

    def argument(self, number: int) -> str:
        """Return the expression of an argument stored at the entry."""
        _limit(number, self.machine)
        self.numbers.add(number)
        return f"@{self.name}_arg{number}[tid, {self.frame(at_exit=True)}]"

    def frame(self, *, at_exit: bool) -> str:
        """Return the expression that distinguishes calls of a task: the stack pointer at the entry."""
        shift = pushed_by_call(self.machine) if at_exit else 0
        return f'reg("sp") - {shift}' if shift else 'reg("sp")'


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a bpftrace script for the plans. Raises CannotExport."""
    events, reasons, blocks = events_of(plans), list[str](), list[str]()
    texts = False
    for event in events:
        try:
            text = "\n\n".join(_event(one, facts) for one in _alike(event))
        except CannotExport as error:
            reasons += [
                reason if reason.startswith(event.event) else f"{event.event}: {reason}" for reason in error.reasons
            ]
            continue
        texts |= "str(" in text
        blocks.append(text)
    gather(reasons)
    notes = (*notes_of(plans), *((_TEXT_NOTE,) if texts else ()), *_module_notes(events))
    head = [f"bpftrace script, made by probewright for {facts.title}", *(f"  {plan.probe}" for plan in plans)]
    head += ["Offsets are of this kernel. usage, as root: bpftrace THIS", *(f"note: {note}" for note in notes)]
    comments = "".join(f"// {one_line(line)}".rstrip(" \\") + "\n" for line in head)
    return ExportText("#!/usr/bin/env bpftrace\n" + comments + "".join(f"\n{block}\n" for block in blocks), notes)


def _alike(event: PlannedEvent) -> list[PlannedEvent]:
    """Return an event for the probes of each set of values: some have a constant that tells the instruction."""
    by_values: dict[tuple[str, ...], list[str]] = {}
    for line in event.lines:
        by_values.setdefault(tuple(line.split(" ")[2:]), []).append(line)
    if len(by_values) < 2:
        return [event]
    return [replace(event, line=line, more=tuple(more)) for line, *more in by_values.values()]


def _event(event: PlannedEvent, facts: TargetFacts) -> str:
    unsupported = [trigger for trigger in event.triggers if trigger != "stacktrace"]
    if unsupported:
        raise CannotExport(f"triggers are the kernel's own: {unsupported[0]}")
    if not event.line:
        raise CannotExport("name the fields to print: e GROUP.EVENT $field")
    try:
        command = parse_command(event.line)
        places = [_attach_point(parse_command(line), event) for line in event.lines]
    except ParseError as error:
        raise CannotExport(str(error)) from None
    if not isinstance(command, Probe | UserProbe):
        raise CannotExport("bpftrace makes no synthetic events")
    stack = "stacktrace" in event.triggers
    if isinstance(command, Probe) and command.kind is ProbeKind.EVENT:
        values = [(_name(arg), _field(arg)) for arg in command.fetchargs]
        return _block(
            places, values, _condition(command.filter, {}) or _condition(event.filter, dict(values)), event, stack
        )
    user = isinstance(command, UserProbe)
    at_exit = command.returns if isinstance(command, UserProbe) else command.kind is ProbeKind.KRETPROBE
    arguments = _EntryArguments(event.event, facts.machine)
    place = ValuePlace(
        arguments.argument if at_exit else lambda number: _argument(number, facts.machine), at_exit, user
    )
    values = [(_name(arg), bpftrace_value_of(arg, place)) for arg in command.fetchargs]
    condition_text = _condition(event.filter, dict(values))
    blocks = [] if not arguments.numbers else [_store_arguments(arguments, places)]
    if arguments.numbers:
        held = f"@{arguments.name}_held[tid, {arguments.frame(at_exit=True)}]"
        condition_text = f"{held} == 1 && ({condition_text})" if condition_text else f"{held} == 1"
    blocks.append(_block(places, values, condition_text, event, stack))
    if arguments.numbers:  # also for calls that the filter leaves out
        blocks.append(_delete_arguments(arguments, places))
    return "\n\n".join(blocks)


def _module_notes(events: Sequence[PlannedEvent]) -> list[str]:
    """Return notes on functions in modules: bpftrace 0.20 introduced `kprobe:MODULE:FUNCTION`, but some later
    releases fail to attach it (bpftrace #2897, #5133).
    """
    commands = (parse_command(line) for event in events for line in event.lines if line)
    places = [command.place for command in commands if isinstance(command, Probe)]
    in_modules = dict.fromkeys((place.symbol, place.module) for place in places if place.module)
    return [f"bpftrace finds {symbol} by its name alone, not in {module} only" for symbol, module in in_modules]


def _limit(number: int, machine: str) -> None:
    if number >= _REGISTERS.get(machine, 0):
        raise CannotExport(f"argument {number + 1} is in no register on {machine}: bpftrace can't read it")


def _argument(number: int, machine: str) -> str:
    _limit(number, machine)
    return f"arg{number}"


def _name(arg: FetchArg) -> str:
    return arg.name or str(arg.expression).lstrip("$")


def _field(arg: FetchArg) -> BpftraceValue:
    """Return the value of an event's field. Raises CannotExport."""
    inner = arg.expression
    if isinstance(inner, EventField) and arg.type in ("string", "ustring"):
        raise CannotExport(f"{arg}: whether it is an array or lies elsewhere can't be said for bpftrace")
    if str(inner) in ("$comm", "$COMM"):
        return BpftraceValue('\\"%s\\"', ("comm",), "comm", is_text=True)
    if not isinstance(inner, EventField) or isinstance(inner, Dereference):
        raise CannotExport(f"{arg}: fields of events can be read as they are only")
    kind = arg.type or "x64"
    if not re.fullmatch(r"[usx](8|16|32|64)", kind):
        raise CannotExport(f"{arg}: type {arg.type} has no counterpart")
    return numeric(f"args->{inner.name}", kind)


def _attach_point(command: object, event: PlannedEvent) -> str:
    """Return the attach point of a line. Raises CannotExport."""
    if isinstance(command, UserProbe):
        raise CannotExport("bpftrace places probes in programs by symbol, not by an offset in the file")
    if not isinstance(command, Probe):
        return ""
    place = command.place
    if command.kind is ProbeKind.EVENT:
        group, name = split_name(place.symbol)
        if not re.fullmatch(r"\w+", group) or not re.fullmatch(r"\w+", name):
            raise CannotExport(f"no name of an event: {place.symbol}")
        return f"tracepoint:{group}:{name}"
    if command.kind not in (ProbeKind.KPROBE, ProbeKind.KRETPROBE) or command.maxactive:
        raise CannotExport(f"bpftrace makes kprobes without maxactive: {event.line.split(' ')[0]}")
    if not _SYMBOL.fullmatch(place.symbol):
        raise CannotExport(f"bpftrace finds functions by name: {place}")
    offset = place.kernel_text.rpartition("+")[2] if "+" in place.kernel_text else ""
    letter = "kretprobe" if command.kind is ProbeKind.KRETPROBE else "kprobe"
    return f"{letter}:{place.symbol}" + (f"+{int(offset, 0)}" if offset else "")


def _condition(text: str, fields: dict[str, BpftraceValue]) -> str:
    return condition(text, fields) if text else ""


def _block(
    places: Sequence[str],
    values: Sequence[tuple[str, BpftraceValue]],
    condition_text: str,
    event: PlannedEvent,
    stack: bool,
) -> str:
    if sum(value.is_text for _, value in values) > _MAX_TEXTS:
        raise CannotExport(f"more than {_MAX_TEXTS} strings do not fit on a BPF program's stack")
    shape = " ".join(f"{name}={value.format}" for name, value in values)
    format_ = f"%s-%d [%03d] %llu.%06llu: {event.event}: {shape}"
    printed = ["comm", "tid", "cpu", "nsecs / 1000000000", "(nsecs / 1000) % 1000000"]
    printed += [expression for _, value in values for expression in value.values]
    if stack:
        format_, printed = f"{format_}%s", [*printed, "kstack"]
    condition_ = f"/{condition_text}/\n" if condition_text else ""
    head = ",\n".join(places)
    return f'{head}\n{condition_}{{\n  printf("{format_}\\n",\n    {", ".join(printed)});\n}}'


def _store_arguments(arguments: _EntryArguments, places: Sequence[str]) -> str:
    """Return the entry probe that stores the arguments shown at the exit."""
    entries = ",\n".join(place.replace("kretprobe:", "kprobe:", 1) for place in places)
    key = f"[tid, {arguments.frame(at_exit=False)}]"
    lines = [f"  @{arguments.name}_arg{number}{key} = arg{number};" for number in sorted(arguments.numbers)]
    return f"{entries}\n{{\n" + "\n".join([*lines, f"  @{arguments.name}_held{key} = 1;"]) + "\n}"


def _delete_arguments(arguments: _EntryArguments, places: Sequence[str]) -> str:
    key = f"[tid, {arguments.frame(at_exit=True)}]"
    names = [*(f"{arguments.name}_arg{number}" for number in sorted(arguments.numbers)), f"{arguments.name}_held"]
    head = ",\n".join(places)
    end = "\n".join(f"  clear(@{name});" for name in names)
    return f"{head}\n{{\n" + "\n".join(f"  delete(@{name}{key});" for name in names) + f"\n}}\n\nEND\n{{\n{end}\n}}"
