"""Print or export the merged events of several hosts, and report changes of each host's state."""

from __future__ import annotations

import sys
from typing import NamedTuple

from events.export.formats.json_lines import json_object
from events.export.hosts import HostRecord, host_record, hosts_source
from events.export.source import ExportSource
from events.stacks.stack import is_stack
from events.store.outage_mark import is_mark, task_text
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.hosts.merged_events import MergedEvent
from kernel.remote.silence import words
from kernel.session.probe_steps import Mode
from probes.command import parse_armable
from probes.verdict import Verdict
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.output import emit, line, plain
from tui.cli.console.verdict import show_verdict
from tui.cli.exports.event_writer import Export
from tui.cli.follow.follow import rejection_with_corrections
from tui.cli.follow.signals import signals_deferred
from tui.cli.host_stream.filter import HostsFilter
from tui.cli.tables.hist_printer import print_host_tables
from tui.hosts.host_text import NOTHING_MISSING, HostAccount, account_of, clock_text
from tui.output.event_source import source_of
from tui.present.event_times import wall_clock
from tui.present.loss_totals import hit_lines
from tui.present.stack_rows import stack_lines


class _Reported(NamedTuple):
    """Last reported state of a host."""

    state: HostState
    reason: str
    stopped: int
    outages: int = 0
    """Number of outages."""
    is_overdue: bool = False
    """True if an answer is overdue (`kernel.remote.silence`)."""


_UNREPORTED = _Reported(HostState.WAITING, "", 0)
_ALL_SOURCES = hosts_source(())
"""Source without fields of its own: each event brings its own source."""


