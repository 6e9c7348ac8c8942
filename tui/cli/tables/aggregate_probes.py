"""Prepare probes for a table of groups: values that they lack, stacks, hist triggers or programs that count."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from events.aggregates.event_columns import STACKS
from events.aggregates.request import BY, AggregateError, AggregateRequest, place_of_key
from kernel.hosts.arm_request import check_specification
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.hist.stack_triggers import records_stacks
from probes.plans.plan import DEFAULT_GROUP, Via
from probes.refusal import CannotLower
from tui.cli.console.output import plain
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import ArmOptions, arm_options_of, follow
from tui.cli.status import DONE
from tui.cli.tables.aggregate_printer import TOP, export_table, print_table, refusal

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from probes.plans.plan import Plan
    from tui.cli.exports.export_options import ExportRequest
    from tui.views.aggregate.hist_triggers import EventTrigger
    from tui.views.aggregate.kernel_groups import GroupsReading


class KernelCounting(NamedTuple):
    """Means by which the kernel counts for a table."""

    request: AggregateRequest
    triggers: Mapping[Armable, tuple[EventTrigger, ...]] | None
    """Hist triggers by probe; None: BPF programs count."""

    def reader(self, watch: Watch) -> Callable[[], GroupsReading]:
        """Return the reader of what was counted for the probes of a watch."""
        from tui.views.aggregate.hist_triggers import read_triggers
        from tui.views.aggregate.program_groups import read_groups

        if self.triggers is None:
            return partial(read_groups, watch, self.request)
        triggers = [_in_session(watch, one) for several in self.triggers.values() for one in several]
        return partial(read_triggers, watch, triggers)


def specs_for(specs: Sequence[str], request: AggregateRequest | None, planner: Planner) -> list[str]:
    """Return specifications that record what is requested, as far as the kernel takes it; print those that change."""
    if request is None or planner.info.holds_events:
        return list(specs)
    from tui.views.aggregate.missing_values import with_requested

    found = []
    for spec in specs:
        wider = with_requested(spec, request, lambda text: check_specification(text, planner).ok)
        if wider != spec:
            print(plain(f"probewright: for the table {wider} is armed"), file=sys.stderr)
        found.append(wider)
    return found


def aggregate_options(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest | None, arguments: argparse.Namespace
) -> tuple[ArmOptions, KernelCounting | None]:
    """Return the options for arming, and how the kernel counts; None, without `--hist`: events are recorded.

    Where a stack is a key of recorded events, a trigger records it. Raises OptionRefused, CannotLower.
    """
    options = arm_options_of(arguments)
    if request is not None and arguments.hist:
        found = kernel_counting(planner, probes, request, arguments)
        if found.triggers is None:
            from tui.views.aggregate.program_groups import with_groups

            return options._replace(shape=partial(with_groups, request)), found
        for probe, own in found.triggers.items():
            _check_triggers(planner, probe, own)
        return options._replace(mode=Mode.COUNT, shape=partial(with_own_triggers, found.triggers)), found
    wanted = (
        request is not None and set(STACKS) & set(request.keys) and not any(map(records_stacks, options.triggers))
    )
    return options._replace(triggers=(*options.triggers, *(("stacktrace",) if wanted else ()))), None


def _check_triggers(planner: Planner, probe: Armable, triggers: Sequence[EventTrigger]) -> None:
    """Raise CannotLower for a trigger that this kernel does not take."""
    plan = planner.lower(probe, DEFAULT_GROUP)
    for one in triggers:
        refused = planner.trigger_verdict(plan, one.event, one.text).error
        if refused is not None:
            raise CannotLower(replace(refused, column=None, token=one.text))


def with_own_triggers(triggers: Mapping[Armable, Sequence[EventTrigger]], plan: Plan) -> Plan:
    """Return a plan with each trigger on its own event alone: the other end of a call would be counted, too."""
    own = triggers.get(plan.probe, ())
    events = (
        replace(event, triggers=(*event.triggers, *(one.text for one in own if one.event.event == event.event)))
        for event in plan.events
    )
    return replace(plan, events=tuple(events))


def kernel_counting(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest, arguments: argparse.Namespace
) -> KernelCounting:
    """Return how the kernel counts: by hist triggers where tracefs records the probes and these can do it, else by
    BPF programs; the planner then plans those. Raises OptionRefused, CannotLower.
    """
    if planner.info.holds_events:
        raise OptionRefused(
            "--hist: a recording has no kernel that could count; without it its events are aggregated"
        )
    from tui.views.aggregate.program_groups import with_groups

    refused: OptionRefused | None = None
    if not any(planner.lower(probe, DEFAULT_GROUP).programs for probe in probes):
        try:
            return KernelCounting(request, kernel_triggers(planner, probes, request, arguments))
        except OptionRefused as error:
            refused = error
            if planner.via is Via.TRACEFS:
                raise
    via, planner.via = planner.via, Via.BPF
    try:
        for probe in probes:
            with_groups(request, planner.lower(probe, DEFAULT_GROUP))
    except CannotLower:
        planner.via = via
        if refused is not None:
            raise refused from None
        raise
    except AggregateError as error:
        planner.via = via
        raise refused or _refusal_at_place(error, arguments) from None
    return KernelCounting(request, None)


def kernel_triggers(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest, arguments: argparse.Namespace
) -> Mapping[Armable, tuple[EventTrigger, ...]]:
    """Return the hist triggers that count for a table, by probe. Raises OptionRefused, CannotLower."""
    from tui.views.aggregate.hist_triggers import triggers_of

    token = secrets.token_hex(4)
    try:
        return {
            probe: tuple(triggers_of(request, planner.lower(probe, DEFAULT_GROUP), f"by_{token}_{number}"))
            for number, probe in enumerate(probes)
        }
    except AggregateError as error:
        raise _refusal_at_place(error, arguments) from None


def _refusal_at_place(error: AggregateError, arguments: argparse.Namespace) -> OptionRefused:
    if error.option == BY and error.text:
        error = AggregateError(str(error), BY, arguments.by, place_of_key(arguments.by, error.text))
    return refusal(error)


def aggregate_in_kernel(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    counting: KernelCounting,
    wanted: ExportRequest | None,
) -> int:
    """Let the kernel count until the end, then print its table or write it to a file; return the exit status.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    from tui.views.aggregate.kernel_table import KernelTable

    follow(watch, arguments, events, lambda _: None, lambda: 0)
    if watch.store is None:
        return DONE
    if not watch.info.symbols.are_read:
        watch.info.symbols.load()
    if counting.triggers is None:  # groups and counts are two looks: nothing comes between
        for armed in watch.armed.probes:
            watch.armed.switch(armed, Mode.OFF)
    table = KernelTable(watch, watch.store, counting.request, counting.reader(watch))
    table.read()
    if wanted is not None:
        from tui.output.aggregate_table import KernelAggregateTable

        return export_table(KernelAggregateTable(table), wanted, as_json=arguments.json)
    print_table(table, TOP if arguments.top is None else arguments.top, as_json=arguments.json)
    if watch.outages:
        print("probewright: counted since the reconnection: earlier counts were lost", file=sys.stderr)
    return DONE


def _in_session(watch: Watch, trigger: EventTrigger) -> EventTrigger:
    """Return a trigger for the path that its event has in the session."""
    name = trigger.event.event
    events = (event for armed in watch.armed.probes for event in armed.plan.events)
    return next((trigger._replace(event=event) for event in events if event.event == name), trigger)
