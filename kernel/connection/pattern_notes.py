"""Explain the difference between the functions that a search finds and those that a pattern's probe is on."""

from __future__ import annotations

from dataclasses import replace

from events.names.function_choice import FunctionChoice, is_choice
from events.names.glob import Glob
from foreign.count_text import counted, shortened
from kernel.connection.kernel_info import KernelInfo
from probes.command import is_function
from probes.functions.function_index import index_of
from probes.functions.left_out import left_out_notes
from probes.plans.plan import Plan
from probes.probe import Probe

_MAX_EXPLAINED = 200
"""Largest number of functions whose reasons are looked up, a tenth of a millisecond each."""


def with_pattern_notes(plan: Plan, info: KernelInfo) -> Plan:
    """Return the plan of a pattern with notes on functions that it fits but can't be on, and on names that only
    contain its text; any other plan unchanged. A function that is traced as the compiler's copies is not left out.
    """
    probe = plan.probe
    if not isinstance(probe, Probe) or not is_function(probe) or not is_choice(probe.place.symbol):
        return plan
    if not FunctionChoice.parse(str(probe.place)).is_one_pattern:
        return plan
    pattern, index = probe.place.symbol, index_of(info.facts)
    fits = Glob.plain(pattern).matches
    missing = [name for name in info.catalog.names if fits(name) and not index.count(name)]
    answers = [info.catalog.attachability(name) for name in missing[:_MAX_EXPLAINED]]
    notes = left_out_notes({about.name: about.text for about in answers if not any(map(fits, about.copies))})
    if len(missing) > len(answers):
        notes.append(f"{counted(len(missing) - len(answers), 'more function')} left out")
    literal = pattern.removesuffix("*")
    if literal and not is_choice(literal):
        inside = [name for name in info.catalog.names if literal in name and not fits(name)]
        if inside:
            told = f"{counted(len(inside), 'name has', 'names have')} {literal} elsewhere, as *{pattern} fits"
            notes.append(f"{told}: {shortened(inside)}")
    return replace(plan, losses=(*plan.losses, *notes))
