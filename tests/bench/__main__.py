"""`make bench`: figures beside a peer in the same run, or against a bound that the project set itself.

    python -m tests.bench [--list] [MODULE[:PART]]...

Each module of this folder has PARTS, whose figures are measured together. A module runs in a process of its own, so
that a figure is the same alone and among all. Exit status 1 where a bound is not held, 2 for a name that is none.
"""

from __future__ import annotations

import importlib
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench._choice import NoSuchFigure, chosen_modules, chosen_parts
from tests.bench._measure import Part

MODULES = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_")]


def main(words: list[str]) -> int:
    listed = words[:1] == ["--list"]
    try:
        modules = chosen_modules(words[listed:], MODULES)
        if listed or len(modules) == 1:
            return max(_show(name, parts, listed) for name, parts in modules.items())
        # All names are looked at before anything is measured.
        for name, parts in modules.items():
            chosen_parts(name, parts, _parts(name))
    except NoSuchFigure as error:
        print(error)
        return 2
    return max(subprocess.run([sys.executable, "-m", "tests.bench", *own]).returncode for own in _words(modules))


def _words(modules: dict[str, list[str]]) -> list[list[str]]:
    return [[f"{name}:{part}" for part in parts] or [name] for name, parts in modules.items()]


def _parts(name: str) -> Sequence[Part]:
    parts: Sequence[Part] = importlib.import_module(f"tests.bench.{name}").PARTS
    return parts


def _show(name: str, wanted: list[str], listed: bool) -> int:
    """Print the chosen figures of a module, measured, or only named with their bounds; gives the exit status."""
    parts = chosen_parts(name, wanted, _parts(name))
    module = sys.modules[f"tests.bench.{name}"]
    print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
    failed = 0
    for part in parts:
        print(f" {name}:{part.name}", flush=True)
        if listed:
            for figure in part.figures:
                print(f"    {figure.what:<70} {figure.bound}".rstrip())
            continue
        rows = []
        for row in part.measure():
            print(row, flush=True)
            rows.append(row)
        failed += sum(not row.holds for row in rows)
        assert {row.figure for row in rows} == set(part.figures), "a figure was not measured, or is not listed"
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head`
    sys.exit(main(sys.argv[1:]))
