"""Build planners for guests, with the symbols and the kernel's text that explain why a function can't be probed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kernel.attach.symbols import symbol_lookups
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect


@contextlib.contextmanager
def planner_with_symbols(guest: Guest, name: str) -> Iterator[Planner]:
    """Open a connection to a guest under a name, and read its symbols; closed at the end."""
    info = KernelInfo(connect(guest, name))
    info.symbols.load()
    info.catalog.sources = symbol_lookups(info.target, info.facts.release, info.symbols.current)
    yield Planner(info)
    info.close()
