"""Runs inside a guest: arms a probe as a container or a service may, with two capabilities and a tracefs to write.

Not a test by itself: `test_headless.py` sends it there and looks at the answers. What it is given is what the
exported DaemonSet and the unit for systemd give: root, CAP_DAC_OVERRIDE and CAP_SYSLOG, no new privileges, /sys
read-only, and the kernel's own tracefs mounted in it.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from kernel.local.target import LocalTarget
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace

LIBC = ctypes.CDLL(None, use_errno=True)
CAP_DAC_OVERRIDE, CAP_SYSLOG, CAP_LAST = 1, 34, 40
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CLONE_NEWNS = 0x20000
VERSION_3 = 0x20080522


def shut_in() -> None:
    """A mount namespace as a container has it."""
    if LIBC.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    for command in (
        "mount --make-rprivate / 2>/dev/null || true",
        "mkdir -p /run/tracing && mount --bind /sys/kernel/tracing /run/tracing",
        "mount --bind /sys /sys && mount -o remount,bind,ro /sys",
        "mount --bind /run/tracing /sys/kernel/tracing",
    ):
        subprocess.run(["sh", "-c", command], check=True)


def drop(kept: tuple[int, ...]) -> None:
    for number in range(CAP_LAST + 1):
        if number not in kept:
            LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)  # one that this kernel has not is no loss
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    bits = sum(1 << number for number in kept)
    head = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(*(part for half in (bits & 0xFFFFFFFF, bits >> 32) for part in (half, half, 0)))
    if LIBC.capset(head, data):
        raise OSError(ctypes.get_errno(), "capset")


def main() -> None:
    shut_in()
    drop(tuple(map(int, sys.argv[1:])))
    status = Path("/proc/self/status").read_text()
    target = LocalTarget()
    facts = target.facts()
    answers: dict[str, object] = {
        "capabilities": next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff")),
        "troubles": [trouble.what for trouble in facts.troubles],
        "usable": facts.usable,
        "functions": len(facts.functions),
        "addresses": any(int(line.split()[0], 16) for line in Path("/proc/kallsyms").read_text().splitlines()[:50]),
        "read_only": not os.access("/sys/kernel", os.W_OK),
    }
    if facts.usable:
        # Made before the session, which leaves out its own children. No cat: it copies without vfs_read.
        reader = subprocess.Popen(["sh", "-c", "while :; do read line </proc/version; usleep 200000; done"])
        with open_session(target) as session:
            path = f"{session.group}/read"
            event = PlannedEvent(session.group, "read", f"f:{path} vfs_read count", f"-:{path}")
            session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (event,)))
            end, size = time.monotonic() + 300, 0
            while not size and time.monotonic() < end:
                size = sum(len(chunk.data) for batch in session.pump.drain() for chunk in batch.chunks)
                session.pump.wait(0.2)
            reader.kill()
            reader.wait()
            answers["bytes"] = size
            answers["failures"] = [str(failure) for failure in session.close()]
    target.close()
    print(json.dumps(answers))


main()
