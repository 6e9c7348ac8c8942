"""What `run` and `record` share: arm, follow until told to stop, take away, and account for what was lost."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Collection, Container, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from events.export.filtered import ExportFilter
from events.record import Record
from kernel.cleanup.undo import words_of
from kernel.connection.planner import Connection
from kernel.connection.text_note import text_note
from kernel.errors import ProbeRefused, SettingChanged, TargetLost
from kernel.guards.limits import Limits
from kernel.guards.loss_counts import LossCounts
from kernel.hosts.arm_request import judged
from kernel.recording.replay import left_out
from kernel.session.arm_steps import Mode
from kernel.session.session import Armed
from kernel.watch.reconnect import what_becomes
from kernel.watch.watch import Watch
from probes.check import armable
from probes.command import Armable
from probes.hist.unfiltered import trigger_notes
from probes.plans.duplicates import apart, told_again
from probes.plans.plan import DEFAULT_GROUP
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.cli.console.journal import Level, saying
from tui.cli.console.once import is_news
from tui.cli.console.output import plain
from tui.cli.console.silence import telling_silence
from tui.cli.console.waiting import waiting
from tui.cli.follow.attach_text import told
from tui.cli.follow.clock import keep_clock
from tui.cli.follow.event_printer import EventPrinter
from tui.cli.follow.reconnect import comes_back, despite_cuts, tell_cuts
from tui.cli.follow.signals import Forced, SignalStop, give_out, tell_forced, whole
from tui.present.loss_totals import hit_lines, lost_of

if TYPE_CHECKING:
    from tui.filter.filter import Filter

NO_PATIENCE = argparse.Namespace(reconnect=0)
"""A line that is cut is not tried again."""
_PATIENCE = 0.2
"""Seconds between two looks at the clock."""
_SOON = 0.04
_NAMES_EVERY = 1.0
"""Seconds between two looks at the names of tasks."""


def probes_of(specs: list[str], connection: Connection) -> list[Armable]:
    """Read and check all before anything is armed; one that is there twice is told and given once.

    Raises ProbeRefused with the first that is no good.
    """
    for spec in specs:
        verdict = judged(spec, connection)
        if not verdict.ok:
            raise ProbeRefused(all_told(spec, verdict, connection))
    fresh, again = apart(map(armable, specs))
    for probe in again:
        print(f"probewright: {plain(told_again(probe))}", file=sys.stderr)
    return list(fresh)


def all_told(spec: str, verdict: Verdict, connection: Connection) -> Verdict:
    """A refusal of a text that was typed, with all that helps."""
    return told(connection, spec, verdict, lambda text: judged(text, connection))


def limits_of(arguments: argparse.Namespace) -> Limits:
    """How fast a probe may be, as it was asked for."""
    asked = {"max_rate": arguments.max_rate, "storm": arguments.storm}
    return Limits(**{name: value for name, value in asked.items() if value is not None})


class ArmOptions(NamedTuple):
    """How probes are armed."""

    at_any_rate: bool = False
    mode: Mode = Mode.RECORD
    triggers: tuple[str, ...] = ()
    counting: Mapping[Armable, tuple[str, ...]] = {}
    """Triggers of single probes, beside those of all."""

    def triggers_of(self, probe: Armable) -> tuple[str, ...]:
        """Return the triggers that a probe is armed with."""
        return (*self.triggers, *self.counting.get(probe, ()))


def how_of(arguments: argparse.Namespace) -> ArmOptions:
    """As it was asked for."""
    mode = Mode.COUNT if arguments.count_only else Mode.RECORD
    counting = {armable(spec): triggers for spec, triggers in arguments.counting.items()}
    return ArmOptions(arguments.force, mode, tuple(arguments.triggers), counting)


def importing(*modules: str) -> threading.Thread:
    """Import what keeps events, numpy with it, while the target is being reached: ahead of the first event.

    In a thread, where no signal raises: numpy tells of an interrupted import as of a broken installation.
    """
    names = modules or ("events.store.store",)
    thread = threading.Thread(target=lambda: list(map(importlib.import_module, names)), daemon=True)
    thread.start()
    return thread


def arm(
    watch: Watch,
    probes: list[Armable],
    how: ArmOptions = ArmOptions(),  # noqa: B008 - frozen
    arguments: argparse.Namespace = NO_PATIENCE,
) -> Mapping[str, frozenset[str]]:
    """Arm them in order, also where the line is cut meanwhile (see `despite_cuts`); says what this kernel lacks.

    Gives the paths of their events, each with the fields that nobody asked for: a recording holds more.
    Raises ProbeRefused, TooFast, TargetUnusable, TargetLost.
    """
    importing().join()
    # What takes long is to arm: `follow` has all of them recorded from one time on, and counts its own from there.
    despite_cuts(watch, arguments, partial(_held, watch))
    events: dict[str, frozenset[str]] = {}
    for probe in probes:
        before = frozenset(one.key for one in watch.armed)
        try:
            with waiting(f"reading types, arming {probe.subject}"):
                armed = despite_cuts(watch, arguments, partial(_armed, watch, probe, how, before), events)
        except CannotLower as error:
            refused = Verdict(str(probe), error.refusal)
            raise ProbeRefused(all_told(str(probe), refused, watch.connection)) from None
        if armed.measured is not None and armed.measured.hits:
            text = armed.measured.text(armed.plan, counting=how.mode is Mode.COUNT)
            print(f"probewright: {plain(probe.subject)}: {text}", file=sys.stderr)
        notes = (*trigger_notes(armed.plan, how.triggers_of(probe)), *text_note(watch.connection.target, armed))
        for loss in (*armed.plan.losses, *notes):
            print(f"probewright: {plain(loss)}", file=sys.stderr)
        wanted = armed.plan
        if watch.connection.holds_events:
            wanted = watch.connection.lower(probe, DEFAULT_GROUP)
        for path, fields in left_out(armed.plan, wanted).items():
            events[path] = events.get(path, fields) & fields
    return events


def _held(watch: Watch) -> None:
    """Open the session, and record nothing yet."""
    with whole():  # what is opened by half is in nobody's list, and would stay
        watch.hold_recording()


def _armed(watch: Watch, probe: Armable, how: ArmOptions, before: Container[object]) -> Armed:
    """Arm one; not where it was armed when the line was cut, and came back with those of `before`."""
    there = next((one for one in watch.armed if one.key not in before), None)
    if there is not None:
        return there
    with whole():  # what is armed by half is in nobody's list, and would stay
        return watch.arm(probe, at_any_rate=how.at_any_rate, mode=how.mode, triggers=how.triggers_of(probe))


def follow(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    show: Callable[[Record], None],
    count: Callable[[], int] | None = None,
    idle: Callable[[], None] = lambda: None,
    passing: ExportFilter | None = None,
    chosen: Filter | None = None,
    number: Callable[[], int] | None = None,
) -> int:
    """Show events until the time or the number is reached, or a `stoppable` block is stopped; gives their number.

    What was read by then is shown too, and no more is read. With a filter (`passing`, made of `chosen`) those count
    that pass, or what `number` counts. With `count` none is shown: it is called for what is new, and gives how many
    there were in all. `idle` is called a few times a second, whether events come or not. An end that is `Forced` is
    told, and nothing is shown after it.
    """
    showing = EventPrinter(watch, arguments.count or 0, events, show, count, passing, chosen, number)
    forced = False
    try:
        with telling_silence(watch):
            _show_all(watch, arguments, events, showing, idle)
    except Forced:
        forced = True
        tell_forced()
    if (error := watch.lost) is not None and not showing.enough:
        watch.mark_end()
        if not forced:
            showing.finish()  # the mark has its row
        raise error
    return showing.number


def _show_all(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    showing: EventPrinter,
    idle: Callable[[], None],
) -> None:
    with contextlib.suppress(SignalStop):
        despite_cuts(watch, arguments, watch.record_together, events)
        end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
        watch.hurry(end)
        _until_over(watch, arguments, end, showing, idle)
        while watch.ended and not showing.enough and comes_back(watch, arguments, events, end):
            _until_over(watch, arguments, end, showing, idle)
    watch.hurry(time.monotonic())
    for _ in range(2):  # a signal may come meanwhile, once
        with contextlib.suppress(SignalStop):
            if not showing.enough:
                showing.finish()
            with whole():  # here another signal still ends it, where nobody reads; at the exit none does
                sys.stdout.flush()
            break


def _until_over(
    watch: Watch, arguments: argparse.Namespace, end: float, showing: EventPrinter, idle: Callable[[], None]
) -> None:
    came = threading.Event()
    watch.on_data = came.set
    asked, pause = 0.0, _PATIENCE
    while (now := time.monotonic()) < end:
        # What comes may be held back until it is sure that no other CPU has older events: then one looks again soon.
        pause = _SOON if came.wait(min(pause, end - now)) or showing.waiting else _PATIENCE
        came.clear()
        if due := now - asked >= _NAMES_EVERY:
            with contextlib.suppress(TargetLost):  # the pump tells
                watch.know_names(watch.names(homes=asked > 0))
            keep_clock(watch, arguments)
            asked = now
        if showing.wants_names:
            showing.learn_names()
        showing.tick()
        idle()
        give_out()
        if showing.enough or watch.ended:
            break
        if due and watch.connection.target.is_kernel:
            with contextlib.suppress(TargetLost):
                watch.counts()  # and a storm is stopped
                tell_stopped(watch)


def account(watch: Watch, unprinted: int = 0, unwritten: int = 0, unshown: int = 0, unvalued: int = 0) -> None:
    """Say on standard error what did not reach us, where something did not.

    Args:
        watch: what is armed.
        unprinted: calls, or events of calls, that were dropped before they were printed.
        unwritten: events that a recording had no time for.
        unshown: events that had to go before they were printed or given out.
        unvalued: rows of a call graph that were printed without values, as the events that had them were dropped.
    """
    tell_cuts(watch)
    counts = last_counts(watch)
    if counts is None or watch.store is None:
        return
    lost = lost_of(watch, counts)
    losses = (
        (lost.lost, "events lost in the ring buffer"),
        (lost.missed, "calls missed by the probe"),
        (lost.dropped, "events dropped by probewright"),
        (counts.read_errors, "reads of the ring buffer refused by the kernel"),
        (lost.unread, "events that could not be decoded"),
        (watch.store.late, "events came late: they stand behind younger ones"),
        (unprinted, "calls or events of calls dropped before they were printed"),
        (unvalued, "calls printed without values: their events were dropped before"),
        (unshown, "events came too fast to be given out: they are left out"),
        (unwritten, "events came too fast to be written: they are missing in the recording"),
    )
    for number, what in losses:
        if number:
            with saying(Level.WARNING):
                print(f"probewright: {number:,} {what}", file=sys.stderr)


def last_counts(watch: Watch) -> LossCounts | None:
    """What was lost; where the line was cut at the end, as of the last look: what came is given out all the same."""
    try:
        return watch.counts()
    except TargetLost as error:
        why = f"{plain(str(error))}: " if is_news(error) else ""
        print(f"probewright: {why}losses are told as of before", file=sys.stderr)
        return watch.last_counts


def tell_none(watch: Watch) -> None:
    """Say on standard error that no event came, in the words in which several hosts are accounted for."""
    print(f"probewright: 0 events, {lost_of(watch, last_counts(watch)).text}", file=sys.stderr)


def tell_stopped(watch: Watch) -> None:
    """Say on standard error what was stopped because it was too fast."""
    for stopped in watch.guard.take():
        with saying(Level.WARNING):
            print(f"probewright: {plain(stopped.text)}; --storm sets the limit", file=sys.stderr)


def tell_counts(watch: Watch) -> None:
    """Print how often each event that was only counted has happened."""
    counts = last_counts(watch)
    for text in hit_lines(counts.counted, counts.hits) if counts is not None else ():
        print(plain(text))


def take_away(watch: Watch) -> int:
    """Close; gives 1 where something could not be taken away, and says what."""
    watch.hurry(time.monotonic())  # the command ends, and its target is left
    failures = watch.close()
    lost = [failure.error for failure in failures if isinstance(failure.error, TargetLost)]
    with contextlib.suppress(OSError), saying(Level.ERROR):  # the terminal may be gone
        if lost:
            why = f"{plain(str(lost[0]))}\n  " if is_news(lost[0]) else ""
            print(f"probewright: {why}{plain(what_becomes(watch.connection.target))}", file=sys.stderr)
        for failure in failures:
            if isinstance(failure.error, SettingChanged):
                print(f"probewright: {plain(str(failure.error))}", file=sys.stderr)
            elif failure.error not in lost:
                print(f"probewright: left behind: {plain(words_of([failure])[0])}", file=sys.stderr)
                print("  `clean` with this target tries again", file=sys.stderr)
    return 1 if any(not isinstance(failure.error, SettingChanged) for failure in failures) else 0
