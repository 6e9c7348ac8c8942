"""Read the place of a watchpoint: a variable, of a module where one is named, with an offset; or an address."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PLACE: Final = re.compile(
    r"0x(?P<address>[0-9a-f]{1,16})"
    r"|(?:(?P<module>[A-Za-z_][\w-]{0,63}):)?(?P<symbol>[A-Za-z_.][\w.$]{0,511})(?:\+(?P<offset>0x[0-9a-f]{1,8}|\d{1,9}))?",
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
        """Return the place of a text such as `jiffies_64`, `init_task+0x10`, `ext4:name`, `0xffffffff82a00000`.

        None: it is none.
        """
        match = _PLACE.fullmatch(text)
        if match is None:
            return None
        if match["address"]:
            return cls(offset=int(match["address"], 16))
        return cls(
            match["symbol"],
            int(match["offset"] or "0", 0 if "x" in (match["offset"] or "").lower() else 10),
            match["module"] or "",
        )

    def __str__(self) -> str:
        if not self.symbol:
            return f"{self.offset:#x}"
        return f"{self.module}:" * bool(self.module) + self.symbol + f"+{self.offset:#x}" * bool(self.offset)
