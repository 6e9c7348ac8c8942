"""Addresses to symbols, as the kernel does it (kernel/kallsyms.c, kernel/module/kallsyms.c)."""

from __future__ import annotations

import binascii
import itertools
import re
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

_SOME_ADDRESS = re.compile(rb"^0*[1-9a-f]", re.MULTILINE)
_HIGHEST = 1 << 64
_FAR = 64
"""Symbols that are looked at for a neighbour."""
_PADDING = "__pfx_"
_LAST_SIZE = 4096
"""What is given to the last symbol of a module, whose end nobody says."""

_CODE = frozenset("tTwW")
_CODE_LETTERS = frozenset(letter.encode() for letter in _CODE)
_VARIABLES = frozenset((b"d", b"D", b"b", b"B"))
_TRAMPOLINES = ("arch_rethook_trampoline", "__kretprobe_trampoline")
_PROBED = "[unknown/kretprobe'd]"
"""What stands for the caller where another return probe has put a trampoline in its place (trace_output.c)."""


class Place(NamedTuple):
    """An address by its symbol."""

    name: str
    offset: int
    size: int
    """Bytes up to the next symbol."""
    module: str = ""


class Entry(NamedTuple):
    """One line of the table."""

    address: int
    letter: str
    """As nm(1) has it: `t` and `w`, small or capital, are code."""
    name: str
    module: str = ""

    @property
    def code(self) -> bool:
        """Whether there are instructions."""
        return self.letter in _CODE


