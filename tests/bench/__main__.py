"""`make bench`: figures as ratios against a peer in the same run, or against a bound that the project set itself.

Each module of this folder with a `run()` gives rows (what, figure, bound, whether it holds). Exit status 1 where one
fails.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    modules = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_")]
    unknown = set(wanted) - set(modules)
    if unknown:
        print(f"no bench named {', '.join(sorted(unknown))}; there are {', '.join(modules)}")
        return 2
    failed = 0
    for name in wanted or modules:
        module = importlib.import_module(f"tests.bench.{name}")
        if not hasattr(module, "run"):
            continue
        print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        for what, figure, bound, holds in module.run():
            failed += not holds
            print(f"  {'ok  ' if holds else 'FAIL'} {what:<58} {figure:<34} {bound}", flush=True)
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
