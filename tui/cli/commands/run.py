"""`probewright run SPEC…`: arm probes, print their events, and disarm."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from events.export.formats.json_lines import json_object
from events.export.source import ExportSource
from events.kernel_time import seconds
from events.record import Record
from events.store.outage_mark import task_text
from foreign.count_text import counted
from kernel.connection.planner import Planner
from kernel.guards.row_bounds import HEADLESS, SCREEN
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from probes.plans.plan import Via
from tui.cli.args.options import is_aggregate
from tui.cli.console.output import connect, emit, line, plain
from tui.cli.exports.export_options import (
    BadExportOption,
    ExportRequest,
    check_count,
    check_tables,
    check_view,
    export_request_of,
)
from tui.cli.exports.open_export import REFUSALS, opened_watch_export, print_export_error, print_refusal
from tui.cli.follow.clock import face_of, measure_clock
from tui.cli.follow.command_run import command_of, command_run_of, keep_status, print_between_rows
from tui.cli.follow.disarming import Disarming
from tui.cli.follow.filter import (
    OptionRefused,
    check_words,
    export_filter_of,
    filter_of,
    passes_of,
    print_filter_error,
    print_pass_count,
)
from tui.cli.follow.follow import arm, follow, limits_of, probes_of, start_imports
from tui.cli.follow.loss_printer import print_hit_counts, print_losses, print_no_events
from tui.cli.follow.reconnect import retry_after_reconnect
from tui.cli.follow.signals import stoppable
from tui.cli.specs.failure_presets import errors_arguments
from tui.cli.specs.preset_specs import ArmPlan, any_duration_note, expand, requested_probes
from tui.cli.status import DONE, REFUSED, USAGE
from tui.cli.tables.aggregate_printer import count_events, request_of, write_aggregate
from tui.cli.tables.aggregate_probes import aggregate_in_kernel, aggregate_options, specs_for
from tui.cli.tables.hist_printer import print_tables
from tui.cli.tables.latency_printer import is_table, print_latencies, with_threshold
from tui.cli.tables.stack_printer import print_stacks, stacks_request_of
from tui.cli.tables.summary_printer import summarize
from tui.output.event_source import source_of, timed_source_of
from tui.present.event_times import ClockFace, day_in_front
from tui.present.stack_rows import stack_lines

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest
    from probes.presets.schema import PresetChoice
    from tui.filter.filter import Filter


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    if (of_failures := errors_arguments(arguments)) is not None:
        from tui.cli.commands import errors

        arguments.command = "errors"  # whose exit status this is
        return errors.run(of_failures)
    if len(arguments.targets) > 1 or arguments.groups:
        from tui.cli.commands import hosts

        return hosts.run(arguments)
    try:
        export_request = export_request_of(arguments)
        check_count(arguments)
        check_words(arguments)
        check_view(arguments, export_request)
        check_tables(arguments, export_request)
        aggregate_request = stacks_request_of(arguments)
        if aggregate_request is None and is_aggregate(arguments):
            aggregate_request = request_of(arguments)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    requested = requested_probes(arguments)
    start_imports()
    # Hist triggers count the calls of all tasks, programs those of the command.
    via = Via.BPF if arguments.program and arguments.hist else Via(arguments.via)
    planner = Planner(connect(arguments.target, arming=True, patience=arguments.reconnect), via)
    if arguments.view and planner.info.holds_events:
        planner.info.close()
        return print_refusal("--view: a recording gives its tables out by itself: probewright FILE.pwr --view", USAGE)
    with contextlib.closing(planner.info), command_of(planner.info.target, arguments, limits_tasks=True) as command:
        status = _arm_and_follow(planner, arguments, requested, export_request, aggregate_request)
        keep_status(arguments, command)
    return status


def _arm_and_follow(
    planner: Planner,
    arguments: argparse.Namespace,
    requested: Sequence[PresetChoice | str],
    export_request: ExportRequest | None,
    aggregate_request: AggregateRequest | None,
) -> int:
    """Arm the requested probes, print or write their events, and disarm; return the exit status."""
    watch = Watch(planner, SCREEN if arguments.view else HEADLESS, limits_of(arguments))
    status, unprinted = DONE, 0
    with Disarming(watch) as end:
        try:
            armed = retry_after_reconnect(watch, arguments, lambda: expand(requested, planner))
            probes = retry_after_reconnect(
                watch, arguments, lambda: probes_of(specs_for(armed.specs, aggregate_request, planner), planner)
            )
            if armed.longest_min_duration and (
                export_request is not None or arguments.summary is not None or arguments.hist
            ):
                print(f"probewright: {plain(any_duration_note(requested))}", file=sys.stderr)
            with stoppable(watch.set_deadline):
                options, counting = aggregate_options(planner, probes, aggregate_request, arguments)
                probes = with_threshold(arguments, probes)
                events = arm(watch, probes, options, arguments)
                measure_clock(watch, arguments)
                event_filter = filter_of(watch, arguments.filter)
                if counting is not None:
                    status = aggregate_in_kernel(watch, arguments, events, counting, export_request)
                elif is_table(arguments, probes):
                    status = print_latencies(watch, arguments, events, probes, event_filter)
                elif aggregate_request is not None or export_request is not None:
                    status = _write(watch, arguments, events, event_filter, export_request, aggregate_request)
                elif arguments.summary is not None or arguments.hist:
                    summarize(watch, arguments, events, event_filter)
                else:
                    unprinted = _print(watch, arguments, events, armed, event_filter)
            with_tables = arguments.view != "histograms" and aggregate_request is None
            _print_counts(watch, arguments, with_tables=with_tables, aside=export_request is not None)
            print_losses(watch, unprinted, unshown=watch.evicted)
        except OptionRefused as error:
            print_filter_error(error)
            status = USAGE
    return REFUSED if end.left else status


def _print_counts(watch: Watch, arguments: argparse.Namespace, *, with_tables: bool, aside: bool) -> None:
    """Print what the kernel has counted: hits, tables of hist triggers, maps; `aside`: standard output has a file."""
    if arguments.count_only:
        print_hit_counts(watch)
    if with_tables:
        print_tables(watch, as_json=arguments.json, aside=aside)
    if arguments.maps or any(armed.plan.counts_only for armed in watch.armed.probes):
        from tui.cli.tables.object_printer import print_maps

        print_maps(watch, as_json=arguments.json)


def _print(
    watch: Watch, arguments: argparse.Namespace, events: Mapping[str, frozenset[str]], armed: ArmPlan, chosen: Filter
) -> int:
    """Print events or calls until the end; return how many were dropped before they were printed."""
    from tui.cli.follow.call_printer import CallPrinter

    face = face_of(arguments)
    source = ExportSource()
    if arguments.json:
        source = (source_of if face is ClockFace.KERNEL else timed_source_of)(watch, events)

    def show(record: Record) -> None:
        if arguments.json:
            emit(json_object(source, record))
        else:
            day = day_in_front(watch, record.ts, record.seq, face)
            print(line(day + _line(watch, record, events.get(record.event, ()))))
            for text in stack_lines(watch, record):
                print(line(text))

    if (command := command_run_of(arguments)) is not None:
        command.place_beside_rows(partial(print_between_rows, watch, as_json=arguments.json, face=face))
    passing = export_filter_of(watch, chosen, pairs=armed.calls)
    calls: CallPrinter | None = None
    if armed.calls:
        calls = CallPrinter(
            watch,
            show,
            events,
            armed.min_durations,
            as_json=arguments.json,
            face=face,
            passes=passes_of(watch, chosen),
            most=arguments.count or 0,
        )
    number = (lambda: calls.printed) if calls else None
    follow(watch, arguments, events, calls.show if calls else show, passing=passing, chosen=chosen, number=number)
    counting = bool(watch.armed.probes) and all(one.plan.counts_only for one in watch.armed.probes)
    if not passing.of and not arguments.count_only and not counting:
        print_no_events(watch)
    elif calls and passing.filtered:
        print(f"probewright: {calls.printed:,} of {counted(calls.of, 'call')} pass the filter", file=sys.stderr)
    else:
        print_pass_count(passing)
    return calls.dropped if calls else 0


def _write(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Mapping[str, frozenset[str]],
    chosen: Filter,
    wanted: ExportRequest | None,
    request: AggregateRequest | None,
) -> int:
    """Export events or the table of a view, or make a table of groups; return the exit status."""
    if arguments.stacks is not None:
        return print_stacks(watch, arguments, events, chosen, wanted)
    if request is not None:
        return _aggregate(watch, arguments, events, request, chosen, wanted)
    if wanted is not None and arguments.view:
        from tui.cli.exports.view_export import run_view

        return run_view(watch, arguments, events, wanted, chosen)
    return _export(watch, arguments, wanted, events, chosen) if wanted is not None else DONE


def _aggregate(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Mapping[str, frozenset[str]],
    request: AggregateRequest,
    chosen: Filter,
    wanted: ExportRequest | None,
) -> int:
    """Print the table of groups, or write it to a file; return the exit status."""
    model, error = count_events(watch, arguments, events, request, chosen)
    status = write_aggregate(watch, model, arguments, wanted)
    if error is not None:
        raise error
    return status


def _export(
    watch: Watch,
    arguments: argparse.Namespace,
    wanted: ExportRequest,
    events: Mapping[str, frozenset[str]],
    chosen: Filter,
) -> int:
    try:
        with opened_watch_export(watch, wanted, events, chosen) as export:
            export.follow(watch, arguments, events, chosen)
    except REFUSALS as error:
        return print_export_error(wanted, error)
    return export.tell(as_json=arguments.json)


def _line(watch: Watch, record: Record, unasked: Container[str]) -> str:
    values = watch.event_fields.line(record, unasked)
    event = record.event.rpartition("/")[2]
    task = task_text(record.comm, record.pid, record.event)
    return f"{seconds(record.ts)} [{record.cpu:03}] {task} {event} {values}"
