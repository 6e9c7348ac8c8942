"""`probewright run` on several hosts: one stream in order of time, each line with its host, each host accounted for.

With --json every event is the object that one host alone would give (`events.export.jsonlines`), with `host`, `time`
(nanoseconds since 1970 on the clock of this machine), `uncertainty` (of `time` against other hosts', in nanoseconds),
and `late` where it came after younger ones. At the end there is one object a host, with `state` and no `event`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from events.export.jsonlines import json_object
from events.export.source import Source
from events.hosts import WINDOW_NS
from kernel.arming import Mode
from kernel.errors import ProbeRefused
from kernel.hosts.chosen import specs_of
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, State
from kernel.hosts.merged import MergedEvent
from kernel.hosts.order import Chosen, Order
from kernel.line_cut import EVENT
from probes.check import armable
from probes.presets.errors import PresetError
from probes.presets.substitute import values_of as checked_values
from probes.syntax.parse_error import ParseError
from probes.verdict import Verdict
from tui.cli.main import DONE, PARTIAL, REFUSED, UNUSABLE, USAGE
from tui.cli.output import emit, line, plain
from tui.cli.presets import found, is_name, values_of
from tui.cli.stopping import Stopped, give_out, stoppable, whole
from tui.cli.watching import how_of, limits_of
from tui.event_export import source_of
from tui.host_lines import Account, account_of, clock_text, wall_clock

_PATIENCE = 0.1
"""Seconds between two looks at what came."""
_LOOK_EVERY = 1.0
"""Seconds between two questions for losses, names and clocks."""
_ALONE = ("summary", "hist", "export", "output")
"""Options that are about one host."""


def run(arguments: argparse.Namespace) -> int:
    """Arm on all, print what comes, take it away from all."""
    alone = [name for name in _ALONE if getattr(arguments, name) not in (None, False)]
    if alone:
        print(f"probewright: --{alone[0]} is for one host: give one --target, or take --json", file=sys.stderr)
        return USAGE
    order = order_of(arguments)
    specs = specs_of(arguments.targets, arguments.groups)
    fleet = Fleet(
        specs, limits=limits_of(arguments), window=window_of(arguments.window), patience=arguments.reconnect
    )
    stream = Stream(fleet, order, as_json=arguments.json, most=arguments.count or 0)
    try:
        with stoppable():
            fleet.open()
            fleet.arm(order)
            _follow(fleet, stream, arguments.seconds)
        for _ in range(2):  # a signal may come meanwhile, once
            with contextlib.suppress(Stopped):
                stream.finish()
                break
    finally:
        fleet.close()
    stream.account()
    return status_of(fleet.hosts)


def window_of(seconds: float | None) -> int:
    """Nanoseconds that an event waits for older ones of other hosts; of --window."""
    return int(seconds * 1e9) if seconds else WINDOW_NS


def order_of(arguments: argparse.Namespace) -> Order:
    """What is to be armed, checked as far as no kernel is needed. Raises PresetError, ProbeRefused."""
    given = values_of(arguments.parameters)
    names = [word for word in arguments.specs if is_name(word)]
    if given and len(names) != 1:
        raise PresetError("-p gives the values of one preset: name one")
    wanted: list[Chosen | str] = []
    for word in arguments.specs:
        if is_name(word):
            preset = found(word)
            checked_values(preset, given)
            wanted.append(Chosen(preset, given))
            continue
        try:
            armable(word)
        except ParseError as error:
            raise ProbeRefused(Verdict(" ".join(word.split()), error.refusal)) from None
        wanted.append(word)
    how = how_of(arguments)
    return Order(tuple(wanted), how.at_any_rate, how.mode, how.triggers)


def status_of(hosts: Sequence[Host]) -> int:
    """What the process says at its end: all did it, some did, or none and why."""
    if any(host.left for host in hosts):
        return REFUSED
    failed = [host for host in hosts if host.state.failed]
    if not failed:
        return DONE
    if len(failed) < len(hosts):
        return PARTIAL
    return REFUSED if any(host.state is State.REFUSED for host in failed) else UNUSABLE


def _follow(fleet: Fleet, stream: Stream, seconds: float | None) -> None:
    """Until the time is over (which begins when all hosts came to something), enough was shown, or none is left."""
    came = threading.Event()
    fleet.on_change = came.set
    looked = 0.0
    end = float("inf")
    while (now := time.monotonic()) < end:
        came.wait(min(_PATIENCE, end - now))
        came.clear()
        if now - looked >= _LOOK_EVERY:
            looked = now
            fleet.look()
        stream.tick()
        give_out()
        if stream.enough or (fleet.settled and not fleet.armed):
            break
        if fleet.settled and seconds and end == float("inf"):
            end = now + seconds


class _Told(NamedTuple):
    """What was said of a host."""

    state: State
    why: str
    stopped: int
    cuts: int = 0
    """How often its line came back."""


_NOTHING = _Told(State.WAITING, "", 0)


class Stream:
    """Prints events as they get their rows, and what becomes of hosts when it does."""

    def __init__(self, fleet: Fleet, order: Order, *, as_json: bool, most: int) -> None:
        self._fleet = fleet
        self._json = as_json
        self._most = most
        self._counting = order.mode is Mode.COUNT
        self._number = 0
        self._next = 0
        self._shown: dict[str, int] = {}
        self._sources: dict[int, Source] = {}
        self._told: dict[Host, _Told] = {}
        self._wide = max(len(host.name) for host in fleet.hosts)

    @property
    def enough(self) -> bool:
        """As many events as were asked for."""
        return bool(self._most) and self._number >= self._most

    def tick(self) -> None:
        """Show what is final by now."""
        with whole():
            self._fleet.tick()
            self._new()
            self._tell()

    def finish(self) -> None:
        """Show all that was read; nothing comes after it."""
        with whole():
            self._fleet.finish()
            self._new()
            self._tell()

    def account(self) -> None:
        """Say what every host gave, and what was lost there."""
        for host in self._fleet.hosts:
            about = account_of(self._fleet, host, self._shown.get(host.name, 0))
            if self._json:
                emit(about.json(host))
            else:
                print(line(f"probewright: {host.name}: {about.text}"), file=sys.stderr)
            tell_left(host)
            if self._counting:
                self._tell_hits(host, about)

    def _tell_hits(self, host: Host, about: Account) -> None:
        for path, number in about.hits.items() if not self._json else ():
            print(line(f"{host.name:<{self._wide}} {path.rpartition('/')[2]}: {number:,} hits"))

    def _new(self) -> None:
        events = self._fleet.events
        for seq in range(max(self._next, events.first_seq), events.next_seq):
            if self.enough:
                break
            self._next = seq + 1
            try:
                event = events.record(seq)
            except IndexError:  # its host's store had to drop it while it waited
                events.pass_over(seq)
                continue
            if event.event == EVENT or event.event in self._source(event).about:
                self._number += 1
                self._shown[event.host] = self._shown.get(event.host, 0) + 1
                self._show(event)

    def _source(self, event: MergedEvent) -> Source:
        known = self._sources.get(event.source)
        if known is None or not (event.event == EVENT or event.event in known.about):
            known = self._sources[event.source] = source_of(self._fleet.events.watch(event.source))
        return known

    def _show(self, event: MergedEvent) -> None:
        if self._json:
            told: dict[str, Any] = {"host": event.host, "time": event.ts}
            host = next(host for host in self._fleet.hosts if host.name == event.host)
            offset = host.offset(self._fleet.now())
            if offset is not None:
                told["uncertainty"] = offset.uncertainty
            if event.late:
                told["late"] = True
            emit(told | json_object(self._source(event), event.record))
            return
        watch = self._fleet.events.watch(event.source)
        values = " ".join(f"{name}={value}" for name, value in watch.known.values(event.record))
        head = f"{wall_clock(event.ts)} {event.host:<{self._wide}} [{event.cpu:03}] {event.comm}-{event.pid}"
        late = "  (late)" if event.late else ""
        print(line(f"{head} {event.event.rpartition('/')[2]} {values}{late}"))

    def _tell(self) -> None:
        """What became of hosts since the last time."""
        for host in self._fleet.hosts:
            cuts = host.watch.cuts if host.watch is not None else ()
            now = _Told(host.state, host.why, len(host.stopped), len(cuts))
            before = self._told.get(host, _NOTHING)
            if now == before:
                continue
            self._told[host] = now
            for text in host.stopped[before.stopped :]:
                _say(host, f"{text}; --storm sets the limit")
            for cut in cuts[before.cuts :]:
                _say(host, cut.text)
            if host.state is State.ARMED and before.state is not State.ARMED:
                offset = host.offset(self._fleet.now())
                clock = f", clock {clock_text(offset)}" if offset else ""
                _say(host, f"armed, {host.kernel}{clock}")
                for note in host.done.notes:
                    _say(host, note)
            if host.why:
                again = "; trying again" if host.state is State.CUT else ""
                _say(host, f"{host.state}: {host.why}{again}")
                if host.remedy:
                    print(f"  {plain(host.remedy)}", file=sys.stderr)


def tell_left(host: Host) -> None:
    """Say on standard error what could not be taken away."""
    for left in host.left:
        _say(host, f"left behind: {left}")
        print(plain(f"  `clean -t {host.spec}` tries again"), file=sys.stderr)


def _say(host: Host, text: str) -> None:
    print(line(f"probewright: {host.name}: {text}"), file=sys.stderr, flush=True)
