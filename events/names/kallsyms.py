"""Addresses to symbols, as the kernel does it (kernel/kallsyms.c, kernel/module/kallsyms.c)."""

from __future__ import annotations

import binascii
import contextlib
import itertools
import operator
import re
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from events.names.symbol_names import SymbolNames

_SOME_ADDRESS = re.compile(rb"^0*[1-9a-f]", re.MULTILINE)
_HIGHEST = 1 << 64
_FAR = 64
"""Symbols that are looked at for a neighbour."""
_PADDING = "__pfx_"
_LAST_SIZE = 4096
_PIECE = 1 << 18
"""Bytes, about, that are read at once: lines and their halves take several times as much."""
"""What is given to the last symbol of a module, whose end nobody says."""

_CODE = frozenset("tTwW")
_HEAD = 19
"""Characters in front of a name: the address, a letter, and a space behind each."""
_NOWHERE = f"{0:016x} "
_OTHER_SPACES = b"\v\f\r\x1c\x1d\x1e\x1f"
"""Bytes that str.split or bytes.split takes for a space, besides those of the kernel's lines."""
_VARIABLES = frozenset("dDbB")
_TRAMPOLINES = ("arch_rethook_trampoline", "__kretprobe_trampoline")
_PROBED = "[unknown/kretprobe'd]"
"""What stands for the caller where another return probe has put a trampoline in its place (trace_output.c)."""


class SymbolOffset(NamedTuple):
    """An address by its symbol."""

    name: str
    offset: int
    size: int
    """Bytes up to the next symbol."""
    module: str = ""


class KallsymsEntry(NamedTuple):
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


class KallsymsTable(NamedTuple):
    """Columns of the table: what `KallsymsEntry` has of each line."""

    addresses: Sequence[int]
    letters: Sequence[str]
    names: Sequence[str]
    modules: Sequence[str]

    def by_address(self) -> KallsymsTable:
        """Return it sorted; lines of one address keep their order."""
        if len(self.addresses) < 2:
            return self
        sort = operator.itemgetter(*sorted(range(len(self.addresses)), key=self.addresses.__getitem__))
        return KallsymsTable(array("Q", sort(self.addresses)), *map(sort, self[1:]))

    def address_of(self, *names: str) -> int | None:
        """Return the lowest address of the first of some names that the kernel itself has; None: none of them."""
        for name in names:
            at = -1
            with contextlib.suppress(ValueError):  # no further one
                while self.modules[at := self.names.index(name, at + 1)]:
                    pass
                return self.addresses[at]
        return None


_EMPTY = KallsymsTable((), (), (), ())


