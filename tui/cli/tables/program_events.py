"""Print the events that programs have registered, for `list` and `show`."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.connection.program_events import ProgramEvent
from probes.user_events.kernel_reading import GROUP, MULTI_GROUP
from tui.cli.console.output import emit, plain


def matching(events: Sequence[ProgramEvent], pattern: str) -> list[ProgramEvent]:
    """Return the events whose path has a text."""
    return [event for event in events if pattern in event.path]


def is_about_programs(pattern: str) -> bool:
    """Return whether a text names events of programs: `user_events/`, `user_events/NAME`; functions have no slash."""
    return pattern.startswith((f"{GROUP}/", f"{MULTI_GROUP}/"))


def as_json(event: ProgramEvent) -> dict[str, object]:
    """Return an event as an object."""
    fields = [{"type": field.type, "name": field.name, "size": field.size} for field in event.definition.fields]
    return {"event": event.path, "fields": fields, "users": list(event.users)}


def print_row(event: ProgramEvent, *, json: bool) -> None:
    """Print an event on a line."""
    if json:
        emit(as_json(event))
        return
    users = f"  recorded by {', '.join(event.users)}" if event.users else ""
    print(plain(f"{event.path:<48} {event.definition.fields_text}{users}".rstrip()))


def print_event(event: ProgramEvent, *, json: bool) -> None:
    """Print all facts about an event."""
    if json:
        emit(as_json(event))
        return
    print(plain(event.path))
    print(plain(f"recorded by {', '.join(event.users)}" if event.users else "nobody records it"))
    for field in event.definition.fields:
        print(plain(f"  {field.name:<20} {field.type:<32} {field.size} byte{'s' * (field.size != 1)}"))
    print(plain(f"record it: probewright run 'on {event.path}'"))
