"""`compare`: two workloads that know in which respects they differ, recorded on a kernel, differ in these alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel.lab.guest import Guest
from tests.real.command import address, run, ssh_to

PROBES = ("f vfs_read%return count $retval", "f do_sys_openat2%return $retval", "f hrtimer_nanosleep%both")
TIMES = 100
WORKLOAD = f"""
import os, time
def tried(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        pass
file = os.open("/tmp/compared", os.O_RDWR | os.O_CREAT)
os.pwrite(file, bytes(8192), 0)
for _ in range({TIMES}):
    os.pread(file, SIZE, 0)
    tried("PATH")
    time.sleep(SECONDS)
"""
OPEN, READ, SLEEP = "do_sys_openat2__exit", "vfs_read__exit", "hrtimer_nanosleep__exit"


def recorded(guest: Guest, path: Path, size: int, opened: str, seconds: float) -> str:
    """Record the workload; gives the path of the recording."""
    program = WORKLOAD.replace("SIZE", str(size)).replace("PATH", opened).replace("SECONDS", str(seconds))
    words = ("record", *PROBES, "-o", str(path), "-t", address(guest), "--", "python3", "-S", "-c", program)
    done = run(*words, env=ssh_to(guest, path.parent))
    assert done.status == 0, done
    return str(path)


def compared(a: str, b: str) -> list[dict[str, Any]]:
    """Compare two recordings; gives the comparisons."""
    done = run("compare", a, b, "--json")
    assert done.status == 0, done
    sides = [one for one in done.objects if one["compare"] == "recording"]
    assert [one["events"] for one in sides] == [sides[0]["events"]] * 2 and sides[0]["events"] > 4 * TIMES
    return [one for one in done.objects if one["compare"] == "difference"]


def changes(found: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Changes without rates, as the time that a workload takes depends on what else the machine does."""
    changed = [one for one in found if one["verdict"] == "changed" and one["aspect"] != "rate"]
    return {
        (one["event"], one["field"] or "", one["item"] if one["aspect"] == "share" else one["aspect"])
        for one in changed
    }


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_workloads_differ_in_nothing_but_what_they_did(guest: Guest, tmp_path: Path) -> None:
    first = recorded(guest, tmp_path / "first.pwr", 512, "/tmp/compared", 0.04)
    again = recorded(guest, tmp_path / "again.pwr", 512, "/tmp/compared", 0.04)
    other = recorded(guest, tmp_path / "other.pwr", 4096, "/tmp/missing", 0.16)
    same, found = compared(first, again), compared(first, other)
    assert len(same) > 10 and changes(same) == set()
    assert changes(found) == {
        (READ, "count", "size"), (READ, "ret", "size"), (OPEN, "ret", "-ENOENT"), (SLEEP, "", "latency"),
    }  # fmt: skip
    numbers = {(one["event"], one["field"], one["item"]): (one["a"], one["b"]) for one in found}
    assert numbers[READ, "count", "p50"] == numbers[READ, "ret", "p50"] == (512, 4096)
    error, other_error = numbers[OPEN, "ret", "-ENOENT"]
    assert error < 0.4 and other_error - error > 0.5
    slept, slept_longer = numbers[SLEEP, None, "p50"]
    assert slept >= 0.04e9 and slept_longer >= 0.16e9
