"""Watches of whole recordings; fixtures of the one that ships."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
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


@pytest.fixture(scope="module")
def planner() -> Iterator[Planner]:
    """Return the planner of the recording that ships."""
    made = Planner(KernelInfo(open_target(str(shipped_recording()))))
    yield made
    made.info.close()


@pytest.fixture(scope="module")
def records() -> Iterator[list[Record]]:
    """Return its events."""
    watch = replay_of(shipped_recording() or "")
    yield [watch.store.record(seq) for seq in range(watch.store.first_seq, watch.store.next_seq)]
    watch.close()
    watch.info.close()
