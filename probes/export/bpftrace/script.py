"""Write a bpftrace script, which prints the events of probes as the kernel does.

A function that takes a program of its own gets fentry and fexit, by the short names that every release of bpftrace
knows, as it knows `args->`; others get kprobes. There an exit that records arguments has them from the entry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from btf.enumerators import enumerator_value
from probes.command import UserProbe, parse_command
from probes.export.bpftrace.attach import Attachment, AttachSite, attachment_of
from probes.export.bpftrace.condition import condition
from probes.export.bpftrace.constants import Names, names_of_numbers
from probes.export.bpftrace.event_fields import all_fields, field_value
from probes.export.bpftrace.number_value import bpftrace_value_of
from probes.export.bpftrace.value import BpftraceValue
from probes.export.dialect import CannotExport, ExportText, PlanTypes, gather
from probes.export.names import events_of, notes_of
from probes.export.quoting import one_line
from probes.facts.facts import TargetFacts
from probes.fetcharg import FetchArg
from probes.lowering.filters.filter_words import enum_names
from probes.names import split_name
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind
from probes.syntax.parse_error import ParseError

_MAX_TEXTS = 3
"""Largest number of strings in an event: each takes 64 bytes of a BPF program's stack of 512, some twice."""
_TEXT_NOTE = "bpftrace cuts strings at BPFTRACE_STRLEN characters, and shows one that can't be read as empty"
_LOWERED = "the kernel's filter: "
_SHORT = "f and fr are fentry and fexit"
_OFFSETS = "the offsets are of this kernel alone"


@dataclass(slots=True)
class _Written:
    """Parts of a script that events share."""

    defined: dict[str, int] = field(default_factory=dict)
    """Numbers by the names that stand for them in filters."""
    texts: bool = False
    programs: bool = False
    offsets: bool = False


@dataclass(frozen=True, slots=True)
class _EventWriter:
    """Writer of one event's blocks."""

    event: PlannedEvent
    plan: Plan
    facts: TargetFacts
    types: PlanTypes
    written: _Written

    def blocks(self) -> str:
        """Return the blocks of the event. Raises CannotExport."""
        unsupported = [trigger for trigger in self.event.triggers if trigger != "stacktrace"]
        if unsupported:
            raise CannotExport(f"triggers are the kernel's own: {unsupported[0]}")
        if not self.event.line:
            fields = all_fields(self.event, self.types.environment)
            left_out = one_line(", ".join(fields.left_out)).rstrip(" \\")
            comment = f"// left out: {left_out}\n" if left_out else ""
            head = f"tracepoint:{self.event.group}:{self.event.event}"
            return comment + self._block(head, fields.values, self.event.filter)
        try:
            command = parse_command(self.event.line)
        except ParseError as error:
            raise CannotExport(str(error)) from None
        if not isinstance(command, Probe | UserProbe):
            raise CannotExport("bpftrace makes no synthetic events")
        if isinstance(command, Probe) and command.kind is ProbeKind.EVENT:
            return self._tracepoint(command)
        args = [arg for arg in command.fetchargs if not self.event.frame or arg.name != self.event.frame]
        site = AttachSite(self.event, self.plan, command, self.facts, self.types)
        attachment = attachment_of(site, args)
        if not attachment.program:
            return self._attached(attachment, args)
        try:
            return self._attached(attachment, args)
        except CannotExport:
            return self._attached(attachment_of(site, args, programs=False), args)

    def _attached(self, attachment: Attachment, args: Sequence[FetchArg]) -> str:
        """Return the blocks at an attach point. Raises CannotExport."""
        event = self.event
        columns = {column.name: column for column in event.columns}
        values, offsets = list[tuple[str, BpftraceValue]](), list[str]()
        if event.function_field:
            values.append((event.function_field, BpftraceValue("%s", ("func",))))
        for arg in args:
            name = _name(arg)
            value = attachment.typed.value(arg, columns.get(name)) if attachment.typed is not None else None
            if value is None:
                value = bpftrace_value_of(arg, attachment.place)
                if value.by_offset:
                    label = columns[name].label if name in columns else str(arg.expression)
                    offsets.append(f"  // {one_line(f'{name}: {label}')}".rstrip(" \\") + "\n")
            values.append((name, value))
        self.written.programs |= attachment.program
        self.written.offsets |= bool(offsets)
        before, held, after = attachment.entry_blocks()
        comment = f"// {one_line(attachment.note)}\n" if attachment.note else ""
        block = self._block(attachment.head, values, event.filter, held, "".join(offsets), after)
        return "\n\n".join(part for part in (before, comment + block) if part)

    def _tracepoint(self, command: Probe) -> str:
        group, name = split_name(command.place.symbol)
        if not re.fullmatch(r"\w+", group, re.ASCII) or not re.fullmatch(r"\w+", name, re.ASCII):
            raise CannotExport(f"no name of an event: {command.place.symbol}")
        known = self.types.environment.event(group, name) if self.types.environment.event is not None else None
        fields = {each.name: each for each in known or ()}
        values = [(_name(arg), field_value(arg, fields, group)) for arg in command.fetchargs]
        return self._block(f"tracepoint:{group}:{name}", values, command.filter or self.event.filter)

    def _block(
        self,
        head: str,
        values: Sequence[tuple[str, BpftraceValue]],
        filter_: str,
        held: str = "",
        offsets: str = "",
        after: Sequence[str] = (),
    ) -> str:
        """Return the block that prints.

        Args:
            head: attach points.
            values: values by name.
            filter_: filter of the event; empty: none.
            held: condition that what the block needs was stored; empty: it needs nothing.
            offsets: lines of comments on values.
            after: statements that forget what was stored, also of calls that the filter leaves out.
        """
        if sum(value.is_text for _, value in values) > _MAX_TEXTS:
            raise CannotExport(f"more than {_MAX_TEXTS} strings do not fit on a BPF program's stack")
        self.written.texts |= any("str(" in each for _, value in values for each in value.values)
        names = self._names(filter_)
        wanted = condition(filter_, dict(values), names) if filter_ else ""
        if held and wanted:
            wanted = f"{held} && ({wanted})" if "||" in wanted else f"{held} && {wanted}"
        shape = "".join(f" {name}={value.format}" for name, value in values)
        format_ = f"%s-%d [%03d] %llu.%06llu: {self.event.event}:{shape}"
        printed = [expression for _, value in values for expression in value.values]
        if "stacktrace" in self.event.triggers:
            format_, printed = f"{format_}%s", [*printed, "kstack"]
        first = "comm, tid, cpu, nsecs / 1000000000, nsecs / 1000 % 1000000"
        last = f",\n    {', '.join(printed)}" if printed else ""
        body = f'{offsets}  printf("{format_}\\n",\n    {first}{last});\n'
        forget = "".join(f"  {statement}\n" for statement in after)
        whole = f"/{wanted or held}/\n" if wanted or held else ""
        if not wanted or not after:
            return f"{head}\n{whole}{{\n{body}{forget}}}"
        return f"{head}\n{whole}{{\n{body}}}\n\n{head}\n{{\n{forget}}}"

    def _names(self, filter_: str) -> Names:
        """Return the names for numbers in the filter; bpftrace knows those of a field's enum, others are defined."""
        written = getattr(self.plan.probe, "filter", "")
        btf, kept = self.types.btf, dict[tuple[str, int], str]()
        own = {column.name: enum_names(btf, column.btf_type) for column in self.event.columns}
        for (name, value), word in names_of_numbers(written, filter_).items():
            plain = word.removeprefix("-")
            if own.get(name, {}).get(word) == value:
                kept[name, value] = word
            elif btf is not None and enumerator_value(btf, plain) is not None:
                continue  # where the enum is known to bpftrace, too, a definition would change it
            elif self.written.defined.setdefault(plain, abs(value)) == abs(value):
                kept[name, value] = word
        return kept


