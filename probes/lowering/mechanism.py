"""How a probe attaches on one target: fprobe where that is there and the function traceable, else kprobe."""

from __future__ import annotations

from dataclasses import dataclass, replace

from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.function_index import index_of
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from probes.refusal import CannotLower, own
from probes.rules.messages.hints import hint_for
from probes.rules.place import no_number_hint
from probes.syntax.text import glob, is_pattern, kstrtoul
from probes.verdict import Refusal

COLD = ".cold"
"""In the name of a part that the compiler moved away because it is unlikely to run."""
_MOST_FUNCTIONS = 128
"""That a pattern may stand for where each needs a kprobe: a kernel takes some milliseconds for one."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The letter of the command and what follows it."""

    is_fprobe: bool
    place: ProbePlace
    by_name: bool
    """The kernel finds the function in BTF by the name that stands in the command."""
    losses: tuple[str, ...] = ()
    maxactive: str = ""
    others: tuple[str, ...] = ()
    """Functions that get the same probe, on the same event: a pattern stood for them."""
    functions: tuple[str, ...] = ()
    """All that a pattern stands for."""

    def letter(self, at_exit: bool) -> str:
        """First word of the command, without the name."""
        letter = "f" if self.is_fprobe else "r" if at_exit else "p"
        return f"{letter}{self.maxactive}" if at_exit else letter

    def target(self, at_exit: bool) -> str:
        """Second word of the command."""
        if self.is_fprobe:
            return f"{self.place.symbol}%return" if at_exit else self.place.symbol
        return self.place.told

    def longest(self, frame: str) -> str:
        """What a line has at most beside its head and its words: a place, and the field of pairs."""
        place = max((self.target(at_exit=True), *self.others), key=len)
        return f"{place} {frame}=$stack" if frame else place


def choose(probe: Probe, facts: TargetFacts, environment: Environment = UNKNOWN) -> Mechanism:
    """Choose for a probe on a function. Raises CannotLower where the target has nothing for it."""
    column = str(probe).index(" ") + 1
    place = probe.place
    if place.base is not None:
        if probe.kind is ProbeKind.FPROBE:
            raise CannotLower(own("missing_capability", "f", 0, "An fprobe takes all functions of a name, not one"))
        return _kprobe(probe, facts, by_name=False)
    if kstrtoul(place.symbol) is not None:
        told = f"{place.symbol}: an address of this boot; after the next one something else is there"
        return replace(_kprobe(probe, facts, by_name=False), losses=(told,))
    if is_pattern(place.symbol):
        return _pattern(probe, facts, column)
    count = _count(place, facts)
    others = index_of(facts).count(place.symbol) - count  # an fprobe would take them too
    alias = "" if count else _alias(place, facts, environment)
    by_alias = bool(alias) and dialect_of(facts).fprobe_on_graph  # older ones compare names only
    part = not count and not alias and _is_part(place, facts, environment)
    wants_fprobe = probe.kind is ProbeKind.FPROBE or (
        probe.kind is ProbeKind.AUTO and not part and (by_alias or not alias)
    )
    wants_fprobe = wants_fprobe and not place.offset and not others
    if probe.maxactive and probe.kind in (ProbeKind.AUTO, ProbeKind.FPROBE):
        _check_maxactive(probe, facts)
    if wants_fprobe and facts.has(Feature.FPROBE_EVENTS):
        if not count and not by_alias:
            raise CannotLower(_untraceable(place.symbol, facts, column))
        lost = (f"{place.symbol}: {count} functions have this name, all of them are probed",) if count > 1 else ()
        number = probe.maxactive if probe.maxactive.isdigit() and probe.when is ProbeEnds.EXIT else ""
        return Mechanism(True, place, by_name=True, losses=lost, maxactive=number)
    if probe.kind is ProbeKind.FPROBE:
        raise CannotLower(
            own("missing_capability", "f", 0, "This kernel has no fprobe events; a kprobe does the same")
        )
    symbols = max(count, _symbols(place, facts, environment))
    if symbols > 1:
        what = "functions" if symbols == count else "symbols"
        told = f"{symbols} {what} have this name"
        raise CannotLower(Refusal("NON_UNIQ_SYMBOL", "The symbol is not unique", column, place.symbol, told))
    if not count and not part and not alias:
        raise CannotLower(_untraceable(place.symbol, facts, column))
    if not facts.blacklist.isdisjoint((place.symbol, alias, place.symbol.partition(".")[0] if part else "")):
        raise CannotLower(own("blacklisted", place.symbol, column))
    found = _kprobe(probe, facts, by_name=not place.module and not part)
    if part and probe.kind is ProbeKind.AUTO:
        base = place.symbol.partition(".")[0]
        told = f"{place.symbol}: a part of {base}, which no fprobe can follow: a kprobe sits on it"
        return replace(found, losses=(told,))
    return found


