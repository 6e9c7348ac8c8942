"""Check names of groups, events and fields by the kernel's rules, and make names that the kernel accepts."""

from __future__ import annotations

import re
from collections.abc import Container

from probes.syntax.text import is_group, is_identifier

MAX_EVENT_NAME = 63
"""Characters of a group or an event name (MAX_EVENT_NAME_LEN is 64 with the NUL)."""
MAX_FIELD_NAME = 32
"""Characters of a field name (MAX_ARG_NAME_LEN)."""

RESERVED_FIELDS = frozenset(
    {
        "common_type",
        "common_flags",
        "common_preempt_count",
        "common_pid",
        "common_tgid",
        "__probe_ip",
        "__probe_ret_ip",
        "__probe_func",
    }
)
"""Names of fields that every record has (reserved_field_names, kernel/trace/trace_probe.c)."""


def split_name(text: str) -> tuple[str, str]:
    """Split `group/event`, `group.event`, `group/` or `event`."""
    separator = "/" if "/" in text else "."
    group, has_group, event = text.partition(separator)
    return (group, event) if has_group else ("", text)


def check_name(text: str) -> tuple[str, int] | None:
    """Check the event name after the `:` of a command's first word.

    Returns:
        Error code and offset in `text`; None where the kernel accepts the name.
    """
    separator = "/" if "/" in text else "."
    group, separated, event = text.partition(separator)
    if separated:
        if not group:
            return "NO_GROUP_NAME", 0
        if len(group) > MAX_EVENT_NAME:
            return "GROUP_TOO_LONG", 0
        if not is_group(group):
            return "BAD_GROUP_NAME", 0
        if not event:
            return None
    else:
        event = text
        if not event:
            return "NO_EVENT_NAME", 0
    offset = len(text) - len(event)
    if len(event) > MAX_EVENT_NAME:
        return "EVENT_TOO_LONG", offset
    if not is_identifier(event):
        return "BAD_EVENT_NAME", offset
    return None


def identifier(text: str) -> str:
    """Make a C identifier of any text: `foo.isra.0` becomes `foo_isra_0`."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name and not name[0].isdigit() else f"_{name}"


def choice_name(text: str) -> str:
    """Return a C identifier for a text that stands for several functions: `tcp_send` for `/^tcp_send/`."""
    if text.startswith("@"):
        text = text.rpartition("/")[2].partition(".")[0]
    return identifier("_".join(re.findall("[A-Za-z0-9]+", text)) or "functions")


def event_name(symbol: str, suffix: str, limit: int = MAX_EVENT_NAME) -> str:
    """Return an event name for a symbol, which is cut where the name would be longer than `limit`."""
    return identifier(symbol)[: limit - len(suffix)] + suffix


def unique_field(wanted: str, taken: Container[str]) -> str:
    """Return a field name that the kernel accepts and that is not in `taken`: the wanted name, or numbered."""
    base = identifier(wanted)[:MAX_FIELD_NAME]
    if base in RESERVED_FIELDS:
        base = f"{base}_"[:MAX_FIELD_NAME]
    name, number = base, 2
    while name in taken or name in RESERVED_FIELDS:
        suffix = f"_{number}"
        name, number = base[: MAX_FIELD_NAME - len(suffix)] + suffix, number + 1
    return name
