"""`probewright FILE.pwr --export FORMAT`: export the events of a recording, or the table of one of its views.

With `--by` and the like: aggregate its events, and print the table or export that.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from kernel.connection.planner import Planner
from kernel.guards.row_bounds import HEADLESS, SCREEN
from kernel.watch.watch import Watch
from tui.cli.args.options import is_aggregate
from tui.cli.console.output import connect, plain
from tui.cli.exports.export_options import BadExportOption, ExportRequest, check_tables, export_request_of
from tui.cli.exports.open_export import REFUSALS, opened_watch_export, print_export_error, print_refusal
from tui.cli.follow.clock import UNKNOWN
from tui.cli.follow.filter import OptionRefused, check_words, filter_of, print_filter_error
from tui.cli.status import UNUSABLE, USAGE
from tui.cli.tables.aggregate_printer import AggregateCounter, check_names, request_of, write_aggregate
from tui.cli.tables.stack_printer import StackCounter, stacks_request_of, write_stack_tree
from tui.output.event_source import load_symbols

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest


def run(arguments: argparse.Namespace) -> int:
    """Export all events of a recording that pass the filter, or the table of a view."""
    try:
        wanted = export_request_of(arguments)
        check_words(arguments)
        stacks = stacks_request_of(arguments)
        request = request_of(arguments) if stacks is None and is_aggregate(arguments) else stacks
        check_tables(arguments, wanted)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    planner = Planner(connect(getattr(arguments, "recording", None) or arguments.target))
    try:
        if not planner.info.holds_events:
            name = planner.info.target.name
            what = "--stacks`" if stacks is not None else "--by`" if request is not None else "--export`"
            return print_refusal(
                f"{name} holds no events; `probewright run SPEC {what} has those of a kernel", UNUSABLE
            )
        if stacks is not None:
            return _stacks(planner, wanted, arguments)
        if request is not None:
            return _aggregate(planner, wanted, request, arguments)
        if wanted is None:
            return USAGE
        if arguments.view:
            from tui.cli.exports.view_export import write_recording_view

            return write_recording_view(planner, wanted, arguments)
        return _all_of(planner, wanted, arguments.filter)
    finally:
        planner.info.close()


def _aggregate(
    planner: Planner, wanted: ExportRequest | None, request: AggregateRequest, arguments: argparse.Namespace
) -> int:
    """Aggregate the events of a recording that pass the filter as they are read; return the exit status."""
    from tui.cli.follow.loss_printer import print_losses

    watch = Watch(planner, HEADLESS._replace(tasks=SCREEN.tasks, moves=SCREEN.moves))
    watch.begin()
    try:
        check_names(watch, request, arguments)
        counter = AggregateCounter(watch, request, filter_of(watch, arguments.filter), None)
        while not watch.ended:
            watch.tick(0.0)
            counter.catch_up()
        if watch.store is not None:
            watch.store.flush()
        return write_aggregate(watch, counter.finish(), arguments, wanted)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    finally:
        print_losses(watch)


def _stacks(planner: Planner, wanted: ExportRequest | None, arguments: argparse.Namespace) -> int:
    """Add up the stacks of the events that pass the filter; return the exit status."""
    from tui.cli.follow.loss_printer import print_losses

    watch = Watch(planner, HEADLESS._replace(tasks=SCREEN.tasks, moves=SCREEN.moves))
    watch.begin()
    try:
        counter = StackCounter(watch, arguments, filter_of(watch, arguments.filter), None)
        while not watch.ended:
            watch.tick(0.0)
            counter.catch_up()
        if watch.store is not None:
            watch.store.flush()
        return write_stack_tree(watch, counter.finish(), arguments, wanted)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    finally:
        print_losses(watch)


def _all_of(planner: Planner, wanted: ExportRequest, text: str) -> int:
    from tui.cli.follow.loss_printer import print_losses

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
