"""Changes of a `Probe` by the keys of the editor. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from probes.fetcharg import AllArguments, Argument, FetchArg, ReturnValue, Variable, innermost
from probes.probe import Probe, ProbeEnds, ProbeKind

EVERYTHING = FetchArg(AllArguments(best=True))
"""Fetcharg `$$args`."""


def at(probe: Probe, when: ProbeEnds, retval: FetchArg | None) -> Probe:
    """Move the probe to another end of the call, or have it track an object.

    An entry has no return value, so fetchargs that read it are removed. At an exit the return value matters most: it
    is ticked if nothing else is. `retval` None: the function returns nothing.
    """
    fetchargs = probe.fetchargs
    if when is ProbeEnds.ENTRY:
        fetchargs = tuple(arg for arg in fetchargs if not isinstance(arg.expression, ReturnValue))
    elif probe.kind is ProbeKind.UPROBE:  # its registers hold arguments no more
        fetchargs = tuple(arg for arg in fetchargs if not isinstance(innermost(arg.expression), Argument))
        fetchargs = fetchargs or ((retval,) if retval is not None else ())
    elif when is not ProbeEnds.TRACK and retval is not None and not fetchargs:
        fetchargs = (retval,)
    kind = ProbeKind.KPROBE if probe.kind is ProbeKind.KRETPROBE and when is not ProbeEnds.EXIT else probe.kind
    return replace(probe, when=when, kind=kind, fetchargs=fetchargs)


def moved(
    probe: Probe, when: ProbeEnds, retval: FetchArg | None, parked: tuple[FetchArg, ...]
) -> tuple[Probe, tuple[FetchArg, ...]]:
    """Move the probe as `at` does, and return the fetchargs that an entry lacks: they are restored with the exit."""
    other = at(probe, when, retval)
    if when is ProbeEnds.ENTRY:
        return other, tuple(arg for arg in probe.fetchargs if arg not in other.fetchargs) or parked
    missing = tuple(arg for arg in parked if not other.captures(arg))
    return replace(other, fetchargs=other.fetchargs + missing), ()


def toggle(probe: Probe, arg: FetchArg, names: Sequence[str]) -> Probe:
    """Tick or untick a field; ticked ones keep the order of the function's arguments (`names`)."""
    if probe.captures(arg):
        return probe.toggle(arg)
    place = _place(arg, names)
    before = [kept for kept in probe.fetchargs if _place(kept, names) <= place]
    after = [kept for kept in probe.fetchargs if _place(kept, names) > place]
    return replace(probe, fetchargs=(*before, arg, *after))


def toggle_each(probe: Probe, args: Sequence[FetchArg], names: Sequence[str]) -> Probe:
    """Tick fields; where all of them are, untick them."""
    missing = [arg for arg in args if not probe.captures(arg)]
    for arg in missing or args:
        probe = toggle(probe, arg, names)
    return probe


def all_but(probe: Probe, arg: FetchArg, every: Sequence[FetchArg]) -> Probe:
    """Untick one argument of `$$args`: the others replace it by name.

    Args:
        probe: probe with `$$args`.
        arg: argument to untick.
        every: fetchargs of all arguments, each with its best type.
    """
    others = [one for one in every if one.expression != arg.expression and not probe.captures(one)]
    fetchargs: list[FetchArg] = []
    for one in probe.fetchargs:
        fetchargs += others if one == EVERYTHING else [one]
    return replace(probe, fetchargs=tuple(fetchargs))


def ticked(probe: Probe, arg: FetchArg) -> FetchArg | None:
    """Return the probe's fetcharg with the same expression, with the type it has there."""
    return next((kept for kept in probe.fetchargs if kept.expression == arg.expression), None)


def retype(probe: Probe, arg: FetchArg, kinds: Sequence[str | None]) -> Probe:
    """Give a ticked field the next of some types."""
    current = ticked(probe, arg)
    if current is None or len(kinds) < 2:
        return probe
    place = kinds.index(current.type) if current.type in kinds else -1
    new = replace(current, type=kinds[(place + 1) % len(kinds)])
    return replace(probe, fetchargs=tuple(new if kept is current else kept for kept in probe.fetchargs))


def _place(arg: FetchArg, names: Sequence[str]) -> int:
    expression = arg.expression
    if isinstance(expression, AllArguments):
        return -1
    name = expression.name if isinstance(expression, Variable) else str(expression).removeprefix("$")
    return names.index(name) if name in names else len(names)


Types = Callable[[str, str, str | None], Sequence[str | None]]
"""Finds the types of a field: (kernel type, C type, own type) -> types."""
