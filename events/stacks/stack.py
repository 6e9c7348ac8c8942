"""Stacks of events as frames: the innermost first, without those of the tracer itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.stacks.addresses import stack_of, stacks_in
from events.stacks.tracer_frames import own_frames

if TYPE_CHECKING:
    from events.names.kallsyms import Symbols
    from events.record import Record

SymbolReader = Callable[[], "Symbols | None"]
"""Reads the symbols of the kernel, from a remote host perhaps: called where a stack is there, and only there."""
KERNEL_STACKS: Final = ("ftrace/kernel_stack", "kernel_stack")
USER_STACKS: Final = ("ftrace/user_stack", "user_stack")
"""Events that a trigger or an option of tracing records behind others; a line of text names no group."""
NO_EVENT: Final = "the event of this stack is not here: lost, left out by its filter, or it has no trigger of ours"
"""Said of a stack that is a row, as it is not proven whose it is."""
NO_FRAMES: Final = "no function: the kernel got no farther than the code of the probe"
"""Said of a stack of which all frames are the tracer's own."""
_LINE: Final = re.compile(r"^ => (.*)$", re.MULTILINE)


class Frame(NamedTuple):
    """A place in a stack."""

    address: int | None
    """None: the kernel printed a symbol instead."""
    symbol: str = ""
    """`vfs_read+0x9/0x490`; empty: none is known."""

    @property
    def text(self) -> str:
        """The symbol, else the address."""
        return self.symbol or f"{self.address or 0:#x}"

    @property
    def function(self) -> str:
        """The symbol without the offset, else the address."""
        return _function(self.symbol) or self.text


def is_stack(record: Record) -> bool:
    """Whether a row is a stack of which it is not proven whose it is."""
    return record.event in KERNEL_STACKS or record.event in USER_STACKS


def kernel_frames(record: Record, symbols: SymbolReader) -> tuple[Frame, ...] | None:
    """Return the kernel's frames of an event, or of a stack that is a row; None: none were recorded."""
    return _frames(record, KERNEL_STACKS, symbols)


def user_frames(record: Record) -> tuple[Frame, ...] | None:
    """Return the frames of the program in an event, or of such a stack that is a row; None: none were recorded."""
    return _frames(record, USER_STACKS, lambda: None)


def field_frames(record: Record, symbols: SymbolReader) -> tuple[tuple[Frame, ...], ...]:
    """Return the frames of each stack that is a field of an event."""
    return tuple(_named(stack, symbols()) for stack in stacks_in(record))


def stack_values(record: Record, symbols: SymbolReader) -> Mapping[str, tuple[str, ...]]:
    """Return the frames of an event's stacks as texts, `stack` and `user_stack` as far as they were recorded."""
    found = {"stack": kernel_frames(record, symbols), "user_stack": user_frames(record)}
    return {name: tuple(frame.text for frame in frames) for name, frames in found.items() if frames is not None}


def _frames(record: Record, paths: Sequence[str], symbols: SymbolReader) -> tuple[Frame, ...] | None:
    stack = next((one for one in (record, *record.stacks) if one.event in paths), None)
    if stack is None:
        return None
    if stack.text:
        return _without_own([_printed(line) for line in _LINE.findall(stack.text)])
    return _named(stack_of(stack) or (), symbols())


def _named(addresses: Iterable[int], symbols: Symbols | None) -> tuple[Frame, ...]:
    found = [Frame(address, (symbols.lookup(address) or "") if symbols else "") for address in addresses]
    return _without_own(found)


def _printed(line: str) -> Frame:
    """Read a frame of the kernel's text; an address is there where it has no symbol, or with the option sym-addr."""
    line = line.strip()
    try:
        return Frame(int(line, 16)) if line.startswith("0x") else Frame(None, line)
    except ValueError:
        return Frame(None, line)


def _without_own(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    return tuple(frames[own_frames([_function(frame.symbol) for frame in frames]) :])


def _function(symbol: str) -> str:
    """Return a symbol without its offset, `ext4_readdir [ext4]`."""
    return re.sub(r"\+0x[0-9a-f]+/0x[0-9a-f]+", "", symbol)
