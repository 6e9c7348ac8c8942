"""Read the place of a watchpoint: a variable, of a module where one is named, with an offset; or an address."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PLACE: Final = re.compile(
    r"(?:(?P<address>0x[0-9a-f]{1,16})|(?:(?P<module>[A-Za-z_][\w-]{0,63}):)?(?P<symbol>[A-Za-z_.][\w.$]{0,511}))"
    r"(?:\+(?P<offset>0x[0-9a-f]{1,8}|[0-9]{1,9}))?",
    re.ASCII | re.IGNORECASE,
)


class MemoryPlace(NamedTuple):
    """Place in the kernel's memory."""

    symbol: str = ""
    """Name of a variable; empty: `offset` is the address."""
    offset: int = 0
    module: str = ""
    """Module that has the variable; empty: any."""

    @classmethod
    def parse(cls, text: str) -> MemoryPlace | None:
        """Return the place of a text such as `jiffies_64`, `init_task+0x10`, `ext4:name`, `0xffffffff82a00000+8`.

        None: it is none.
        """
        match = _PLACE.fullmatch(text)
        if match is None:
            return None
        written = (match["offset"] or "0").lower()
        offset = int(written, 16 if written.startswith("0x") else 10)
        if not match["address"]:
            return cls(match["symbol"], offset, match["module"] or "")
        address = int(match["address"], 16) + offset
        return cls(offset=address) if address < 1 << 64 else None

    def __str__(self) -> str:
        if not self.symbol:
            return f"{self.offset:#x}"
        return f"{self.module}:" * bool(self.module) + self.symbol + f"+{self.offset:#x}" * bool(self.offset)
