"""Choose how a probe attaches on a target: by fprobe if the kernel can and the function is traceable, else by
kprobe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from btf.btf import Btf
from events.names.function_choice import FunctionChoice, is_choice
from foreign.count_text import counted
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.chosen_functions import ChosenFunctions, chosen_functions
from probes.functions.function_index import index_of
from probes.functions.function_shapes import NO_RESULT, without_void
from probes.functions.left_out import left_out_notes, probed_note
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from probes.refusal import CannotLower, own_refusal
from probes.rules.messages.hints import hint_for
from probes.rules.place import no_number_hint
from probes.syntax.text import kstrtoul
from probes.verdict import Refusal

COLD = ".cold"
"""Part of the name of code that the compiler moved away because it is unlikely to run."""
_MAX_FUNCTIONS = 128
"""Largest number of functions of a pattern where each needs a kprobe, which takes the kernel milliseconds."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Mechanism of a probe: the letter of the command and the place after it."""

    is_fprobe: bool
    place: ProbePlace
    by_name: bool
    """True if the kernel finds the function in BTF by the name in the command."""
    losses: tuple[str, ...] = ()
    maxactive: str = ""
    others: tuple[str, ...] = ()
    """Further functions with the same probe, on the same event, for a pattern."""
    functions: tuple[str, ...] = ()
    """All functions that the place stands for, where it may stand for several."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Number of the parameter that has the type of the place, by function (`ChosenFunctions.parameters`)."""

    def letter(self, at_exit: bool) -> str:
        """Return the first word of the command, without the name."""
        letter = "f" if self.is_fprobe else "r" if at_exit else "p"
        return f"{letter}{self.maxactive}" if at_exit else letter

    def target(self, at_exit: bool) -> str:
        """Return the second word of the command."""
        if self.is_fprobe:
            return f"{self.place.symbol}%return" if at_exit else self.place.symbol
        return self.place.kernel_text

    def longest(self, frame: str) -> str:
        """Return the longest text of a line besides its first word and its fetchargs: the place, and the frame
        field.
        """
        place = max((self.target(at_exit=True), *self.others), key=len)
        return f"{place} {frame}=$stack" if frame else place


def choose(probe: Probe, facts: TargetFacts, environment: Environment = UNKNOWN, btf: Btf | None = None) -> Mechanism:
    """Choose the mechanism for a function probe. Raises CannotLower where the target has none for it."""
    column = str(probe).index(" ") + 1
    place = probe.place
    if place.base is not None:
        if probe.kind is ProbeKind.FPROBE:
            raise CannotLower(
                own_refusal("missing_capability", "f", 0, "An fprobe takes all functions of a name, not one")
            )
        return _kprobe(probe, facts, by_name=False)
    if kstrtoul(place.symbol) is not None:
        note = f"{place.symbol}: an address of this boot; after the next one something else is there"
        return replace(_kprobe(probe, facts, by_name=False), losses=(note,))
    if is_choice(place.symbol):
        return _several(probe, chosen_functions(place, btf, facts, environment, column), facts, column, btf)
    count = _count(place, facts)
    others = index_of(facts).count(place.symbol) - count  # an fprobe would attach to these as well
    alias = "" if count else _alias(place, facts, environment)
    by_alias = bool(alias) and dialect_of(facts).fprobe_on_graph  # older kernels compare names only
    is_part = not count and not alias and _is_part(place, facts, environment)
    wants_fprobe = probe.kind is ProbeKind.FPROBE or (
        probe.kind is ProbeKind.AUTO and not is_part and (by_alias or not alias)
    )
    wants_fprobe = wants_fprobe and not place.offset and not others
    if probe.maxactive and probe.kind in (ProbeKind.AUTO, ProbeKind.FPROBE):
        _check_maxactive(probe, facts)
    if wants_fprobe and facts.has(Feature.FPROBE_EVENTS):
        if not count and not by_alias:
            raise CannotLower(_untraceable(place.symbol, facts, column))
        losses = (f"{place.symbol}: {count} functions have this name, all of them are probed",) if count > 1 else ()
        number = probe.maxactive if probe.maxactive.isdigit() and probe.when is ProbeEnds.EXIT else ""
        return Mechanism(True, place, by_name=True, losses=losses, maxactive=number)
    if probe.kind is ProbeKind.FPROBE:
        raise CannotLower(
            own_refusal("missing_capability", "f", 0, "This kernel has no fprobe events; a kprobe does the same")
        )
    owner = place.symbol.partition(".")[0] if is_part else ""
    _check_one_kprobe(place, count, _symbols(place, facts, environment), facts, column, alias, owner)
    mechanism = _kprobe(probe, facts, by_name=not place.module and not is_part)
    if is_part and probe.kind is ProbeKind.AUTO:
        note = f"{place.symbol}: a part of {owner}, which no fprobe can follow: a kprobe sits on it"
        return replace(mechanism, losses=(note,))
    return mechanism


