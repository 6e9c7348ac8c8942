"""Convert `--export` and `--output` into an export request, and reject combinations that make no sense."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from events.export.catalogue import EVENT_FORMATS, STACK_FORMATS, TABLE_FORMATS, Format, format_named, format_of_file
from tui.cli.args.options import is_aggregate
from tui.cli.exports.sinks import OTLP, BadSetting, SinkRequest, sink_request_of
from tui.output.export_file import ExportRefused, require_free

GROUP_FORMATS = (*TABLE_FORMATS, "parquet")
"""Formats that can hold the table of groups: few rows, whose types are known once all are there."""
STDOUT = "-"
_OF_SEVERAL = ("histograms", "hosts")
"""Views that exist for several hosts."""


class BadExportOption(Exception):
    """Export options that contradict each other or can't be used; the text is the message."""


class ExportRequest(NamedTuple):
    """Format and destination of an export."""

    form: Format
    path: str
    """Path of the file; `-`: standard output."""
    overwrite: bool
    outlet: SinkRequest | None = None
    """Sink in place of a single file; None: a file."""
    timed: bool = False
    """True if times of day are added (`--clock`), in a format with columns for them."""


def export_request_of(arguments: argparse.Namespace) -> ExportRequest | None:
    """Return the export that the arguments request; None: no export. Raises BadExportOption."""
    word, output = arguments.export or "", arguments.output or ""
    if not (word or output):
        try:
            sink_request_of(arguments, None, "")
        except BadSetting as error:
            raise BadExportOption(str(error)) from None
        return None
    name, _, path = word.partition(":")
    if path and output:
        raise BadExportOption(f"two files are asked for: {path} and {output}")
    form = _form_of(arguments, name, path or output)
    try:
        outlet = sink_request_of(arguments, form, path or output)
    except BadSetting as error:
        raise BadExportOption(str(error)) from None
    path = path or output or STDOUT
    formats = ", ".join((*EVENT_FORMATS, OTLP.name))
    if outlet is not None and (form is OTLP or (form is not None and form.of_events)):
        return ExportRequest(outlet.form, outlet.path, arguments.overwrite, outlet, _is_timed(arguments, outlet.form))
    if form is None and path.endswith(".pwr"):
        raise BadExportOption(f"{path}: a recording is written by `record`, not by an export; formats are {formats}")
    if form is None and not name:
        raise BadExportOption(f"{path}: its name says no format; --export FORMAT does: {formats}")
    if form is None:
        raise BadExportOption(f"{name}: no format of exports; they are {formats}")
    if form.of_stacks and not form.of_events and arguments.stacks is None:
        raise BadExportOption(f"{form.name} holds stacks: --stacks gives them")
    if not (form.of_events or form.of_stacks):
        raise BadExportOption(
            f"{form.name}: a picture is taken in the application, by its key o; formats here are {formats}"
        )
    if form.binary and path == STDOUT and sys.stdout.isatty():
        raise BadExportOption(f"{form.name} is nothing for a terminal: --export {form.name}:FILE{form.suffix}")
    if path != STDOUT:
        try:
            require_free(Path(path), overwrite=arguments.overwrite)
        except ExportRefused as error:
            raise BadExportOption(export_error_text(error)) from None
    return ExportRequest(form, path, arguments.overwrite, timed=_is_timed(arguments, form))


def _form_of(arguments: argparse.Namespace, name: str, path: str) -> Format | None:
    """Return the format of a name, or else of a file; a picture of stacks is a flame graph. None: there is none."""
    form = OTLP if name == OTLP.name else format_named(name) if name else format_of_file(path)
    if form is not None and form.name == "svg" and arguments.stacks is not None:
        return format_named("flamegraph")
    return form


def _is_timed(arguments: argparse.Namespace, form: Format) -> bool:
    """Tell whether times of day are requested, in a format that has columns."""
    return getattr(arguments, "clock", None) not in (None, "kernel") and form.name in ("jsonl", "csv", "parquet")


def check_count(arguments: argparse.Namespace) -> None:
    """Raise BadExportOption if --count would wait for events that are not recorded."""
    for name in ("hist", "count_only"):
        if arguments.count and getattr(arguments, name):
            raise BadExportOption(
                f"--count ends after so many recorded events, and with --{name.replace('_', '-')} the kernel records "
                "none: --for SECONDS ends it"
            )


def check_view(arguments: argparse.Namespace, wanted: ExportRequest | None, *, several: bool = False) -> None:
    """Raise BadExportOption if --view contradicts the other arguments; `several`: several hosts are named."""
    view = arguments.view
    if is_aggregate(arguments):
        return  # a table of its own, which --view is refused beside
    sums = next((name for name in ("summary", "hist") if getattr(arguments, name, None) not in (None, False)), "")
    if not view:
        if sums and wanted is not None:
            raise BadExportOption(f"--{sums} prints what it counts; --view summary gives the table of it out")
        return
    if wanted is None:
        raise BadExportOption("--view names the table that --export writes: --export csv:FILE")
    if not wanted.form.of_tables or wanted.outlet is not None:
        what = "a row of files or a collector" if wanted.outlet is not None else wanted.form.name
        raise BadExportOption(
            f"--view: {what} holds events; "
            f"the table of a view is exported as {' and '.join(TABLE_FORMATS)}, in one file"
        )
    if wanted.timed:
        raise BadExportOption("--view: a table has the kernel's own times; without --view --clock adds those of day")
    if getattr(arguments, "count", None):
        raise BadExportOption("--view: a table is of all that came; --for says when it is made, --count can't")
    if arguments.filter.strip() and view == "histograms":
        raise BadExportOption(f"--view {view}: --filter chooses among recorded events, and this table is of none")
    in_kernel = bool(getattr(arguments, "hist", False))
    if sums and not (in_kernel and view == "summary"):
        has = "that of what the kernel counts" if in_kernel else "which has the values of every field"
        raise BadExportOption(f"--{'hist' if in_kernel else sums} prints; its table is --view summary, {has}")
    if not several and view == "hosts":
        raise BadExportOption("--view hosts is of several hosts: -t more than once, or -g")
    if several and view not in _OF_SEVERAL:
        raise BadExportOption(f"--view {view} is of one host; of several there are {' and '.join(_OF_SEVERAL)}")


def check_tables(arguments: argparse.Namespace, wanted: ExportRequest | None) -> None:
    """Raise BadExportOption if a table of groups can't be exported so."""
    stacks = arguments.stacks is not None
    if wanted is None or not (is_aggregate(arguments) or stacks):
        return
    option, noun = ("--stacks", "a tree of stacks") if stacks else ("--by", "a table of groups")
    formats = (*TABLE_FORMATS, *STACK_FORMATS) if stacks else GROUP_FORMATS
    if wanted.outlet is not None or wanted.form.name not in formats:
        what = "a row of files or a collector" if wanted.outlet is not None else wanted.form.name
        raise BadExportOption(
            f"{option}: {what} holds events; {noun} is exported as {', '.join(formats)}, in one file"
        )
    if wanted.timed:
        raise BadExportOption(f"{option}: {noun} has no times; without it --clock adds those of day")


def export_error_text(error: ExportRefused) -> str:
    """Return the message for a file that can't be created."""
    return f"{error}; --overwrite puts the new one there" if error.file_exists else str(error)
