"""An event waits for its stack, which the kernel writes behind it and a slow connection may bring later."""

from __future__ import annotations

import pytest

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.store.store import Store
from kernel.watch import intake
from kernel.watch.watch import Watch
from tests.pure.events.test_stack import CARRIER, FORMATS, HEADER, PLAIN, STACK, Written, bytes_of
from tests.pure.kernel.test_task_names import target, watch
from tests.pure.kernel.test_watch import probe
from tests.pure.remote_hosts import eventually

__all__ = ["target", "watch"]


@pytest.fixture
def store(watch: Watch) -> Store:
    watch.armed.arm(probe("vfs_read"))
    watch.tick()
    made = watch.intake.store = Store(Decoder(FORMATS, HEADER))
    made.expect_stacks({CARRIER.path})
    return made


def arrive(watch: Watch, ts: int, written: Written) -> None:
    """Let a record come by itself; then nothing does, for two ticks at least."""
    data = bytes_of([(ts, written)], 0)
    watch.intake._queue.entries.append(Batch((Chunk(0, data),), drained=True))
    for _ in range(3):
        watch.intake.tick()
    session = watch.session
    assert session is not None and eventually(lambda: session.pump.is_quiet)
    watch.intake.tick()


def test_an_event_whose_stack_comes_later_is_no_row_before(
    watch: Watch, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_STACK_PATIENCE", float("inf"))
    arrive(watch, 10, Written(CARRIER, 1, 5, 0))
    assert len(store) == 0 and store.awaits_stack and watch.intake.unsettled
    arrive(watch, 11, Written(STACK, 1, 5, 0))
    assert [len(store.record(seq).stacks) for seq in range(len(store))] == [1]
    arrive(watch, 20, Written(PLAIN, 1, 5, 0))
    assert len(store) == 2 and not store.awaits_stack, "other events do not wait"


def test_an_event_whose_stack_does_not_come_is_a_row_in_the_end(
    watch: Watch, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_STACK_PATIENCE", 0.0)
    arrive(watch, 10, Written(CARRIER, 1, 5, 0))
    assert [len(store.record(seq).stacks) for seq in range(len(store))] == [0]
