"""`python -m tests.monkey`: random actions on every material, all counted; a fault ends its session."""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.monkey.materials import MATERIALS, prepare
from tests.monkey.safety import Bounds
from tests.monkey.session import Fault, run_session

_LAST = 150
"""Lines of a session's log that are shown where it ended by a fault."""


class Session(NamedTuple):
    """One of a seed, which runs in a process of its own."""

    number: int
    material: str
    log: Path


def main() -> int:
    options = argparse.ArgumentParser(prog="tests.monkey", description=__doc__)
    options.add_argument("--actions", type=int, default=20_000, help="of all sessions together")
    options.add_argument("--length", type=int, default=200, help="actions of one session")
    options.add_argument("--seed", default=secrets.token_hex(4))
    options.add_argument("--only", choices=sorted(MATERIALS), action="append", help="these materials")
    options.add_argument("--session", type=int, help="this session of the seed alone")
    # Half of the time goes into waiting for what an action began.
    options.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), help="sessions at a time")
    wanted = options.parse_args()
    done: Counter[str] = Counter()
    faults = number = 0
    began = time.monotonic()
    prepare()
    with tempfile.TemporaryDirectory() as place:
        for session, status in _sessions(wanted, Path(place), done):
            number += 1
            lines = session.log.read_text(errors="backslashreplace").splitlines()
            done[session.material] += sum(line.startswith("  Action(") for line in lines) or 1
            if status:
                faults += 1
                print(
                    f"session {session.number} of seed {wanted.seed} ({session.material}) ended by {_ending(status)}:"
                )
                print("\n".join(lines[-_LAST:]), flush=True)
    seconds = time.monotonic() - began
    print(f"seed {wanted.seed}: {done.total():,} actions in {number} sessions, {seconds:.0f} s")
    each = sum(os.times()[2:4]) / done.total() * 1000
    print(f"{done.total() / seconds:.1f} actions/s, {each:.0f} ms of a processor each")
    for material, count in done.items():
        print(f"  {material:10} {count:7,}")
    print(f"{faults} faults")
    return int(bool(faults))


def _sessions(wanted: argparse.Namespace, place: Path, done: Counter[str]) -> Iterator[tuple[Session, int]]:
    """Run sessions until `done`, which the caller counts, has enough actions; give each that ended and its status."""
    materials = wanted.only or list(MATERIALS)
    number = wanted.session or 0
    running: dict[int, Session] = {}
    begun = False
    while running or not begun or (wanted.session is None and done.total() < wanted.actions):
        more = wanted.session is None and done.total() + len(running) * wanted.length < wanted.actions
        if len(running) < wanted.jobs and (more or not begun):
            session = Session(number, materials[number % len(materials)], place / f"{number}.log")
            running[_fork(session, wanted)] = session
            number, begun = number + 1, True
            continue
        pid, status = os.wait()
        yield running.pop(pid), os.waitstatus_to_exitcode(status)


def _fork(session: Session, wanted: argparse.Namespace) -> int:
    """Run a session in a forked process, which shares what was read before; return its id."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        with session.log.open("w", errors="backslashreplace") as log, tempfile.TemporaryDirectory() as folder:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
            try:
                run_session(
                    session.material, f"{wanted.seed}.{session.number}", wanted.length, Path(folder), Bounds(log)
                )
                status = 0
            except Fault as fault:
                traceback.print_exception(fault, file=log)
    finally:
        os._exit(status)


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


if __name__ == "__main__":
    raise SystemExit(main())
