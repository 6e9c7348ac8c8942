"""A far kernel: bytes on the wire an event beside the text through `ssh cat`, and the time to the first event."""

from __future__ import annotations

import atexit
import contextlib
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from events.subbuffer import events_in
from kernel.lab.errors import LabError
from kernel.lab.guest import Guest, boot
from kernel.remote.address import Address
from kernel.remote.connect import open_ssh
from kernel.session.session import Session
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread, interleaved
from tests.real import command
from tests.slow_connection import SlowConnection

READS = 5_000
"""A round."""
TRACING = "/sys/kernel/tracing"
LINE = "vfs_read buf=%si:x64 count=%dx:u64 inode=+32(%di):x64 comm=$comm"
"""A probe as one is on x86-64, told in both ways."""
FILTER = "count == 1 || count == 4711"
"""The reads of the work, and of its end: none of who reads the events."""
WORK = f"dd if=/dev/zero of=/dev/null bs=1 count={READS} 2>/dev/null"
SLOW_WORK = "n=0; while [ $n -lt 40 ]; do dd if=/dev/zero of=/dev/null bs=1 count=10 2>/dev/null; n=$((n+1)); done"


BYTES = {
    "storm": Figure("bytes an event, events in a storm / as text", "x", most=0.25, digits=3),
    "bursts": Figure("bytes an event, 40 bursts of 10 / as text", "x", most=0.25, digits=3),
}
WORKS = {"storm": WORK, "bursts": SLOW_WORK}
START = Figure("start to the first event, types cached / the same by hand in one `ssh`", "x", most=6, digits=2)
"""The guest is emulated: starting the agent's Python there takes as long as all that is done by hand."""

_stack = contextlib.ExitStack()
atexit.register(_stack.close)


@functools.cache
def guest() -> Guest:
    """The one guest of all parts; it ends with the process. Raises LabError."""
    return _stack.enter_context(boot("7.2", workload=False))


def carried(part: str) -> list[Row]:
    """Bytes that the line carried an event, both directions and all of ssh included; bytes have no clock.

    The text is read as coreutils' cat does: busybox's has the ssh server wait inside of the kernel
    (`kernel.remote.protocol.shell_program`).
    """
    try:
        own = guest()
    except LabError as error:
        return [BYTES[part].missing(f"no lab guest: {error}")]
    with SlowConnection(own.port) as line:
        rounds = [(_ours(own, line, WORKS[part]), _text(own, line, WORKS[part])) for _ in range(ROUNDS)]
    ours, text = (Spread(column) for column in zip(*rounds, strict=True))
    return [BYTES[part].of(ours.over(text), f"{ours.median:.1f} bytes beside {text.median:.1f}")]


def _options(guest: Guest, line: SlowConnection) -> list[str]:
    options = guest.ssh_options
    options[options.index("-p") + 1] = str(line.port)
    return [*options, "-o", f"HostKeyAlias=[127.0.0.1]:{guest.port}"]


def _ours(guest: Guest, line: SlowConnection, work: str) -> float:
    far = open_ssh(Address("127.0.0.1", "root"), options=_options(guest, line))
    with contextlib.closing(far) as target, open_session(target, buffer_kb=8192) as session:
        path = f"{session.group}/read"
        made = PlannedEvent(session.group, "read", f"p:{path} {LINE}", f"-:{path}", filter=FILTER)
        session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (made,)))
        before = line.carried
        guest.run(work, 120)
        came = _settled(session)
        return (line.carried - before) / came


def _settled(session: Session) -> int:
    """Events that came, once none does any more."""
    came = 0
    while session.pump.wait(1.0):
        batches = session.pump.drain()
        came += sum(events_in(chunk, session.header) for batch in batches for chunk in batch.chunks)
    return came


def _text(guest: Guest, line: SlowConnection, work: str) -> float:
    with (
        _armed_by_hand(guest),
        subprocess.Popen(
            ["ssh", *_options(guest, line), "root@127.0.0.1", f"dd bs=128k if={TRACING}/instances/bench/trace_pipe"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        guest.run("dd if=/dev/zero of=/dev/null bs=1 count=1")
        process.stdout.readline()  # it reads now
        before = line.carried
        guest.run(f"{work}; dd if=/dev/zero of=/dev/null bs=4711 count=1", 120)
        came = 1
        while b"count=4711" not in process.stdout.readline():
            came += 1
        carried = line.carried - before
        process.terminate()
    return carried / came


ARM_BY_HAND = (
    f"cd {TRACING} && mkdir instances/bench && echo 8192 >instances/bench/buffer_size_kb && "
    f"echo 'p:bench/read {LINE}' >>dynamic_events && "
    'echo \'comm != "cat" && comm != "dropbear" && comm != "sshd"\' >instances/bench/events/bench/read/filter '
    "&& echo 1 >instances/bench/events/bench/read/enable"
)
DISARM_BY_HAND = (
    f"cd {TRACING}; echo 0 >instances/bench/events/bench/read/enable; "
    "n=0; until rmdir instances/bench || [ $n = 50 ]; do n=$((n+1)); sleep 0.1; done; "
    "echo -:bench/read >>dynamic_events"
)


@contextlib.contextmanager
def _armed_by_hand(guest: Guest) -> Iterator[None]:
    """As an operator does it."""
    guest.run(ARM_BY_HAND)
    try:
        yield
    finally:
        guest.run(DISARM_BY_HAND)


def start() -> list[Row]:
    """Wall time from the command's start to the first event that it prints, the types being in the cache."""
    try:
        own = guest()
    except LabError as error:
        return [START.missing(f"no lab guest: {error}")]
    with tempfile.TemporaryDirectory() as folder:
        env = command.ssh_to(own, Path(folder))
        own.workload(True)
        words = ("run", "f vfs_read count", "--count", "1", "-t", command.address(own))
        command.finish(command.start(*words, env=env))  # fills the cache

        def by_hand() -> float:
            last = f"{ARM_BY_HAND}; head -n 1 instances/bench/trace_pipe; {DISARM_BY_HAND}"
            return _first_line([*own.ssh_command, last], b"read: (vfs_read")

        def first_event() -> float:
            return _first_line([sys.executable, "-m", "tui", *words], b"vfs_read", env)

        hand, ours = interleaved(by_hand, first_event)
        own.workload(False)
    return [START.of(ours.over(hand), f"{ours.median:.2f} s beside {hand.median:.2f}")]


def _first_line(line: Sequence[str], expected: bytes, env: Mapping[str, str] | None = None) -> float:
    """Return the seconds from a command's start to its first line, and wait for its end."""
    began = time.perf_counter_ns()
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        taken = time.perf_counter_ns() - began
        process.stdout.read()
    assert expected in said, said
    return taken / 1e9


PARTS = (
    *(Part(name, (figure,), functools.partial(carried, name)) for name, figure in BYTES.items()),
    Part("start", (START,), start),
)
