"""Represent stacks of events as frames, the innermost first, without the tracer's own frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.stacks.addresses import stack_event_addresses, stacks_in
from events.stacks.tracer_frames import count_tracer_frames

if TYPE_CHECKING:
    from events.decode import Value
    from events.names.kallsyms import Symbols
    from events.record import Record

SymbolReader = Callable[[int], "Symbols | None"]
"""Function that returns the kernel's symbols in a boot, possibly read from a remote host: called only if there is a
stack."""
KERNEL_STACKS: Final = ("ftrace/kernel_stack", "kernel_stack")
USER_STACKS: Final = ("ftrace/user_stack", "user_stack")
"""Paths of the events that a trigger or a tracing option records after other events; a line of text names no
group."""
NO_EVENT: Final = "the event of this stack is not here: lost, left out by its filter, or it has no trigger of ours"
"""Message for a stack that is a row, as its event is not proven."""
NO_FRAMES: Final = "no function: the kernel got no farther than the code of the probe"
"""Message for a stack whose frames are all the tracer's own."""
_LINE: Final = re.compile(r"^ => (.*)$", re.MULTILINE)


class Frame(NamedTuple):
    """Frame of a stack."""

    address: int | None
    """Address; None: the kernel printed a symbol instead."""
    symbol: str = ""
    """Symbol with offset, `vfs_read+0x9/0x490`; empty: unknown."""

    @property
    def text(self) -> str:
        """Symbol, or else the address."""
        return self.symbol or f"{self.address or 0:#x}"

    @property
    def function(self) -> str:
        """Symbol without the offset, or else the address."""
        return _function(self.symbol) or self.text


def is_stack(record: Record) -> bool:
    """Return whether a row is a stack whose event is not proven."""
    return record.event in KERNEL_STACKS or record.event in USER_STACKS


def kernel_frames(record: Record, symbols: SymbolReader) -> tuple[Frame, ...] | None:
    """Return the kernel frames of an event, or of a stack that is a row; None: none were recorded."""
    return _frames(record, KERNEL_STACKS, symbols)


def user_frames(record: Record) -> tuple[Frame, ...] | None:
    """Return the user-space frames of an event, or of a stack that is a row; None: none were recorded."""
    return _frames(record, USER_STACKS, lambda _: None)


def field_frames(record: Record, symbols: SymbolReader) -> tuple[tuple[Frame, ...], ...]:
    """Return the frames of each stack that is a field of an event."""
    return tuple(_resolve(stack, symbols(record.boot)) for stack in stacks_in(record))


def stack_values(record: Record, symbols: SymbolReader) -> Mapping[str, tuple[str, ...]]:
    """Return the frames of an event's recorded stacks as texts: `stack` and `user_stack`."""
    found = {"stack": kernel_frames(record, symbols), "user_stack": user_frames(record)}
    return {name: tuple(frame.text for frame in frames) for name, frames in found.items() if frames is not None}


def _frames(record: Record, paths: Sequence[str], symbols: SymbolReader) -> tuple[Frame, ...] | None:
    stack = next((event for event in (record, *record.stacks) if event.event in paths), None)
    if stack is None:
        return None
    return stack_frames(recorded_stack(stack), symbols(stack.boot) if not stack.text else None)


def recorded_stack(stack: Record) -> tuple[int, ...] | str:
    """Return the addresses of a stack, or the kernel's text of it."""
    return stack.text or stack_event_addresses(stack) or ()


def stack_frames(stack: Value, symbols: Symbols | None) -> tuple[Frame, ...]:
    """Return the frames of a stack, given as `recorded_stack` returns it."""
    if isinstance(stack, str):
        return _without_tracer_frames([_parse_frame(line) for line in _LINE.findall(stack)])
    return _resolve((one for one in stack if isinstance(one, int)) if isinstance(stack, tuple) else (), symbols)


def _resolve(addresses: Iterable[int], symbols: Symbols | None) -> tuple[Frame, ...]:
    found = [Frame(address, (symbols.lookup(address) or "") if symbols else "") for address in addresses]
    return _without_tracer_frames(found)


def _parse_frame(line: str) -> Frame:
    """Parse a frame of the kernel's text, which has an address if there is no symbol, or with the option sym-addr."""
    line = line.strip()
    try:
        return Frame(int(line, 16)) if line.startswith("0x") else Frame(None, line)
    except ValueError:
        return Frame(None, line)


def _without_tracer_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    return tuple(frames[count_tracer_frames([_function(frame.symbol) for frame in frames]) :])


def _function(symbol: str) -> str:
    """Return a symbol without its offset, `ext4_readdir [ext4]`."""
    return re.sub(r"\+0x[0-9a-f]+/0x[0-9a-f]+", "", symbol)
