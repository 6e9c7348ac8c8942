"""Calls under threads, migration, signals, recursion and missed returns: no pair is a false one."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.calls.call_around import call_around
from events.calls.call_values import UnpairedReason
from events.calls.calls import Calls
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.syntax.parse import parse_probe
from tests.real.held import bring_in
from tui.present.call_ends import ends_of

INSIDE = Path(__file__).with_name("calls_inside.py").read_bytes()
ROUNDS = 25
NUMBERS = 1 << 17
"""Where the workload begins to count; nobody else reads or writes so much at once."""
SPECS = ("f vfs_write%both count $retval", "f vfs_read%both count $retval", "f __dev_queue_xmit%both skb $retval")


@pytest.fixture(scope="module")
def watch(guest: Guest) -> Iterator[Watch]:
    """Everything that the workload in the guest did."""
    yield from _watched(guest, buffer_kb=16384)


@pytest.fixture(scope="module")
def overrun(guest: Guest) -> Iterator[Watch]:
    """What was left of it in a buffer that is too small."""
    yield from _watched(guest, buffer_kb=8, stop=True)


def _watched(guest: Guest, buffer_kb: int, *, stop: bool = False) -> Iterator[Watch]:
    """`stop`: nobody reads the buffers while the workload does most."""
    planner = Planner(KernelInfo(connect(guest, guest.kernel.release)))
    watching = Watch(planner)
    try:
        for spec in SPECS:
            watching.armed.arm(parse_probe(spec))
        assert isinstance(watching.session, Session)
        watching.session.resize(buffer_kb)
        subprocess.run([*guest.ssh_command, "cat >/tmp/calls.py"], input=INSIDE, check=True)
        reader = planner.info.target.owner.partition("_")[0] if stop else ""
        workload = subprocess.Popen([*guest.ssh_command, f"python3 /tmp/calls.py {ROUNDS} {reader}"])
        while workload.poll() is None:
            watching.tick()
            time.sleep(0.05)
        assert workload.returncode == 0
        bring_in(watching)
        yield watching
    finally:
        assert watching.close() == []
        planner.info.close()


def _calls(watching: Watch, *, arguments: bool) -> tuple[Store, Calls]:
    """All calls, proven by the frame alone or with the arguments that the exit has as well."""
    store = watching.store
    assert store is not None
    assert (store.undecodable, store.first_seq) == (0, 0)
    ends = ends_of(watching.event_fields.plans)
    calls = Calls(store)
    calls.use(ends if arguments else {path: end._replace(equal_fields=()) for path, end in ends.items()})
    while calls.backlog:
        calls.tick()
    return store, calls


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)
@pytest.mark.parametrize("arguments", [True, False])
def test_no_false_pair(watch: Watch, arguments: bool) -> None:
    store, calls = _calls(watch, arguments=arguments)
    assert not store.overrun
    told = _all_true(store, calls)
    ends = Counter(
        store.event(store.row(seq).id).rpartition("_")[2] for seq in range(store.first_seq, store.next_seq)
    )
    assert told["known by their number"] > 30 * ROUNDS
    assert calls.paired > 0.95 * ends["exit"], (told, ends, calls.unpaired_counts)
    assert told["__dev_queue_xmit__entry"] >= ROUNDS


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_events_around_one_prove_the_call_that_all_events_prove(watch: Watch) -> None:
    store, calls = _calls(watch, arguments=True)
    ends = ends_of(watch.event_fields.plans)
    pairs: dict[int | None, tuple[int | None, ...]] = {}
    for call in map(calls.call, range(calls.first, calls.next)):
        if call.unpaired_reason is None and not call.is_mark:
            pairs |= dict.fromkeys(call[:2], call[:2])
    seqs = [*range(store.first_seq, store.next_seq, 97), store.next_seq - 1]
    found = [(seq, call_around(store, ends, seq, budget=60.0)) for seq in seqs]
    paired = [(seq, call) for seq, call in found if call is not None and call.unpaired_reason is None]
    assert [call[:2] for _, call in paired] == [pairs[seq] for seq, _ in paired]
    assert len(paired) > 0.95 * sum(seq in pairs for seq in seqs)


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
@pytest.mark.parametrize("arguments", [True, False])
def test_no_false_pair_where_events_are_overwritten(overrun: Watch, arguments: bool) -> None:
    store, calls = _calls(overrun, arguments=arguments)
    assert sum(store.overrun.values()) + sum(store.overrun_unknown.values()) > 0
    _all_true(store, calls)
    assert calls.paired > 0
    assert calls.unpaired_counts[UnpairedReason.LOST] > 0


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)
def test_two_probes_on_a_function_each_have_their_pairs(guest: Guest) -> None:
    """One task writes 30 times; that kernel may report the exits in any order."""
    planner = Planner(KernelInfo(connect(guest, guest.kernel.release)))
    watching = Watch(planner)
    try:
        for spec in ("f vfs_write%both count $retval", "f vfs_write%both pos[0] $retval"):
            watching.armed.arm(parse_probe(spec))
        writing = "for n in $(seq 30); do echo $n >/tmp/two; done; echo $$"
        pid = int(subprocess.run([*guest.ssh_command, writing], capture_output=True, check=True).stdout)
        bring_in(watching)
        store, calls = _calls(watching, arguments=True)
        results: dict[str, list[tuple[int, object]]] = {}
        for call in map(calls.call, range(calls.first, calls.next)):
            ends = [store.record(seq) for seq in call[:2] if seq is not None]
            if ends[0].pid == pid:
                assert call.unpaired_reason is None, (call, ends)
                results.setdefault(ends[0].event, []).append((ends[0].ts, ends[1].values["ret"]))
        one, other = ([result for _, result in sorted(found, key=lambda each: each[0])] for found in results.values())
        assert one == other and len(one) > 30
    finally:
        assert watching.close() == []
        planner.info.close()


def _all_true(store: Store, calls: Calls) -> Counter[str]:
    """Look at each pair by what did not prove it; gives what was seen, by its kind."""
    told: Counter[str] = Counter()
    for row in range(calls.first, calls.next):
        call = calls.call(row)
        if call.entry is None or call.exit is None:
            told["alone"] += 1
            continue
        entry, leave = store.record(call.entry), store.record(call.exit)
        told[entry.event.rpartition("/")[2]] += 1
        assert (entry.pid, entry.event.removesuffix("entry")) == (leave.pid, leave.event.removesuffix("exit"))
        assert entry.ts < leave.ts
        count, returned = entry.values.get("count"), leave.values["ret"]
        if isinstance(count, int) and isinstance(returned, int) and count >= NUMBERS and returned > 0:
            assert count == returned
            told["known by their number"] += 1
        if "skb" in leave.values:
            assert entry.values["skb"] == leave.values["skb"]
    return told
