"""Check a user event by the kernel's rules, `u:NAME TYPE FIELD; TYPE FIELD`, and return it as a dynamic event."""

from __future__ import annotations

from probes.rules.parsed_event import USER_EVENT, ParsedEvent
from probes.rules.readers import RuleContext
from probes.syntax.refused import Refused, RefusedWord
from probes.user_events.kernel_reading import (
    GROUP,
    PREFIX,
    DefinitionRefused,
    KernelDefinition,
    check_existing,
    existing_definitions,
    read_definition,
)

_SILENT = "refused_without_message"


def read_user_event(line: str, context: RuleContext) -> ParsedEvent:
    """Parse a line of dynamic_events that begins with `u:` (user_event_create). Raises RefusedWord."""
    text = line.removeprefix(PREFIX).lstrip(" \t\n\v\f\r\xa0")
    try:
        present = [event for event in context.existing if event.letter == USER_EVENT]
        lines = [f"{PREFIX}{event.event} {event.place}" for event in present]
        name = text.partition(" ")[0]
        if context.registers and ":" not in name and _may_exist(name, context):
            check_existing(text, existing_definitions(lines).get(name, []))
        return parsed_user_event(read_definition(text))
    except DefinitionRefused as error:
        hint = f"{error.reason[:1].upper()}{error.reason[1:]}"
        raise RefusedWord(Refused(_SILENT, 0, error.token, hint=hint), command=line) from None


def _may_exist(name: str, context: RuleContext) -> bool:
    """Return whether an event of one format may have a name: dynamic_events lists those of several formats alike."""
    return context.environment.event is None or context.environment.event(GROUP, name) is not None


def parsed_user_event(definition: KernelDefinition) -> ParsedEvent:
    """Return a definition as a dynamic event; its place is the text of its fields."""
    fields = tuple((field.name, field.type) for field in definition.fields)
    return ParsedEvent(USER_EVENT, GROUP, definition.name, definition.fields_text, fields=fields)
