"""`probewright export --as DIALECT SPEC|PRESET…`: print probes as a script or text of another tool."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kernel.connection.planner import Planner
from probes.command import Armable
from probes.export.dialect import CannotExport, ExportDialect, ExportText
from probes.export.export import dialect_named
from probes.export.fleets import kubernetes
from probes.presets.schema import PresetChoice
from probes.presets.substitute import substitute
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.cli.console.output import connect, emit, plain, require_connection
from tui.cli.console.verdict import show_verdict
from tui.cli.follow.follow import probes_of
from tui.cli.specs.preset_specs import any_duration_note, expand, requested_probes
from tui.cli.status import DONE, REFUSED
from tui.output.probe_exports import exported, plans_for, save


def run(arguments: argparse.Namespace) -> int:
    requested = requested_probes(arguments)
    planner = Planner(connect(arguments.target))
    try:
        specs = expand(requested, planner).specs
        probes = probes_of(specs, planner)
        dialect = dialect_named(arguments.dialect)
        try:
            exported_text = _made(requested, planner, probes, dialect)
        except CannotExport as error:
            return _refused(arguments, error.reasons)
        except CannotLower as error:
            if arguments.json:
                return _refused(arguments, (str(error),))
            show_verdict(specs[0], Verdict(specs[0], error.refusal), [], sys.stderr)
            return REFUSED
        require_connection(planner.info)
        return _write(arguments, exported_text.text, exported_text.notes)
    finally:
        planner.info.close()


def _made(
    requested: Sequence[PresetChoice | str], planner: Planner, probes: list[Armable], dialect: ExportDialect
) -> ExportText:
    """Return the exported text. Raises CannotExport, CannotLower, KernelError."""
    if dialect.write is not kubernetes.write:
        return exported(planner, probes, dialect, any_duration_note(requested))
    # The nodes' kernels may need other alternatives of a preset's probes than this kernel.
    ways = [
        texts
        for request in requested
        for texts in (((request,),) if isinstance(request, str) else substitute(*request, planner.info.facts.machine))
    ]
    exported_text = kubernetes.with_ways(plans_for(planner, probes, dialect), planner.info.facts, ways)
    note = any_duration_note(requested)
    return exported_text._replace(notes=(*exported_text.notes, note)) if note else exported_text


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
