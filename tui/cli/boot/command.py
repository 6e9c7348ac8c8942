"""`probewright boot SPEC|PRESET…`: arm probes while a kernel boots.

A lab is booted with them at once, and the events are read. For another machine the text is printed, or a copy of its
initrd written, with the commands to install it; `--read` reads the events there after the boot.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from foreign.count_text import counted, size_text
from kernel.boot.booted import booted_specs, remove_booted
from kernel.boot.initrd_copy import copy_initrd
from kernel.boot.read_back import BootReading, read_boot
from kernel.boot.rehearsal import rehearse
from kernel.connection.planner import Planner
from kernel.safe_files.private_folder import private_folder
from probes.bootconfig.text import BootconfigError
from probes.export.boot_commands import boot_commands
from probes.export.boot_request import BootRequest, BootWay
from probes.export.dialect import CannotExport
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.boot.boot_requests import boot_request
from tui.cli.console.output import connect, emit, plain, usage_error
from tui.cli.console.verdict import refusal, show_verdict
from tui.cli.console.waiting import print_lines, show_progress, waiting
from tui.cli.follow.follow import probes_of
from tui.cli.specs.preset_specs import expand, requested_probes
from tui.cli.status import DONE, REFUSED
from tui.output.export_file import ExportRefused, require_free
from tui.output.probe_exports import save


def run(arguments: argparse.Namespace) -> int:
    if wrong := _usage_fault(arguments):
        return usage_error(wrong)
    if arguments.output is not None:
        try:
            require_free(Path(arguments.output), overwrite=False)
        except ExportRefused as error:
            return usage_error(str(error))
    try:
        if arguments.read:
            return _recorded(arguments, lambda path: _read(arguments, path))
        request, release = _lowered(arguments)
        if arguments.initrd:
            return _write_initrd(arguments, request, release)
        if not _is_lab(arguments.target):
            return _print_text(arguments, request, release)
        return _recorded(arguments, lambda path: _rehearse(arguments, request, path))
    except CannotExport as error:
        return _refused(arguments, error.reasons)
    except CannotLower as error:
        if arguments.json:
            emit(refusal(error.refusal.token, Verdict("", error.refusal)))
        show_verdict(" ".join(arguments.specs), Verdict(" ".join(arguments.specs), error.refusal), [], sys.stderr)
        return REFUSED


def _usage_fault(arguments: argparse.Namespace) -> str:
    """Return why the arguments can't be used together; empty: they can."""
    if not arguments.specs and not arguments.read:
        return "boot takes probes: boot 'f do_one_initcall fn' -t lab; after the boot: boot --read"
    if arguments.initrd and (arguments.read or arguments.output is None):
        return "--initrd takes the new file with -o, and --read is for the machine after its boot"
    if arguments.initrd and arguments.way == BootWay.CMDLINE:
        return "an initrd holds a bootconfig; the command line is the boot loader's"
    if arguments.remove and not arguments.read:
        return "--remove takes the probes away after --read has read their events"
    records = arguments.read or (_is_lab(arguments.target) and not arguments.initrd)
    shows = not arguments.json and sys.stdin.isatty() and sys.stdout.isatty()
    if records and arguments.output is None and not shows:
        return "without a terminal the recording needs a name: -o FILE.pwr"
    return ""


def _is_lab(spec: str) -> bool:
    return spec == "lab" or spec.startswith(("lab:", "lab,"))


def _lowered(arguments: argparse.Namespace) -> tuple[BootRequest, str]:
    """Return the request for the target's next boot, and its kernel release."""
    requested = requested_probes(arguments)
    planner = Planner(connect(arguments.target))
    try:
        probes = probes_of(expand(requested, planner).specs, planner)
        way = BootWay(arguments.way) if arguments.way else BootWay.BOOTCONFIG if arguments.initrd else None
        return boot_request(planner, probes, way, arguments.buffer_kb), planner.info.facts.release
    finally:
        planner.info.close()


def _rehearse(arguments: argparse.Namespace, request: BootRequest, path: Path) -> BootReading:
    print_lines()
    with waiting(f"booting {arguments.target} with the probes"):
        return rehearse(arguments.target, request, path, seconds=arguments.seconds, progress=show_progress)


