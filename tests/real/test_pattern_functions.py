"""The function of each event of a pattern, against single probes on the same calls and against hist triggers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from events.store.store import Store
from events.summary.summary import Summary
from kernel.lab.guest import Guest
from kernel.watch.histogram import Histograms
from kernel.watch.watch import Watch
from probes.syntax.parse import parse_probe
from tests.real.guest_watch import run_workload, watch_of
from tests.real.held import bring_in
from tui.present.call_ends import ends_of, titled_latencies
from tui.present.summary_values import Subject, kernel_values

PATTERN = "f vfs_re*%both"
SINGLE = ("vfs_read", "vfs_readlink")
READS, LINKS = 140, 60
PROGRAM = f"""
import os
zero = os.open("/dev/zero", os.O_RDONLY)
for number in range({READS}):
    os.read(zero, 8)
    if number < {LINKS}:
        os.readlink("/proc/self/exe")
"""
CALLS = {"vfs_read": READS, "vfs_readlink": LINKS}
KERNELS = pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    with watch_of(guest) as watching:
        watching.planner.info.symbols.load()
        yield watching


def functions_of(watch: Watch, store: Store, path: str) -> dict[int, list[str]]:
    """Names of the probed functions by task, in the order of the events of one path."""
    found: dict[int, list[str]] = {}
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        if record.event == path:
            found.setdefault(record.pid, []).append(dict(watch.event_fields.values(record))["func"])
    return found


@KERNELS
def test_each_event_names_the_function_that_a_single_probe_sees(guest: Guest, watch: Watch) -> None:
    many = watch.armed.arm(parse_probe(PATTERN))
    alone = [watch.armed.arm(parse_probe(f"f {name}%both")) for name in SINGLE]
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None
    for event in many.plan.events:
        sides = {
            one.plan.probe.subject: next(e.path for e in one.plan.events if e.at_exit == event.at_exit)
            for one in alone
        }
        own: dict[int, list[str]] = {}
        for seq in range(store.first_seq, store.next_seq):
            record = store.record(seq)
            for name, path in sides.items():
                if record.event == path:
                    own.setdefault(record.pid, []).append(name)
        found = functions_of(watch, store, event.path)
        seen = {pid: [name for name in names if name in SINGLE] for pid, names in found.items()}
        assert {pid: names for pid, names in seen.items() if names} == own
        assert any(Counter(names) >= Counter(CALLS) for names in seen.values())


@KERNELS
def test_latencies_and_counts_are_by_function(guest: Guest, watch: Watch) -> None:
    armed = watch.armed.arm(parse_probe(PATTERN))
    entry = armed.plan.events[0]
    counting = Histograms(watch.armed)
    counting.begin([armed], [(entry.path, "func")], recording=True)
    bring_in(watch)
    watch.counts()  # the tasks of the workload are younger than the pause for the triggers
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    (read,) = (one for one in counting.read() if one.watched.value == "func")
    counting.end()
    store = watch.store
    assert store is not None and sum(store.overrun.values()) == 0
    names = Counter(name for names in functions_of(watch, store, entry.path).values() for name in names)
    assert names >= Counter(CALLS)
    in_kernel = {one.label: one.hits for one in kernel_values(watch, read, Subject(entry.path, "func"))}
    assert in_kernel == dict(names)
    summary = Summary(store)
    summary.use(ends_of(watch.event_fields.plans))
    while summary.backlog:
        summary.tick(1.0)
    timed = {title: counts.count for title, counts in titled_latencies(watch, summary.latencies)}
    assert timed.keys() == names.keys()
    assert all(CALLS.get(name, 0) <= timed[name] <= names[name] for name in names)


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
@pytest.mark.parametrize("letter", ["f", "p"])
def test_probes_of_one_chosen_name_record_each_its_function(guest: Guest, watch: Watch, letter: str) -> None:
    """Whether they share the event or not: an fprobe that joined an enabled event would record nothing on 7.2."""
    named = [watch.armed.arm(parse_probe(f"{letter}:my/ev {name}")).plan for name in SINGLE]
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None and watch.info.symbols.current is not None
    paths = {plan.events[0].path for plan in named}
    found: dict[int, Counter[str]] = {}
    for record in map(store.record, range(store.first_seq, store.next_seq)):
        assert record.event in paths
        name = watch.info.symbols.current.text(int(record.values["__probe_ip"]), offset=False)
        found.setdefault(record.pid, Counter())[name] += 1
    assert any(names >= Counter(CALLS) for names in found.values())
