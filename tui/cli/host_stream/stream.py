"""What comes of several hosts, shown or given out event by event, and what becomes of each host."""

from __future__ import annotations

import sys
from typing import NamedTuple

from events.export.formats.json_lines import json_object
from events.export.hosts import HostRecord, host_record, hosts_source
from events.export.source import Source
from events.stacks.stack import is_stack
from events.store.outage_mark import is_mark, task_text
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.hosts.merged_events import MergedEvent
from kernel.remote.silence import words
from kernel.session.arm_steps import Mode
from probes.check import armable
from probes.verdict import Verdict
from tui.cli.console.journal import Level, saying
from tui.cli.console.output import emit, line, plain
from tui.cli.console.verdict import show_verdict
from tui.cli.exports.event_writer import Export
from tui.cli.follow.follow import all_told
from tui.cli.follow.hist_printer import tell_tables_of
from tui.cli.follow.signals import whole
from tui.cli.host_stream.filter import HostsFilter
from tui.hosts.host_text import NOTHING_MISSING, HostAccount, account_of, clock_text
from tui.output.event_source import source_of
from tui.present.event_times import wall_clock
from tui.present.loss_totals import hit_lines
from tui.present.stack_rows import stack_lines


class _Told(NamedTuple):
    """What was said of a host."""

    state: HostState
    why: str
    stopped: int
    cuts: int = 0
    """How often its line came back."""
    silent: bool = False
    """Whether it owes an answer (`kernel.remote.silence`)."""


_NOTHING = _Told(HostState.WAITING, "", 0)
_ALL = hosts_source(())
"""What is known of all: each event says its own."""


