"""Parse /proc/kallsyms into columns: fast if all lines are as the kernel writes them, else line by line."""

from __future__ import annotations

import binascii
import contextlib
import operator
import sys
from array import array
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from foreign.refusal import InputRefusal
from foreign.text import LONGEST_LINE

HIGHEST = 1 << 64
"""Addresses are below."""
MOST_SYMBOLS = 500_000
"""Maximum lines of /proc/kallsyms; a kernel with all of its modules has half as many."""
_SHORTEST_LINE = len(b"1 t a\n")
CODE = frozenset("tTwW")
"""Letters of symbols that are code."""
_PIECE = 1 << 18
"""Approximate bytes read in one step: the lines, split up, take several times as much memory."""
_HEAD = 19
"""Characters before a name: the address, a letter, and a space after each."""
_LABEL = b" .L"
_ADDRESS_ZERO = f"{0:016x} "
_OTHER_SPACES = b"\v\f\r\x1c\x1d\x1e\x1f"
"""Bytes that str.split or bytes.split treats as spaces, besides those in the kernel's lines."""


class KallsymsEntry(NamedTuple):
    """Line of the table."""

    address: int
    letter: str
    """Type letter as in nm(1): `t` and `w`, lowercase or capital, are code."""
    name: str
    module: str = ""

    @property
    def code(self) -> bool:
        """True if the symbol is code."""
        return self.letter in CODE


class KallsymsTable(NamedTuple):
    """Columns of the table, with the properties of `KallsymsEntry`."""

    addresses: Sequence[int]
    letters: Sequence[str]
    names: Sequence[str]
    modules: Sequence[str]

    def by_address(self) -> KallsymsTable:
        """Return the table sorted by address; lines with equal addresses keep their order."""
        if len(self.addresses) < 2:
            return self
        sort = operator.itemgetter(*sorted(range(len(self.addresses)), key=self.addresses.__getitem__))
        return KallsymsTable(array("Q", sort(self.addresses)), *map(sort, self[1:]))

    def address_of(self, *names: str) -> int | None:
        """Return the lowest address of the first of some names that the kernel itself has; None: it has none of
        them.
        """
        for name in names:
            at = -1
            with contextlib.suppress(ValueError):  # no further occurrence
                while self.modules[at := self.names.index(name, at + 1)]:
                    pass
                return self.addresses[at]
        return None


EMPTY_TABLE = KallsymsTable((), (), (), ())


def require_symbol_table(data: bytes, source: str) -> None:
    """Check the number of lines of /proc/kallsyms, and that none is longer than a piece that is parsed at once.

    Raises:
        InputRefusal: there are more than `MOST_SYMBOLS`, or one is too long.
    """
    at = _PIECE
    while 0 < at < len(data):
        end = data.find(b"\n", at)
        length = (end if end >= 0 else len(data)) - at
        if length > LONGEST_LINE:
            raise InputRefusal(source, f"a line of {length} bytes", f"{LONGEST_LINE}")
        at = end + _PIECE if end >= 0 else 0
    if len(data) > _SHORTEST_LINE * MOST_SYMBOLS and (number := data.count(b"\n")) > MOST_SYMBOLS:
        raise InputRefusal(source, f"{number} symbols", f"{MOST_SYMBOLS}")


def parse_table(data: bytes) -> KallsymsTable:
    """Return the lines of /proc/kallsyms in their order, without malformed lines and labels of the assembler."""
    table = _kernels_table(data) or _any_table(data)
    return _without_labels(table) if _LABEL in data else table


def _without_labels(table: KallsymsTable) -> KallsymsTable:
    """Return a table without labels within the functions of modules, as the kernel looks for a symbol
    (is_mapping_symbol in include/linux/module_symbol.h); modules of riscv64 have a hundred in a function.
    """
    kept = [not (module and name.startswith(".L")) for name, module in zip(table.names, table.modules, strict=True)]
    addresses = array("Q", compress(table.addresses, kept))
    return KallsymsTable(addresses, *(list(compress(column, kept)) for column in table[1:]))


def _kernels_table(data: bytes) -> KallsymsTable | None:
    """Parse lines in the kernel's format (s_show()): 16 digits, a letter, a name; None: some lines differ."""
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
    """Parse a piece of the table as `_kernels_table` does."""
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
    if (tab := data.find(b"\t")) >= 0:  # modules are at the end of the table
        for at in range(len(lines) - 1 - data.count(b"\n", tab, len(data) - 1), len(lines)):
            names[at], _, module = names[at].partition("\t[")
            modules[at] = module.strip("[]")
    has_separators = (
        heads[16::_HEAD] == heads[18::_HEAD] == " " * len(lines) and " " not in letters and "\t" not in letters
    )
    has_no_others = data.count(b" ") == 2 * len(lines) and data.count(b"\t", tab) == data.count(b"\t[", tab)
    return (
        KallsymsTable(addresses, letters, names, modules)
        if has_separators and has_no_others and all(names) and _ADDRESS_ZERO not in heads
        else None
    )


def _any_table(data: bytes) -> KallsymsTable:
    """Parse all lines that have an address, a word and a name, with any separators and suffix."""
    found = []
    for line in data.split(b"\n"):
        words = [word.decode("utf-8", "backslashreplace") for word in line.split(None, 3)]
        try:
            address = int(words[0], 16) if len(words) > 2 else 0
        except ValueError:
            continue
        if 0 < address < HIGHEST:
            found.append(KallsymsEntry(address, words[1], words[2], "".join(words[3:]).strip("[] \r")))
    return KallsymsTable(*map(list, zip(*found, strict=True))) if found else EMPTY_TABLE
