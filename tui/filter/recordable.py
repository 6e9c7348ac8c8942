"""Explain names in a condition: fields that armed probes could record, functions that these are on, symbols."""

from __future__ import annotations

import contextlib
import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from events.conditions.comparison import SymbolComparison, TextComparison
from events.conditions.errno_comparison import ERRNO, NO_RESULT
from events.conditions.function_comparison import FUNC
from events.names.function_choice import choice_or_any, is_choice
from kernel.errors import KernelError
from probes.corrections.corrections import corrected
from probes.functions.function_index import index_of
from probes.probe import Probe
from tui.present.watched_events import probed_functions

if TYPE_CHECKING:
    from events.conditions.condition import Condition
    from kernel.watch.watch import Watch

_MAX_PROBES = 4
"""Largest number of probes that are asked for a field, which takes each a millisecond."""
_MAX_TRIED = 12
"""Largest number of texts that are tried for one that records the field."""
_NEAREST = 3


def field_hint(name: str, watch: Watch) -> str:
    """Return the probe that would record a field, an armed one with more; empty: there is none, or in a recording."""
    if name == ERRNO:
        return NO_RESULT
    if not watch.info.target.is_kernel:
        return ""
    with contextlib.suppress(KernelError):  # the connection is lost
        return _recording_probe(name, watch)
    return ""


def _recording_probe(name: str, watch: Watch) -> str:
    probes = [armed.plan.probe for armed in watch.armed.probes]
    for probe in [probe for probe in probes if isinstance(probe, Probe)][:_MAX_PROBES]:
        condition = f" if {name} == 0"
        verdict = watch.planner.check(replace(probe, filter=f"{name} == 0")).verdict
        if verdict.error is None or verdict.error.code != "unknown_filter_field":
            continue
        right = corrected(verdict.command, verdict, lambda text: watch.planner.check(text).verdict, _MAX_TRIED)
        if right.endswith(condition):
            return f"{right.removesuffix(condition)} records it"
    return ""


def name_remark(condition: Condition, watch: Watch) -> str:
    """Return which name of a condition no event can have: of a function or a symbol; empty: there is none."""
    return _function_remark(condition, watch) or _symbol_remark(condition, watch)


def _symbol_remark(condition: Condition, watch: Watch) -> str:
    """Return which name of a condition no symbol has, or why addresses have no names; empty: they have it."""
    parts = [part for part in condition.term.parts() if isinstance(part, SymbolComparison) and part.field != FUNC]
    symbols = watch.info.symbols
    if not parts or not symbols.are_read:
        return ""
    if (known := symbols.loaded) is None:
        return "the kernel hides its symbols: no address has a name"
    names = (part.text.partition("+")[0] for part in parts if part.operator != "~")
    return next((f"there is no symbol {name}" for name in names if not known.named(name)), "")


def _function_remark(condition: Condition, watch: Watch) -> str:
    """Return which function of a condition no probe is on, with similar names; empty: there is none."""
    patterns = {
        (column.name, column.functions)
        for plan in watch.event_fields.plans
        for event in plan.events
        for column in event.columns
        if is_choice(column.functions)
    }
    single = set(probed_functions(watch.event_fields.plans).values())
    for part in condition.term.parts():
        own = [pattern for field, pattern in patterns if field == part.field]
        if not isinstance(part, SymbolComparison | TextComparison) or not (own or part.field == FUNC):
            continue
        choices = [choice_or_any(text) for text in own]
        modules = index_of(watch.info.facts).modules
        names = list(dict.fromkeys(name for choice in choices for name in choice.among(modules)))
        others = sorted(single - set(names)) if part.field == FUNC else []
        names += others
        found = part.text in names if part.operator == "!=" else any(map(part.holds, names))
        if names and not found:
            near = difflib.get_close_matches(part.text, names, _NEAREST)
            hint = f": did you mean {' or '.join(near)}?" if near else ""
            return f"no function of {' or '.join(sorted({*own, *others}))} is {part.text}{hint}"
    return ""
