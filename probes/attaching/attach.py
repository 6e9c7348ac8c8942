"""Why a function can't be probed on one target, and what can be probed instead: pure, from what was seen there.

Facts and BTF alone give an answer for a row of a list (some 10 us). With a `SymbolLookups` (the table of symbols, the
modules on disk) it is exact. Who calls the function is a longer question: `probes.attaching.callers`.
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
"""What available_filter_functions calls the place of a weak function that another one stands in for."""
_KPROBES = frozenset({ProbeKind.KPROBE, ProbeKind.KRETPROBE})
_TROUBLES = {str(why): why for why in (ReasonKind.PRIVILEGES, ReasonKind.LOCKDOWN, ReasonKind.TRACER)}
_IN_SECTION = {
    TextSection.INIT: (ReasonKind.INIT, "it runs only while the kernel boots; its memory has been freed since"),
    TextSection.NOINSTR: (ReasonKind.NOINSTR, "it is noinstr: it runs where tracing isn't safe (entry, idle, NMI)"),
    TextSection.ENTRY: (ReasonKind.ENTRY, "it is assembly at the border to user space"),
}
_UNTRACED = (
    ReasonKind.NOTRACE,
    "no tracer's call at its entry: marked notrace, declared inline, assembly, or not built for it",
)
_OF_SECTION = {section: (Reason(*_IN_SECTION.get(section, _UNTRACED)),) for section in (None, *TextSection)}


def attachability(name: str, facts: TargetFacts, btf: Btf | None, ground: SymbolLookups = UNSEEN) -> Attachability:
    """Say what can attach to a function, what can't and why, and what there is instead.

    Args:
        name: as available_filter_functions, BTF or kallsyms has it; any other is said to be unknown.
        facts: of the target.
        btf: types to look the function up in; None: unknown.
        ground: what else can be asked.
    """
    about = _FunctionFacts(name, facts, btf, ground)
    machine = _machine(facts)
    if machine and not facts.functions:  # what could be traced isn't known: of the function only whether it is there
        looked = facts.unseen is None or btf is not None or about.symbols is not None
        unknown = about.nobody() if looked and not (about.in_btf or about.symbols) else ()
        return Attachability(name, reasons=(*machine, *unknown))
    if about.count and not name.startswith(_WEAK):
        kinds, reasons = about.listed()
    elif about.alias:
        kinds, reasons = about.aliased()
    else:
        kinds, reasons = about.lent(), about.unlisted()
    if machine:
        kinds, reasons = frozenset(), [*machine, *reasons]
    return Attachability(name, about.module, kinds, tuple(reasons), about.instead(), about.traced_copies)


class AttachabilitySurvey:
    """Answers of `attachability` for many functions, of which two sorts are found together.

    Each by itself takes some fifty times as long.
    """

    def __init__(
        self, names: Iterable[str], facts: TargetFacts, btf: Btf | None, ground: SymbolLookups = UNSEEN
    ) -> None:
        """Look at some names, as `attachability` does."""
        self._facts, self._btf, self._ground = facts, btf, ground
        index = index_of(facts)
        usual, sections = set(filter(str.isidentifier, names)), dict[str, TextSection | None]()
        usual -= index.copies.keys() | index.repeated.keys() | facts.blacklist
        usual -= {name for name in usual if name[0] == "_" and name.startswith((PADDING, _WEAK))}
        if btf is None or _machine(facts) or not {Feature.FPROBE_EVENTS, Feature.KPROBE_EVENTS} <= facts.features:
            usual.clear()
        traced = btf.functions_among(usual) if btf is not None else usual
        if ground.symbols is not None:
            sections = ground.sections(usual) if ground.sections else {}
            traced &= sections.keys()
        traced &= index.modules.keys() - {name for name, module in index.modules.items() if module}
        self.traced: Set[str] = traced
        """C identifiers; functions of the kernel itself that every probe takes, with nothing to be said of them."""
        self._untraced = {name: _OF_SECTION[sections[name]] for name in sections.keys() - index.modules.keys()}
        """By name, the reasons of those that no probe takes for where they lie."""

    def about(self, name: str) -> Attachability:
        """Return the answer for one of the names."""
        if name in self.traced:
            return Attachability(name, kinds=ALL)
        if reasons := self._untraced.get(name):
            return Attachability(name, reasons=reasons)
        return attachability(name, self._facts, self._btf, self._ground)


def _machine(facts: TargetFacts) -> tuple[Reason, ...]:
    """What keeps every function from being probed."""
    reasons = [
        Reason(_TROUBLES.get(trouble.code, ReasonKind.MACHINE), trouble.what, trouble.remedy)
        for trouble in facts.troubles
        if trouble.fatal
    ]
    tracers = facts.has(Feature.FPROBE_EVENTS) or facts.has(Feature.KPROBE_EVENTS)
    if not tracers and facts.unseen is None and not any(reason.why is ReasonKind.TRACER for reason in reasons):
        reasons.append(Reason(ReasonKind.TRACER, "no tracer for functions in this kernel"))
    return tuple(reasons)


class _FunctionFacts:
    """One function, looked at."""

    def __init__(self, name: str, facts: TargetFacts, btf: Btf | None, ground: SymbolLookups) -> None:
        self.name = name
        self._facts = facts
        self._btf = btf
        self._ground = ground
        index = index_of(facts)
        self._index = index
        self.count = index.count(name)
        """How often it is traceable."""
        self.traced_copies = index.copies.get(name, ())
        self.symbols: Sequence[SymbolEntry] | None = ground.symbols(name) if ground.symbols else None
        modules = [index.modules.get(name, ""), *(symbol.module for symbol in self.symbols or ())]
        self.module = next(filter(None, modules), "")

    @property
    def in_btf(self) -> bool:
        return self._btf is not None and self._btf.has_function(self.name)

    @property
    def _barred(self) -> bool:
        """On the kprobe blacklist; a copy is where its function is (within_kprobe_blacklist())."""
        return not self._facts.blacklist.isdisjoint((self.name, self.name.partition(".")[0]))

    # -- traceable -------------------------------------------------------------------------------------------------

    def listed(self) -> tuple[frozenset[ProbeKind], list[Reason]]:
        """Of a function in available_filter_functions."""
        facts, reasons = self._facts, list[Reason]()
        kinds = frozenset({ProbeKind.FPROBE}) if facts.has(Feature.FPROBE_EVENTS) else frozenset[ProbeKind]()
        if not facts.has(Feature.KPROBE_EVENTS):
            reasons.append(Reason(ReasonKind.NO_KPROBES, "no kprobe events in this kernel"))
        elif (twins := self._twins()) is not None:
            reasons.append(twins)
            kinds |= _KPROBES if self._kernels_own() and not self._barred else frozenset()
        elif self._barred:
            reasons.append(Reason(ReasonKind.BLACKLIST, "on the kprobe blacklist: kprobes themselves run through it"))
        else:
            kinds |= _KPROBES
        return kinds, [*reasons, *self._notes()]

    def _kernels_own(self) -> bool:
        """Whether a kprobe takes the one of the kernel itself, whatever modules have of that name: newer ones do."""
        own = [symbol for symbol in self.symbols or () if not symbol.module]
        newer = len(own) == 1 and dialect_of(self._facts).fprobe_on_graph
        return newer and own[0].code and self.name in self._facts.functions  # without a module behind it

    def _twins(self) -> Reason | None:
        """Several symbols of one name: a kprobe takes a name only where it is the only one."""
        count = max(self.count, len(self.symbols or ()))
        if count < 2:
            return None
        one = ", of which this one can be traced" if self.count == 1 else ""
        takes = "an fprobe takes all" if self.count > 1 else "an fprobe can"
        kprobe = "a kprobe takes the kernel's own" if self._kernels_own() else "a kprobe can't tell them apart"
        said = f"{kprobe}, {takes}" if self._facts.has(Feature.FPROBE_EVENTS) else f"{kprobe} by it"
        what = "functions" if self.count > 1 else "symbols"
        return Reason(ReasonKind.TWINS, f"{count} {what} have this name{one}: {said}")

    def _notes(self) -> list[Reason]:
        """What doesn't keep a probe away."""
        notes = []
        base, dot, suffix = self.name.partition(".")
        if dot:
            made = f"the compiler's {suffix.partition('.')[0]} copy of {base}"
            notes.append(Reason(ReasonKind.COPY, f"{made}: no BTF for it, arguments only by number"))
        elif not self.in_btf and not self.module:  # those of a module may be in its own BTF
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
        """Name by which the tracer lists the code of its only symbol; empty where it doesn't, or by its own."""
        symbols = self.symbols or ()
        if self.count or len(symbols) != 1 or not symbols[0].code:
            return ""
        return next((name for name in symbols[0].aliases if self._index.count(name) == 1), "")

    def aliased(self) -> tuple[frozenset[ProbeKind], list[Reason]]:
        """Of a function with an `alias`: kprobes go by its address, fprobes where they are made of graph tracing."""
        kinds, reasons = _FunctionFacts(self.alias, self._facts, self._btf, UNSEEN).listed()
        told, kinds = f"another name of {self.alias}", kinds if not self._barred else kinds - _KPROBES
        if ProbeKind.FPROBE in kinds and not dialect_of(self._facts).fprobe_on_graph:
            told, kinds = f"{told}, and an fprobe takes only that", kinds - {ProbeKind.FPROBE}
        barred = [reason for reason in reasons if reason.why is ReasonKind.BLACKLIST]
        return kinds, [Reason(ReasonKind.ALIAS, told), *barred, *self._notes()]

    # -- not traceable ---------------------------------------------------------------------------------------------

    def unlisted(self) -> list[Reason]:
        """Of a name that isn't in available_filter_functions."""
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
            place = "a kprobe can sit on it, without arguments" if self.lent() else "nothing can attach"
            return [Reason(ReasonKind.COLD, f"the unlikely part of {base}, jumped to, never called: {place}")]
        if self.symbols:
            return self._with_symbol(self.symbols)
        if self.symbols is None and not self.traced_copies:
            return self._without_symbols()
        return self._without_symbol()

    def lent(self) -> frozenset[ProbeKind]:
        """A kprobe's right to a symbol with a suffix comes from the function it is named after (trace_kprobe.c).

        No return probe: a part that is jumped to has no return address where one would be looked for.
        """
        base, dot, _ = self.name.partition(".")
        alone = [symbol for symbol in self.symbols or () if symbol.code and symbol.section not in _IN_SECTION]
        bases = len(self._ground.symbols(base)) if dot and self._ground.symbols else 0
        # Of several of that name the kernel takes one, nobody knows which: all have to be traceable.
        if not (len(alone) == len(self.symbols or ()) == 1 and bases and bases == self._index.count(base)):
            return frozenset()
        allowed = self._facts.has(Feature.KPROBE_EVENTS) and not self._barred
        return frozenset({ProbeKind.KPROBE} if allowed else ())

    def _with_symbol(self, symbols: Sequence[SymbolEntry]) -> list[Reason]:
        code = [symbol for symbol in symbols if symbol.code]
        if not code:
            return [Reason(ReasonKind.DATA, "a variable, not a function")]
        reasons = []
        special = next((s.section for s in code if s.section in _IN_SECTION), None)
        if special is not None and all(symbol.section is special for symbol in code):
            reasons.append(Reason(*_IN_SECTION[special]))
        elif self._barred:
            reasons.append(Reason(ReasonKind.BLACKLIST, "on the kprobe blacklist, and no tracer's call at its entry"))
        else:
            why, text = _UNTRACED
            only = "; only a kprobe can sit on it" if self.lent() else ""
            reasons.append(Reason(why, text + only))
        if len(code) > 1:
            reasons.append(Reason(ReasonKind.TWINS, f"{len(code)} functions have this name, none can be traced"))
        return reasons

    def _without_symbols(self) -> list[Reason]:
        """Nobody can be asked for symbols."""
        if self._barred:
            return [Reason(ReasonKind.BLACKLIST, "not traceable, and on the kprobe blacklist")]
        if self.in_btf:
            text = "not traceable: marked notrace, run only at boot, optimised away, or inlined everywhere"
            return [Reason(ReasonKind.UNTRACED, text)]
        return self.nobody()

    def _without_symbol(self) -> list[Reason]:
        """It is not in the table of symbols."""
        made = self.traced_copies or self._other_copies
        if made:
            probe = ": probe that instead" if self.traced_copies else ", which can't be traced either"
            return [Reason(ReasonKind.RENAMED, f"the compiler made {_list(made)} of it{probe}")]
        if self.in_btf:
            return [Reason(ReasonKind.INLINED, "no code of its own: inlined into every caller, or optimised away")]
        return self.nobody()

    def nobody(self) -> list[Reason]:
        """Of a name that isn't known here."""
        for absent in self._ground.absent(self.name) if self._ground.absent else ():
            sure = "is" if absent.certain else "may be, by its name,"
            text = f"it {sure} in the module {absent.module}, which isn't loaded"
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
        found = self._ground.copies(self.name) if self._ground.copies else ()
        return tuple(dict.fromkeys(found))

    def instead(self) -> tuple[Alternative, ...]:
        """Names and places that can be probed; callers are not among them."""
        ways = [self._named(copy, Relation.COPY) for copy in self.traced_copies]
        base = self.name.removeprefix(PADDING).partition(COLD)[0]
        bases = [base, *([base.partition(".")[0]] if "." in base[1:] else [])]
        ways += [self._named(self.alias, Relation.ALIAS)] if self.alias else []
        ways += [self._named(one, Relation.ORIGINAL) for one in bases if one != self.name and self._index.count(one)]
        return (*(way for way in ways if way.kinds), *self._twin_places())

    def _named(self, name: str, how: Relation) -> Alternative:
        kinds = _FunctionFacts(name, self._facts, self._btf, UNSEEN).listed()[0]
        return Alternative(ProbePlace(name), how, kinds=kinds)

    def _twin_places(self) -> list[Alternative]:
        """Twins by their addresses, for kprobes; as many as can be traced, where it is known which."""
        code = [symbol for symbol in self.symbols or () if symbol.code and symbol.section not in _IN_SECTION]
        if len(code) < 2 or self.count != len(code) or not self._facts.has(Feature.KPROBE_EVENTS):
            return []
        return [Alternative(self._twin_place(symbol), Relation.TWIN, where_is(symbol), _KPROBES) for symbol in code]

    def _twin_place(self, symbol: SymbolEntry) -> ProbePlace:
        if symbol.base is None:
            return ProbePlace(f"{symbol.address:#x}", address=symbol.address)
        return ProbePlace(self.name, symbol.module or None, base=symbol.base, address=symbol.address)


def where_is(symbol: SymbolEntry) -> str:
    """Tell one of several symbols from the others: by its module and the functions around it."""
    module = f"in {symbol.module}, " if symbol.module else ""
    around = " and ".join(filter(None, (symbol.before, symbol.after)))
    return f"{module}between {around}" if symbol.before and symbol.after else f"{module}beside {around or '?'}"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
