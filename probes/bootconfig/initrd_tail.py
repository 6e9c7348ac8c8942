r"""Bytes at the end of an initrd that hold its bootconfig: text, size, checksum and magic.

As tools/bootconfig writes and the kernel reads them (get_boot_config_from_initrd, init/main.c), little endian:

    text NUL padding, u32 length of these, u32 sum of these bytes, "#BOOTCONFIG\n"

The padding makes the length of the whole initrd a multiple of four.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from probes.bootconfig.text import MOST_BYTES, BootconfigError, parse

MAGIC = b"#BOOTCONFIG\n"
_NUMBERS = struct.Struct("<II")
_ALIGNMENT = 4
_MOST_DATA = 32766
"""Largest number of bytes of text, NUL and padding (setup_boot_config, init/main.c)."""
FOOTER = _NUMBERS.size + len(MAGIC)
"""Bytes behind text, NUL and padding."""
MOST_TAIL = MOST_BYTES + 1 + _ALIGNMENT + FOOTER
"""Largest number of bytes of a bootconfig with all that belongs to it."""


class Tail(NamedTuple):
    """Bootconfig at the end of an initrd."""

    text: str
    size: int
    """Bytes that it takes there."""


def tail(text: str, initrd_size: int) -> bytes:
    """Return the bytes to append to an initrd of so many bytes, which has no bootconfig. Raises BootconfigError."""
    parse(text)
    try:
        data = text.encode("latin-1") + b"\0"
    except UnicodeEncodeError:
        raise BootconfigError("Non printable value") from None
    padding = -(initrd_size + len(data) + FOOTER) % _ALIGNMENT
    data += b"\0" * padding
    if len(data) > _MOST_DATA:  # tools/bootconfig takes a byte more, and does not count the padding
        raise BootconfigError(f"bootconfig size {len(data)} greater than max size {_MOST_DATA}")
    return data + _NUMBERS.pack(len(data), sum(data) & 0xFFFFFFFF) + MAGIC


def find_tail(end: bytes, initrd_size: int) -> Tail | None:
    """Return the bootconfig of an initrd; None: it has none.

    Args:
        end: last bytes of the initrd, `MOST_TAIL` or all.
        initrd_size: bytes of the initrd.

    Raises:
        BootconfigError: size or checksum is wrong, or its text can't be read: the kernel takes none of it.
    """
    if not end.endswith(MAGIC) or len(end) < FOOTER:
        return None
    size, checksum = _NUMBERS.unpack_from(end, len(end) - FOOTER)
    if size + FOOTER > initrd_size:
        raise BootconfigError(f"bootconfig size {size} is greater than the initrd's {initrd_size}")
    if size + FOOTER > len(end):
        raise BootconfigError("Config data is too big")
    data = end[len(end) - FOOTER - size : len(end) - FOOTER]
    if sum(data) & 0xFFFFFFFF != checksum:
        raise BootconfigError("bootconfig checksum failed")
    # A character for each byte, whatever the comments of others hold.
    return Tail(data.split(b"\0", 1)[0].decode("latin-1"), size + FOOTER)
