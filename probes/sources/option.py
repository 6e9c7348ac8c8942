"""Represent an option of a source: its type, bounds and help, and the one text of each value."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Final

from foreign.text import whole_number
from probes.sources.memory_place import MemoryPlace
from probes.sources.number_place import NumberPlace

_UNITS: Final = {"": 1, "us": 1, "ms": 1_000, "s": 1_000_000}
_DURATION: Final = re.compile(r"([0-9]{1,12})(us|ms|s)?", re.ASCII)
_RANGE: Final = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)
_FIELD: Final = re.compile(r"[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){1,15}", re.ASCII)
MOST_CPUS: Final = 1 << 13
"""Most CPUs of a kernel (CONFIG_NR_CPUS)."""


class OptionType(enum.Enum):
    """Type of an option's values."""

    DURATION = "time"
    """Microseconds: `50us`, `1ms`, `2s`."""
    SWITCH = "on or off"
    CHOICE = "one word of several"
    CPUS = "CPUs"
    """List of CPU numbers: `0,2-3`."""
    MEMORY = "variable or address"
    """Place in the kernel's memory: `jiffies_64`, `init_task+0x10`, `0xffffffff82a00000`."""
    NUMBER = "number of a variable or a file"
    """Place of a number: `jiffies_64`, `vm_zone_stat[NR_FREE_PAGES]`, `/proc/meminfo:MemFree`."""
    FIELD = "field of a structure"
    """Structure and field: `file.f_pos`, `task_struct.se.vruntime`."""


class BadValue(ValueError):
    """A text that is no value of an option; its message says which values are."""


@dataclass(frozen=True, slots=True)
class SourceOption:
    """Option of a kind of source."""

    name: str
    type: OptionType
    help: str
    """Purpose in a line."""
    default: str = ""
    """Value where none is given; empty: the kernel's setting stays as it is."""
    least: int = 0
    """Least duration in microseconds."""
    most: int = 0
    """Longest duration in microseconds."""
    choices: tuple[str, ...] = ()
    zero_is_off: bool = False
    """True if the duration may also be 0, which switches it off."""

    @property
    def bounds(self) -> str:
        """Valid values in a few words: `100us to 1s`, `on or off`."""
        if self.type is OptionType.DURATION:
            off = "0 (off), or " if self.zero_is_off else ""
            return f"{off}{duration_text(self.least)} to {duration_text(self.most)}"
        if self.type is OptionType.CPUS:
            return "CPU numbers such as 0,2-3"
        if self.type is OptionType.MEMORY:
            return "a variable, as jiffies_64 or init_task+0x10, or an address, as 0xffffffff82a00000"
        if self.type is OptionType.NUMBER:
            return "a variable with its path, as vm_zone_stat[NR_FREE_PAGES], or a file, as /proc/meminfo:MemFree"
        if self.type is OptionType.FIELD:
            return "a structure and its field, as file.f_pos or task_struct.se.vruntime"
        return " or ".join(self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """All values, where they are words; empty: they are numbers."""
        return ("on", "off") if self.type is OptionType.SWITCH else self.choices

    def normal(self, text: str) -> str:
        """Return the one text of a value. Raises BadValue."""
        if self.type is OptionType.DURATION:
            return self._duration(text)
        if self.type is OptionType.CPUS:
            return cpu_list(cpus_of(text))
        if self.type is OptionType.MEMORY:
            if (place := MemoryPlace.parse(text)) is None:
                raise BadValue(f"{self.name} is {self.bounds}")
            return str(place)
        if self.type is OptionType.NUMBER and NumberPlace.parse(text) is not None:
            return text
        if self.type is OptionType.FIELD:
            if _FIELD.fullmatch(text) is None:
                raise BadValue(f"{self.name} is {self.bounds}")
            return text
        if text not in self.words:
            raise BadValue(f"{self.name} is {self.bounds}")
        return text

    def _duration(self, text: str) -> str:
        number = microseconds(text)
        if number is None or not (self.least <= number <= self.most or (self.zero_is_off and number == 0)):
            raise BadValue(f"{self.name} is {self.bounds}")
        return duration_text(number)


def microseconds(text: str) -> int | None:
    """Return the microseconds of `50us`, `1ms`, `2s` or a bare number; None: the text is no time."""
    match = _DURATION.fullmatch(text)
    return None if match is None else int(match[1]) * _UNITS[match[2] or ""]


def duration_text(number: int) -> str:
    """Return microseconds in the largest unit that has no fraction: 1500 as `1500us`, 2000 as `2ms`."""
    if number and number % 1_000_000 == 0:
        return f"{number // 1_000_000}s"
    return f"{number // 1_000}ms" if number and number % 1_000 == 0 else f"{number}us"


def cpus_of(text: str) -> tuple[int, ...]:
    """Return the CPU numbers of a list such as `0,2-3`, in order. Raises BadValue."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (whole_number(match[1]), whole_number(match[2] or match[1])) if match else (None, None)
        if first is None or last is None or not first <= last < MOST_CPUS:
            raise BadValue("cpus is a list of CPU numbers such as 0,2-3")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def cpu_list(cpus: tuple[int, ...]) -> str:
    """Return CPU numbers as the kernel prints them: `0,2-3` (cpumask_pr_args)."""
    parts: list[str] = []
    start = previous = -1
    for cpu in (*cpus, -1):
        if start >= 0 and cpu != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = -1
        start = cpu if start < 0 else start
        previous = cpu
    return ",".join(parts)


def cpu_mask(cpus: tuple[int, ...]) -> str:
    """Return CPU numbers as a mask in words of 32 bits, as the kernel prints one: `3`, `1,00000000`."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [f"{bits >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(bits.bit_length(), 1), 32)]
    return ",".join(reversed(words)).lstrip("0,") or "0"
