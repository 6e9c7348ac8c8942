"""What the rows of a call graph are called, and how what they were given and returned reads."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from btf.errors import BtfError
from btf.types import Int, Void
from btf.walk import stripped
from events.errnos import errno_name
from events.graph.arguments import Argument, ArgumentTypes, registers_of
from events.graph.comments import SOFTIRQS
from events.graph.tree import Flag, Row

if TYPE_CHECKING:
    from events.kallsyms import Symbols
    from events.record import Record
    from kernel.connection import Connection

_IRQ_ENTRY: Final = ("__irqentry_text_start", "__irqentry_text_end")
"""Symbols around the functions in which interrupts enter (include/linux/interrupt.h, __irq_entry)."""
_FAR: Final = 1 << 32
_KERNEL: Final = 1 << 63
"""Addresses of the kernel are higher."""
_MAX_ERRNO: Final = 4095


class GraphNames:
    """Names of one target. Functions are addresses until its symbols are loaded."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._namer = connection.namer()
        self._types = ArgumentTypes(connection.btf) if connection.btf else None
        self.function = lru_cache(maxsize=1 << 16)(self._function)
        """Name of the function at an address, `name [module]` for a module's."""
        self._return_type = lru_cache(maxsize=4096)(self._look_up_return)
        self._irqs: tuple[int, int] | None = None

    @property
    def symbols(self) -> Symbols | None:
        """None until they are loaded, and where the kernel hides them."""
        return self._connection.loaded_symbols

    def forget(self) -> None:
        """Names are known now that were not."""
        self.function.cache_clear()
        self._irqs = None

    def _function(self, address: int) -> str:
        symbols = self.symbols
        return symbols.text(address, offset=False) if symbols else hex(address)

    def enters_interrupt(self, address: int) -> bool:
        """Whether an interrupt begins with this function."""
        if self._irqs is None:
            found = [self.symbols.named(name) for name in _IRQ_ENTRY] if self.symbols else []
            self._irqs = (found[0][0].address, found[1][0].address) if found and all(found) else (0, 0)
        return self._irqs[0] <= address < self._irqs[1]

    @staticmethod
    def softirq(vector: int) -> str:
        """`NET_RX`."""
        return SOFTIRQS[vector] if 0 <= vector < len(SOFTIRQS) else str(vector)

    def arguments(self, function: str, record: Record) -> str:
        """`(file=…3c1a2c0, count=4096)`; empty: the record has none."""
        registers = registers_of(record)
        if not registers:
            return ""
        found = self._types.of(function.split(" ")[0], registers) if self._types else None
        if found is None:
            return "(" + ", ".join(_short(value) for value in registers[:6]) + ")"
        parts = [self._argument(argument) for argument in found.known]
        return "(" + ", ".join([*parts, *(["…"] if found.is_cut else [])]) + ")"

    def _argument(self, argument: Argument) -> str:
        value = argument.value
        number = argument.type if isinstance(argument.type, Int) and value < _KERNEL else None
        if value < _FAR or (number and number.is_signed):
            text = self._namer.text(value, argument.type_id or None)
        else:  # a large number without sign may be an address, or a size: nothing of it may be missing
            text = hex(value) if number else _short(value)
        return f"{argument.name or '?'}={text}"

    def returned(self, function: str, row: Row) -> tuple[str, bool]:
        """What a call returned, and whether that is an error; by the function's type where BTF knows it."""
        if not row.flags & Flag.RETVAL:
            return "", False
        kind = self._return_type(function.split(" ")[0])
        if kind is None:  # as the kernel guesses
            value = row.retval - (1 << 32) if row.retval >> 31 == 1 else row.retval
            name = errno_name(value) if row.flags & Flag.FAILED else None
            return name or (str(value) if -_MAX_ERRNO <= value < _FAR else _short(value)), bool(name)
        type_id, bits, signed = kind
        if not bits:
            return "", False
        value = row.retval & ((1 << bits) - 1)
        if (signed or bits == 64) and value >> (bits - 1):
            value -= 1 << bits
        if -_MAX_ERRNO <= value < 0 and (name := errno_name(value)):
            return name, True
        text = self._namer.text(value if signed else value & ((1 << bits) - 1), type_id)
        return (_short(value & ((1 << 64) - 1)) if text.startswith("0x") else text), False

    def _look_up_return(self, function: str) -> tuple[int, int, bool] | None:
        """BTF type, bits and sign of what a function returns; 0 bits: nothing."""
        btf = self._connection.btf
        func = btf.function(function) if btf else None
        if btf is None or func is None:
            return None
        try:
            type_id = btf.prototype(func).type_id
            found = stripped(btf, type_id)
        except BtfError:
            return None
        if isinstance(found, Void):
            return 0, 0, False
        size = min(int(getattr(found, "size", 8)) or 8, 8)
        return type_id, 8 * size, isinstance(found, Int) and found.is_signed


def _short(value: int) -> str:
    """An address without its first digits, which all have in common."""
    return hex(value) if 0 <= value < _FAR else f"…{value & 0xFFFFFFF:07x}"
