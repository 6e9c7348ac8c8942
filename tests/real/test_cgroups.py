"""Events by the cgroup of their task, also of tasks that end before anybody could look them up."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.conditions.condition_parser import parse_condition
from events.record import Record
from events.search.filtered_rows import FilteredRows
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.preset_files import Presets
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.syntax.parse import parse_probe
from tests.real.held import bring_in
from tests.real.processes import until
from tests.replays import replay_of
from tui.present.status import sorts_of_fields

INSIDE, OUTSIDE, STAYING = 4097, 4098, 4099
"""Bytes asked for: who reads is told by them."""
WORKLOAD = f"""
read_() {{ dd if=/dev/zero of=/dev/null bs=$1 count=1 2>/dev/null; }}
mkdir -p /tmp/cgroups && mount -t cgroup2 none /tmp/cgroups && mkdir -p /tmp/cgroups/pod/web /tmp/cgroups/pod/db
sh -c 'echo $$ >/tmp/cgroups/pod/db/cgroup.procs
dd if=/dev/zero of=/dev/null bs={STAYING} count=1
: >/tmp/stays; exec sleep 86400' </dev/null >/dev/null 2>&1 &
sh -c 'echo $$ >/tmp/cgroups/pod/web/cgroup.procs
for one in 1 2 3; do dd if=/dev/zero of=/dev/null bs={INSIDE} count=1 2>/dev/null; done
sh -c "sh -c \\"dd if=/dev/zero of=/dev/null bs={INSIDE} count=1 2>/dev/null; true\\"; true"; true'
read_ {OUTSIDE}; (read_ {OUTSIDE})
until [ -e /tmp/stays ]; do usleep 100000; done
"""
UNDO = """
kill $(cat /tmp/cgroups/pod/db/cgroup.procs); cd /tmp; rm -f stays
until rmdir cgroups/pod/db; do :; done; rmdir cgroups/pod/web cgroups/pod; umount cgroups
"""


def _reads(watch: Watch, text: str) -> list[int]:
    """How many bytes were asked for by the events that a condition chooses, and were the workload's."""
    store = watch.store
    assert store is not None
    chosen = FilteredRows(store, parse_condition(text, sorts_of_fields(watch), store.task_names.name, store.cgroups))
    while chosen.backlog:
        chosen.tick(1.0)
    counts = [_count(store.record(chosen.number(row))) for row in range(chosen.first, chosen.next)]
    return [count for count in counts if count in (INSIDE, OUTSIDE, STAYING)]


def _count(record: Record) -> int:
    count = record.values.get("count", 0)
    return count if isinstance(count, int) else 0


RIGHT = {
    f"cgroup == /pod/web && count >= {INSIDE}": [INSIDE] * 4,
    "container == web": [INSIDE] * 4,
    "cgroup == /pod": [*[INSIDE] * 4, STAYING],
    "cgroup ~ */db": [STAYING],
    "!(cgroup == /pod)": [OUTSIDE] * 2,
}
"""Conditions, and the reads that they choose."""


def _chosen(watch: Watch) -> dict[str, list[int]]:
    return {text: sorted(_reads(watch, text)) for text in RIGHT}


@pytest.mark.parametrize("guest", ["7.2", "6.1-sh"], indirect=True)
def test_of_tasks_that_have_ended(guest: Guest, tmp_path: Path) -> None:
    planner = Planner(KernelInfo(connect(guest, "guest")))
    watch = Watch(planner)
    path = tmp_path / "cgroups.pwr"
    try:
        preset = Presets().find("shipped:containers").preset
        assert preset is not None
        for text in ("p vfs_read count=$arg3", *(texts[0] for texts in preset.probes)):
            watch.armed.arm(parse_armable(text) if text.startswith("on") else parse_probe(text))
        watch.record_to(path)
        guest.run(f"sh -s <<'THE_END'\n{WORKLOAD}\nTHE_END\n")
        bring_in(watch)

        def known() -> bool:
            """One look takes no longer than a moment, whatever it found until then."""
            watch.intake.know_names(watch.names())
            return _chosen(watch) == RIGHT

        assert until(known), _chosen(watch)
    finally:
        watch.close()
        guest.run(UNDO)
        planner.info.close()
    replayed = replay_of(path)
    assert _chosen(replayed) == RIGHT
    replayed.close()
