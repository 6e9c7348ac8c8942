"""Runs inside a guest, on the local target there: loads a program and prints what it recorded as one JSON object.

Not a test by itself: `test_bpf.py` sends it there, with the attach type as an argument, and looks at the answers.
"""

import json
import os
import struct
import subprocess
import sys
import time

from btf.btf import Btf
from events.bpf_layout import PID, RING_HEADER
from kernel.agent import bpf_calls
from kernel.bpf.loaded import Cpus, LoadedPrograms
from kernel.local.target import LocalTarget
from probes.bpf.program import ProgramMode
from probes.facts.lookups import Environment
from probes.facts.program_support import ProgramSupport
from probes.lowering.lower import lower
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe

READS = 25
INSTANCE = "/sys/kernel/tracing/instances/inside"


def main() -> None:
    target = LocalTarget()
    around = Environment(programs=ProgramSupport(fentry=sys.argv[1] == "fentry"))
    plan = lower(
        parse_probe("f vfs_read count=$arg3:u64 if count == 7777"),
        Btf(target.btf()),
        target.facts(),
        "pw",
        environment=around,
        via=Via.BPF,
    )
    os.mkdir(INSTANCE)
    stream = target.stream(INSTANCE)
    loaded = LoadedPrograms(target, plan, [0x8000], Cpus(tuple(range(os.cpu_count() or 1)), os.cpu_count() or 1))
    stream.add_rings(1, loaded.record_bytes, loaded.rings)
    loaded.switch(ProgramMode.RECORD)
    reader = subprocess.Popen(
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=7777", f"count={READS}"], stderr=subprocess.DEVNULL
    )
    reader.wait()
    with open("/dev/zero", "rb", 0) as zero:
        zero.read(7777)  # our own call is none of them
    records: list[bytes] = []
    stride, until = loaded.record_bytes + RING_HEADER, time.monotonic() + 60
    while len(records) < READS and time.monotonic() < until:
        batch = stream.read(0.2)
        for chunk in batch.chunks if batch is not None else ():
            assert chunk.ring == 1
            records += [chunk.data[at : at + stride] for at in range(0, len(chunk.data), stride)]
    (counts,) = loaded.counts().values()
    pids = {struct.unpack_from("<I", record, RING_HEADER + PID)[0] for record in records}
    stream.remove_rings(1)
    after = stream.read(0.2)
    loaded.close()
    files = [
        os.readlink(f"/proc/self/fd/{name}")
        for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")
    ]
    stream.close()
    os.rmdir(INSTANCE)
    refused, _ = target._bpf.call(bpf_calls.MAP_CREATE, bytes(72), [])
    target.close()
    print(
        json.dumps(
            {
                "records": len(records),
                "pids": sorted(pids) == [reader.pid],
                "counts": [counts.hits >= READS, counts.passed, counts.recorded, counts.lost],
                "after": after is None,
                "bpf files": [name for name in files if "bpf" in name],
                "refused": refused,
            }
        )
    )


if __name__ == "__main__":
    main()
