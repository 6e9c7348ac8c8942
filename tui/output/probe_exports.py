"""Write probes of a target in the language of another tool; no screen."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kernel.connection.planner import Planner, refused_if_damaged
from kernel.errors import KernelError
from kernel.safe_files.new_file import create
from kernel.symbols.symbol_addresses import with_function_name
from probes.command import Armable, is_function
from probes.export.dialect import CannotExport, ExportDialect, ExportText, PlanTypes
from probes.export.export import DIALECTS, export
from probes.facts.lookups import UNKNOWN
from probes.lowering.lower import lower
from probes.names import MAX_EVENT_NAME, event_name
from probes.plans.plan import Plan
from probes.probe import Probe
from probes.refusal import CannotLower

GROUP = "probewright"
"""Group of exported events, where the text does not choose another one when it runs."""
_MOST = 100
"""Probes on one function."""


class ProbeExport(NamedTuple):
    """The text of the probes in one dialect."""

    dialect: ExportDialect
    text: str
    """Empty: it can't say them."""
    notes: tuple[str, ...]
    """Remarks on the text; of a refusal the reasons."""


def exported(planner: Planner, probes: Sequence[Armable], dialect: ExportDialect, loss: str = "") -> ExportText:
    """Write probes in one dialect. Raises CannotExport, CannotLower, KernelError.

    Args:
        planner: planner of the kernel.
        probes: probes on that kernel.
        dialect: one of `DIALECTS`.
        loss: note on a part that the probes leave out; empty: nothing is left out.
    """
    plans = plans_for(planner, probes, dialect)
    if loss and plans:
        plans[0] = replace(plans[0], losses=(*plans[0].losses, loss))
    return export(dialect, plans, planner.info.facts, _types_for(planner, probes, dialect))


def offers(planner: Planner, probes: Sequence[Armable]) -> tuple[ProbeExport, ...]:
    """Write probes in every dialect, as far as each can express them."""
    return tuple(_offer(planner, probes, dialect) for dialect in DIALECTS)


def _offer(planner: Planner, probes: Sequence[Armable], dialect: ExportDialect) -> ProbeExport:
    try:
        made = exported(planner, probes, dialect)
    except CannotExport as error:
        return ProbeExport(dialect, "", error.reasons)
    except (CannotLower, KernelError) as error:
        return ProbeExport(dialect, "", (str(error),))
    return ProbeExport(dialect, made.text, made.notes)


def plans_for(planner: Planner, probes: Iterable[Armable], dialect: ExportDialect) -> list[Plan]:
    """Lower probes for what a dialect can say. Raises CannotLower, KernelError."""
    plans: list[Plan] = []
    taken: set[str] = set()
    for probe in probes:
        plan = _lowered(planner, probe, dialect, taken)
        plans.append(plan)
        taken |= {event.event for event in plan.events}
    return plans


def _types_for(planner: Planner, probes: Iterable[Armable], dialect: ExportDialect) -> list[PlanTypes]:
    """Return the types of each probe; none for a dialect that names no types."""
    if dialect.write_typed is None:
        return []
    info = planner.info
    around = info.environment.nearby
    if info.knows_programs:  # a kernel that was not asked may take programs: those of others need not what ours do
        around = replace(around, programs=info.program_support)
    return [PlanTypes(planner.lookups.types_of(probe), around) for probe in probes]


@refused_if_damaged()
def _lowered(planner: Planner, probe: Armable, dialect: ExportDialect, taken: set[str]) -> Plan:
    """Lower as `Planner.lower` does, for the features of the other tool in place of this kernel's."""
    probe = with_function_name(probe, lambda: planner.info.symbols.current)
    btf = planner.lookups.types_of(probe)
    facts = replace(planner.info.facts, features=dialect.lowered_for(planner.info.facts))
    around = UNKNOWN if is_function(probe) else planner.info.environment.nearby
    if isinstance(probe, Probe) and probe.needs_code:
        around = planner.lookups.around(probe)
    plan = lower(probe, btf, facts, GROUP, environment=around)
    name = plan.events[0].event if len(plan.events) == 1 else probe.subject
    for number in range(2, _MOST):
        if not any(event.event in taken for event in plan.events):
            break
        numbered = event_name(name, f"_{number}", MAX_EVENT_NAME - len("__entry"))
        again = lower(probe, btf, facts, GROUP, numbered, around)
        if again.events == plan.events:  # its name can't be chosen
            break
        plan = again
    return plan


def save(text: str, path: Path) -> None:
    """Write an export to a file that is not there yet, for its owner to run. Raises OSError; no half of it stays."""
    with create(path) as file:
        try:
            file.write(text.encode("ascii"))
            file.flush()
            if text.startswith("#!"):
                with contextlib.suppress(OSError):  # some file systems have no such bits
                    os.fchmod(file.fileno(), 0o700)
        except OSError:
            path.unlink()
            raise
