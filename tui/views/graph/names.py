"""Names of functions in a call graph, and texts of their arguments and results."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from btf.errors import BtfError
from btf.types import Int, Void
from btf.walk import stripped
from events.graph.arguments import ArgumentTypes, CallArgument, registers_of
from events.graph.switch_events import SOFTIRQS
from events.graph.tree import CallRow, CallRowFlag
from events.names.errnos import MAX_ERRNO, errno_name, errno_names
from probes.functions import known_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from events.names.kallsyms import Symbols
    from events.record import Record
    from kernel.connection.kernel_info import KernelInfo

_IRQ_ENTRY: Final = ("__irqentry_text_start", "__irqentry_text_end")
"""Symbols around the functions that enter interrupts (include/linux/interrupt.h, __irq_entry)."""
_FAR: Final = 1 << 32
_KERNEL: Final = 1 << 63
"""Lowest kernel address."""
_NO_NUMBER: Final = re.compile(r"[^0-9a-fx….,+(){}=\s-]++")
"""Characters that occur in no number and between none."""
_MOST_NAMES: Final = 1 << 14
"""Cached names of functions (some 200 bytes each); a lookup takes 3 us."""
_MOST_UNNAMED: Final = 6
"""Registers that are shown of a function that BTF does not know."""


class ArgumentValue(NamedTuple):
    """Argument of a call."""

    name: str
    """Name; empty: BTF does not know the function."""
    value: int
    text: str


class ArgumentValues(NamedTuple):
    """Arguments of a call."""

    values: tuple[ArgumentValue, ...]
    is_truncated: bool
    """True if there are more arguments than the record holds."""


class GraphNames:
    """Names of one boot of a target. Functions are addresses until its symbols are loaded."""

    def __init__(self, info: KernelInfo, *, whole: bool = False, boot: int = 0) -> None:
        """Set the connection; `whole`: pointers have all their digits, for output without a screen."""
        self._boot, self._whole = boot, whole
        self._other_boots: dict[int, GraphNames] = {}
        self._short: Callable[[int], str] = hex if whole else _short
        self._more = "..." if whole else "…"
        self._most = None if whole else _MOST_UNNAMED
        self._info = info
        self._namer = info.namer(boot)
        self._types = ArgumentTypes(info.btf) if info.btf else None
        self.function = lru_cache(maxsize=_MOST_NAMES)(self._function)
        """Return the name of the function at an address, `name [module]` for a module's."""
        self._return_type = lru_cache(maxsize=4096)(self._look_up_return)
        self._naming = lru_cache(maxsize=4096)(self._look_up_naming)
        self._irqs: tuple[int, int] | None = None

    @property
    def symbols(self) -> Symbols | None:
        """Symbols; None: not loaded, or hidden by the kernel."""
        return self._info.symbols.loaded_of(self._boot)

    def of(self, boot: int) -> GraphNames:
        """Return the names of a boot."""
        if boot == self._boot:
            return self
        if boot not in self._other_boots:
            self._other_boots[boot] = GraphNames(self._info, whole=self._whole, boot=boot)
        return self._other_boots[boot]

    def forget(self) -> None:
        """Clear cached names after symbols were loaded."""
        self._other_boots.clear()
        self.function.cache_clear()
        self._irqs = None

    def _function(self, address: int) -> str:
        symbols = self.symbols
        return symbols.text(address, offset=False) if symbols else hex(address)

    def enters_interrupt(self, address: int) -> bool:
        """Tell whether an interrupt begins with this function."""
        if self._irqs is None:
            first, after = map(self.symbols.address_of, _IRQ_ENTRY) if self.symbols else (None, None)
            self._irqs = (first, after) if first is not None and after is not None else (0, 0)
        return self._irqs[0] <= address < self._irqs[1]

    @staticmethod
    def softirq(vector: int) -> str:
        """Return the name of a softirq, as `NET_RX`."""
        return SOFTIRQS[vector] if 0 <= vector < len(SOFTIRQS) else str(vector)

    def arguments(self, function: str, record: Record) -> str:
        """Return the arguments of a call, as `(file=…3c1a2c0, count=4096)`; empty: the record has none."""
        given = self.recorded_arguments(function, record)
        if not given:
            return ""
        more = [self._more] if given.is_truncated else []
        return (
            "("
            + ", ".join([*(f"{one.name}={one.text}" if one.name else one.text for one in given.values), *more])
            + ")"
        )

    def recorded_arguments(self, function: str, record: Record) -> ArgumentValues:
        """Return the arguments of a call, as far as its record holds them."""
        registers = registers_of(record)
        name = function.split(" ")[0]
        found = self._types.of(name, registers) if self._types and registers else None
        if found is None:
            kept = registers[: self._most]
            return ArgumentValues(
                tuple(ArgumentValue("", value, self._short(value)) for value in kept), kept != registers
            )
        known = (ArgumentValue(one.name or "?", one.value, self._argument(name, one)) for one in found.values)
        return ArgumentValues(tuple(known), found.is_truncated)

    def given_values(self, function: str, record: Record) -> tuple[int, ...]:
        """Return the arguments of a call as signed numbers; empty: the record or the types do not tell them.

        Of a compiler's variant (`walk.constprop.0`) the original's types are taken.
        """
        name = function.split(" ")[0]
        types, registers = self._types, registers_of(record)
        if types is None:
            return ()
        found = types.of(name, registers) or types.of(name.partition(".")[0], registers)
        values = [one.value for one in found.values] if found is not None else []
        return tuple(value - (1 << 64) if value >= _KERNEL else value for value in values)

    def _argument(self, function: str, argument: CallArgument) -> str:
        value = argument.value
        if naming := self._naming(function, argument.name, argument.type_id):
            return self._namer.text(value, argument.type_id or None, naming=naming)
        number = argument.type if isinstance(argument.type, Int) and value < _KERNEL else None
        if value < _FAR or (number and number.is_signed):
            return self._namer.text(value, argument.type_id or None)
        # A large unsigned number may be an address or a size: no digit may be missing.
        return hex(value) if number else self._short(value)

    def returned(self, function: str, row: CallRow) -> tuple[str, bool]:
        """Return a call's result, and True if it is an error; by the function's type if BTF knows it."""
        return self.result(function, row.retval) if row.flags & CallRowFlag.RETVAL else ("", False)

    def result(self, function: str, retval: int) -> tuple[str, bool]:
        """Return the text of a result register, given as a signed number of 64 bits, and True if it is an error."""
        kind = self._return_type(function.split(" ")[0])
        if kind is None:  # as the kernel guesses
            value = retval - (1 << 32) if retval >> 31 == 1 else retval
            name = errno_name(value) if -MAX_ERRNO <= value < 0 else None
            return name or (str(value) if -MAX_ERRNO <= value < _FAR else self._short(value)), bool(name)
        type_id, bits, signed = kind
        if not bits:
            return "", False
        value = retval & ((1 << bits) - 1)
        if (signed or bits == 64) and value >> (bits - 1):
            value -= 1 << bits
        if -MAX_ERRNO <= value < 0 and (name := errno_name(value)):
            return name, True
        text = self._namer.text(value if signed else value & ((1 << bits) - 1), type_id)
        return (self._short(value & ((1 << 64) - 1)) if text.startswith("0x") else text), False

    def may_give(self, function: str, text: str) -> bool:
        """Return True if a function's arguments may contain a lower-case text, judging by their names and types."""
        name = function.split(" ")[0]
        params = self._types.params(name) if self._types else None
        if any(self._naming(name, param.name, param.type_id) for param, _ in params or ()):
            return True
        words = ["" if params is None else "?".join(param.name for param, _ in params)]
        return self._may_read(text, words, [param.type_id for param, _ in params or ()])

    def may_return(self, function: str, text: str) -> bool:
        """Return True if a function's result may contain a lower-case text."""
        kind = self._return_type(function.split(" ")[0])
        if kind == (0, 0, False):
            return False
        return self._may_read(text, ["\n".join(errno_names())], [kind[0]] if kind else [])

    def return_key(self, function: str) -> tuple[int, int, bool] | None:
        """Return a key that is equal for functions whose results have equal texts."""
        return self._return_type(function.split(" ")[0])

    def _may_read(self, text: str, words: list[str], types: list[int]) -> bool:
        """Tell whether words, and values of types, may form a text: pieces that occur in no number must be in a
        word.
        """
        for type_id in types:
            named = self._namer.words(type_id)
            if named is None:
                return True
            words += named
        every = "\n".join(words).lower()
        return all(piece in every for piece in _NO_NUMBER.findall(text))

    def _look_up_naming(self, function: str, parameter: str, type_id: int) -> str:
        """Return what names the numbers of a function's parameter (`PlanColumn.naming`); empty: nothing does."""
        btf = self._info.btf
        return known_numbers.function_parameter(btf, function, parameter, type_id) if btf and parameter else ""

    def _look_up_return(self, function: str) -> tuple[int, int, bool] | None:
        """Return the BTF type, bits and sign of a function's result; 0 bits: void; None: unknown."""
        btf = self._info.btf
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


def whole_text(text: str, value: int) -> str:
    """Return the text of a value with all digits of an address that `GraphNames` has shortened."""
    return hex(value & ((1 << 64) - 1)) if text.startswith("…") else text


def _short(value: int) -> str:
    """Return an address without its first digits, which all addresses share."""
    return hex(value) if 0 <= value < _FAR else f"…{value & 0xFFFFFFF:07x}"