class Symbols:
    """/proc/kallsyms, read when first asked (100 ms for 190,000 lines); `prepare()` does it ahead, in a worker."""

    def __init__(self, data: bytes = b"") -> None:
        """Take the content of /proc/kallsyms; empty: nothing is known."""
        self._data = data
        self._lines: list[bytes] | None = None
        self._addresses = array("Q")
        self._low, self._high = 0, _HIGHEST

    @classmethod
    def parse(cls, data: bytes) -> Symbols:
        """Same as `Symbols(data)`; lines that are none are left out."""
        return cls(data)

    @property
    def known(self) -> bool:
        """Whether there is any address (kptr_restrict shows all as 0)."""
        self.prepare()
        return bool(self._addresses)

    def __bool__(self) -> bool:
        """Same as `known`, without reading the whole table."""
        data = self._data
        return bool(self._addresses) if self._lines is not None else bool(_SOME_ADDRESS.search(data))

    @cached_property
    def has_data(self) -> bool:
        """Whether variables are listed, too: a recording may keep code alone."""
        self.prepare()
        return any(line.split(None, 2)[1] in _VARIABLES for line in self._lines or ())

    def prepare(self) -> None:
        """Read and sort the table, once."""
        data = self._data  # before the check: another thread may read the table and let go of it meanwhile
        if self._lines is not None:
            return
        lines = data.rstrip(b"\n").split(b"\n")
        addresses = _leading_addresses(lines)
        if addresses is None:
            addresses, lines = _valid_lines(lines)
        order = sorted(range(len(addresses)), key=addresses.__getitem__)
        # is_ksym_addr(): from _stext to _end where data is listed, else to the end of the code.
        low = _address_of(data, b"_stext", b"_text")
        high = _address_of(data, b"_end", b"_einittext", b"_etext")
        if low is not None and high is not None and low < high:
            self._low, self._high = low, high
        self._addresses = array("Q", map(addresses.__getitem__, order))
        self._lines = list(map(lines.__getitem__, order))
        self._data = b""

    def find(self, address: int) -> Place | None:
        """The symbol around an address; None: there is none."""
        self.prepare()
        addresses = self._addresses
        at = bisect_right(addresses, address) - 1
        if at < 0 or not 0 <= address < _HIGHEST:
            return None
        start = addresses[at]
        at = bisect_left(addresses, start)  # of symbols at one address the first in the file counts
        name, module = self._symbol(at)
        if not module and not self._low <= address < self._high:
            return None
        stop = self._stop(start, module)
        return Place(name, address - start, stop - start, module) if address < stop else None

    def named(self, name: str) -> list[Entry]:
        """All symbols of a name, by address."""
        first, repeated = self._places
        places = repeated.get(name) or ([first[name]] if name in first else [])
        return [self._entry(at) for at in places]

    def lone_functions(self, names: Iterable[str]) -> dict[str, int]:
        """Return the addresses of those of some names that are of one function of the kernel itself, and alone of it.

        Only C identifiers are found.
        """
        first, repeated = self._places
        lines, addresses, found = self._lines or [], self._addresses, {}
        last = len(addresses) - 1
        for name in first.keys() & names:
            if name not in repeated and name.isidentifier():
                at = first[name]
                words, address = lines[at].split(None, 3), addresses[at]
                alone = (not at or addresses[at - 1] != address) and (at == last or addresses[at + 1] != address)
                if alone and len(words) == 3 and words[1] in _CODE_LETTERS:
                    found[name] = address
        return found

    def beginning(self, start: str) -> list[Entry]:
        """All symbols whose names begin so, by name and address."""
        names = self._names
        if start and start.find(".") == len(start) - 1:  # the compiler's copies of a function
            return [self._entry(at) for at in sorted(self._dotted.get(start[:-1], ()), key=names.__getitem__)]
        order = self._by_name
        first = bisect_left(order, start, key=names.__getitem__)
        rest = map(order.__getitem__, range(first, len(order)))
        found = itertools.takewhile(lambda at: names[at].startswith(start), rest)
        return [self._entry(at) for at in found]

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Name -> place of its first line; and all places of each name that several lines have."""
        self.prepare()
        names = self._names
        last = range(len(names) - 1, -1, -1)
        first = dict(zip(reversed(names), last, strict=True))
        repeated: dict[str, list[int]] = {}
        if len(first) < len(names):
            for at, name in enumerate(names):
                if first[name] != at:
                    repeated.setdefault(name, [first[name]]).append(at)
        return first, repeated

    @cached_property
    def _names(self) -> list[str]:
        """Name of each line."""
        self.prepare()
        text = b"\n".join(self._lines or ()).decode("utf-8", "backslashreplace")
        return [line.split(None, 3)[2] for line in text.split("\n")] if text else []

    @cached_property
    def _dotted(self) -> dict[str, list[int]]:
        """Name up to its first dot -> places of the lines."""
        first, repeated = self._places
        found: dict[str, list[int]] = {}
        for name, at in first.items():
            if "." in name:
                found.setdefault(name.partition(".")[0], []).extend(repeated.get(name, (at,)))
        return found

    @cached_property
    def _by_name(self) -> array[int]:
        """Places of the lines in the order of their names (0.3 s for 190,000)."""
        names = self._names
        return array("I", sorted(range(len(names)), key=names.__getitem__))

    def at(self, address: int) -> list[Entry]:
        """All symbols of one address: a function may have several names."""
        self.prepare()
        first, after = bisect_left(self._addresses, address), bisect_right(self._addresses, address)
        return [self._entry(place) for place in range(first, after)]

    def code_of_modules(self) -> dict[str, tuple[int, int]]:
        """Module -> addresses of its first and last symbol of code."""
        self.prepare()
        bounds: dict[str, tuple[int, int]] = {}
        for at, line in enumerate(self._lines or ()):
            if line.endswith(b"]") and (entry := self._entry(at)).code:
                bounds[entry.module] = bounds.get(entry.module, (entry.address,))[0], entry.address
        return bounds

    def preceding(self, address: int) -> Iterator[Entry]:
        """Symbols in front of an address, the nearest first; as far as a module reaches."""
        self.prepare()
        at = bisect_left(self._addresses, address)
        return (self._entry(place) for place in range(at - 1, max(at - _FAR, 0) - 1, -1))

    def neighbours(self, address: int) -> tuple[Entry | None, Entry | None]:
        """The functions before and behind the one that begins at an address, in the order of the linker."""
        self.prepare()
        count = len(self._addresses)
        at, after = bisect_left(self._addresses, address), bisect_right(self._addresses, address)
        names = {self._entry(place).name for place in range(at, after)}
        before, behind = range(at - 1, -1, -1), range(after, count)
        return self._first_other(before, names), self._first_other(behind, names)

    def _first_other(self, places: range, names: set[str]) -> Entry | None:
        """The nearest function that has none of these names, and is no part of another."""
        entries = (self._entry(at) for at in places[:_FAR])
        parts = (entry for entry in entries if entry.code and entry.name not in names)
        return next((e for e in parts if not e.name.startswith(_PADDING) and ".cold" not in e.name), None)

    def _entry(self, at: int) -> Entry:
        words = (self._lines or [])[at].decode("utf-8", "backslashreplace").split(None, 3)
        return Entry(self._addresses[at], words[1], words[2], words[3].strip("[] \r") if len(words) > 3 else "")

    def _symbol(self, at: int) -> tuple[str, str]:
        entry = self._entry(at)
        return entry.name, entry.module

    def _stop(self, start: int, module: str) -> int:
        """First address behind the symbol: that of the next one of the same module."""
        addresses = self._addresses
        at = bisect_right(addresses, start)
        for following in range(at, min(at + 256, len(addresses))):
            if self._symbol(following)[1] == module:
                return addresses[following]
        return start + _LAST_SIZE if module or self._high == _HIGHEST else self._high

    def lookup(self, address: int) -> str | None:
        """`vfs_read+0x4/0x490`, or `ext4_readdir+0x0/0x8a0 [ext4]`; None: no symbol there (sprint_symbol())."""
        place = self.find(address)
        if place is None:
            return None
        return f"{place.name}+0x{place.offset:x}/0x{place.size:x}" + (f" [{place.module}]" if place.module else "")

    def text(self, address: int, offset: bool = True) -> str:
        """What %pS prints, or %ps without the offset."""
        place = self.find(address)
        if place is None:
            return f"0x{address:x}"
        if offset:
            return self.lookup(address) or ""
        return place.name + (f" [{place.module}]" if place.module else "")

    def instruction(self, address: int, offset: bool = True) -> str:
        """What seq_print_ip_sym() prints for the place of a probe."""
        if not address:
            return "0"
        place = self.find(address)
        if place is None:
            return f"0x{address:08x}"
        if place.name in _TRAMPOLINES and not place.offset:
            return _PROBED
        return (self.lookup(address) or "") if offset else place.name


def _leading_addresses(lines: list[bytes]) -> list[int] | None:
    """Return the addresses of lines as the kernel writes them, 16 digits each; None: some line is of another form."""
    digits = b"".join([line[:16] for line in lines])
    try:
        addresses = array("Q", binascii.unhexlify(digits))
    except (binascii.Error, ValueError):
        return None
    if sys.byteorder == "little":
        addresses.byteswap()
    forms = {line[16:20] for line in lines}
    usual = all(form[::2] == b"  " and len(form.split()) == 2 for form in forms)
    return addresses.tolist() if usual and len(addresses) == len(lines) and 0 not in addresses else None


def _valid_lines(lines: list[bytes]) -> tuple[list[int], list[bytes]]:
    """Return the lines that have an address and a name, whatever stands between, with their addresses."""
    found = []
    for line in lines:
        words = line.split(None, 2)
        try:
            address = int(words[0], 16) if len(words) > 2 else 0
        except ValueError:
            continue
        if 0 < address < _HIGHEST:
            found.append((address, line))
    return [address for address, _ in found], [line for _, line in found]


def _address_of(data: bytes, *names: bytes) -> int | None:
    """Return the address of the first of some names that a table has, as a number; None: it has none of them."""
    for name in names:
        at = data.find(b" " + name + b"\n")
        if at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            return int(data[start:at].split(b" ", 1)[0], 16)
    return None
