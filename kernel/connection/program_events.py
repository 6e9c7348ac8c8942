"""List the events that programs have registered on a target, and write one by hand (user_events)."""

from __future__ import annotations

import errno
import re
from typing import Final, NamedTuple

from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Effect, Step
from kernel.tracefs import USER_EVENTS, Tracefs
from probes.facts.facts import Feature
from probes.user_events.kernel_reading import GROUP, MULTI_GROUP, KernelDefinition, KernelField, existing_definitions

_ROW: Final = re.compile(r"(\S+)(?: #)?(?: Used by (.*))?")
_REMEDY: Final = "the kernel has no user_events (CONFIG_USER_EVENTS, Linux 6.4 or newer)"
_REASONS: Final = {
    errno.EBADF: ("nobody records it", "switch it on first: probewright run 'on user_events/NAME'"),
    errno.EADDRINUSE: ("it has other fields by now", "try again"),
    errno.ENOSYS: ("it takes system calls, which need python3 on the remote host", ""),
    errno.EFAULT: ("no place in the buffer, or a text that ends behind the event", ""),
    errno.ENOENT: ("it is not there any more", ""),
}


class ProgramEvent(NamedTuple):
    """Event that a program has registered."""

    path: str
    """`user_events/NAME`; where a name may have several formats `user_events_multi/NAME.NUMBER`."""
    definition: KernelDefinition
    """Name and fields; of an event of several formats, those of its format file."""
    users: tuple[str, ...]
    """Kinds of tools that record it, `ftrace` and `perf`. The kernel counts the programs that hold it, and shows no
    count.
    """


def parse_status(text: str) -> dict[str, tuple[str, ...]]:
    """Return the tools that record each event, by name, from user_events_status (user_seq_show)."""
    rows = (_ROW.fullmatch(line) for line in text.splitlines())
    return {row[1]: tuple((row[2] or "").split()) for row in rows if row and not row[1].endswith(":")}


def program_events(info: KernelInfo) -> list[ProgramEvent]:
    """Return the events that programs have registered, sorted by path; none where the kernel has no user_events.

    Raises TargetLost.
    """
    if not info.facts.has(Feature.USER_EVENTS):
        return []
    tracefs = Tracefs(info.target, info.facts.tracefs)
    try:
        status = parse_status(tracefs.read("user_events_status"))
        definitions = existing_definitions(tracefs.read("dynamic_events").splitlines())
    except FileRefused:
        return []
    info.environment.forget()
    paths = [path for path in info.environment.events if path.partition("/")[0] in (GROUP, MULTI_GROUP)]
    found = []
    for path in paths:
        group, _, name = path.partition("/")
        known = definitions.get(name, []) if group == GROUP else []
        definition = known[0] if len(known) == 1 else _by_format(info, group, name)
        found.append(ProgramEvent(path, definition, status.get(name, ())))
    return sorted(found)


def _by_format(info: KernelInfo, group: str, name: str) -> KernelDefinition:
    """Return the fields of an event as its format file has them."""
    look_up = info.environment.nearby.event
    fields = (look_up(group, name) if look_up is not None else None) or ()
    return KernelDefinition(name, tuple(KernelField(field.type, field.name, field.size) for field in fields))


def require_user_events(info: KernelInfo) -> None:
    """Raise TargetUnusable where a kernel has no events of programs."""
    if not info.facts.has(Feature.USER_EVENTS):
        raise TargetUnusable("no events of programs", _REMEDY)


def write_program_event(info: KernelInfo, event: ProgramEvent, payload: bytes) -> None:
    """Write one event of a name that has one format. Raises TargetUnusable with the reason, TargetLost."""
    if not info.target.is_kernel:
        raise TargetUnusable(f"{event.path} is not written: no kernel runs here", "name one with --target")
    data = event.definition.text.encode("utf-8", "surrogateescape") + b"\0" + payload
    try:
        info.target.perform(Step(Effect.WRITE_EVENT, f"{info.facts.tracefs}/{USER_EVENTS}", data))
    except FileRefused as error:
        reason, remedy = _REASONS.get(error.errno, (str(error), ""))
        remedy = remedy.replace("NAME", event.definition.name)
        raise TargetUnusable(f"{event.path} is not written: {reason}", remedy) from None
