"""Rows of a call graph as objects for JSON: unshortened, with addresses beside names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from events.graph.begin_end_columns import RowKind
from events.graph.tree import CallRowFlag
from events.store.outage_mark import OUTAGE_EVENT, Outage

if TYPE_CHECKING:
    from events.graph.tree import CallRow
    from tui.views.graph.model import GraphModel


def object_of_row(shown: GraphModel, row: CallRow) -> dict[str, Any]:
    """Return a call, an interrupt, a time off the CPU or another event of a task."""
    text = shown.line(row)
    is_call = row.kind == RowKind.CALL
    return {
        "ts": row.ts,
        "task": text.task,
        "cpu": row.cpu,
        "level": row.level,
        "kind": text.kind or "call",
        "function": text.name,
        "address": f"0x{row.function:x}" if is_call and shown.live_tree.traced else None,
        "arguments": text.arguments,
        "returned": text.returned or None,
        "retval": row.retval if row.flags & CallRowFlag.RETVAL else None,
        "failed": text.failed,
        "duration": text.duration,
        "self": row.self_time if row.self_time >= 0 else None,
        "note": text.note or None,
    }


def object_of_cut(outage: Outage) -> dict[str, Any]:
    """Return the gap of an outage in the form of `events.export.formats.json_lines`; a time is null where it is
    unknown.
    """
    return {
        "kind": OUTAGE_EVENT,
        "lost": outage.lost,
        "back": outage.back,
        "seconds": outage.seconds,
        "note": outage.text,
    }


def object_of_loss(events: int) -> dict[str, Any]:
    """Return the lower bound of events lost since the last such object."""
    note = "events were lost: calls around here may be incomplete, or missing"
    return {"kind": "lost", "events": events, "note": note}
