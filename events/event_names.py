"""How the name of an event reads on the screen; details and exports have the kernel's own."""

from __future__ import annotations

import re
from typing import Final

_OURS: Final = re.compile(r"synthetic/pw_\d+_[0-9a-z]+(?:_\d+)?__(.+)", re.DOTALL)
"""The kernel has one group for all synthetic events, so those of a session of ours carry its group in their names."""


def event_name(path: str) -> str:
    """`vfs_read__exit` of `pw_136_cv/vfs_read__exit`, `slow_open` of `synthetic/pw_136_cv__slow_open`."""
    ours = _OURS.fullmatch(path)
    return ours[1] if ours else path.rpartition("/")[2]
