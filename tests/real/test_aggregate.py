"""What is aggregated by key, against a workload that knows what it did, and against hist triggers of the kernel."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from events.aggregates.request import AggregateFunction, AggregateRequest, Statistic
from kernel.lab.guest import Guest
from kernel.session.probe_steps import Mode
from kernel.watch.hist_tables import read_tables
from kernel.watch.watch import Watch
from probes.plans.plan import DEFAULT_GROUP, Via
from probes.syntax.parse import parse_probe
from tests.real.command import address, finish, screen_on, ssh_to, start
from tests.real.guest_watch import run_workload, watch_of
from tests.real.held import bring_in
from tests.real.test_terminal import READY
from tests.real.tmux import Tmux
from tui.app.typed_ahead import PAUSE
from tui.cli.args.parser import parse
from tui.cli.tables.aggregate_printer import request_of
from tui.cli.tables.aggregate_probes import aggregate_options
from tui.views.aggregate.hist_triggers import read_triggers, triggers_of
from tui.views.aggregate.kernel_table import KernelTable
from tui.views.aggregate.model import AggregateModel
from tui.views.aggregate.table_source import AggregateRow

SIZES = {1_001: 150, 20_011: 40, 333_337: 10}
"""Bytes of a write, and number of writes."""
PROGRAM = (
    "import os; f = os.open('/dev/null', 1); "
    f"[os.write(f, bytes(size)) for size, number in {SIZES}.items() for _ in range(number)]"
)
WORKLOAD = f'python3 -c "{PROGRAM}"'
ERRORS = 137
SLEEPS = 7
ERROR_PROGRAM = f"""
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setblocking(False)
for _ in range({ERRORS}):
    try:
        client.recv(1)
    except BlockingIOError:
        pass
