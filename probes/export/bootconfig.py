"""Write a bootconfig for boot-time tracing: probes from early boot on, in a trace instance.

Documentation/trace/boottime-trace.rst, Documentation/admin-guide/bootconfig.rst; limits: kernel/trace/trace_boot.c,
lib/bootconfig.c. The kernel needs CONFIG_BOOTTIME_TRACING and `bootconfig` on its command line, or in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.bootconfig.text import BootconfigError, in_pieces, parse, quoted
from probes.command import SyntheticEvent, parse_command
from probes.export.dialect import CannotExport, ExportText, gather
from probes.export.names import events_of, group_names, is_synthetic, notes_of
from probes.export.quoting import is_plain, one_line
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

INSTANCE = "probewright"
SPECS = "probewright.spec"
"""Key of the specifications, each with a number behind it and in pieces."""
_MAX_VALUE = 255
"""Largest number of characters of a value, and of the command made from a value (MAX_BUF_LEN)."""
GROUP = "kprobes"
"""Group of all probes made at boot time."""


def write(
    plans: Sequence[Plan], facts: TargetFacts, settings: Sequence[str] = (), specs: Sequence[str] = ()
) -> ExportText:
    """Return a bootconfig that sets up the plans. Raises CannotExport.

    Args:
        plans: plans lowered for `probes.export.export`'s bootconfig dialect.
        facts: facts of the kernel.
        settings: lines for the instance itself: `buffer_size = 4M`.
        specs: specifications to keep under `SPECS`, a key that the kernel does not use.
    """
    events, reasons, blocks = events_of(plans), list[str](), list[str]()
    groups = group_names(events)
    for event in events:
        try:
            blocks.append(_event(event, groups))
        except CannotExport as error:
            reasons += error.reasons
    gather(reasons)
    head = [
        f"boot-time tracing, made by probewright for {facts.title}",
        *(f"  {plan.probe}" for plan in plans),
        *(f"note: {note}" for note in notes_of(plans)),
        "put it into the initrd: bootconfig -a THIS INITRD; and `bootconfig` on the kernel's command line",
        f"the events: /sys/kernel/tracing/instances/{INSTANCE}/trace",
    ]
    comments = "".join(f"# {one_line(line)}\n" for line in head)
    kept = "".join(f"{SPECS}.{number} = {_in_pieces(spec)}\n" for number, spec in enumerate(specs))
    lines = "".join(f"  {line}\n" for line in settings)
    text = comments + kept + f"ftrace.instance.{INSTANCE} {{\n{lines}" + "".join(blocks) + "}\n"
    try:
        parse(text)
    except BootconfigError as error:
        raise CannotExport(f"a kernel rejects this bootconfig: {error}") from None
    return ExportText(text, notes_of(plans))


def _in_pieces(spec: str) -> str:
    try:
        return ", ".join(map(quoted, in_pieces(spec)))
    except BootconfigError as error:
        raise CannotExport(str(error)) from None


def _event(event: PlannedEvent, groups: re.Pattern[str]) -> str:
    if is_synthetic(event):
        command = parse_command(event.line)
        fields = command.fields if isinstance(command, SyntheticEvent) else ()
        values = [_quoted(event, " ".join(map(str, each))) for each in fields]
        return _block(event, groups, f"synthetic.{event.event}", [f"fields = {', '.join(values)}"])
    if not event.line:
        if not re.fullmatch(r"[\w-]+/[\w-]+", event.path):
            raise CannotExport(f"{event.path}: no name of an event")
        return _block(event, groups, f"{event.group}.{event.event}", [])
    place = event.line.split(" ")[1]
    if event.line[0] not in "pr" or "/" in place:
        raise CannotExport(f"{event.event}: boot-time tracing makes kprobes and synthetic events only")
    if re.fullmatch(r"r\d+", event.line.split(":", 1)[0]):
        raise CannotExport(f"{event.event}: boot-time tracing sets no maxactive")
    probes = ", ".join(_probe(event, line) for line in event.lines)
    return _block(event, groups, f"{GROUP}.{event.event}", [f"probes = {probes}"])


def _block(event: PlannedEvent, groups: re.Pattern[str], name: str, lines: Sequence[str]) -> str:
    """Return the block of settings for an event."""
    out = [*lines, "enable"] if event.recorded else [*lines]
    if event.filter:
        out.append(f"filter = {_quoted(event, event.filter)}")
    if event.triggers:
        triggers = (groups.sub(GROUP, trigger) for trigger in event.triggers)
        out.append(f"actions = {', '.join(_quoted(event, trigger) for trigger in triggers)}")
    return f"  event.{name} {{\n" + "".join(f"    {line}\n" for line in out) + "  }\n"


def _probe(event: PlannedEvent, line: str) -> str:
    """Return the value after `p:kprobes/EVENT`, which the kernel writes itself; the place marks an exit."""
    head, place, *words = line.split(" ")
    suffix = "%return" if head.startswith("r") and not place.endswith("%return") else ""
    body = " ".join([place + suffix, *words])
    if len(f"p:{GROUP}/{event.event} {body}") > _MAX_VALUE:
        raise CannotExport(f"{event.event}: boot-time tracing takes {_MAX_VALUE} characters for a probe; record less")
    return _quoted(event, body)


def _quoted(event: PlannedEvent, text: str) -> str:
    """Return a value in quotes, within which nothing can be escaped. Raises CannotExport."""
    if not is_plain(text):
        raise CannotExport(f"{event.event}: a bootconfig holds printable ASCII only: {one_line(text)}")
    if len(text) > _MAX_VALUE:
        raise CannotExport(f"{event.event}: boot-time tracing takes {_MAX_VALUE} characters at most: {text}")
    quote = next((mark for mark in "\"'" if mark not in text), None)
    if quote is None:
        raise CannotExport(f"{event.event}: a bootconfig can't hold both kinds of quotes: {text}")
    return f"{quote}{text}{quote}"
