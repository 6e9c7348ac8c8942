"""Explain why a function can't be probed on a target, and list alternatives. Pure, from the target's facts.

Facts and BTF alone give an answer for a row of a list (some 10 us). With `SymbolLookups` (the symbol table, the
modules on disk) the answer is exact. `probes.attaching.callers` finds the function's callers, which takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from btf.btf import Btf
from probes.attaching.kernel_text import TextSection
from probes.attaching.values import (
    ALL,
    UNSEEN,
    Alternative,
    Attachability,
    Reason,
    ReasonKind,
    Relation,
    SymbolEntry,
    SymbolLookups,
)
from probes.facts.dialect import dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.functions.function_index import index_of
from probes.probe import ProbeKind, ProbePlace

PADDING = "__pfx_"
COLD = ".cold"
_WEAK = "__ftrace_invalid_address___"
"""Prefix in available_filter_functions for the place of an overridden weak function."""
_KPROBES = frozenset({ProbeKind.KPROBE, ProbeKind.KRETPROBE})
_TROUBLES = {str(kind): kind for kind in (ReasonKind.PRIVILEGES, ReasonKind.LOCKDOWN, ReasonKind.TRACER)}
_SECTION_REASONS = {
    TextSection.INIT: (ReasonKind.INIT, "it runs only while the kernel boots; its memory has been freed since"),
    TextSection.NOINSTR: (ReasonKind.NOINSTR, "it is noinstr: it runs where tracing isn't safe (entry, idle, NMI)"),
    TextSection.ENTRY: (ReasonKind.ENTRY, "it is assembly at the border to user space"),
}
_UNTRACED = (
    ReasonKind.NOTRACE,
    "no tracer's call at its entry: marked notrace, declared inline, assembly, or not built for it",
)
_REASONS_BY_SECTION = {
    section: (Reason(*_SECTION_REASONS.get(section, _UNTRACED)),) for section in (None, *TextSection)
}


def attachability(name: str, facts: TargetFacts, btf: Btf | None, lookups: SymbolLookups = UNSEEN) -> Attachability:
    """Return the probes that can attach to a function, reasons for those that can't, and alternatives.

    Args:
        name: name in available_filter_functions, BTF or kallsyms; any other name is reported as unknown.
        facts: facts of the target.
        btf: types to look the function up in; None: unknown.
        lookups: further sources: symbols, modules on disk.
    """
    function = _FunctionFacts(name, facts, btf, lookups)
    machine = _machine(facts)
    if (
        machine and not facts.functions
    ):  # Without a list of traceable functions, the answer is only whether the function exists.
        searched = facts.unreadable is None or btf is not None or function.symbols is not None
        unknown = function.unknown_name_reasons() if searched and not (function.in_btf or function.symbols) else ()
        return Attachability(name, reasons=(*machine, *unknown))
    if function.count and not name.startswith(_WEAK):
        kinds, reasons = function.listed()
    elif function.alias:
        kinds, reasons = function.aliased()
    else:
        kinds, reasons = function.borrowed_probes(), function.unlisted()
    if machine:
        kinds, reasons = frozenset(), [*machine, *reasons]
    return Attachability(
        name, function.module, kinds, tuple(reasons), function.alternatives(), function.traced_copies
    )


class AttachabilitySurvey:
    """Answers of `attachability` for many functions; two common classes of functions are found in bulk.

    Asking for each function separately takes some fifty times as long.
    """

    def __init__(
        self, names: Iterable[str], facts: TargetFacts, btf: Btf | None, lookups: SymbolLookups = UNSEEN
    ) -> None:
        """Survey the names, with the arguments of `attachability`."""
        self._facts, self._btf, self._lookups = facts, btf, lookups
        index = index_of(facts)
        usual, sections = set(filter(str.isidentifier, names)), dict[str, TextSection | None]()
        usual -= index.copies.keys() | index.repeated.keys() | facts.blacklist
        usual -= {name for name in usual if name[0] == "_" and name.startswith((PADDING, _WEAK))}
        if btf is None or _machine(facts) or not {Feature.FPROBE_EVENTS, Feature.KPROBE_EVENTS} <= facts.features:
            usual.clear()
        traced = btf.functions_among(usual) if btf is not None else usual
        if lookups.symbols is not None:
            sections = lookups.sections(usual) if lookups.sections else {}
            traced &= sections.keys()
        traced &= index.modules.keys() - {name for name, module in index.modules.items() if module}
        self.traced: Set[str] = traced
        """C identifiers of the kernel's own functions that take every probe, without reasons or notes."""
        self._untraced = {
            name: _REASONS_BY_SECTION[sections[name]] for name in sections.keys() - index.modules.keys()
        }
        """Reasons by name for functions that take no probe because of their text section."""

    def attachability(self, name: str) -> Attachability:
        """Return the answer for a name of the survey."""
        if name in self.traced:
            return Attachability(name, kinds=ALL)
        if reasons := self._untraced.get(name):
            return Attachability(name, reasons=reasons)
        return attachability(name, self._facts, self._btf, self._lookups)


