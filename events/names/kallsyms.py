"""Map addresses to symbols, as the kernel does (kernel/kallsyms.c, kernel/module/kallsyms.c)."""

from __future__ import annotations

import itertools
import operator
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from functools import cached_property, lru_cache
from typing import NamedTuple

from events.names.function_choice import choice_or_any
from events.names.kallsyms_table import CODE, EMPTY_TABLE, HIGHEST, KallsymsEntry, KallsymsTable, parse_table
from events.names.symbol_names import SymbolNames

_SOME_ADDRESS = re.compile(rb"^0*[1-9a-f]", re.MULTILINE)
_NEIGHBOUR_LIMIT = 64
"""Maximum number of symbols searched for a neighbour."""
_PADDING = "__pfx_"
_LAST_SIZE = 4096
"""Size assumed for the last symbol of a module, whose end is unknown."""
_VARIABLES = frozenset("dDbB")
_TRAMPOLINES = ("arch_rethook_trampoline", "__kretprobe_trampoline")
_PROBED_CALLER = "[unknown/kretprobe'd]"
"""Text for the caller where another return probe has replaced the return address by a trampoline (trace_output.c)."""


class SymbolOffset(NamedTuple):
    """Address relative to a symbol."""

    name: str
    offset: int
    size: int
    """Bytes up to the next symbol."""
    module: str = ""