def _check_one_kprobe(
    place: ProbePlace, count: int, symbols: int, facts: TargetFacts, column: int, alias: str, owner: str
) -> None:
    """Check that a kprobe can be on the only symbol of a name. Raises CannotLower.

    Args:
        place: place of the probe.
        count: functions of this name that can be traced.
        symbols: symbols of this name.
        facts: features of the target.
        column: column of the name.
        alias: another name of it that can be traced; empty: none.
        owner: function that it is a part of; empty: it is none.
    """
    if (symbols := max(count, symbols)) > 1:
        kind = "functions" if symbols == count else "symbols"
        note = f"{symbols} {kind} have this name"
        raise CannotLower(Refusal("NON_UNIQ_SYMBOL", "The symbol is not unique", column, place.symbol, note))
    if not count and not owner and not alias:
        raise CannotLower(_untraceable(place.symbol, facts, column))
    if not facts.blacklist.isdisjoint((place.symbol, alias, owner)):
        raise CannotLower(own_refusal("blacklisted", place.symbol, column))


def _check_maxactive(probe: Probe, facts: TargetFacts) -> None:
    """Check the number after the `f`: only kernels with fprobes before the function-graph rewrite accept it."""
    dialect = dialect_of(facts)
    if not dialect.fprobe or dialect.fprobe_on_graph:
        hint, _ = hint_for("BAD_MAXACT", probe.maxactive, better=no_number_hint("f", probe.maxactive))
        raise CannotLower(Refusal("BAD_MAXACT", message_of("BAD_MAXACT"), 1, probe.maxactive, hint))


def _alias(place: ProbePlace, facts: TargetFacts, environment: Environment) -> str:
    """Return the name under which the tracer lists the code of a name's only symbol; empty where it lists none.

    The tracer lists only one of `__x64_sys_getpid` and `__do_sys_getpid`.
    """
    if environment.symbol is None or place.module is not None:
        return ""
    aliases, count = environment.symbol(place.symbol).aliases, index_of(facts).count
    return next((name for name in aliases if count(name) == 1), "")


def _is_part(place: ProbePlace, facts: TargetFacts, environment: Environment) -> bool:
    """Return whether a symbol is a part split off a traceable function (`vfs_read.cold`), and takes a kprobe.

    The kernel judges such a symbol by the function it is named after (within_notrace_func).
    """
    base, dot, _ = place.symbol.partition(".")
    return bool(dot) and index_of(facts).count(base) > 0 and _symbols(place, facts, environment) > 0


def _count(place: ProbePlace, facts: TargetFacts) -> int:
    """Return the number of traceable functions of a name, in the place's module if it has one."""
    index = index_of(facts)
    count = index.count(place.symbol)
    if place.module is None or count < 2:
        return count
    return facts.functions.count(f"{place.symbol} [{place.module}]")


def _symbols(place: ProbePlace, facts: TargetFacts, environment: Environment) -> int:
    """Return the number of symbols of this name that a kprobe finds, 0 if unknown (validate_probe_symbol)."""
    if environment.symbol is None or place.module is not None:
        return 0
    counts = environment.symbol(place.symbol)
    if dialect_of(facts).fprobe_on_graph:
        return counts.kernel or counts.modules
    return counts.kernel + counts.modules


