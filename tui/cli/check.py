"""`probewright check SPEC…`: the kernel's verdict before anything is written, and the lines that would be."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from probes.verdict import Verdict
from tui.cli.main import DONE, REFUSED, USAGE
from tui.cli.output import connect, emit, plain


def run(arguments: argparse.Namespace) -> int:
    if arguments.stdin == bool(arguments.specs):
        print("probewright: give specifications, or --stdin, not both", file=sys.stderr)
        return USAGE
    connection = connect(arguments.target)
    try:
        refused = False
        for spec in _specs(arguments):
            verdict, plan = connection.check(spec, look=True)
            lowered = [event.line for event in plan.events] if plan else []
            refused |= not verdict.ok
            if arguments.json:
                emit(_object(spec, verdict, lowered))
            else:
                _print(spec, verdict, lowered)
        return REFUSED if refused else DONE
    finally:
        connection.close()


def _specs(arguments: argparse.Namespace) -> Iterator[str]:
    if not arguments.stdin:
        yield from arguments.specs
        return
    for line in sys.stdin:
        if line.strip():
            yield line.rstrip("\n")


def _object(spec: str, verdict: Verdict, lowered: list[str]) -> dict[str, object]:
    error = verdict.error
    return {
        "spec": spec,
        "ok": verdict.ok,
        "error": error and {"code": error.code, "message": error.message, "column": error.column, "hint": error.hint},
        "lowered": lowered,
    }


def _print(spec: str, verdict: Verdict, lowered: list[str]) -> None:
    error = verdict.error
    if error is None:
        print(f"ok  {plain(spec)}")
        for line in lowered:
            if line != spec:
                print(f"    {plain(line)}")
        return
    print(f"no  {plain(verdict.command)}")
    caret = " " * (4 + error.column) + "^ " if error.column is not None and error.column < 500 else "    "
    print(f"{caret}{error.code}  {plain(error.message)}")
    if error.hint:
        print(f"    {plain(error.hint)}")
    if error.nearest:
        print(f"    did you mean {', '.join(map(plain, error.nearest))}?")