class Symbols:
    """/proc/kallsyms, read when first asked (100 ms for 190,000 lines); `prepare()` does it ahead, in a worker."""

    def __init__(self, data: bytes = b"") -> None:
        """Take the content of /proc/kallsyms; empty: nothing is known."""
        self._data = data
        self._table: KallsymsTable | None = None
        self._low, self._high = 0, _HIGHEST

    @classmethod
    def parse(cls, data: bytes) -> Symbols:
        """Same as `Symbols(data)`; lines that are none are left out."""
        return cls(data)

    @property
    def known(self) -> bool:
        """Whether there is any address (kptr_restrict shows all as 0)."""
        return bool(self._rows.addresses)

    def __bool__(self) -> bool:
        """Same as `known`, without reading the whole table."""
        data = self._data
        return bool(self._table.addresses if self._table else _SOME_ADDRESS.search(data))

    @cached_property
    def has_data(self) -> bool:
        """Whether variables are listed, too: a recording may keep code alone."""
        return not _VARIABLES.isdisjoint(self._rows.letters)

    def prepare(self) -> None:
        """Read and sort the table, once."""
        data = self._data  # before the check: another thread may read the table and let go of it meanwhile
        if self._table is not None:
            return
        # is_ksym_addr(): from _stext to _end where data is listed, else to the end of the code.
        table = (_kernels_table(data) or _any_table(data)).by_address()
        low, high = table.address_of("_stext", "_text"), table.address_of("_end", "_einittext", "_etext")
        if low is not None and high is not None and low < high:
            self._low, self._high = low, high
        self._table = table._replace(names=SymbolNames(table.names))
        self._data = b""

    @property
    def _rows(self) -> KallsymsTable:
        if self._table is None:
            self.prepare()
        return self._table or _EMPTY

    def find(self, address: int) -> SymbolOffset | None:
        """The symbol around an address; None: there is none."""
        addresses = self._rows.addresses
        at = bisect_right(addresses, address) - 1
        if at < 0 or not 0 <= address < _HIGHEST:
            return None
        start = addresses[at]
        at = bisect_left(addresses, start)  # of symbols at one address the first in the file counts
        _, _, name, module = self._entry(at)
        if not module and not self._low <= address < self._high:
            return None
        stop = self._stop(start, module)
        return SymbolOffset(name, address - start, stop - start, module) if address < stop else None

    def named(self, name: str) -> list[KallsymsEntry]:
        """All symbols of a name, by address."""
        first, repeated = self._places
        places = repeated.get(name) or ([first[name]] if name in first else [])
        return [self._entry(at) for at in places]

    def address_of(self, name: str) -> int | None:
        """Return the lowest address of a name that the kernel itself has; None: none. It makes no index of names."""
        return self._rows.address_of(name)

    def lone_functions(self, names: Set[str]) -> dict[str, int]:
        """Return the addresses of those names that one function of the kernel itself has, alone at its address."""
        _, repeated = self._places
        addresses, letters, columns, modules = self._rows
        once, before, found = names - repeated.keys(), 0, {}  # no symbol is at 0
        following = itertools.chain(itertools.islice(addresses, 1, None), (0,))
        for address, after, letter, name, module in zip(
            addresses, following, letters, columns, modules, strict=False
        ):
            if letter in _CODE and before != address != after and name in once and not module:
                found[name] = address
            before = address
        return found

    def beginning(self, start: str) -> list[KallsymsEntry]:
        """All symbols whose names begin so, by name and address."""
        names = self._rows.names
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
        names = list(self._rows.names)
        last = range(len(names) - 1, -1, -1)
        first = dict(zip(reversed(names), last, strict=True))
        repeated: dict[str, list[int]] = {}
        others = map(operator.ne, map(first.__getitem__, names), itertools.count())
        for at in itertools.compress(range(len(names)), others):
            repeated.setdefault(names[at], [first[names[at]]]).append(at)
        return first, repeated

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
        names = list(self._rows.names)
        return array("I", sorted(range(len(names)), key=names.__getitem__))

    def at(self, address: int) -> list[KallsymsEntry]:
        """All symbols of one address: a function may have several names."""
        return [self._entry(place) for place in self._places_at(address)]

    def names_at(self, address: int) -> Sequence[str]:
        """Return the names of `at`."""
        places = self._places_at(address)
        return self._rows.names[places.start : places.stop]

    def aliases(self, entry: KallsymsEntry) -> tuple[str, ...]:
        """Return other names of a function's code, each of which is of no other symbol."""
        if not entry.code:
            return ()
        others = (other for other in self.at(entry.address) if other.code and other.module == entry.module)
        return tuple([one.name for one in others if one.name != entry.name and len(self.named(one.name)) == 1])

    def _places_at(self, address: int) -> range:
        addresses = self._rows.addresses
        return range(bisect_left(addresses, address), bisect_right(addresses, address))

    def code_of_modules(self) -> dict[str, tuple[int, int]]:
        """Module -> addresses of its first and last symbol of code."""
        bounds: dict[str, tuple[int, int]] = {}
        for address, letter, _, module in zip(*self._rows, strict=True):
            if module and letter in _CODE:
                bounds[module] = bounds.get(module, (address,))[0], address
        return bounds

    def preceding(self, address: int) -> Iterator[KallsymsEntry]:
        """Symbols in front of an address, the nearest first; as far as a module reaches."""
        at = bisect_left(self._rows.addresses, address)
        return (self._entry(place) for place in range(at - 1, max(at - _FAR, 0) - 1, -1))

    def neighbours(self, address: int) -> tuple[KallsymsEntry | None, KallsymsEntry | None]:
        """The functions before and behind the one that begins at an address, in the order of the linker."""
        places, names = self._places_at(address), set(self.names_at(address))
        before, behind = range(places.start - 1, -1, -1), range(places.stop, len(self._rows.addresses))
        return self._first_other(before, names), self._first_other(behind, names)

    def _first_other(self, places: range, names: set[str]) -> KallsymsEntry | None:
        """The nearest function that has none of these names, and is no part of another."""
        _, letters, every, _ = self._rows
        for at in places[:_FAR]:
            name = every[at]
            if letters[at] in _CODE and name not in names and not name.startswith(_PADDING) and ".cold" not in name:
                return self._entry(at)
        return None

    def _entry(self, at: int) -> KallsymsEntry:
        addresses, letters, names, modules = self._rows
        return KallsymsEntry(addresses[at], letters[at], names[at], modules[at])

    def _stop(self, start: int, module: str) -> int:
        """First address behind the symbol: that of the next one of the same module."""
        addresses, _, _, modules = self._rows
        at = bisect_right(addresses, start)
        for following in range(at, min(at + 256, len(addresses))):
            if modules[following] == module:
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