def _several(probe: Probe, chosen: ChosenFunctions, facts: TargetFacts, column: int, btf: Btf | None) -> Mechanism:
    """Choose the mechanism for several functions: a list where the target takes one; the kernel matches names for an
    fprobe; each function gets a kprobe else.
    """
    index, place, names = index_of(facts), probe.place, chosen.names
    text = str(place)
    if probe.kind in (ProbeKind.AUTO, ProbeKind.FPROBE) and (
        facts.function_lists or (facts.has(Feature.FPROBE_EVENTS) and _is_one_pattern(place))
    ):
        note = probed_note(text, sum(map(index.count, names)))
        on = place if _is_one_pattern(place) else ProbePlace(names[0])
        losses = (note, *chosen.notes)
        return Mechanism(True, on, False, losses, functions=names, parameters=chosen.parameters)
    excluded = {name: "its name is not unique" for name in names if index.count(name) > 1}
    excluded |= {name: "it is on the kernel's kprobe blacklist" for name in names if name in facts.blacklist}
    excluded |= dict.fromkeys(without_void(names, probe.fetchargs, btf)[1], NO_RESULT)
    functions = sorted(name for name in names if name not in excluded)
    if not functions or place.offset:
        raise CannotLower(
            own_refusal("not_traceable", text, column, "A pattern stands for functions that can be probed")
        )
    if len(functions) > _MAX_FUNCTIONS:
        by_pattern = facts.has(Feature.FPROBE_EVENTS) and _is_one_pattern(place)
        way = f"f {text} takes them" if by_pattern else "a narrower choice fits fewer"
        fit = counted(len(functions), "name fits", "names fit")
        hint = f"{fit}; without BPF programs each needs a kprobe: {_MAX_FUNCTIONS} at most; {way}"
        raise CannotLower(own_refusal("too_many_functions", text, column, hint))
    losses = (probed_note(text, len(functions)), *left_out_notes(excluded), *chosen.notes)
    first_place, *others = (chosen.places.get(name, name) for name in functions)
    first = _kprobe(replace(probe, place=ProbePlace(first_place)), facts, by_name=False)
    return replace(
        first, losses=losses, others=tuple(others), functions=tuple(functions), parameters=chosen.parameters
    )


def _is_one_pattern(place: ProbePlace) -> bool:
    return place.module is None and FunctionChoice.parse(place.symbol).is_one_pattern


def _kprobe(probe: Probe, facts: TargetFacts, by_name: bool) -> Mechanism:
    if not facts.has(Feature.KPROBE_EVENTS):
        raise CannotLower(own_refusal("missing_capability", str(probe.kind), 0, "This kernel has no kprobe events"))
    if probe.place.offset and probe.when is not ProbeEnds.ENTRY:
        raise CannotLower(Refusal("BAD_RETPROBE", "Retprobe address must be an function entry", 2, str(probe.place)))
    if COLD in probe.place.symbol and probe.when is not ProbeEnds.ENTRY:
        # A kretprobe would write its own address over whatever is on the stack there.
        base = probe.place.symbol.partition(COLD)[0]
        hint = f"It is jumped to from {base}, never called, so it does not return: probe it at its entry"
        raise CannotLower(own_refusal("not_traceable", str(probe.place), str(probe).index(" ") + 1, hint))
    return Mechanism(
        False,
        probe.place,
        by_name and not probe.place.offset,
        (),
        probe.maxactive if probe.maxactive.isdigit() else "",
    )


def _untraceable(symbol: str, facts: TargetFacts, column: int) -> Refusal:
    if symbol in facts.blacklist:
        return own_refusal("blacklisted", symbol, column)
    clones = index_of(facts).copies.get(symbol, ())
    if clones:
        return own_refusal("not_traceable", symbol, column, f"The compiler made {clones[0]} of it", clones[:3])
    return own_refusal(
        "not_traceable", symbol, column, "It is not in available_filter_functions: inlined, notrace, or not there"
    )
