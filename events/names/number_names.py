"""Names of numbers, one for each of several numbers or each flag of a set; and the format of a field's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

_LISTED: Final = 6


def names_hint(field: str, names: Iterable[str]) -> str:
    """Return which names a field takes in place of a number, the first of many; empty: it has none."""
    every = tuple(dict.fromkeys(names))
    more = ", …" if len(every) > _LISTED else ""
    return f"{field} takes a number or a name: {', '.join(every[:_LISTED])}{more}" if every else ""


class NumberFormat(NamedTuple):
    """Format of the numbers of a field; decimal unless stated otherwise."""

    hexadecimal: bool = False
    """True if numbers above 9 are hexadecimal."""
    names: Callable[[int], str] | None = None
    """Function that returns the text of a number that may have a name; None: numbers have no names."""
    only_errors: bool = False
    """True if only -4095 to -1 can have a name."""
    lowest: int = 0
    """Smallest number that can have a name, read as unsigned."""
    beside: Callable[[str], bool] | None = None
    """Function that returns whether a text may stand in one that a number has behind it, which depends on the event;
    None: there is none."""


class NamedNumber(NamedTuple):
    """Number with its name; among flags, bits that are set where it is said."""

    number: int
    name: str
    mask: int = 0
    """Bits of a set of flags that are this number where it is said, as the access mode of `O_RDONLY`; 0: those of the
    number."""


class NumberNames:
    """Names of the numbers of a field."""

    def __init__(
        self,
        named: tuple[NamedNumber, ...],
        *,
        are_flags: bool = False,
        fallback: str = "",
        rest_octal: bool = False,
    ) -> None:
        """Take the names.

        Args:
            named: numbers with their names, in the order in which they are looked up: of flags that share bits the
                first that is set is said.
            are_flags: True if a number is a set of them.
            fallback: name of 0 among flags that have none for it.
            rest_octal: True if bits without a name are said in octal, as permissions are.
        """
        self.named = named
        self.are_flags = are_flags
        self._none = fallback
        self._rest_octal = rest_octal

    @cached_property
    def _by_number(self) -> Mapping[int, str]:
        return {as_int(one.number): one.name for one in reversed(self.named)}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of each name."""
        found: dict[str, int] = {}
        for one in self.named:
            found.setdefault(one.name, one.number)
        return found

    def text(self, value: int) -> str | None:
        """Return the name of a number, of flags all that are set: `O_RDWR|O_CREAT|0x4000000`; None: it has none.

        Args:
            value: number; an `int` that was recorded in more bits or as unsigned is found, too.
        """
        if not self.are_flags:
            return self._by_number.get(as_int(value))
        if not value and (none := self._by_number.get(0, self._none)):
            return none
        names, left = list[str](), value
        for number, name, mask in self.named:
            mask = mask or number
            if mask and left & mask == number:
                names.append(name)
                left &= ~mask
        if self._rest_octal and (left or not names):
            return "|".join([*names, f"0{left:o}" if left else "0"])
        return "|".join([*names, *([hex(left)] if left else [])]) if names else None


def as_int(value: int) -> int:
    """Return the `int` whose 32 bits a register has with its sign or zeros above; another number as it is."""
    low, high = value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF
    return (low ^ 1 << 31) - (1 << 31) if high in (0, 0xFFFF_FFFF) else value


CONTEXT_FLAGS: Final = NumberNames(
    tuple(
        NamedNumber(1 << bit, name)
        for bit, name in enumerate(
            (
                "IRQS_OFF",
                "NEED_RESCHED_LAZY",
                "NEED_RESCHED",
                "HARDIRQ",
                "SOFTIRQ",
                "PREEMPT_RESCHED",
                "NMI",
                "BH_OFF",
            )
        )
    ),
    are_flags=True,
    fallback="none",
)
"""Bits of `common_flags` (TRACE_FLAG_… of include/linux/trace_events.h)."""
_UNDERFLOW: Final = 0xFF


def context_texts(flags: int, preempt_count: int) -> tuple[str, str]:
    """Return `common_flags` by name, and `common_preempt_count`, each with its number where that is another.

    A kernel with preemption subtracts the one that it adds itself from the count, which is below the flags in one
    word, also where it added none, as at a uprobe: 0 becomes 255, and takes 1 from the flags (tracing_gen_ctx_dec of
    kernel/trace/trace.h).
    """
    if preempt_count != _UNDERFLOW:
        return f"{CONTEXT_FLAGS.text(flags)}  ({flags})", str(preempt_count)
    real = flags + 1 & _UNDERFLOW
    low = "one too low, as the kernel subtracts its own"
    return f"{CONTEXT_FLAGS.text(real)}  ({flags}: {low})", f"0  ({preempt_count}: {low})"
