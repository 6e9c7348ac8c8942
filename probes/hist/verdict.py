"""Compute the kernel's answer to a command written to an event's `trigger` file (trace_events_trigger.c)."""

from __future__ import annotations

from collections.abc import Sequence

from probes.hist.clause import unlogged_refusal
from probes.hist.dialect import hist_dialect
from probes.hist.register import read_hist
from probes.hist.state import EventName, HistState
from probes.hist.trigger import HIST, ON_EVENT, SPACE, HistTrigger, PlainTrigger, read_trigger
from probes.rules.readers import RuleContext
from probes.syntax.refused import RefusedWord
from probes.syntax.text import kstrtoul

_INTERNAL = "ftrace"
"""Group of the tracers' own events, of which only `print` takes triggers."""


def event_of(interface: str) -> EventName:
    """Return the event of `events/GROUP/EVENT/FILE`."""
    _, group, event, _ = f"/{interface}".rsplit("/", 3)
    return EventName(group, event)


def check_trigger(text: str, interface: str, before: Sequence[tuple[str, str]], context: RuleContext) -> None:
    """Check a command by the kernel's rules.

    Args:
        text: the command.
        interface: `events/GROUP/EVENT/trigger`.
        before: commands written earlier to trigger files, each with its file.
        context: facts of the kernel and its existing events.

    Raises:
        RefusedWord: the kernel rejects the command.
    """
    dialect = hist_dialect(context.facts, context.btf)
    state = HistState(dialect, context.dialect, context.environment, context.existing, context.facts.cpus)
    for file, command in before:
        try:
            _apply(command, event_of(file), state)
        except RefusedWord:
            continue
    _apply(text, event_of(interface), state)


def _apply(text: str, file: EventName, state: HistState) -> None:
    if not state.has_event(file) or (file.group == _INTERNAL and file.event != "print"):
        raise unlogged_refusal("There is no such event", f"{file.group}/{file.event}")
    text = text.strip(SPACE)
    trigger = read_trigger(text, state.dialect.nohitcount)
    command = HIST if isinstance(trigger, HistTrigger) else trigger.command
    if state.dialect.triggers and command not in state.dialect.triggers:
        raise unlogged_refusal(f"This kernel has no {command} trigger", command)
    if isinstance(trigger, HistTrigger):
        parameters = text.removeprefix("!").removeprefix(HIST)[1:].lstrip(SPACE)
        read_hist(trigger, file, f"{HIST}:{parameters}", state)
    else:
        _apply_plain(trigger, file, state)


def _apply_plain(trigger: PlainTrigger, file: EventName, state: HistState) -> None:
    target = None
    kind = trigger.command.removeprefix("enable_").removeprefix("disable_").removesuffix("on").removesuffix("off")
    if trigger.command in ON_EVENT and trigger.target is not None:
        target = EventName(*trigger.target)
        if not state.has_event(target) or target.group == _INTERNAL:
            raise unlogged_refusal("There is no such event", trigger.parameter)
    entry = (file, kind, target)
    if trigger.remove:
        if entry in state.others:
            state.others.remove(entry)
        return
    if trigger.counter is not None and kstrtoul(trigger.counter) is None:
        raise unlogged_refusal("The count is a number", trigger.parameter)
    if trigger.filter:
        state.check_filter(trigger.filter, file)
    if entry in state.others:
        raise unlogged_refusal("The event has such a trigger already", trigger.command)
    state.others.append(entry)
