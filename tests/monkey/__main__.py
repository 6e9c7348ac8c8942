"""`python -m tests.monkey`: random actions on every material, all counted; a fault ends its session."""

from __future__ import annotations

import argparse
import ast
import json
import os
import secrets
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.monkey.actions import Action
from tests.monkey.choice import Tried
from tests.monkey.materials import MATERIALS, prepare
from tests.monkey.safety import Bounds
from tests.monkey.session import Fault, run_actions, run_session

_LAST = 150
"""Lines of a session's log that are shown where it ended by a fault."""
_HEAD = "session"
"""Word before material and seed in the first line of a log."""


class Session(NamedTuple):
    """One of a seed, which runs in a process of its own."""

    number: int
    material: str
    log: Path

    @property
    def tried(self) -> Path:
        """File in which it says what it tried."""
        return self.log.with_suffix(".tried")


def main() -> int:
    options = argparse.ArgumentParser(prog="tests.monkey", description=__doc__)
    options.add_argument("--actions", type=int, default=20_000, help="of all sessions together")
    options.add_argument("--length", type=int, default=200, help="actions of one session")
    options.add_argument("--seed", default=secrets.token_hex(4))
    options.add_argument("--only", choices=sorted(MATERIALS), action="append", help="these materials")
    options.add_argument("--folder", type=Path, default=Path("fuzz-failures"), help="where logs of faults go")
    options.add_argument("--replay", type=Path, help="do the actions of such a log again")
    # Half of the time goes into waiting for what an action began.
    options.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), help="sessions at a time")
    wanted = options.parse_args()
    prepare()
    if wanted.replay:
        return _replay(wanted.replay)
    done: Counter[str] = Counter()
    faults = number = 0
    began = time.monotonic()
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
                print("\n".join(lines[-_LAST:]))
                wanted.folder.mkdir(parents=True, exist_ok=True)
                kept = wanted.folder / f"monkey-{wanted.seed}.{session.number}.log"
                kept.write_text("\n".join(lines))
                print(f"after {done.total():,} actions; again: python -m tests.monkey --replay {kept}", flush=True)
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
    number = 0
    running: dict[int, Session] = {}
    tried = Tried()
    while True:
        more = done.total() + len(running) * wanted.length < wanted.actions
        if len(running) < wanted.jobs and more:
            session = Session(number, materials[number % len(materials)], place / f"{number}.log")
            running[_fork(session, wanted, tried)] = session
            number += 1
            continue
        if not running:
            return
        pid, status = os.wait()
        session = running.pop(pid)
        if session.tried.exists():
            tried.update({tuple(thing): count for thing, count in json.loads(session.tried.read_text())})
        yield session, os.waitstatus_to_exitcode(status)


def _fork(session: Session, wanted: argparse.Namespace, before: Tried) -> int:
    """Run a session in a forked process, which shares what was read before; return its id."""
    if pid := os.fork():
        return pid
    status = 1
    seed = f"{wanted.seed}.{session.number}"
    tried = before.copy()
    try:
        with session.log.open("w", errors="backslashreplace") as log, tempfile.TemporaryDirectory() as folder:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
            print(_HEAD, session.material, seed, file=log)
            try:
                run_session(session.material, seed, wanted.length, Path(folder), Bounds(log), tried)
                status = 0
            except Fault as fault:
                traceback.print_exception(fault, file=log)
            session.tried.write_text(json.dumps(list((tried - before).items())))
    finally:
        os._exit(status)


def _replay(path: Path) -> int:
    """Do the actions of a log again, in this process; a fault ends it."""
    head, *lines = path.read_text().split("\n")
    material, seed = head.removeprefix(_HEAD).split()
    actions = iter([_parse_action(line) for line in lines if line.startswith("  Action(")])
    with tempfile.TemporaryDirectory() as folder:
        run_actions(material, seed, lambda app: next(actions, None), Path(folder), Bounds(sys.stderr))
    return 0


def _parse_action(line: str) -> Action:
    call = ast.parse(line.strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    return Action(**{str(one.arg): ast.literal_eval(one.value) for one in call.keywords})


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


if __name__ == "__main__":
    raise SystemExit(main())
