"""`make fuzz`: damaged inputs by the thousand, all counted; those that fail are kept and told."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz.all_kinds import KINDS
from tests.fuzz.runner import Failure, bound_memory, feed, keep, made, schedule

_Work = list[tuple[str, int]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--kind", action="append", choices=KINDS, help="these only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=Path("fuzz-failures"), help="where failing inputs go")
    parser.add_argument("--replay", type=Path, nargs="+", help="give these files of that folder again")
    arguments = parser.parse_args()
    if arguments.replay:
        return _replay(arguments.replay)
    kinds = {name: KINDS[name] for name in arguments.kind or KINDS}
    print(f"seed {arguments.seed}: {arguments.inputs} inputs of {len(kinds)} kinds", flush=True)
    work = list(schedule(kinds, arguments.inputs))
    begin = time.monotonic()
    parts = [(arguments.seed, work[job :: arguments.jobs]) for job in range(arguments.jobs)]
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("fork")) as pool:
        results = list(pool.map(run, *zip(*parts, strict=True)))
    counts: Counter[tuple[str, str]] = Counter()
    failures: list[Failure] = []
    for some, failed in results:
        counts.update(some)
        failures += failed
    _tell(counts, time.monotonic() - begin)
    return _tell_failures(failures, arguments.folder)


def run(seed: int, work: _Work) -> tuple[Counter[tuple[str, str]], list[Failure]]:
    """Give some inputs, in this process."""
    os.environ["PROBEWRIGHT_TRACEBACK"] = "1"
    bound_memory()
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    for name, number in work:
        outcome, failure = feed(KINDS[name], name, made(KINDS[name], name, seed, number))
        counts[name, outcome] += 1
        if failure is not None:
            failures.append(failure)
    return counts, failures


def _tell(counts: Counter[tuple[str, str]], seconds: float) -> None:
    for kind in dict.fromkeys(kind for kind, _ in sorted(counts)):
        of = {outcome: number for (name, outcome), number in sorted(counts.items()) if name == kind}
        words = ", ".join(f"{outcome} {number}" for outcome, number in of.items())
        print(f"{kind:<14}{sum(of.values()):>7}  {words}")
    print(f"{'all':<14}{sum(counts.values()):>7}  in {seconds:.0f} s")


def _tell_failures(failures: list[Failure], folder: Path) -> int:
    alike = Counter((one.kind, one.what) for one in failures)
    for (kind, what), number in alike.most_common():
        one = min((one for one in failures if (one.kind, one.what) == (kind, what)), key=lambda one: len(one.data))
        print(f"FAILED {number} {kind}: {what}\n       python -m tests.fuzz --replay {keep(one, folder)}")
    return 1 if failures else 0


def _replay(paths: list[Path]) -> int:
    os.environ["PROBEWRIGHT_TRACEBACK"] = "1"
    status = 0
    for path in paths:
        name = path.name.rpartition("-")[0].replace("_", " ")
        outcome, failure = feed(KINDS[name], name, path.read_bytes())
        print(f"{path}: {outcome}")
        if failure is not None:
            print(failure.trace or failure.what)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
