"""Choose the event of a call that a key goes to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from events.calls.call_values import Call


def end_of(call: Call | None, *, at_exit: bool) -> int | str:
    """Return the sequence number of the entry or exit of a call; a text: why it has none.

    `call`: None: the row is of no call, or nothing near it is its other end.
    """
    if call is None or call.is_mark:
        return "this row is no end of a call whose other end was recorded"
    end = call.exit if at_exit else call.entry
    if end is not None:
        return end
    name = "exit" if at_exit else "entry"
    return f"this call has no {name} here: {call.unpaired_reason.value}" if call.unpaired_reason else f"no {name}"