def _kernels_table(data: bytes) -> KallsymsTable | None:
    """Return the lines as the kernel writes them (s_show()): 16 digits, a letter, a name; None: some are not so."""
    addresses, names, modules, letters = array("Q"), list[str](), list[str](), list[str]()
    at = 0
    while at < len(data) or not at:
        stop = data.find(b"\n", at + _PIECE) + 1 or len(data) or 1
        part = _kernels_lines(data[at:stop])
        if part is None:
            return None
        addresses.extend(part.addresses)
        letters += part.letters
        names += part.names
        modules += part.modules
        at = stop
    return KallsymsTable(addresses, "".join(letters), names, modules)


def _kernels_lines(data: bytes) -> KallsymsTable | None:
    """Return the same of a piece."""
    if not data.isascii() or any(byte in data for byte in _OTHER_SPACES):
        return None
    lines = str(data, "ascii").removesuffix("\n").split("\n")
    heads = "".join([line[:_HEAD] for line in lines])
    letters, names, modules = heads[17::_HEAD], [line[_HEAD:] for line in lines], [""] * len(lines)
    digits = bytearray(heads, "ascii")
    for spare in (18, 17, 16):
        del digits[spare :: spare + 1]
    try:
        addresses = array("Q", binascii.unhexlify(digits))
    except (binascii.Error, ValueError):
        return None
    if sys.byteorder == "little":
        addresses.byteswap()
    if (tab := data.find(b"\t")) >= 0:  # modules come last
        for at in range(len(lines) - 1 - data.count(b"\n", tab, len(data) - 1), len(lines)):
            names[at], _, module = names[at].partition("\t[")
            modules[at] = module.strip("[]")
    apart = heads[16::_HEAD] == heads[18::_HEAD] == " " * len(lines) and " " not in letters and "\t" not in letters
    only = data.count(b" ") == 2 * len(lines) and data.count(b"\t", tab) == data.count(b"\t[", tab)
    return (
        KallsymsTable(addresses, letters, names, modules)
        if apart and only and all(names) and _NOWHERE not in heads
        else None
    )


def _any_table(data: bytes) -> KallsymsTable:
    """Return the lines that have an address, a word and a name, whatever stands between and behind."""
    found = []
    for line in data.split(b"\n"):
        words = [word.decode("utf-8", "backslashreplace") for word in line.split(None, 3)]
        try:
            address = int(words[0], 16) if len(words) > 2 else 0
        except ValueError:
            continue
        if 0 < address < _HIGHEST:
            found.append(KallsymsEntry(address, words[1], words[2], "".join(words[3:]).strip("[] \r")))
    return KallsymsTable(*map(list, zip(*found, strict=True))) if found else _EMPTY
