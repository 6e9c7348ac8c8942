"""`probewright FILE.pwr --export FORMAT`: export the events of a recording, or the table of one of its views."""

from __future__ import annotations

import argparse
import sys

from kernel.connection.planner import Planner
from kernel.guards.row_bounds import HEADLESS, SCREEN
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, plain
from tui.cli.exports.export_options import BadExportOption, ExportRequest, export_request_of
from tui.cli.exports.open_export import REFUSALS, opened_watch_export, print_export_error, print_refusal
from tui.cli.follow.clock import UNKNOWN
from tui.cli.follow.filter import OptionRefused, check_words, filter_of, print_filter_error
from tui.cli.status import UNUSABLE, USAGE
from tui.output.event_source import load_symbols


def run(arguments: argparse.Namespace) -> int:
    """Export all events of a recording that pass the filter, or the table of a view."""
    try:
        wanted = export_request_of(arguments)
        check_words(arguments)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    if wanted is None:
        return USAGE
    planner = Planner(connect(getattr(arguments, "recording", None) or arguments.target))
    try:
        if not planner.info.holds_events:
            name = planner.info.target.name
            return print_refusal(
                f"{name} holds no events; `probewright run SPEC --export` exports those of a kernel", UNUSABLE
            )
        if arguments.view:
            from tui.cli.exports.view_export import write_recording_view

            return write_recording_view(planner, wanted, arguments)
        return _all_of(planner, wanted, arguments.filter)
    finally:
        planner.info.close()


def _all_of(planner: Planner, wanted: ExportRequest, text: str) -> int:
    from tui.cli.follow.follow import print_losses

    # The tasks of a recording are bounded by its end; its events are exported as they are read.
    watch = Watch(planner, HEADLESS._replace(tasks=SCREEN.tasks, moves=SCREEN.moves))
    watch.begin()
    load_symbols(watch, wanted.form)
    if wanted.timed and not watch.clock.is_known:
        print(plain(f"probewright: {planner.info.target.name}: {UNKNOWN}: no event has a `time`"), file=sys.stderr)
    try:
        with opened_watch_export(watch, wanted, {}, filter_of(watch, text)) as export:
            export.take_all(watch)
    except REFUSALS as error:
        return print_export_error(wanted, error)
    print_losses(watch, unshown=watch.evicted)
    return export.tell()
