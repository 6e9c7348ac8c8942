"""Completion of a deletion: `-:GROUP/EVENT` of the events that we have made."""

from __future__ import annotations

from probes.check import check_plan
from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority, ranked


def complete_deletion(before: str, known: NameSources) -> Completions:
    """Complete what stands before the cursor; it begins with `-`."""
    end, lead = len(before), len(before) - len(before.lstrip())
    typed = before[lead:].removeprefix("-").removeprefix(":")
    if " " in typed:
        return Completions(end, end)
    lines = known.made()
    found = {line.split(" ")[0].partition(":")[2]: line.partition(" ")[2] for line in reversed(lines)}
    names = [name for name in found if check_plan(f"-:{name}", None, known.facts, existing=lines).verdict.ok]
    items = tuple(
        Completion(f"-:{names[n]}", ItemKind.PLACE, names[n], about=found[names[n]]) for n in ranked(names, typed)
    )
    urge = Priority.STANDS if typed in names else Priority.NEEDED
    note = "" if items else "no event that we made has this in its name" if names else "we have made no events"
    return Completions(lead, end, items, urge, note)
