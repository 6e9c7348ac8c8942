"""A watch of a guest's kernel, and a workload in the guest while it is read."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from tests.real.held import bring_in


@contextlib.contextmanager
def watch_of(guest: Guest) -> Iterator[Watch]:
    """Open a watch; at its end nothing of ours may be left in the guest."""
    planner = Planner(KernelInfo(connect(guest, guest.kernel.release)))
    watch = Watch(planner)
    try:
        yield watch
    finally:
        assert watch.close() == []
        planner.info.close()
        assert b"pw_" not in guest.run("cat /sys/kernel/tracing/dynamic_events")


def run_workload(watch: Watch, guest: Guest, command: str) -> None:
    """Run a command in the guest, and move all that came of it into the store."""
    workload = subprocess.Popen([*guest.ssh_command, command])
    while workload.poll() is None:
        watch.tick()
        time.sleep(0.05)
    assert workload.returncode == 0
    bring_in(watch)


def rows_of(watch: Watch, name: str) -> list[dict[str, Any]]:
    """Return the values of all events of a name, as numbers and as text, with thread, its name, time and CPU."""
    store = watch.store
    assert store is not None
    assert not store.undecodable
    watch.intake.know_names(watch.names(cgroups=False))
    found: list[dict[str, Any]] = []
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        if record.event.rpartition("/")[2] == name:
            texts = {f"{field}_text": text for field, text in watch.event_fields.values(record)}
            about = {"thread": record.pid, "task": record.comm, "ts_of_event": record.ts, "cpu_of_event": record.cpu}
            found.append({**record.values, **texts, **about})
    return found
