"""Events by the cgroup of their task, also of tasks that end before anybody could look them up."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.condition_text import condition
from events.record import Record
from events.selected import Selected
from kernel.connection import Connection
from kernel.lab.guest import Guest
from kernel.lab_target import connect
from kernel.open import open_target
from kernel.presets import Presets
from kernel.session import Session
from kernel.watch import Watch
from probes.check import armable
from probes.syntax.parse import parse_probe
from tui.shown import sorts_of_fields

INSIDE, OUTSIDE, STAYING = 4097, 4098, 4099
"""Bytes asked for: who reads is told by them."""
WORKLOAD = f"""
read_() {{ dd if=/dev/zero of=/dev/null bs=$1 count=1 2>/dev/null; }}
mkdir -p /tmp/cgroups && mount -t cgroup2 none /tmp/cgroups && mkdir -p /tmp/cgroups/pod/web /tmp/cgroups/pod/db
sh -c 'echo $$ >/tmp/cgroups/pod/db/cgroup.procs
dd if=/dev/zero of=/dev/null bs={STAYING} count=1
sleep 60' </dev/null >/dev/null 2>&1 &
sh -c 'echo $$ >/tmp/cgroups/pod/web/cgroup.procs
for one in 1 2 3; do dd if=/dev/zero of=/dev/null bs={INSIDE} count=1 2>/dev/null; done
sh -c "sh -c \\"dd if=/dev/zero of=/dev/null bs={INSIDE} count=1 2>/dev/null; true\\"; true"; true'
read_ {OUTSIDE}; (read_ {OUTSIDE})
"""
UNDO = """
kill $(cat /tmp/cgroups/pod/db/cgroup.procs); cd /tmp
until rmdir cgroups/pod/db; do :; done; rmdir cgroups/pod/web cgroups/pod; umount cgroups
"""


def _reads(watch: Watch, text: str) -> list[int]:
    """How many bytes were asked for by the events that a condition chooses, and were the workload's."""
    store = watch.store
    assert store is not None
    chosen = Selected(store, condition(text, sorts_of_fields(watch), store.comm, store.cgroups))
    while chosen.behind:
        chosen.tick(1.0)
    counts = [_count(store.record(chosen.seq(row))) for row in range(chosen.first, chosen.next)]
    return [count for count in counts if count in (INSIDE, OUTSIDE, STAYING)]


def _count(record: Record) -> int:
    count = record.values.get("count", 0)
    return count if isinstance(count, int) else 0


def _all_right(watch: Watch) -> None:
    assert _reads(watch, f"cgroup == /pod/web && count >= {INSIDE}") == [INSIDE] * 4
    assert _reads(watch, "container == web") == [INSIDE] * 4
    assert sorted(_reads(watch, "cgroup == /pod")) == sorted([INSIDE] * 4 + [STAYING])
    assert _reads(watch, "cgroup ~ */db") == [STAYING]
    assert _reads(watch, "!(cgroup == /pod)") == [OUTSIDE] * 2


@pytest.mark.parametrize("guest", ["7.2", "6.1-sh"], indirect=True)
def test_of_tasks_that_have_ended(guest: Guest, tmp_path: Path) -> None:
    connection = Connection(connect(guest, "guest"))
    watch = Watch(connection)
    path = tmp_path / "cgroups.pwr"
    try:
        preset = Presets().find("shipped:containers").preset
        assert preset is not None
        for text in ("p vfs_read count=$arg3", *(texts[0] for texts in preset.probes)):
            watch.arm(armable(text) if text.startswith("on") else parse_probe(text))
        watch.record_to(path)
        session = watch.session
        assert isinstance(session, Session)
        guest.run(f"sh -s <<'THE_END'\n{WORKLOAD}\nTHE_END\n", timeout=60)
        while session.pump.wait(1.0) or watch.unsettled:
            watch.tick()
        for _ in range(2):  # of what is not known after the first it is known for whom to look
            _reads(watch, "cgroup == web")
            watch.know_names(watch.names())
        _all_right(watch)
    finally:
        watch.close()
        guest.run(UNDO, timeout=60)
        connection.close()
    replayed = Watch(Connection(open_target(str(path))))
    replayed.begin()
    while not replayed.ended:
        replayed.tick()
    _all_right(replayed)
    replayed.close()