def _check_maxactive(probe: Probe, facts: TargetFacts) -> None:
    """Check what stands behind the `f`: one line of kernels took a number there, all others refuse it."""
    dialect = dialect_of(facts)
    if not dialect.fprobe or dialect.fprobe_on_graph:
        hint, _ = hint_for("BAD_MAXACT", probe.maxactive, better=no_number_hint("f", probe.maxactive))
        raise CannotLower(Refusal("BAD_MAXACT", message_of("BAD_MAXACT"), 1, probe.maxactive, hint))


def _alias(place: ProbePlace, facts: TargetFacts, environment: Environment) -> str:
    """Return the name by which the tracer lists the code of a name's only symbol; empty where it doesn't.

    Of `__x64_sys_getpid` and `__do_sys_getpid` the tracer lists one.
    """
    if environment.symbol is None or place.module is not None:
        return ""
    aliases, count = environment.symbol(place.symbol).aliases, index_of(facts).count
    return next((name for name in aliases if count(name) == 1), "")


def _is_part(place: ProbePlace, facts: TargetFacts, environment: Environment) -> bool:
    """Whether it is code that the compiler split off a traceable function, `vfs_read.cold`, and may take a kprobe.

    The kernel judges such a symbol by the function it is named after (within_notrace_func).
    """
    base, dot, _ = place.symbol.partition(".")
    return bool(dot) and index_of(facts).count(base) > 0 and _symbols(place, facts, environment) > 0


def _count(place: ProbePlace, facts: TargetFacts) -> int:
    """How often a name is traceable, in the place's module where it names one."""
    index = index_of(facts)
    count = index.count(place.symbol)
    if place.module is None or count < 2:
        return count
    return facts.functions.count(f"{place.symbol} [{place.module}]")


def _symbols(place: ProbePlace, facts: TargetFacts, environment: Environment) -> int:
    """How many symbols of this name a kprobe sees, as far as that is known (validate_probe_symbol)."""
    if environment.symbol is None or place.module is not None:
        return 0
    found = environment.symbol(place.symbol)
    if dialect_of(facts).fprobe_on_graph:
        return found.kernel or found.modules
    return found.kernel + found.modules


def _pattern(probe: Probe, facts: TargetFacts, column: int) -> Mechanism:
    """All functions whose names fit: the kernel matches for an fprobe; kprobes are made one by one."""
    index, pattern = index_of(facts), probe.place.symbol
    fits = glob(pattern)
    names = [name for name in index.modules if fits.match(name)]
    if not names:
        raise CannotLower(own("not_traceable", pattern, column, "No name in available_filter_functions fits"))
    if probe.kind in (ProbeKind.AUTO, ProbeKind.FPROBE) and facts.has(Feature.FPROBE_EVENTS):
        told = f"{pattern}: {len(names)} functions are probed"
        return Mechanism(True, probe.place, by_name=False, losses=(told,), functions=tuple(names))
    left = {name: "its name is not unique" for name in names if index.count(name) > 1}
    left |= {name: "it is on the kernel's kprobe blacklist" for name in names if name in facts.blacklist}
    good = sorted(name for name in names if name not in left)
    if not good or probe.place.offset:
        raise CannotLower(own("not_traceable", pattern, column, "A pattern stands for functions that can be probed"))
    if len(good) > _MOST_FUNCTIONS:
        hint = f"{len(good)} names fit, and without fprobes each needs a kprobe: {_MOST_FUNCTIONS} at most"
        raise CannotLower(own("too_many_functions", pattern, column, hint))
    losses = (f"{pattern}: {len(good)} functions are probed", *(f"{name}: {why}" for name, why in left.items()))
    first = _kprobe(replace(probe, place=ProbePlace(good[0])), facts, by_name=False)
    return replace(first, losses=losses, others=tuple(good[1:]), functions=tuple(good))


def _kprobe(probe: Probe, facts: TargetFacts, by_name: bool) -> Mechanism:
    if not facts.has(Feature.KPROBE_EVENTS):
        raise CannotLower(own("missing_capability", str(probe.kind), 0, "This kernel has no kprobe events"))
    if probe.place.offset and probe.when is not ProbeEnds.ENTRY:
        raise CannotLower(Refusal("BAD_RETPROBE", "Retprobe address must be an function entry", 2, str(probe.place)))
    if COLD in probe.place.symbol and probe.when is not ProbeEnds.ENTRY:
        # A kretprobe would put its own address over what happens to lie on the stack there.
        base = probe.place.symbol.partition(COLD)[0]
        hint = f"It is jumped to from {base}, never called, so it does not return: probe it at its entry"
        raise CannotLower(own("not_traceable", str(probe.place), str(probe).index(" ") + 1, hint))
    return Mechanism(
        False,
        probe.place,
        by_name and not probe.place.offset,
        (),
        probe.maxactive if probe.maxactive.isdigit() else "",
    )


def _untraceable(symbol: str, facts: TargetFacts, column: int) -> Refusal:
    if symbol in facts.blacklist:
        return own("blacklisted", symbol, column)
    copies = index_of(facts).copies.get(symbol, ())
    if copies:
        return own("not_traceable", symbol, column, f"The compiler made {copies[0]} of it", copies[:3])
    return own(
        "not_traceable", symbol, column, "It is not in available_filter_functions: inlined, notrace, or not there"
    )