def _machine(facts: TargetFacts) -> tuple[Reason, ...]:
    """Return the reasons that keep all functions from being probed."""
    reasons = [
        Reason(_TROUBLES.get(trouble.code, ReasonKind.MACHINE), trouble.what, trouble.remedy)
        for trouble in facts.troubles
        if trouble.fatal
    ]
    tracers = facts.has(Feature.FPROBE_EVENTS) or facts.has(Feature.KPROBE_EVENTS)
    if not tracers and facts.unreadable is None and not any(reason.kind is ReasonKind.TRACER for reason in reasons):
        reasons.append(Reason(ReasonKind.TRACER, "no tracer for functions in this kernel"))
    return tuple(reasons)


class _FunctionFacts:
    """Facts about a function."""

    def __init__(self, name: str, facts: TargetFacts, btf: Btf | None, lookups: SymbolLookups) -> None:
        self.name = name
        self._facts = facts
        self._btf = btf
        self._lookups = lookups
        index = index_of(facts)
        self._index = index
        self.count = index.count(name)
        """Number of traceable functions of this name."""
        self.traced_copies = index.copies.get(name, ())
        self.symbols: Sequence[SymbolEntry] | None = lookups.symbols(name) if lookups.symbols else None
        modules = [index.modules.get(name, ""), *(symbol.module for symbol in self.symbols or ())]
        self.module = next(filter(None, modules), "")

    @property
    def in_btf(self) -> bool:
        return self._btf is not None and self._btf.has_function(self.name)

    @property
    def _blacklisted(self) -> bool:
        """True on the kprobe blacklist; a clone counts as its function (within_kprobe_blacklist())."""
        return not self._facts.blacklist.isdisjoint((self.name, self.name.partition(".")[0]))

    # -- traceable -------------------------------------------------------------------------------------------------

    def listed(self) -> tuple[frozenset[ProbeKind], list[Reason]]:
        """Return probes and reasons for a function in available_filter_functions."""
        facts, reasons = self._facts, list[Reason]()
        kinds = frozenset({ProbeKind.FPROBE}) if facts.has(Feature.FPROBE_EVENTS) else frozenset[ProbeKind]()
        if not facts.has(Feature.KPROBE_EVENTS):
            reasons.append(Reason(ReasonKind.NO_KPROBES, "no kprobe events in this kernel"))
        elif (shared_name := self._shared_name_reason()) is not None:
            reasons.append(shared_name)
            kinds |= _KPROBES if self._takes_kernels_own() and not self._blacklisted else frozenset()
        elif self._blacklisted:
            reasons.append(Reason(ReasonKind.BLACKLIST, "on the kprobe blacklist: kprobes themselves run through it"))
        else:
            kinds |= _KPROBES
        return kinds, [*reasons, *self._notes()]

    def _takes_kernels_own(self) -> bool:
        """Return whether a kprobe takes the kernel's own function where modules have the name too: newer kernels
        do.
        """
        own = [symbol for symbol in self.symbols or () if not symbol.module]
        newer = len(own) == 1 and dialect_of(self._facts).fprobe_on_graph
        return newer and own[0].code and self.name in self._facts.functions  # listed without a module

    def _shared_name_reason(self) -> Reason | None:
        """Return the reason for a name with several symbols: a kprobe takes a unique name only."""
        count = max(self.count, len(self.symbols or ()))
        if count < 2:
            return None
        traceable_one = ", of which this one can be traced" if self.count == 1 else ""
        takes = "an fprobe takes all" if self.count > 1 else "an fprobe can"
        kprobe = "a kprobe takes the kernel's own" if self._takes_kernels_own() else "a kprobe can't tell them apart"
        explanation = f"{kprobe}, {takes}" if self._facts.has(Feature.FPROBE_EVENTS) else f"{kprobe} by it"
        kind = "functions" if self.count > 1 else "symbols"
        return Reason(ReasonKind.TWINS, f"{count} {kind} have this name{traceable_one}: {explanation}")

    def _notes(self) -> list[Reason]:
        """Return notes that do not keep a probe from attaching."""
        notes = []
        base, dot, suffix = self.name.partition(".")
        if dot:
            description = f"the compiler's {suffix.partition('.')[0]} copy of {base}"
            notes.append(Reason(ReasonKind.COPY, f"{description}: no BTF for it, arguments only by number"))
        elif not self.in_btf and not self.module:  # functions of a module may be in its own BTF
            notes.append(Reason(ReasonKind.NO_BTF, "no BTF for it, arguments only by number"))
        if self.traced_copies:
            names = _list(self.traced_copies)
            notes.append(
                Reason(ReasonKind.COPIES, f"the compiler made {names} of it besides: calls that go there pass it by")
            )
        return notes

    # -- traceable by another name -----------------------------------------------------------------------------------

    @property
    def alias(self) -> str:
        """Name under which the tracer lists the code of the only symbol; empty if it is the own name or none."""
        symbols = self.symbols or ()
        if self.count or len(symbols) != 1 or not symbols[0].code:
            return ""
        return next((name for name in symbols[0].aliases if self._index.count(name) == 1), "")

    def aliased(self) -> tuple[frozenset[ProbeKind], list[Reason]]:
        """Return probes and reasons for a function with an `alias`: kprobes by address, fprobes by graph tracer."""
        kinds, reasons = _FunctionFacts(self.alias, self._facts, self._btf, UNSEEN).listed()
        text, kinds = f"another name of {self.alias}", kinds if not self._blacklisted else kinds - _KPROBES
        if ProbeKind.FPROBE in kinds and not dialect_of(self._facts).fprobe_on_graph:
            text, kinds = f"{text}, and an fprobe takes only that", kinds - {ProbeKind.FPROBE}
        blacklist_reasons = [reason for reason in reasons if reason.kind is ReasonKind.BLACKLIST]
        return kinds, [Reason(ReasonKind.ALIAS, text), *blacklist_reasons, *self._notes()]

    # -- not traceable ---------------------------------------------------------------------------------------------

    def unlisted(self) -> list[Reason]:
        """Return the reasons for a name that isn't in available_filter_functions."""
        name = self.name
        if name.startswith(_WEAK):
            return [Reason(ReasonKind.WEAK, "the place of a weak function that another one stands in for")]
        if name.startswith(PADDING) and (self.symbols or self.symbols is None):
            return [
                Reason(
                    ReasonKind.PADDING, f"the padding in front of {name.removeprefix(PADDING)}: nothing runs there"
                )
            ]
        if COLD in name and (self.symbols or self.symbols is None):
            base = name.partition(COLD)[0]
            place = "a kprobe can sit on it, without arguments" if self.borrowed_probes() else "nothing can attach"
            return [Reason(ReasonKind.COLD, f"the unlikely part of {base}, jumped to, never called: {place}")]
        if self.symbols:
            return self._with_symbol(self.symbols)
        if self.symbols is None and not self.traced_copies:
            return self._without_symbols()
        return self._without_symbol()

    def borrowed_probes(self) -> frozenset[ProbeKind]:
        """Return the probes for a symbol with a suffix; the function it is named after decides (trace_kprobe.c).

        Return probes are excluded: a part that is jumped to has no return address in the expected place.
        """
        base, dot, _ = self.name.partition(".")
        probeable = [
            symbol for symbol in self.symbols or () if symbol.code and symbol.section not in _SECTION_REASONS
        ]
        bases = len(self._lookups.symbols(base)) if dot and self._lookups.symbols else 0
        # If several functions have that name, the kernel picks any: all of them must be traceable.
        if not (len(probeable) == len(self.symbols or ()) == 1 and bases and bases == self._index.count(base)):
            return frozenset()
        allowed = self._facts.has(Feature.KPROBE_EVENTS) and not self._blacklisted
        return frozenset({ProbeKind.KPROBE} if allowed else ())

    def _with_symbol(self, symbols: Sequence[SymbolEntry]) -> list[Reason]:
        code = [symbol for symbol in symbols if symbol.code]
        if not code:
            return [Reason(ReasonKind.DATA, "a variable, not a function")]
        reasons = []
        special = next((s.section for s in code if s.section in _SECTION_REASONS), None)
        if special is not None and all(symbol.section is special for symbol in code):
            reasons.append(Reason(*_SECTION_REASONS[special]))
        elif self._blacklisted:
            reasons.append(Reason(ReasonKind.BLACKLIST, "on the kprobe blacklist, and no tracer's call at its entry"))
        else:
            kind, text = _UNTRACED
            kprobe_note = "; only a kprobe can sit on it" if self.borrowed_probes() else ""
            reasons.append(Reason(kind, text + kprobe_note))
        if len(code) > 1:
            reasons.append(Reason(ReasonKind.TWINS, f"{len(code)} functions have this name, none can be traced"))
        return reasons

    def _without_symbols(self) -> list[Reason]:
        """Return the reasons where the symbol table is unknown."""
        if self._blacklisted:
            return [Reason(ReasonKind.BLACKLIST, "not traceable, and on the kprobe blacklist")]
        if self.in_btf:
            text = "not traceable: marked notrace, run only at boot, optimised away, or inlined everywhere"
            return [Reason(ReasonKind.UNTRACED, text)]
        return self.unknown_name_reasons()

    def _without_symbol(self) -> list[Reason]:
        """Return the reasons for a name that is not in the symbol table."""
        copies = self.traced_copies or self._other_copies
        if copies:
            probe = ": probe that instead" if self.traced_copies else ", which can't be traced either"
            return [Reason(ReasonKind.RENAMED, f"the compiler made {_list(copies)} of it{probe}")]
        if self.in_btf:
            return [Reason(ReasonKind.INLINED, "no code of its own: inlined into every caller, or optimised away")]
        return self.unknown_name_reasons()

    def unknown_name_reasons(self) -> list[Reason]:
        """Return the reasons for an unknown name."""
        for absent in self._lookups.absent(self.name) if self._lookups.absent else ():
            certainty = "is" if absent.is_proven else "may be, by its name,"
            text = f"it {certainty} in the module {absent.module}, which isn't loaded"
            return [Reason(ReasonKind.MODULE, text, f"modprobe {absent.module}")]
        if self.symbols is None:
            return [Reason(ReasonKind.UNKNOWN, "no such function on this target")]
        return [
            Reason(
                ReasonKind.UNKNOWN,
                "no such function on this target: another kernel's, a macro, or inlined everywhere",
            )
        ]

    # -- the ways out ----------------------------------------------------------------------------------------------

    @property
    def _other_copies(self) -> tuple[str, ...]:
        names = self._lookups.copies(self.name) if self._lookups.copies else ()
        return tuple(dict.fromkeys(names))

    def alternatives(self) -> tuple[Alternative, ...]:
        """Return names and places that can be probed instead, without callers."""
        alternatives = [self._named(copy, Relation.COPY) for copy in self.traced_copies]
        base = self.name.removeprefix(PADDING).partition(COLD)[0]
        bases = [base, *([base.partition(".")[0]] if "." in base[1:] else [])]
        alternatives += [self._named(self.alias, Relation.ALIAS)] if self.alias else []
        alternatives += [
            self._named(base_name, Relation.ORIGINAL)
            for base_name in bases
            if base_name != self.name and self._index.count(base_name)
        ]
        return (*(alternative for alternative in alternatives if alternative.kinds), *self._twin_places())

    def _named(self, name: str, relation: Relation) -> Alternative:
        kinds = _FunctionFacts(name, self._facts, self._btf, UNSEEN).listed()[0]
        return Alternative(ProbePlace(name), relation, kinds=kinds)

    def _twin_places(self) -> list[Alternative]:
        """Return functions of the same name by address, for kprobes; only if all of them can be traced."""
        code = [symbol for symbol in self.symbols or () if symbol.code and symbol.section not in _SECTION_REASONS]
        if len(code) < 2 or self.count != len(code) or not self._facts.has(Feature.KPROBE_EVENTS):
            return []
        return [Alternative(self._twin_place(symbol), Relation.TWIN, where_is(symbol), _KPROBES) for symbol in code]

    def _twin_place(self, symbol: SymbolEntry) -> ProbePlace:
        if symbol.base is None:
            return ProbePlace(f"{symbol.address:#x}", address=symbol.address)
        return ProbePlace(self.name, symbol.module or None, base=symbol.base, address=symbol.address)


def where_is(symbol: SymbolEntry) -> str:
    """Return a text that distinguishes a symbol from others of its name: its module and the functions around it."""
    module = f"in {symbol.module}, " if symbol.module else ""
    neighbours = " and ".join(filter(None, (symbol.previous, symbol.next)))
    return (
        f"{module}between {neighbours}" if symbol.previous and symbol.next else f"{module}beside {neighbours or '?'}"
    )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