"""
KERNELS = pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    with watch_of(guest) as watching:
        watching.planner.info.symbols.load()
        yield watching


def _rows(watch: Watch, *keys: str, **values: str) -> list[AggregateRow]:
    """Rows of all that came; `values`: value by function."""
    statistics = tuple(Statistic(AggregateFunction(function), value) for function, value in values.items())
    assert watch.store is not None
    model = AggregateModel(watch, watch.store, AggregateRequest(keys, statistics))
    while model.aggregate.backlog:
        model.tick(1.0)
    return list(model.rows(0).rows)


@KERNELS
def test_sums_are_those_of_the_workload_and_of_hist_triggers(guest: Guest, watch: Watch) -> None:
    watch.armed.arm(parse_probe("f vfs_write count"), triggers=("hist:keys=common_pid:vals=count:size=8192",))
    bring_in(watch)
    run_workload(watch, guest, WORKLOAD)
    (table,) = read_tables(watch.armed)
    in_kernel = {
        int(entry.keys[0].text): (entry.hits, int(entry.values["count"])) for entry in table.histogram.entries
    }
    bring_in(watch)
    assert watch.store is not None and not watch.store.lost_events and not table.histogram.dropped
    by_count = {row.labels[0]: row for row in _rows(watch, "count", sum="count")}
    for size, number in SIZES.items():
        row = by_count[str(size)]
        assert (row.hits, row.totals["count"].sum) == (number, size * number)
    by_task = {int(row.labels[0]): (row.hits, row.totals["count"].sum) for row in _rows(watch, "pid", sum="count")}
    same = {pid for pid, found in by_task.items() if in_kernel.get(pid) == found}
    (writer,) = {int(row.labels[0]) for row in _rows(watch, "pid", "count") if int(row.labels[1]) == max(SIZES)}
    assert writer in same, "others may have written between the two looks"
    assert all(in_kernel[pid] <= found for pid, found in by_task.items() if pid in in_kernel)


@KERNELS
def test_durations_and_values_of_both_ends_are_of_the_calls(guest: Guest, watch: Watch) -> None:
    watch.armed.arm(parse_probe("f vfs_write%both count $retval"))
    bring_in(watch)
    watch.counts()
    run_workload(watch, guest, WORKLOAD)
    rows = {row.labels: row for row in _rows(watch, "func", "count", log2="latency", sum="ret", max="latency")}
    for size, number in SIZES.items():
        row = rows["vfs_write", str(size)]
        assert row.hits == number == sum(power.hits for power in row.totals["latency"].powers)
        assert row.totals["ret"].sum == size * number
        assert 0 < (row.totals["latency"].most or 0) < 10**10


@KERNELS
def test_stacks_are_keys(guest: Guest, watch: Watch) -> None:
    watch.armed.arm(parse_probe(f"f vfs_write count if count == {min(SIZES)}"), triggers=("stacktrace",))
    bring_in(watch)
    run_workload(watch, guest, WORKLOAD)
    rows = [row for row in _rows(watch, "kstack", "count") if row.labels[1] == str(min(SIZES))]
    assert sum(row.hits for row in rows) == SIZES[min(SIZES)]
    stack = max(rows, key=lambda row: row.hits).labels[0]
    assert stack.startswith("vfs_write < ") and "_sys_write < " in f"{stack} < ".replace("ksys", "_sys")


@KERNELS
def test_the_kernel_aggregates_what_the_workload_did(guest: Guest, watch: Watch) -> None:
    statistics = (Statistic(AggregateFunction.SUM, "count"), Statistic(AggregateFunction.LOG2, "count"))
    request = AggregateRequest(("pid", "comm"), statistics)
    probe = parse_probe("f vfs_write count")
    (trigger,) = triggers_of(request, watch.planner.lower(probe, DEFAULT_GROUP), "by_test")
    watch.armed.arm(probe, mode=Mode.COUNT, triggers=(trigger.text,))
    bring_in(watch)
    run_workload(watch, guest, WORKLOAD)
    assert watch.store is not None and not len(watch.store), "nothing is recorded"
    (event,) = watch.armed.probes[0].plan.events
    read = partial(read_triggers, watch, [trigger._replace(event=event)])
    table = KernelTable(watch, watch.store, request, read)
    table.read()
    writers = [row for row in table.rows(0).rows if row.labels[1] == "python3" and row.hits >= sum(SIZES.values())]
    total = max(writers, key=lambda row: row.totals["count"].sum).totals["count"]
    powers = {power.exponent: power.hits for power in total.powers}
    for size, number in SIZES.items():
        assert powers[(size - 1).bit_length()] >= number
    assert total.sum >= sum(size * number for size, number in SIZES.items())
    assert total.number == sum(powers.values())
    assert table.figures.counted == table.figures.of


def _grouped(guest: Guest, watch: Watch, spec: str, keys: str, workload: str, value: str = "$retval") -> KernelTable:
    """Let programs group the calls of a workload, as hist triggers have no minimum; return the table."""
    functions = (word for name in ("sum", "min", "max", "log2") for word in (f"--{name}", value))
    arguments = parse(["run", spec, "--hist", "--by", keys, *functions])
    probe, request = parse_probe(spec), request_of(arguments)
    options, counting = aggregate_options(watch.planner, [probe], request, arguments)
    assert counting is not None and counting.triggers is None
    armed = watch.armed.arm(probe, mode=options.mode, shape=options.shape)
    bring_in(watch)
    run_workload(watch, guest, workload)
    watch.armed.switch(armed, Mode.OFF)
    assert watch.store is not None and not len(watch.store), "nothing is recorded"
    table = KernelTable(watch, watch.store, request, counting.reader(watch))
    table.read()
    watch.armed.disarm(armed)
    assert table.figures.counted == table.figures.of and not table.figures.uncounted
    return table


@KERNELS
def test_programs_group_what_the_workload_did(guest: Guest, watch: Watch) -> None:
    table = _grouped(guest, watch, "f vfs_write%return count $retval", "func,count,errno", WORKLOAD)
    rows = {row.labels: (row.hits, row.totals["$retval"]) for row in table.rows(0).rows}
    for size, number in SIZES.items():
        hits, total = rows["vfs_write", str(size), "no error"]
        assert (hits, total.number, total.sum) == (number, number, size * number)
        assert (total.least, total.most) == (size, size)
        assert total.powers == (((size - 1).bit_length(), number),)
    workload = f"python3 -c '{ERROR_PROGRAM}'"
    table = _grouped(guest, watch, "f tcp_recvms[g]%return $retval", "func,comm,errno", workload)
    rows = {row.labels: (row.hits, row.totals["$retval"]) for row in table.rows(0).rows}
    hits, total = rows["tcp_recvmsg", "python3", "-EAGAIN"]
    assert (hits, total.sum, total.least, total.most) == (ERRORS, -11 * ERRORS, -11, -11)
    assert total.powers == ((-1, ERRORS),)
    sleeps = f"for n in $(seq {SLEEPS}); do usleep 10000; done"
    for spec in ("f hrtimer_nanosleep%both", "f hrtimer_nanosl[e]ep%both"):
        table = _grouped(guest, watch, spec, "func,comm", sleeps, "duration")
        (total,) = (row.totals["duration"] for row in table.rows(0).rows if row.labels[1] == "usleep")
        assert total.number == SLEEPS and 10_000_000 <= (total.least or 0) <= (total.most or 0) <= total.sum
        assert sum(power.hits for power in total.powers) == SLEEPS


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_a_call_of_a_probe_at_both_ends_counts_once(guest: Guest, watch: Watch) -> None:
    """Of recorded events, by hist triggers, and by programs."""
    spec = "f hrtimer_nanosleep%both"
    probe, sleeps = parse_probe(spec), f"for n in $(seq {SLEEPS}); do usleep 10000; done"

    def counted(rows: Iterable[AggregateRow]) -> dict[tuple[str, ...], int]:
        return {row.labels: row.hits for row in rows if row.labels[1] == "usleep"}

    once = {("hrtimer_nanosleep", "usleep"): SLEEPS}
    armed = watch.armed.arm(probe)
    bring_in(watch)
    run_workload(watch, guest, sleeps)
    ends = {row.labels: row.hits for row in _rows(watch, "event")}  # names of tasks that are gone may be unknown
    assert ends["hrtimer_nanosleep__exit",] >= SLEEPS
    (row,) = _rows(watch, "func")
    assert (row.labels, row.hits) == (("hrtimer_nanosleep",), ends["hrtimer_nanosleep__entry",])
    watch.armed.disarm(armed)
    arguments = parse(["run", spec, "--hist", "--by", "func,comm"])
    request = request_of(arguments)
    for via in (Via.TRACEFS, Via.BPF):
        watch.planner.via = via
        options, counting = aggregate_options(watch.planner, [probe], request, arguments)
        assert counting is not None and (counting.triggers is None) == (via is Via.BPF)
        armed = watch.armed.arm(probe, mode=options.mode, shape=options.shape)
        run_workload(watch, guest, sleeps)
        assert watch.store is not None
        table = KernelTable(watch, watch.store, request, counting.reader(watch))
        table.read()
        assert counted(table.rows(0).rows) == once, via
        watch.armed.disarm(armed)


@KERNELS
def test_programs_group_by_fields_of_the_entry_and_sum_those_of_the_exit(guest: Guest, watch: Watch) -> None:
    for spec in ("f vfs_write%both count $retval", "f vfs_wr[i]te%both count $retval"):
        table = _grouped(guest, watch, spec, "count,errno", WORKLOAD)
        rows = {row.labels: (row.hits, row.totals["$retval"]) for row in table.rows(0).rows}
        for size, number in SIZES.items():
            hits, total = rows[str(size), "no error"]
            assert (hits, total.number, total.sum) == (number, number, size * number)
            assert (total.least, total.most, total.powers) == (size, size, (((size - 1).bit_length(), number),))
        table = _grouped(guest, watch, spec, "errno,comm", WORKLOAD, "count")
        total = next(row.totals["count"] for row in table.rows(0).rows if row.labels == ("no error", "python3"))
        assert total.sum >= sum(size * number for size, number in SIZES.items()) and total.most == max(SIZES)


@KERNELS
def test_programs_group_by_stacks_as_hist_triggers_do(guest: Guest, watch: Watch) -> None:
    spec = f"f vfs_write count if count == {min(SIZES)}"
    request = AggregateRequest(("kstack",), (Statistic(AggregateFunction.SUM, "count"),))
    (trigger,) = triggers_of(request, watch.planner.lower(parse_probe(spec), DEFAULT_GROUP), "by_test")
    armed = watch.armed.arm(parse_probe(spec), mode=Mode.COUNT, triggers=(trigger.text,))
    (event,) = armed.plan.events
    bring_in(watch)
    run_workload(watch, guest, WORKLOAD)
    assert watch.store is not None
    of_trigger = KernelTable(
        watch, watch.store, request, partial(read_triggers, watch, [trigger._replace(event=event)])
    )
    of_trigger.read()
    expected = _sums_by_stack(watch, of_trigger)
    watch.armed.disarm(armed)  # beside programs, it would have their frames in its stacks
    for pattern in ("vfs_write", "vfs_wr[i]te"):
        table = _grouped(guest, watch, spec.replace("vfs_write", pattern), "kstack", WORKLOAD, "count")
        rows = _sums_by_stack(watch, table)
        assert rows == expected and sum(hits for hits, _ in rows.values()) == SIZES[min(SIZES)]


def _sums_by_stack(watch: Watch, table: KernelTable) -> dict[str, tuple[int, int]]:
    """Calls and sum of `count` by stack; on arm64 without the caller, whose address is in a register at a kprobe."""
    sums = dict[str, tuple[int, int]]()
    for row in table.rows(0).rows:
        label = row.labels[0]
        if watch.planner.info.facts.machine == "aarch64":
            label = label.replace(" < ksys_write < ", " < ")
        hits, total = sums.get(label, (0, 0))
        sums[label] = hits + row.hits, total + row.totals["count"].sum
    return sums


@KERNELS
def test_programs_group_by_cgroup(guest: Guest, watch: Watch) -> None:
    place = "/tmp/by_cgroup"
    inside = f'sh -c \'echo $$ >{place}/pod/web/cgroup.procs; exec python3 -c "$0"\' "{PROGRAM}"'
    guest.run(f"mkdir -p {place}; mount -t cgroup2 none {place}; mkdir -p {place}/pod/web")
    try:
        table = _grouped(guest, watch, "f vfs_write count", "cgroup,count", f"{inside}; {WORKLOAD}", "count")
    finally:
        guest.run(
            f"until rmdir {place}/pod/web; do usleep 100000; done; rmdir {place}/pod; umount {place}; rmdir {place}"
        )
    rows = {row.labels: row.hits for row in table.rows(0).rows}
    for size, number in SIZES.items():
        assert (rows["/pod/web", str(size)], rows["/", str(size)]) == (number, number)


def test_a_host_without_python_is_aggregated_too(guest_72_sh: Guest) -> None:
    with watch_of(guest_72_sh) as watching:
        watching.armed.arm(parse_probe("f vfs_write%return count $retval"))
        bring_in(watching)
        blocks = "for n in 1 2 3 4 5 6 7; do dd if=/dev/zero of=/dev/null bs=20011 count=3; done"
        run_workload(watching, guest_72_sh, blocks)
        rows = {row.labels: row for row in _rows(watching, "func", "count", "errno", sum="$retval", max="ret")}
        row = rows["vfs_write", "20011", "no error"]
        assert (row.hits, row.totals["$retval"].sum, row.totals["ret"].most) == (21, 21 * 20011, 20011)
        by_comm = [row for row in _rows(watching, "comm", "count", sum="ret") if row.labels[1] == "20011"]
        # The kernel may forget the name of a task that has ended before it writes the task's line; and it notes names
        # as tasks leave a CPU: one that never did since its execve has that of the shell that made it.
        assert sum(row.hits for row in by_comm) == 21
        assert {row.labels[0] for row in by_comm if not row.labels[0].startswith("pid ")} <= {"dd", "sh"}


def test_the_command_prints_what_the_workload_did(guest_72: Guest, tmp_path: Path) -> None:
    command = start(
        *("run", "f vfs_write%return count $retval:s64", "--by", "comm,count", "--sum", "$retval", "--avg", "ret"),
        *("--target", address(guest_72), "--json", "--top", "0", "--count", str(sum(SIZES.values()))),
        *("--filter", " || ".join(f"count == {size}" for size in SIZES)),
        env=ssh_to(guest_72, tmp_path),
    )
    # Nobody knows when the command begins to record: the workload goes on until it has what it was told to count.
    loop = subprocess.Popen([*guest_72.ssh_command, f"while [ ! -e /tmp/aggregated ]; do {WORKLOAD}; done"])
    done = finish(command)
    guest_72.run("touch /tmp/aggregated")
    assert loop.wait() == 0
    assert done.status == 0, done
    head, *rows = map(json.loads, done.out.splitlines())
    assert head["counted"] == sum(SIZES.values()) <= head["of"]
    assert sum(row["count"] for row in rows) == sum(SIZES.values())
    # The kernel may forget the name of a task that has ended before it is asked for.
    assert {row["by"]["comm"] for row in rows if not row["by"]["comm"].startswith("pid ")} <= {"python3"}
    assert {row["by"]["count"] for row in rows} <= SIZES.keys()
    for row in rows:
        size = row["by"]["count"]
        assert row["values"] == {
            "$retval": {"number": row["count"], "sum": size * row["count"]},
            "ret": {"number": row["count"], "avg": float(size)},
        }


def test_the_function_that_returned_most_errors_is_found_in_a_few_keys(guest_72: Guest, tmp_path: Path) -> None:
    """From start to the function of a pattern that fails most often, by process: at most twelve keys beside names."""
    pressed = 0
    with Tmux(screen_on(guest_72, tmp_path), 80, 24) as terminal:

        def press(*keys: str) -> None:
            nonlocal pressed
            pressed += len(keys)
            terminal.press(*keys)

        terminal.wait(READY.search)
        press("F6")
        terminal.press("f tcp_*%return $retval:s32 if ret < 0 && ret > -4096")
        terminal.wait(lambda screen: "✓ this kernel" in screen)
        press("Enter")
        terminal.wait(lambda screen: "Arm it?" in screen)  # the rate of so many functions is shown before
        time.sleep(2 * PAUSE)
        press("a")
        terminal.wait(lambda screen: "[events]" in screen and "armed 1" in screen)
        time.sleep(2 * PAUSE)  # a letter that is typed while the screen changes is no command
        press("y")
        terminal.wait(lambda screen: "count by func, comm" in screen)
        guest_72.run(f"ip link set lo up; python3 -c '{ERROR_PROGRAM}'")

        def names_the_reader(screen: str) -> bool:
            # The kernel may forget the name of a task that has ended.
            return len(re.findall(rf"tcp_recvmsg +(?:python3|pid \d+) +{ERRORS}\b", screen)) == 1

        terminal.wait(names_the_reader)
        press("Y", "End", "Home")
        terminal.wait(lambda screen: "[1] func" in screen)
        press("Escape")
        terminal.wait(lambda screen: "[1] func" not in screen)
        assert pressed <= 12
        press("C-q")
