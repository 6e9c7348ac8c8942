"""Events that are held for older ones of other CPUs become rows once the buffers were read again, and found empty."""

from __future__ import annotations

import pytest

from kernel.pump import Pump
from kernel.watch.watch import Watch
from tests.pure.kernel.test_ssh_reconnect import Side, id_of, shown, side, watch
from tests.pure.kernel.test_watch import probe
from tests.pure.remote_hosts import eventually

__all__ = ["side", "watch"]


def test_a_slow_remote_host_is_waited_for(side: Side, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = Pump.is_quiet
    monkeypatch.setattr(Pump, "is_quiet", property(lambda pump: False))
    armed = watch.armed.arm(probe("vfs_read"))
    side.event(2000, id_of(armed))
    store = watch.store
    assert store is not None
    assert eventually(lambda: watch.tick() == 0 and store.held_events == 1)
    for _ in range(3):
        assert watch.tick() == 0
    side.event(1000, id_of(armed))  # of another CPU, which the first pass had read before it was written
    shown(watch, 2)
    monkeypatch.setattr(Pump, "is_quiet", quiet)
    side.event(3000, id_of(armed))
    shown(watch, 3)
    assert [store.record(seq).ts for seq in range(3)] == [1000, 2000, 3000]
    assert store.late_events == 0
