"""A far kernel: bytes on the wire an event beside the text through `ssh cat`, and the time to the first event."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from events.subbuffer import events_in
from kernel.address import Address
from kernel.lab.errors import LabError
from kernel.lab.guest import Guest, boot
from kernel.session import Session
from kernel.session_start import open_session
from kernel.ssh import open_ssh
from probes.plan import Plan, PlannedEvent
from probes.probe import Place, Probe
from tests.real import command
from tests.slow_line import SlowLine

Row = tuple[str, str, str, bool]

READS = 20_000
SHARE = 0.25
"""Of the bytes that the text takes."""
TRUE_TIMES, MORE = 2, 1.0
"""How long a start may take: so many times `ssh HOST true`, and so many seconds more."""
TRACING = "/sys/kernel/tracing"
LINE = "vfs_read buf=%si:x64 count=%dx:u64 inode=+32(%di):x64 comm=$comm"
"""A probe as one is on x86-64, told in both ways."""
FILTER = "count == 1 || count == 4711"
"""The reads of the work, and of its end: none of who reads the events."""
WORK = f"dd if=/dev/zero of=/dev/null bs=1 count={READS} 2>/dev/null"
SLOW_WORK = "n=0; while [ $n -lt 200 ]; do dd if=/dev/zero of=/dev/null bs=1 count=10 2>/dev/null; n=$((n+1)); done"


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    try:
        guest = boot("7.2", workload=False)
    except LabError as error:
        return [("a lab guest", str(error), "boots", False)]
    with guest, SlowLine(guest.port) as line, tempfile.TemporaryDirectory() as folder:
        rows = [_bytes(guest, line, *work) for work in (("events in a storm", WORK), ("200 bursts of 10", SLOW_WORK))]
        return [*rows, _start(guest, Path(folder))]


def _options(guest: Guest, line: SlowLine) -> list[str]:
    options = guest.ssh_options
    options[options.index("-p") + 1] = str(line.port)
    return [*options, "-o", f"HostKeyAlias=[127.0.0.1]:{guest.port}"]


def _bytes(guest: Guest, line: SlowLine, name: str, work: str) -> Row:
    """Bytes that the line carried an event, both directions and all of ssh included.

    The text is read as coreutils' cat does: busybox's has the ssh server wait inside of the kernel
    (`kernel.shell_program`).
    """
    ours, text = _ours(guest, line, work), _text(guest, line, work)
    return (f"bytes an event, {name}", f"{ours:.1f}, as text {text:.1f}", f"<= {SHARE} x", ours <= SHARE * text)


def _ours(guest: Guest, line: SlowLine, work: str) -> float:
    far = open_ssh(Address("127.0.0.1", "root"), options=_options(guest, line))
    with contextlib.closing(far) as target, open_session(target, buffer_kb=8192) as session:
        path = f"{session.group}/read"
        made = PlannedEvent(session.group, "read", f"p:{path} {LINE}", f"-:{path}", filter=FILTER)
        session.arm(Plan(Probe(Place("vfs_read")), (made,)))
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


def _text(guest: Guest, line: SlowLine, work: str) -> float:
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


@contextlib.contextmanager
def _armed_by_hand(guest: Guest) -> Iterator[None]:
    """As an operator does it."""
    guest.run(
        f"cd {TRACING} && mkdir instances/bench && echo 8192 >instances/bench/buffer_size_kb && "
        f"echo 'p:bench/read {LINE}' >>dynamic_events && "
        'echo \'comm != "cat" && comm != "dropbear" && comm != "sshd"\' >instances/bench/events/bench/read/filter '
        "&& echo 1 >instances/bench/events/bench/read/enable"
    )
    try:
        yield
    finally:
        guest.run(
            f"cd {TRACING} && echo 0 >instances/bench/events/bench/read/enable; "
            "n=0; until rmdir instances/bench || [ $n = 50 ]; do n=$((n+1)); sleep 0.1; done; "
            "echo -:bench/read >>dynamic_events"
        )


def _start(guest: Guest, folder: Path) -> Row:
    """From the command's start to the first event that it prints, the types being in the cache."""
    env = command.ssh_to(guest, folder)
    guest.workload(True)
    words = ("run", "f vfs_read count", "--count", "1", "-t", command.address(guest))
    command.finish(command.start(*words, env=env))  # fills the cache
    plain, ours = [], []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([*guest.ssh_command, "true"], check=True, stdin=subprocess.DEVNULL)
        plain.append(time.perf_counter() - began)
        began = time.perf_counter()
        process = command.start(*words, env=env)
        assert process.stdout is not None
        said = process.stdout.readline()
        ours.append(time.perf_counter() - began)
        assert b"vfs_read" in said, command.finish(process)
        command.finish(process)
    bound = TRUE_TIMES * min(plain) + MORE
    figure = f"{min(ours):.2f} s, `ssh true` {min(plain):.2f} s"
    return ("start to the first event, types cached", figure, f"<= {bound:.2f} s", min(ours) <= bound)
