"""`probewright run` on several hosts: one stream of events in order of time, each line with its host, and an account
of every host.

With --json every event is the object that a run on a single host prints (`events.export.formats.json_lines`), with
`host`, `time` (nanoseconds since 1970 on the clock of this machine, as a string), `uncertainty` (of `time` against
other hosts', in nanoseconds), and `late` where the event arrived after younger ones. At the end there is one object
for each host, with `state` and no `event`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Sequence

from events.store.host_merge import WINDOW_NS
from kernel.errors import ProbeRefused
from kernel.guards.row_bounds import HEADLESS_HOSTS
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.hosts.selection import selected_specs
from probes.command import parse_armable
from probes.plans.plan import Via
from probes.presets.errors import PresetError
from probes.syntax.parse_error import ParseError
from probes.verdict import Verdict
from tui.cli.args.options import is_aggregate
from tui.cli.console.output import plain
from tui.cli.exports.export_options import STDOUT, BadExportOption, ExportRequest, check_count, check_view
from tui.cli.exports.open_export import REFUSALS, print_export_error, print_refusal
from tui.cli.follow.clock import face_of
from tui.cli.follow.filter import OptionRefused, check_words, print_filter_error
from tui.cli.follow.follow import arm_options_of, limits_of
from tui.cli.follow.signals import Forced, SignalStop, flush_output, print_forced_stop, stoppable
from tui.cli.host_stream.export import hosts_export_request_of, opened_hosts_export
from tui.cli.host_stream.stream import HostStream
from tui.cli.specs.preset_specs import any_duration_note, requested_probes
from tui.cli.specs.translation import with_triggers
from tui.cli.status import DONE, PARTIAL, REFUSED, UNUSABLE, USAGE
from tui.present.event_times import ClockFace

_PATIENCE = 0.1
"""Seconds between two checks for new events."""
_LOOK_EVERY = 1.0
"""Seconds between two requests for losses, names and clocks."""
_SINGLE_HOST_OPTIONS = {"summary": "summary", "hist": "hist", "by": "by", "statistics": "sum", "stacks": "stacks"}
"""Options for a single host only, by the name of their value."""


class _NothingArmed(Exception):
    """Raised when no host armed a probe: there is nothing to export."""


def run(arguments: argparse.Namespace) -> int:
    """Arm on all hosts, print or export events, disarm on all hosts."""
    single_host = [
        option for name, option in _SINGLE_HOST_OPTIONS.items() if getattr(arguments, name) not in (None, False, [])
    ]
    if single_host and (not arguments.view or is_aggregate(arguments) or arguments.stacks is not None):
        print(f"probewright: --{single_host[0]} is for one host: give one --target, or take --json", file=sys.stderr)
        return USAGE
    try:
        wanted = hosts_export_request_of(arguments)
        check_count(arguments)
        check_words(arguments)
        check_view(arguments, wanted, several=True)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    except OptionRefused as error:
        print_filter_error(error)
        return USAGE
    order = order_of(arguments)
    fleet = _fleet_of(arguments)
    stream = _stream_of(arguments, fleet, order)
    failed = DONE
    try:
        with stoppable():
            if wanted is None or arguments.view:
                _show(fleet, order, stream, arguments.seconds)
            else:
                failed = _give(fleet, order, stream, arguments, wanted)
    except OptionRefused as error:
        print_filter_error(error)
        failed = USAGE
    finally:
        fleet.close()
    if failed and all(host.watch is None for host in fleet.hosts):
        return failed  # rejected before any host was opened
    if wanted is not None and arguments.view and not failed:
        failed = _give_table(fleet, stream, wanted, arguments)
    stream.account(as_json=arguments.json and (wanted is None or wanted.path != STDOUT))
    return failed or status_of(fleet.hosts)


def _fleet_of(arguments: argparse.Namespace) -> Fleet:
    """Return the hosts that were named, none of them opened."""
    return Fleet(
        selected_specs(arguments.targets, arguments.groups),
        via=Via(arguments.via),
        limits=limits_of(arguments),
        window=window_of(arguments.window),
        patience=arguments.reconnect,
        bounds=HEADLESS_HOSTS,
    )


def _stream_of(arguments: argparse.Namespace, fleet: Fleet, order: ArmRequest) -> HostStream:
    """Return the events of the hosts, as they are asked for."""
    return HostStream(
        fleet,
        order,
        as_json=arguments.json,
        most=arguments.count or 0,
        utc=face_of(arguments) is ClockFace.UTC,  # seconds of different kernels can't be compared
        text=arguments.filter.strip(),
        view=arguments.view or "",
    )


def _show(fleet: Fleet, order: ArmRequest, stream: HostStream, seconds: float | None) -> None:
    """Follow events until the end, then show all that were read."""
    with contextlib.suppress(SignalStop):
        fleet.open()
        fleet.arm(order)
        _follow(fleet, stream, seconds)
    for _ in range(2):  # a second signal may arrive meanwhile, once
        with contextlib.suppress(SignalStop):
            stream.finish()
            break


def _give(
    fleet: Fleet, order: ArmRequest, stream: HostStream, arguments: argparse.Namespace, wanted: ExportRequest
) -> int:
    """Export events into a file or a sink; return the exit status."""
    try:
        with opened_hosts_export(fleet, wanted, filtered=bool(arguments.filter.strip())) as export:
            stream.export = export
            try:
                _show(fleet, order, stream, arguments.seconds)
            except Forced:
                print_forced_stop()
            if not any(host.done.lines for host in fleet.hosts):
                raise _NothingArmed
            export.end()
    # the reason was printed for each host; an empty file would be in the way of the next attempt
    except _NothingArmed:
        return DONE
    except REFUSALS as error:
        return print_export_error(wanted, error)
    return export.tell(as_json=arguments.json)


def _give_table(fleet: Fleet, stream: HostStream, wanted: ExportRequest, arguments: argparse.Namespace) -> int:
    """Write the table of a view after all hosts were closed; return the exit status."""
    from tui.cli.exports.view_export import write_table
    from tui.hosts.tables import HostsTable, histograms_of  # imports code that measures text for a screen

    if not any(host.done.lines for host in fleet.hosts):
        return DONE  # the reason was printed for each host; an empty file would be in the way of the next attempt
    is_hosts = arguments.view == HostsTable.name
    table = HostsTable(stream.accounts()) if is_hosts else histograms_of(fleet.hosts)
    try:
        return write_table(table, wanted, as_json=arguments.json)
    except REFUSALS as error:
        return print_export_error(wanted, error)


def window_of(seconds: float | None) -> int:
    """Return the nanoseconds for which an event waits for older ones of other hosts, from the seconds of --window."""
    return int(seconds * 1e9) if seconds else WINDOW_NS


def order_of(arguments: argparse.Namespace) -> ArmRequest:
    """Return the probes to arm, checked as far as possible without a kernel. Raises PresetError, ProbeRefused."""
    wanted = requested_probes(arguments)
    for spec in (one for one in wanted if isinstance(one, str)):
        try:
            parse_armable(spec)
        except ParseError as error:
            raise ProbeRefused(Verdict(" ".join(spec.split()), error.refusal)) from None
    if note := any_duration_note(wanted):
        print(f"probewright: {plain(note)}", file=sys.stderr)
    options = arm_options_of(arguments)
    triggers_of_probes = {arguments.counting.get(one, ()) if isinstance(one, str) else () for one in wanted}
    if len(triggers_of_probes) > 1:
        note = with_triggers(arguments.counting)
        raise PresetError(f"on several hosts a trigger is for all probes: run them apart, as {note}")
    return ArmRequest(
        wanted, options.at_any_rate, options.mode, (*options.triggers, *next(iter(triggers_of_probes), ()))
    )


def status_of(hosts: Sequence[Host]) -> int:
    """Return the exit status: all hosts succeeded, some did, or none and why."""
    if any(host.undo_errors for host in hosts):
        return REFUSED
    failed = [host for host in hosts if host.state.failed]
    if not failed:
        return DONE
    if len(failed) < len(hosts):
        return PARTIAL
    return REFUSED if any(host.state is HostState.REFUSED for host in failed) else UNUSABLE


def _follow(fleet: Fleet, stream: HostStream, seconds: float | None) -> None:
    """Print events until the time is over (counted from when all hosts are settled), enough were printed, or no probe
    is armed.
    """
    has_changed = threading.Event()
    fleet.on_change = has_changed.set
    looked_at = 0.0
    end = float("inf")
    while (now := time.monotonic()) < end:
        has_changed.wait(min(_PATIENCE, end - now))
        has_changed.clear()
        if now - looked_at >= _LOOK_EVERY:
            looked_at = now
            fleet.look()
        stream.tick()
        flush_output()
        stream.idle()
        if stream.has_reached_count or (fleet.settled and not fleet.armed):
            break
        if fleet.settled and seconds and end == float("inf"):
            end = now + seconds