class HostStream:
    """Prints events when they get their rows, and reports changes of hosts at the same time."""

    def __init__(
        self,
        fleet: Fleet,
        order: ArmRequest,
        *,
        as_json: bool,
        most: int,
        utc: bool = False,
        text: str = "",
        view: str = "",
    ) -> None:
        """Set what to print; `view`: the table of that view is written in place of events."""
        self._fleet = fleet
        self._view = view
        self._filter = HostsFilter(fleet, text)
        self._utc = utc
        self._json = as_json
        self._most = most
        self._order = order
        self._counting = order.mode is Mode.COUNT
        self._next = 0
        self._sources: dict[int, ExportSource] = {}
        self._reported: dict[Host, _Reported] = {}
        self._refusals: list[Verdict] = []
        """Rejections that were printed in full."""
        self._wide = max(len(host.name) for host in fleet.hosts)
        self.export: Export | None = None
        """Export that takes the events in place of standard output."""
        self._can_begin = False
        """True once output may begin: the columns of an export are known when every host is settled."""
        self._ending = False
        """True when no more names of tasks will come."""

    @property
    def has_reached_count(self) -> bool:
        """True if as many events were printed as were requested."""
        return bool(self._most) and self._filter.passed.total() >= self._most

    def tick(self) -> None:
        """Print the events that are final by now."""
        with signals_deferred():
            self._fleet.tick(collecting=self._can_begin)
            self._begin()
            if self._can_begin:
                self._print_new()
            self._report_changes()

    def _begin(self) -> None:
        """Check whether output can begin. Raises OptionRefused."""
        has_columns = self.export is None or self._fleet.settled
        self._can_begin = self._can_begin or (has_columns and self._filter.begin())

    def finish(self) -> None:
        """Print all events that were read; nothing may follow."""
        with signals_deferred():
            self._fleet.finish()
            self._ending = True
            if self._filter.begin():
                self._print_new()
            self._report_changes()

    def idle(self) -> None:
        """Let the export do periodic work."""
        if self.export is not None:
            self.export.idle()

    def account(self, *, as_json: bool) -> None:
        """Print for every host its number of events, its hist triggers and its losses."""
        for host in self._fleet.hosts:
            if host.state is HostState.LOST and self._reported.get(host, _UNREPORTED).state is not HostState.LOST:
                # given up together with all others, or silent while its probes were to be disarmed
                _report_reason(host)
            about = self._account_of(host)
            if as_json:
                emit(about.json(host))
            else:
                print(line(f"probewright: {host.name}: {about.text}"), file=sys.stderr)
            aside = self.export is not None or bool(self._view)
            print_host_tables(host, as_json=as_json, aside=aside, given_out=self._view == "histograms")
            print_leftovers(host)
            if self._counting:
                for text in () if as_json else hit_lines(about.hits, about.all_hits):
                    print(line(f"{host.name:<{self._wide}} {text}"))

        if self._filter.is_set and self._filter.of and self.export is None:
            print(f"probewright: {self._filter.text}", file=sys.stderr)

    def accounts(self) -> list[tuple[Host, HostAccount]]:
        """Return the account of every host."""
        return [(host, self._account_of(host)) for host in self._fleet.hosts]

    def _account_of(self, host: Host) -> HostAccount:
        of = self._filter.of[host.name] if self._filter.is_set else None
        return account_of(self._fleet, host, self._filter.passed[host.name], of)

    def _print_new(self) -> None:
        events = self._fleet.events
        for seq in range(max(self._next, events.first_seq), events.next_seq):
            if self.has_reached_count:
                break
            try:
                event = events.record(seq)
            except IndexError:  # the store of its host had to drop the event while it waited
                events.pass_over(seq)
                self._next = seq + 1
                continue
            is_wanted = is_mark(event.record) or event.event in self._source(event).probe_notes
            if is_wanted and not self._ending and self._filter.must_wait(event):
                break
            self._next = seq + 1
            if is_wanted or is_stack(event.record):
                self._show(event)
        if not self._filter.of_calls:
            events.let_go(self._next)

    def _source(self, event: MergedEvent) -> ExportSource:
        known = self._sources.get(event.source)
        alone = is_mark(event.record) or is_stack(event.record)
        if known is None or not (alone or event.event in known.probe_notes):
            known = self._sources[event.source] = source_of(self._fleet.events.watch(event.source))
        return known

    def _show(self, event: MergedEvent) -> None:
        passes = self._filter.passes(event)
        if self._view:
            return
        if self.export is not None:
            record = self._host_record(event, passes=passes)
            passing = self.export.export_filter
            if (passing.shows if is_stack(event.record) else passing.gives)(record):
                self.export.take(record)
        elif passes and self._json:
            emit(json_object(_ALL_SOURCES, self._host_record(event)))
        elif passes:
            print(self._line(event))

    def _host_record(self, event: MergedEvent, *, passes: bool = True) -> HostRecord:
        host = next(host for host in self._fleet.hosts if host.name == event.host)
        offset = host.offset(self._fleet.clock())
        return host_record(
            event.record,
            host=event.host,
            time=event.ts,
            uncertainty=offset.uncertainty if offset is not None else None,
            late=event.late,
            source=self._source(event),
            passes=passes,
        )

    def _line(self, event: MergedEvent) -> str:
        watch = self._fleet.events.watch(event.source)
        values = watch.event_fields.line(event.record)
        task = task_text(event.comm, event.pid, event.event)
        head = f"{wall_clock(event.ts, utc=self._utc)} {event.host:<{self._wide}} [{event.cpu:03}] {task}"
        late = "  (late)" if event.late else ""
        own = line(f"{head} {event.event.rpartition('/')[2]} {values}{late}")
        return "\n".join((own, *map(line, stack_lines(watch, event.record))))

    def _report_changes(self) -> None:
        """Print the changes of hosts since the last call."""
        for host in self._fleet.hosts:
            outages = host.watch.outages if host.watch is not None else ()
            silent = host.watch.overdue_seconds if host.watch is not None and host.state is HostState.ARMED else None
            now = _Reported(host.state, host.reason, len(host.stopped), len(outages), silent is not None)
            before = self._reported.get(host, _UNREPORTED)
            if now == before:
                continue
            self._reported[host] = now
            if now.is_overdue != before.is_overdue and host.state is HostState.ARMED:
                _print_line(host, words(silent) if silent is not None else "heard again")
            for text in host.stopped[before.stopped :]:
                _print_line(host, f"{text}; --storm sets the limit")
            for outage in outages[before.outages :]:
                _print_line(host, outage.text)
            if (
                before.state is HostState.CUT
                and host.state in (HostState.OPEN, HostState.ARMED)
                and len(outages) == before.outages
            ):
                _print_line(host, NOTHING_MISSING)
            if host.state is HostState.ARMED and before.state is not HostState.ARMED:
                offset = host.offset(self._fleet.clock())
                clock = f", clock {clock_text(offset)}" if offset else ""
                _print_line(host, f"armed, {host.kernel}{clock}")
                for note in host.done.notes:
                    _print_line(host, note)
            if host.reason and (host.state, host.reason) != (before.state, before.reason):
                if host.state is HostState.REFUSED and host.refusal is not None:
                    self._report_rejection(host, host.refusal)
                else:
                    _report_reason(host)

    def _report_rejection(self, host: Host, refusal: Verdict) -> None:
        """Print a rejection as a command for one host does, once if several hosts have the same."""
        if refusal.command in _typed_forms(self._order):  # else the probe is a preset's, and nobody mistyped it
            refusal = (
                host.ask(lambda planner: rejection_with_corrections(refusal.command, refusal, planner)) or refusal
            )
        why = f": {refusal.error.message}" if refusal.error is not None else ""
        _print_line(host, f"{host.state}: {refusal.command}{why}")
        if refusal not in self._refusals:
            self._refusals.append(refusal)
            with at_priority(Level.ERROR):
                show_verdict(refusal.command, refusal, [], sys.stderr)


def _typed_forms(order: ArmRequest) -> set[str]:
    """Return the probes of a request that are no preset's, in each form that a verdict may have."""
    texts = [one for one in order.specifications if isinstance(one, str)]
    return {form for text in texts for form in (text, " ".join(text.split()), str(parse_armable(text)))}


def _report_reason(host: Host) -> None:
    again = "; trying again" if host.state is HostState.CUT else ""
    _print_line(host, f"{host.state}: {host.reason}{again}")
    if host.remedy:
        print(f"  {plain(host.remedy)}", file=sys.stderr)


def print_leftovers(host: Host) -> None:
    """Print on standard error what could not be disarmed."""
    for left in host.undo_errors:
        # the reason for the loss was printed already
        _print_line(host, f"left behind: {left.removeprefix(f'{host.reason}: ')}")
        print(plain(f"  `clean -t {host.spec}` tries again"), file=sys.stderr)


def _print_line(host: Host, text: str) -> None:
    print(line(f"probewright: {host.name}: {text}"), file=sys.stderr, flush=True)