def write(plans: Sequence[Plan], facts: TargetFacts, types: Sequence[PlanTypes] = ()) -> ExportText:
    """Return a bpftrace script for the plans. Raises CannotExport.

    Args:
        plans: plans lowered to kprobes.
        facts: facts of the kernel.
        types: types and lookups that each plan was lowered with; empty: values are read by registers and offsets.
    """
    events_of(plans)
    written, reasons, blocks = _Written(), list[str](), list[str]()
    known = types or [PlanTypes()] * len(plans)
    for plan, of_plan in zip(plans, known, strict=True):
        for event in plan.events:
            try:
                parts = [_EventWriter(one, plan, facts, of_plan, written).blocks() for one in _alike(event)]
            except CannotExport as error:
                reasons += [
                    reason if reason.startswith(event.event) else f"{event.event}: {reason}"
                    for reason in error.reasons
                ]
                continue
            blocks += parts
    gather(reasons)
    losses = tuple(note for note in notes_of(plans) if not note.startswith(_LOWERED))
    notes = (*losses, *_module_notes(plans))
    head = [f"{plan.probe}" for plan in plans]
    head += [f"as root: bpftrace THIS; made by probewright for {facts.title}"]
    head += [text for text, holds in ((_SHORT, written.programs), (_OFFSETS, written.offsets)) if holds]
    head += [f"note: {note}" for note in notes]
    comments = "".join(f"// {one_line(line)}".rstrip(" \\") + "\n" for line in head)
    if written.defined:
        comments += "\n" + "".join(f"#define {name} {_constant(value)}\n" for name, value in written.defined.items())
    return ExportText(
        "#!/usr/bin/env bpftrace\n" + comments + "".join(f"\n{block}\n" for block in blocks),
        (*notes, *((_TEXT_NOTE,) if written.texts else ())),
    )


def _constant(value: int) -> str:
    """Return a number as its bits are best read."""
    return f"0x{value:x}" if value > 9 and value & (value - 1) == 0 else str(value)


def _alike(event: PlannedEvent) -> list[PlannedEvent]:
    """Return an event for the probes of each set of values: some have a constant that tells the instruction."""
    by_values: dict[tuple[str, ...], list[str]] = {}
    for line in event.lines:
        by_values.setdefault(tuple(line.split(" ")[2:]), []).append(line)
    if len(by_values) < 2:
        return [event]
    return [replace(event, line=line, more=tuple(more)) for line, *more in by_values.values()]


def _module_notes(plans: Sequence[Plan]) -> list[str]:
    """Return notes on functions in modules: bpftrace 0.20 introduced `kprobe:MODULE:FUNCTION`, but some later
    releases fail to attach it (bpftrace #2897, #5133).
    """
    commands = (parse_command(line) for plan in plans for event in plan.events for line in event.lines if line)
    places = [command.place for command in commands if isinstance(command, Probe)]
    in_modules = dict.fromkeys((place.symbol, place.module) for place in places if place.module)
    return [f"bpftrace finds {symbol} by its name alone, not in {module} only" for symbol, module in in_modules]


def _name(arg: FetchArg) -> str:
    return arg.name or str(arg.expression).lstrip("$")
