"""Texts that a program of bpftrace prints of tracepoints, in events of a real kernel."""

from __future__ import annotations

import pytest

from kernel.lab.guest import Guest
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.translation.translate import translate
from tests.real.guest_watch import run_workload

OURS = "/tmp/translated"
"""A script that nobody else starts; it reads itself, and its name is that of the task until it ends."""
WORKLOAD = f"printf '#!/bin/sh\\nread line <{OURS}\\n' >{OURS}; chmod +x {OURS}; {OURS}; rm {OURS}"


TEXTS = (
    ("sched:sched_process_exec", "str(args.filename)", OURS),  # __data_loc char[]
    ("sched:sched_process_exit", "str(args.comm)", "translated"),  # char[16]
    ("sched:sched_process_exit", "comm", "translated"),
)
OF_CALLS = ("syscalls:sys_enter_openat", "str(args.filename)", OURS)
"""A pointer into the program, of which 6.1 reads one byte."""


@pytest.mark.parametrize(
    ("guest", "event", "text", "expected"),
    [(kernel, *one) for kernel in ("7.2", "6.1") for one in TEXTS] + [("7.2", *OF_CALLS)],
    indirect=["guest"],
)
def test_a_text_that_is_printed_is_in_the_events(
    guest: Guest, watch: Watch, event: str, text: str, expected: str
) -> None:
    found = translate(f'tracepoint:{event} {{ printf("%s", {text}); }}')
    assert found is not None and found.whole
    watch.armed.arm(parse_armable(found.probes[0]))
    run_workload(watch, guest, WORKLOAD)
    assert watch.store is not None
    name = text.removeprefix("str(args.").removesuffix(")")
    seen = {watch.store.record(at).values[name] for at in range(watch.store.next_seq)}
    assert expected in {one.decode() if isinstance(one, bytes) else one for one in seen}
