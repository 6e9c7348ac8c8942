"""Watches of whole recordings."""

from __future__ import annotations

from pathlib import Path

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch


def replay_of(path: Path | str) -> Watch:
    """Return a watch whose store has all events of a recording; the caller closes it."""
    watch = Watch(Planner(KernelInfo(open_target(str(path)))))
    watch.begin()
    while not watch.ended:
        watch.tick()
    assert watch.store is not None
    watch.store.flush()
    return watch