class Symbols:
    """Symbols of /proc/kallsyms, parsed on first use (100 ms for 190,000 lines), or ahead by `prepare()` in a
    worker.
    """

    def __init__(self, data: bytes = b"") -> None:
        """Take the content of /proc/kallsyms; empty: no symbols."""
        self._data = data
        self._table: KallsymsTable | None = None
        self._low, self._high = 0, HIGHEST
        self.function_names = lru_cache(maxsize=4096)(self._names_of_function)
        """Function that returns all names of the function that contains an address, as `name` does; empty: no symbol
        is there. Each event of a pattern asks."""
        self.function_name = lru_cache(maxsize=4096)(self._name_of_function)
        """Function that returns the name of the function that contains an address, of several names one that matches
        a pattern (empty: the first); empty: no symbol is there."""

    @classmethod
    def parse(cls, data: bytes) -> Symbols:
        """Return `Symbols(data)`; malformed lines are skipped."""
        return cls(data)

    @property
    def known(self) -> bool:
        """True if there is any address (kptr_restrict shows all as 0)."""
        return bool(self._rows.addresses)

    def __bool__(self) -> bool:
        """Return `known` without parsing the whole table."""
        data = self._data
        return bool(self._table.addresses if self._table else _SOME_ADDRESS.search(data))

    @cached_property
    def has_data(self) -> bool:
        """True if variables are listed, too: a recording may contain code only."""
        return not _VARIABLES.isdisjoint(self._rows.letters)

    def prepare(self) -> None:
        """Parse and sort the table, once."""
        data = self._data  # before the check: another thread may parse the table and release the data meanwhile
        if self._table is not None:
            return
        # is_ksym_addr(): from _stext to _end where data is listed, else to the end of the code.
        table = parse_table(data).by_address()
        low, high = table.address_of("_stext", "_text"), table.address_of("_end", "_einittext", "_etext")
        if low is not None and high is not None and low < high:
            self._low, self._high = low, high
        self._table = table._replace(names=SymbolNames(table.names))
        self._data = b""

    @property
    def _rows(self) -> KallsymsTable:
        if self._table is None:
            self.prepare()
        return self._table or EMPTY_TABLE

    def find(self, address: int) -> SymbolOffset | None:
        """Return the symbol that contains an address; None: there is none."""
        addresses = self._rows.addresses
        at = bisect_right(addresses, address) - 1
        if at < 0 or not 0 <= address < HIGHEST:
            return None
        start = addresses[at]
        at = bisect_left(addresses, start)  # of several symbols at one address, the first in the file is used
        _, _, name, module = self._entry(at)
        if not module and not self._low <= address < self._high:
            return None
        stop = self._end_address(start, module)
        return SymbolOffset(name, address - start, stop - start, module) if address < stop else None

    def named(self, name: str) -> list[KallsymsEntry]:
        """Return all symbols of a name, by address."""
        first, repeated = self._places
        places = repeated.get(name) or ([first[name]] if name in first else [])
        return [self._entry(at) for at in places]

    def address_of(self, name: str) -> int | None:
        """Return the lowest address of a name in the kernel itself; None: none. Does not build the index of names."""
        return self._rows.address_of(name)

    def lone_functions(self, names: Set[str]) -> dict[str, int]:
        """Return the addresses of those names that one function of the kernel itself has, as the only symbol at its
        address.
        """
        _, repeated = self._places
        addresses, letters, columns, modules = self._rows
        unique_names, previous, found = names - repeated.keys(), 0, {}  # no symbol is at 0
        following = itertools.chain(itertools.islice(addresses, 1, None), (0,))
        for address, next_address, letter, name, module in zip(
            addresses, following, letters, columns, modules, strict=False
        ):
            if letter in CODE and previous != address != next_address and name in unique_names and not module:
                found[name] = address
            previous = address
        return found

    def beginning(self, start: str) -> list[KallsymsEntry]:
        """Return all symbols whose names start with a prefix, sorted by name and address."""
        names = self._rows.names
        if start and start.find(".") == len(start) - 1:  # copies of a function made by the compiler
            return [
                self._entry(at) for at in sorted(self._by_dotted_prefix.get(start[:-1], ()), key=names.__getitem__)
            ]
        order = self._by_name
        first = bisect_left(order, start, key=names.__getitem__)
        rest = map(order.__getitem__, range(first, len(order)))
        found = itertools.takewhile(lambda at: names[at].startswith(start), rest)
        return [self._entry(at) for at in found]

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Position of the first line of each name; and all positions of each name that several lines have."""
        names = list(self._rows.names)
        last = range(len(names) - 1, -1, -1)
        first = dict(zip(reversed(names), last, strict=True))
        repeated: dict[str, list[int]] = {}
        others = map(operator.ne, map(first.__getitem__, names), itertools.count())
        for at in itertools.compress(range(len(names)), others):
            repeated.setdefault(names[at], [first[names[at]]]).append(at)
        return first, repeated

    @cached_property
    def _by_dotted_prefix(self) -> dict[str, list[int]]:
        """Positions of the lines by their name up to its first dot."""
        first, repeated = self._places
        found: dict[str, list[int]] = {}
        for name, at in first.items():
            if "." in name:
                found.setdefault(name.partition(".")[0], []).extend(repeated.get(name, (at,)))
        return found

    @cached_property
    def _by_name(self) -> array[int]:
        """Positions of the lines sorted by name (0.3 s for 190,000)."""
        names = list(self._rows.names)
        return array("I", sorted(range(len(names)), key=names.__getitem__))

    def at(self, address: int) -> list[KallsymsEntry]:
        """Return all symbols at an address: a function may have several names."""
        return [self._entry(place) for place in self._places_at(address)]

    def names_at(self, address: int) -> Sequence[str]:
        """Return the names of all symbols at an address."""
        places = self._places_at(address)
        return self._rows.names[places.start : places.stop]

    def aliases(self, entry: KallsymsEntry) -> tuple[str, ...]:
        """Return the other names of a function's code that no other symbol has."""
        if not entry.code:
            return ()
        others = (other for other in self.at(entry.address) if other.code and other.module == entry.module)
        return tuple(
            [symbol.name for symbol in others if symbol.name != entry.name and len(self.named(symbol.name)) == 1]
        )

    def _places_at(self, address: int) -> range:
        addresses = self._rows.addresses
        return range(bisect_left(addresses, address), bisect_right(addresses, address))

    def code_of_modules(self) -> dict[str, tuple[int, int]]:
        """Return the addresses of the first and last code symbol of each module."""
        bounds: dict[str, tuple[int, int]] = {}
        for address, letter, _, module in zip(*self._rows, strict=True):
            if module and letter in CODE:
                bounds[module] = bounds.get(module, (address,))[0], address
        return bounds

    def preceding(self, address: int) -> Iterator[KallsymsEntry]:
        """Return an iterator over the symbols before an address, the nearest first, at most `_NEIGHBOUR_LIMIT`."""
        at = bisect_left(self._rows.addresses, address)
        return (self._entry(place) for place in range(at - 1, max(at - _NEIGHBOUR_LIMIT, 0) - 1, -1))

    def neighbours(self, address: int) -> tuple[KallsymsEntry | None, KallsymsEntry | None]:
        """Return the functions before and after the one that begins at an address, in link order."""
        places, names = self._places_at(address), set(self.names_at(address))
        before, after = range(places.start - 1, -1, -1), range(places.stop, len(self._rows.addresses))
        return self._first_other(before, names), self._first_other(after, names)

    def _first_other(self, places: range, names: set[str]) -> KallsymsEntry | None:
        """Return the nearest function that has none of these names and is no part of another one."""
        _, letters, every, _ = self._rows
        for at in places[:_NEIGHBOUR_LIMIT]:
            name = every[at]
            if letters[at] in CODE and name not in names and not name.startswith(_PADDING) and ".cold" not in name:
                return self._entry(at)
        return None

    def _entry(self, at: int) -> KallsymsEntry:
        addresses, letters, names, modules = self._rows
        return KallsymsEntry(addresses[at], letters[at], names[at], modules[at])

    def _end_address(self, start: int, module: str) -> int:
        """Return the end address of a symbol: the start of the next one of the same module."""
        addresses, _, _, modules = self._rows
        at = bisect_right(addresses, start)
        for following in range(at, min(at + 256, len(addresses))):
            if modules[following] == module:
                return addresses[following]
        return start + _LAST_SIZE if module or self._high == HIGHEST else self._high

    def lookup(self, address: int) -> str | None:
        """Return `vfs_read+0x4/0x490`, or `ext4_readdir+0x0/0x8a0 [ext4]`; None: no symbol is there
        (sprint_symbol()).
        """
        place = self.find(address)
        if place is None:
            return None
        return f"{place.name}+0x{place.offset:x}/0x{place.size:x}" + (f" [{place.module}]" if place.module else "")

    def name(self, address: int) -> str | None:
        """Return `vfs_read`, or `ext4_readdir [ext4]`, for any address in it; None: no symbol is there."""
        place = self.find(address)
        return place and place.name + (f" [{place.module}]" if place.module else "")

    def object_name(self, address: int) -> str | None:
        """Return the function or variable that a pointer points to, or into: `tcp_prot`, `init_task+0x40`.

        None: none is there, or it may be a variable, where a recording has code only.
        """
        place = self.find(address)
        if place is None or (place.offset and not self.has_data):
            return None
        return f"{place.name}{f'+0x{place.offset:x}' * bool(place.offset)}{f' [{place.module}]' * bool(place.module)}"

    @property
    def lowest(self) -> int:
        """Address below which there is no symbol."""
        first = self._rows.addresses[:1]
        return max(self._low, first[0]) if first else HIGHEST

    def _names_of_function(self, address: int) -> tuple[str, ...]:
        place = self.find(address)
        if place is None:
            return ()
        module = f" [{place.module}]" if place.module else ""
        return tuple(entry.name + module for entry in self.at(address - place.offset) if entry.module == place.module)

    def _name_of_function(self, address: int, pattern: str) -> str:
        names = self.function_names(address)
        matches = choice_or_any(pattern).matches if len(names) > 1 and pattern else lambda _: True
        return next((name for name in names if matches(name.partition(" [")[0])), names[0] if names else "")

    def text(self, address: int, offset: bool = True) -> str:
        """Return an address as %pS prints it, or as %ps without the offset."""
        return (self.lookup(address) if offset else self.name(address)) or f"0x{address:x}"

    def instruction(self, address: int, offset: bool = True) -> str:
        """Return an address as seq_print_ip_sym() prints the location of a probe."""
        if not address:
            return "0"
        place = self.find(address)
        if place is None:
            return f"0x{address:08x}"
        if place.name in _TRAMPOLINES and not place.offset:
            return _PROBED_CALLER
        return (self.lookup(address) or "") if offset else place.name
