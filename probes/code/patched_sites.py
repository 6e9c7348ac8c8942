"""Read the kernel's tables of places in its code that it patches itself or treats specially: no kprobe goes there.

check_kprobe_address_safe() in kernel/kprobes.c, arch_prepare_kprobe() of arm64. All tables hold distances from the
entry's member to the place, except where a kernel has pointers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class SiteTable(NamedTuple):
    """Table of the kernel, or of a module, with places in code."""

    bounds: tuple[str, str]
    """Symbols at the beginning and behind the end of the kernel's table."""
    module_fields: tuple[str, str]
    """Members of `struct module`: pointer to the table, number of its entries."""
    entry: str
    """Structure of an entry."""
    members: tuple[str, ...]
    """Names of the member with the place: a distance; of the last, if there are two, a pointer."""
    size: int
    """Bytes of an entry where its type is unknown; 0: the table isn't read then."""
    length: int
    """Bytes of code from the place on that take no kprobe."""
    reason: str


PATCHED_EVERYWHERE: Final = (
    SiteTable(
        ("__start___jump_table", "__stop___jump_table"),
        ("jump_entries", "num_jump_entries"),
        "jump_entry",
        ("code",),
        16,
        1,
        "a static branch (jump label), which the kernel patches",
    ),
    SiteTable(
        ("__start_static_call_sites", "__stop_static_call_sites"),
        ("static_call_sites", "num_static_call_sites"),
        "static_call_site",
        ("addr",),
        8,
        5,
        "a static call, which the kernel patches",
    ),
    SiteTable(
        ("__start___bug_table", "__stop___bug_table"),
        ("bug_table", "num_bugs"),
        "bug_entry",
        ("bug_addr_disp", "bug_addr"),
        0,
        1,
        "the trap of a BUG() or WARN()",
    ),
)
"""Tables of places that every architecture patches, where it has them."""
EXCEPTION_TABLE: Final = SiteTable(
    ("__start___ex_table", "__stop___ex_table"),
    ("extable", "num_exentries"),
    "exception_table_entry",
    ("insn",),
    12,
    1,
    "an access that may fault (exception table)",
)


class EntryLayout(NamedTuple):
    """Layout of a table's entries."""

    size: int
    """Bytes of an entry."""
    offset: int = 0
    """Bytes from its beginning to the member with the place."""
    width: int = 4
    """Bytes of that member: 4 for a distance, 8 for a pointer."""


class PatchedSite(NamedTuple):
    """Stretch of code that takes no kprobe."""

    start: int
    end: int
    reason: str


def table_sites(data: bytes, address: int, layout: EntryLayout, table: SiteTable) -> Iterator[PatchedSite]:
    """Yield the places of a table.

    Args:
        data: its bytes, of a little-endian kernel; an incomplete entry at the end is left out.
        address: address of the first byte.
        layout: layout of the entries.
        table: table that they are of.
    """
    for at in range(layout.offset, len(data) - layout.size + layout.offset + 1, layout.size):
        value = int.from_bytes(data[at : at + layout.width], "little", signed=layout.width == 4)
        start = address + at + value if layout.width == 4 else value
        yield PatchedSite(start, start + table.length, table.reason)
