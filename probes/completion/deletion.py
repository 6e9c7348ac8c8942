"""Complete a deletion: `-:GROUP/EVENT` of the events that probewright made."""

from __future__ import annotations

from probes.check import check_plan
from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority, ranked


def complete_deletion(before: str, sources: NameSources) -> Completions:
    """Complete the text before the cursor, which begins with `-`."""
    end, lead = len(before), len(before) - len(before.lstrip())
    typed = before[lead:].removeprefix("-").removeprefix(":")
    if " " in typed:
        return Completions(end, end)
    lines = sources.made()
    definitions = {line.split(" ")[0].partition(":")[2]: line.partition(" ")[2] for line in reversed(lines)}
    names = [name for name in definitions if check_plan(f"-:{name}", None, sources.facts, existing=lines).verdict.ok]
    items = tuple(
        Completion(f"-:{names[n]}", ItemKind.PLACE, names[n], description=definitions[names[n]])
        for n in ranked(names, typed)
    )
    urge = Priority.STANDS if typed in names else Priority.NEEDED
    note = "" if items else "no event that we made has this in its name" if names else "we have made no events"
    return Completions(lead, end, items, urge, note)
