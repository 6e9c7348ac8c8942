"""`probewright export --as DIALECT SPEC|PRESET…`: the probes in the words of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from probes.export.dialect import CannotExport
from probes.export.export import dialect_named
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.cli.check import show_verdict
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, plain
from tui.cli.presets import expand
from tui.cli.watching import probes_of
from tui.exporting import exported, save


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target)
    try:
        specs = expand(arguments, connection).specs
        probes = probes_of(specs, connection)
        dialect = dialect_named(arguments.dialect)
        try:
            made = exported(connection, probes, dialect)
        except CannotExport as error:
            return _refused(arguments, error.reasons)
        except CannotLower as error:
            if arguments.json:
                return _refused(arguments, (str(error),))
            show_verdict(specs[0], Verdict(specs[0], error.refusal), [], sys.stderr)
            return REFUSED
        return _write(arguments, made.text, made.notes)
    finally:
        connection.close()


def _write(arguments: argparse.Namespace, text: str, notes: tuple[str, ...]) -> int:
    if arguments.json:
        emit({"as": arguments.dialect, "text": text, "notes": notes})
    for note in notes if not arguments.json else ():
        print(f"note: {plain(note)}", file=sys.stderr)
    if arguments.output is not None:
        try:
            save(text, Path(arguments.output))
        except OSError as error:
            print(f"probewright: {plain(arguments.output)}: {error.strerror}", file=sys.stderr)
            return REFUSED
    elif not arguments.json:
        print(text, end="")
    return DONE


def _refused(arguments: argparse.Namespace, reasons: tuple[str, ...]) -> int:
    if arguments.json:
        emit({"as": arguments.dialect, "text": "", "reasons": reasons})
    else:
        print(f"probewright: {arguments.dialect} can't say this", file=sys.stderr)
        for reason in reasons:
            print(f"  {plain(reason)}", file=sys.stderr)
    return REFUSED