class HostStream:
    """Prints events as they get their rows, and what becomes of hosts when it does."""

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
        """Take what is shown; `view`: the table of that view is given out in place of events."""
        self._fleet = fleet
        self._view = view
        self._filter = HostsFilter(fleet, text)
        self._utc = utc
        self._json = as_json
        self._most = most
        self._order = order
        self._counting = order.mode is Mode.COUNT
        self._next = 0
        self._sources: dict[int, Source] = {}
        self._told: dict[Host, _Told] = {}
        self._refusals: list[Verdict] = []
        """Those that were told."""
        self._wide = max(len(host.name) for host in fleet.hosts)
        self.export: Export | None = None
        """Takes the events in place of standard output."""
        self._began = False
        """What is given out may have columns: they are known when every host has come to something."""
        self._ending = False
        """Names of tasks come no more."""

    @property
    def enough(self) -> bool:
        """As many events as were asked for."""
        return bool(self._most) and self._filter.shown.total() >= self._most

    def tick(self) -> None:
        """Show what is final by now."""
        with whole():
            self._fleet.tick(collecting=self._began)
            self._begin()
            if self._began:
                self._new()
            self._tell()

    def _begin(self) -> None:
        """Find out whether events can be given out by now. Raises FilterRefused."""
        has_columns = self.export is None or self._fleet.settled
        self._began = self._began or (has_columns and self._filter.begin())

    def finish(self) -> None:
        """Show all that was read; nothing comes after it."""
        with whole():
            self._fleet.finish()
            self._ending = True
            if self._filter.begin():
                self._new()
            self._tell()

    def idle(self) -> None:
        """Some time has gone by."""
        if self.export is not None:
            self.export.idle()

    def account(self, *, as_json: bool) -> None:
        """Say what every host gave, what its hist triggers counted, and what was lost there."""
        for host in self._fleet.hosts:
            if host.state is HostState.LOST and self._told.get(host, _NOTHING).state is not HostState.LOST:
                _tell_why(host)  # given up with all the others, or silent as its probes were to be taken away
            about = self._account_of(host)
            if as_json:
                emit(about.json(host))
            else:
                print(line(f"probewright: {host.name}: {about.text}"), file=sys.stderr)
            aside = self.export is not None or bool(self._view)
            tell_tables_of(host, as_json=as_json, aside=aside, given_out=self._view == "histograms")
            tell_left(host)
            if self._counting:
                for text in () if as_json else hit_lines(about.hits, about.all_hits):
                    print(line(f"{host.name:<{self._wide}} {text}"))

        if self._filter.is_set and self._filter.of and self.export is None:
            print(f"probewright: {self._filter.text}", file=sys.stderr)

    def accounts(self) -> list[tuple[Host, HostAccount]]:
        """Return what every host gave."""
        return [(host, self._account_of(host)) for host in self._fleet.hosts]

    def _account_of(self, host: Host) -> HostAccount:
        of = self._filter.of[host.name] if self._filter.is_set else None
        return account_of(self._fleet, host, self._filter.shown[host.name], of)

    def _new(self) -> None:
        events = self._fleet.events
        for seq in range(max(self._next, events.first_seq), events.next_seq):
            if self.enough:
                break
            try:
                event = events.record(seq)
            except IndexError:  # its host's store had to drop it while it waited
                events.pass_over(seq)
                self._next = seq + 1
                continue
            is_wanted = is_mark(event.record) or event.event in self._source(event).about
            if is_wanted and not self._ending and self._filter.must_wait(event):
                break
            self._next = seq + 1
            if is_wanted or is_stack(event.record):
                self._show(event)
        if not self._filter.of_calls:
            events.let_go(self._next)

    def _source(self, event: MergedEvent) -> Source:
        known = self._sources.get(event.source)
        alone = is_mark(event.record) or is_stack(event.record)
        if known is None or not (alone or event.event in known.about):
            known = self._sources[event.source] = source_of(self._fleet.events.watch(event.source))
        return known

    def _show(self, event: MergedEvent) -> None:
        passes = self._filter.passes(event)
        if self._view:
            return
        if self.export is not None:
            record = self._whole(event, passes=passes)
            passing = self.export.passing
            if (passing.shows if is_stack(event.record) else passing.gives)(record):
                self.export.take(record)
        elif passes and self._json:
            emit(json_object(_ALL, self._whole(event)))
        elif passes:
            print(self._line(event))

    def _whole(self, event: MergedEvent, *, passes: bool = True) -> HostRecord:
        host = next(host for host in self._fleet.hosts if host.name == event.host)
        offset = host.offset(self._fleet.now())
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
        values = " ".join(f"{name}={value}" for name, value in watch.known.values(event.record))
        task = task_text(event.comm, event.pid, event.event)
        head = f"{wall_clock(event.ts, utc=self._utc)} {event.host:<{self._wide}} [{event.cpu:03}] {task}"
        late = "  (late)" if event.late else ""
        own = line(f"{head} {event.event.rpartition('/')[2]} {values}{late}")
        return "\n".join((own, *map(line, stack_lines(watch, event.record))))

    def _tell(self) -> None:
        """What became of hosts since the last time."""
        for host in self._fleet.hosts:
            cuts = host.watch.cuts if host.watch is not None else ()
            silent = host.watch.silent if host.watch is not None and host.state is HostState.ARMED else None
            now = _Told(host.state, host.why, len(host.stopped), len(cuts), silent is not None)
            before = self._told.get(host, _NOTHING)
            if now == before:
                continue
            self._told[host] = now
            if now.silent != before.silent and host.state is HostState.ARMED:
                _say(host, words(silent) if silent is not None else "heard again")
            for text in host.stopped[before.stopped :]:
                _say(host, f"{text}; --storm sets the limit")
            for cut in cuts[before.cuts :]:
                _say(host, cut.text)
            if (
                before.state is HostState.CUT
                and host.state in (HostState.OPEN, HostState.ARMED)
                and len(cuts) == before.cuts
            ):
                _say(host, NOTHING_MISSING)
            if host.state is HostState.ARMED and before.state is not HostState.ARMED:
                offset = host.offset(self._fleet.now())
                clock = f", clock {clock_text(offset)}" if offset else ""
                _say(host, f"armed, {host.kernel}{clock}")
                for note in host.done.notes:
                    _say(host, note)
            if host.why and (host.state, host.why) != (before.state, before.why):
                if host.state is HostState.REFUSED and host.refusal is not None:
                    self._tell_refused(host, host.refusal)
                else:
                    _tell_why(host)

    def _tell_refused(self, host: Host, refusal: Verdict) -> None:
        """In the words of a command for one host, once where several hosts say the same."""
        if refusal.command in _typed(self._order):  # else it is a preset's, which nobody has mistyped
            refusal = host.ask(lambda connection: all_told(refusal.command, refusal, connection)) or refusal
        why = f": {refusal.error.message}" if refusal.error is not None else ""
        _say(host, f"{host.state}: {refusal.command}{why}")
        if refusal not in self._refusals:
            self._refusals.append(refusal)
            with saying(Level.ERROR):
                show_verdict(refusal.command, refusal, [], sys.stderr)


def _typed(order: ArmRequest) -> set[str]:
    """The probes of an order that were no preset's, as verdicts may have them."""
    texts = [one for one in order.wanted if isinstance(one, str)]
    return {form for text in texts for form in (text, " ".join(text.split()), str(armable(text)))}


def _tell_why(host: Host) -> None:
    again = "; trying again" if host.state is HostState.CUT else ""
    _say(host, f"{host.state}: {host.why}{again}")
    if host.remedy:
        print(f"  {plain(host.remedy)}", file=sys.stderr)


def tell_left(host: Host) -> None:
    """Say on standard error what could not be taken away."""
    for left in host.left:
        _say(host, f"left behind: {left.removeprefix(f'{host.why}: ')}")  # why it was lost was said
        print(plain(f"  `clean -t {host.spec}` tries again"), file=sys.stderr)


def _say(host: Host, text: str) -> None:
    print(line(f"probewright: {host.name}: {text}"), file=sys.stderr, flush=True)
