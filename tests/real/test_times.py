"""Times as we write them, beside the kernel's own text of the same records."""

from __future__ import annotations

import base64

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.kernel_time import seconds
from events.store.store import Store
from kernel.lab.guest import Guest

INSTANCE = "/sys/kernel/tracing/instances/times"
RECORD = f"""
mkdir {INSTANCE} && cd {INSTANCE} && echo 1 >events/sched/sched_switch/enable
for n in $(seq 200); do sleep 0; done
echo 0 >tracing_on
cat per_cpu/cpu0/trace
"""


def test_times_are_rounded_as_the_kernel_rounds_them(guest_72: Guest) -> None:
    """`trace` shows the records that stay in the buffer, `trace_pipe_raw` the nanoseconds of those in whole pages."""
    text = guest_72.run(RECORD).decode()
    try:
        page = HeaderPage.parse(guest_72.run("cat /sys/kernel/tracing/events/header_page").decode(), "little")
        switch = parse_format(guest_72.run(f"cat {INSTANCE}/events/sched/sched_switch/format").decode(), "sched")
        raw = guest_72.run(f"cd {INSTANCE}/per_cpu/cpu0; timeout 2 cat trace_pipe_raw | base64; true")
        store = Store(Decoder({switch.id: switch}, page))
        store.feed(Batch((Chunk(0, base64.b64decode(raw)),), drained=True))
        store.flush()
        ours = [store.record(seq).ts for seq in range(store.first_seq, store.next_seq)]
        kernels = [
            line.partition(": sched_switch:")[0].split()[-1] for line in text.splitlines() if "prev_pid" in line
        ]
        assert 100 < len(ours) <= len(kernels)
        assert [seconds(ts) for ts in ours] == kernels[: len(ours)]
        cut = [f"{ts // 10**9}.{ts // 1000 % 10**6:06}" for ts in ours]
        assert cut != kernels[: len(ours)], "it does not cut them"
    finally:
        guest_72.run(f"rmdir {INSTANCE}")
