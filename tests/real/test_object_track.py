"""Objects tracked on real kernels, against the function graph's own list of calls with that argument."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable

import pytest

from kernel.lab.guest import Guest
from kernel.watch.watch import Watch
from probes.bpf.program import ObjectRole
from probes.refusal import CannotLower
from tests.real.guest_watch import run_workload
from tests.real.test_bpf import arm, rows

TRUTH = "/sys/kernel/tracing/instances/truth"
SETTINGS = (
    ("tracing_on", "0"),
    ("buffer_size_kb", "16384"),
    ("current_tracer", "function_graph"),
    ("options/funcgraph-args", "1"),
)
PROGRAM = """
import os
begin = os.open("tracing_on", os.O_WRONLY)
with open("/proc/self/comm", "w") as name:
    name.write("tracked")
os.write(begin, b"1")
for number in range(20):
    first, second = os.open("/etc/passwd", os.O_RDONLY), os.open("/tmp/made", os.O_RDWR | os.O_CREAT)
    os.read(first, 10 + number)
    os.lseek(first, 5, os.SEEK_SET)
    os.write(second, b"x" * number)
    os.ftruncate(second, number)
    other = os.dup(first)
    os.close(first)
    os.fstat(other)
    os.sendfile(second, other, 0, 7)
    os.close(other)
    os.close(second)
"""
CALL = re.compile(r"\|\s+([\w.]+)\((.*)\)(?:;| \{)")
VALUE = re.compile(r"=(0x[0-9a-f]+)")
WITHOUT = pytest.mark.parametrize("guest", ["6.1", "arm64:6.12"], indirect=True)


def calls_of_graph(text: str) -> list[tuple[str, int]]:
    """Functions with the objects that they were called with, from where each is found to where it is freed."""
    alive: set[int] = set()
    found = []
    for line in text.splitlines():
        if (match := CALL.search(line)) is None:
            continue
        name, values = match[1], [int(value, 16) for value in VALUE.findall(match[2])]
        if name == "do_dentry_open":
            alive.add(values[0])
        found += [(name, value) for value in dict.fromkeys(values) if value in alive]
        if name == "kmem_cache_free":
            alive -= set(values)
    return found


def by_object(calls: Iterable[tuple[str, int]]) -> dict[int, list[str]]:
    """Functions by object: one call may take two of them."""
    found: dict[int, list[str]] = {}
    for name, value in calls:
        found.setdefault(value, []).append(name)
    return found


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_every_call_with_an_object_is_recorded(guest: Guest, watch: Watch) -> None:
    watch.planner.info.symbols.load()
    armed = arm(watch, 'f do_dentry_open%track f pos=f->f_pos if comm == "tracked"', watch.planner.via, limits=False)
    (event,) = armed.plan.events
    assert {program.role for program in event.programs} == set(ObjectRole)
    functions = {name for program in event.programs for name in program.functions}
    assert len(functions) > 1000
    # By number: names are compared one with all.
    listed = enumerate(watch.planner.info.facts.functions, start=1)
    numbers = [f"{number}\n" for number, name in listed if name in functions]
    guest.run(f"mkdir {TRUTH}")
    try:
        put = [*guest.ssh_command, f"cat > {TRUTH}/set_ftrace_filter"]
        subprocess.run(put, input="".join(numbers).encode(), check=True)
        guest.run("; ".join(f'echo "{value}" > {TRUTH}/{file}' for file, value in SETTINGS))
        run_workload(watch, guest, f"cd {TRUTH}; echo $$ > set_ftrace_pid; exec python3 -c '{PROGRAM}'")
        text = guest.run(f"echo 0 > {TRUTH}/tracing_on; cat {TRUTH}/trace").decode()
    finally:
        guest.run(f"rmdir {TRUTH}; rm -f /tmp/made")
    store = watch.store
    assert store is not None and not store.undecodable
    watch.intake.know_names(watch.names(cgroups=False))
    (found,) = rows(watch, store, event.path, ("func", "f")).values()
    wanted = calls_of_graph(text)
    assert len(wanted) > 1000
    assert by_object((str(func), int(str(value), 16)) for _, func, value in found) == by_object(wanted)


@WITHOUT
def test_a_kernel_that_attaches_no_program_says_so(watch: Watch) -> None:
    with pytest.raises(CannotLower) as caught:
        arm(watch, "f vfs_open%track file", watch.planner.via)
    assert "CONFIG_FPROBE" in caught.value.refusal.hint
