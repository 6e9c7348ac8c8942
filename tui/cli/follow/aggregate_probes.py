"""Prepare probes for a table of groups: values that they lack, stacks, hist triggers by which the kernel counts."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from events.aggregates.event_columns import STACKS
from events.aggregates.request import BY, AggregateError, AggregateRequest, place_of_key
from kernel.hosts.arm_request import check_specification
from kernel.session.arm_steps import Mode
from kernel.session.stack_triggers import records_stacks
from kernel.watch.watch import Watch
from probes.plans.plan import DEFAULT_GROUP
from tui.cli.console.output import plain
from tui.cli.follow.aggregate_printer import TOP, export_table, print_table, refusal
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import ArmOptions, arm_options_of, follow
from tui.cli.status import DONE

if TYPE_CHECKING:
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from tui.cli.exports.export_options import ExportRequest
    from tui.views.aggregate.hist_triggers import EventTrigger


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
) -> tuple[ArmOptions, Mapping[Armable, tuple[EventTrigger, ...]]]:
    """Return the options for arming, and the hist triggers by which the kernel aggregates; those only with `--hist`.

    Where a stack is a key of recorded events, a trigger records it. Raises OptionRefused, CannotLower.
    """
    options = arm_options_of(arguments)
    if request is not None and arguments.hist:
        by_probe = kernel_triggers(planner, probes, request, arguments)
        counting = {
            probe: (*options.counting.get(probe, ()), *(t.text for t in own)) for probe, own in by_probe.items()
        }
        return options._replace(mode=Mode.COUNT, counting=counting), by_probe
    wanted = (
        request is not None and set(STACKS) & set(request.keys) and not any(map(records_stacks, options.triggers))
    )
    return options._replace(triggers=(*options.triggers, *(("stacktrace",) if wanted else ()))), {}


def kernel_triggers(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest, arguments: argparse.Namespace
) -> Mapping[Armable, tuple[EventTrigger, ...]]:
    """Return the hist triggers with which the kernel aggregates, by probe. Raises OptionRefused, CannotLower."""
    from tui.views.aggregate.hist_triggers import triggers_of

    if planner.info.holds_events:
        raise OptionRefused(
            "--hist: a recording has no kernel that could count; without it its events are aggregated"
        )
    found = {}
    token = secrets.token_hex(4)
    for number, probe in enumerate(probes):
        plan = planner.lower(probe, DEFAULT_GROUP)
        if plan.programs and (reason := planner.tracefs_refusal(probe)):
            raise OptionRefused(
                f"--hist: hist triggers are of tracefs events, and tracefs can't record {probe.subject}: {reason}; "
                "without --hist recorded events are aggregated"
            )
        try:
            found[probe] = tuple(triggers_of(request, plan, f"by_{token}_{number}"))
        except AggregateError as error:
            if error.option == BY and error.text:
                at = place_of_key(arguments.by, error.text)
                error = AggregateError(str(error), BY, arguments.by, at)
            raise refusal(error) from None
    return found


def aggregate_in_kernel(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    request: AggregateRequest,
    triggers: Mapping[Armable, tuple[EventTrigger, ...]],
    wanted: ExportRequest | None,
) -> int:
    """Let the kernel count until the end, then print its table or write it to a file; return the exit status.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    from tui.views.aggregate.kernel_table import KernelTable

    follow(watch, arguments, events, lambda _: None, lambda: 0)
    if watch.store is None:
        return DONE
    if not watch.info.symbols_read:
        watch.info.load_symbols()
    in_session = [_in_session(watch, one) for several in triggers.values() for one in several]
    table = KernelTable(watch, watch.store, request, in_session)
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
