"""`python -m tests.monkey`: random actions on every material, all counted; a fault ends its session."""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.monkey.materials import MATERIALS
from tests.monkey.session import Fault, run_session


def main() -> int:
    options = argparse.ArgumentParser(prog="tests.monkey", description=__doc__)
    options.add_argument("--actions", type=int, default=20_000, help="of all sessions together")
    options.add_argument("--length", type=int, default=200, help="actions of one session")
    options.add_argument("--seed", default=secrets.token_hex(4))
    options.add_argument("--only", choices=sorted(MATERIALS), action="append", help="these materials")
    options.add_argument("--session", type=int, help="this session of the seed alone")
    wanted = options.parse_args()
    materials = wanted.only or list(MATERIALS)
    done: Counter[str] = Counter()
    faults: list[Fault] = []
    began = time.monotonic()
    number = wanted.session or 0
    while done.total() < wanted.actions:
        material = materials[number % len(materials)]
        with tempfile.TemporaryDirectory() as folder:
            try:
                done[material] += run_session(material, f"{wanted.seed}.{number}", wanted.length, Path(folder)) or 1
            except Fault as fault:
                faults.append(fault)
                done[material] += 1
                print(f"session {number}: {fault}")
                traceback.print_exception(fault.__cause__)
        number += 1
        if wanted.session is not None:
            break
    print(f"seed {wanted.seed}: {done.total():,} actions in {number} sessions, {time.monotonic() - began:.0f} s")
    for material, count in done.items():
        print(f"  {material:10} {count:7,}")
    print(f"{len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