def _read(arguments: argparse.Namespace, path: Path) -> BootReading:
    """Read the events of a boot on the target; with --remove also take its probes away."""
    info = connect(arguments.target, arming=True)
    try:
        way, specs = booted_specs(info)
        planner = Planner(info)
        if arguments.specs:
            specs = expand(requested_probes(arguments), planner).specs
        request = boot_request(planner, probes_of(specs, planner), way)
        reading = read_boot(info, request, path)
        if arguments.remove:
            for line in remove_booted(info, request):
                print(f"probewright: {plain(line)}", file=sys.stderr)
        else:
            print("probewright: recording is off now; --remove takes the probes away", file=sys.stderr)
        return reading
    finally:
        info.close()


def _recorded(arguments: argparse.Namespace, make: Callable[[Path], BootReading]) -> int:
    """Make a recording and report it, or show it in the application where no file is named."""
    if arguments.output is not None:
        return _report(arguments, make(Path(arguments.output)))
    folder = private_folder()
    try:
        reading = make(folder / "boot.pwr")
        _report(arguments, reading)
        from tui.cli.commands.app import run as run_application

        return run_application(SimpleNamespace(command="app", recording=str(reading.path), target="auto"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _report(arguments: argparse.Namespace, reading: BootReading) -> int:
    size = reading.path.stat().st_size
    lost = reading.losses.lost
    if arguments.json:
        emit(
            {
                "file": str(reading.path),
                "events": reading.events,
                "bytes": size,
                "first_seconds": reading.first,
                "lost": lost,
                "missing": [one._asdict() for one in reading.missing],
            }
        )
    else:
        since = f", from {reading.first:.6f} s after power on" if reading.first is not None else ""
        print(plain(f"{reading.path}: {counted(reading.events, 'event')}{since}, {size_text(size)}"))
    if lost:
        print(f"probewright: {counted(lost, 'later event')} found no room: --buffer KB", file=sys.stderr)
    for one in reading.missing:
        print(f"probewright: not armed at boot: {plain(f'{one.event}: {one.fault}')}", file=sys.stderr)
        for line in one.words:
            print(f"  {plain(line)}", file=sys.stderr)
    return REFUSED if reading.missing or not reading.events else DONE


def _print_text(arguments: argparse.Namespace, request: BootRequest, release: str) -> int:
    commands = boot_commands(request, release)
    if arguments.output is not None:
        save(request.text, Path(arguments.output))
    if arguments.json:
        emit({"as": str(request.way), "text": request.text, "notes": request.notes, **commands._asdict()})
        return DONE
    if arguments.output is None:
        print(request.text, end="")
    _print_commands(request, commands.install, commands.undo)
    return DONE


def _write_initrd(arguments: argparse.Namespace, request: BootRequest, release: str) -> int:
    original, copy = Path(arguments.initrd), Path(arguments.output)
    try:
        made = copy_initrd(original, copy, request.text)
    except (OSError, BootconfigError, ValueError) as error:
        text = f"{error.filename or original}: {error.strerror}" if isinstance(error, OSError) else str(error)
        print(f"probewright: {plain(text)}", file=sys.stderr)
        return REFUSED
    commands = boot_commands(request, release, str(original), str(copy))
    if arguments.json:
        emit({"file": str(copy), "bytes": made.size, "kept_keys": made.kept_keys, **commands._asdict()})
        return DONE
    kept = f", {counted(made.kept_keys, 'key')} of the original's bootconfig kept" if made.kept_keys else ""
    print(plain(f"{copy}: {size_text(made.size)}{kept}"))
    _print_commands(request, commands.install, commands.undo)
    return DONE


def _print_commands(request: BootRequest, install: tuple[str, ...], undo: tuple[str, ...]) -> None:
    """Print notes and commands on standard error: standard output is the text alone."""
    for note in request.notes:
        print(f"note: {plain(note)}", file=sys.stderr)
    for title, lines in (("install", install), ("undo", undo)):
        print(f"{title}, as root:", file=sys.stderr)
        for line in lines:
            print(f"  {plain(line)}", file=sys.stderr)


def _refused(arguments: argparse.Namespace, reasons: tuple[str, ...]) -> int:
    if arguments.json:
        emit({"as": arguments.way or "", "text": "", "reasons": reasons})
        return REFUSED
    print("probewright: this can't be armed while the kernel boots", file=sys.stderr)
    for reason in reasons:
        print(f"  {plain(reason)}", file=sys.stderr)
    return REFUSED
