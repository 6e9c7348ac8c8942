"""Lower a probe on a function to its lines: by name or by offset, at one end of the call or at both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from btf.btf import Btf
from events.names.function_choice import is_choice
from probes.facts.dialect import MAX_ARGS, dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.fetcharg import Argument, FetchArg, ReturnValue, Variable, innermost
from probes.functions.convention import FunctionConvention, convention_of, pushed_by_call
from probes.functions.signature import Signature, certain_signature_of
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import Capturer, needs_entry, needs_exit
from probes.lowering.arguments.event_words import NamedField, capture, name_fields, refused_at
from probes.lowering.arguments.pattern_argument import OF_A_PATTERN, explain_pattern_argument
from probes.lowering.arguments.pattern_result import typed_results
from probes.lowering.arguments.selection import UNKNOWN_ARGUMENTS, CaptureSelection, expand_all_arguments
from probes.lowering.arguments.warnings import value_warnings
from probes.lowering.filters.function_filter import check_function_filter
from probes.lowering.filters.probe_filter import distribute_filter
from probes.lowering.filters.unrecorded import FUNCTION, explain_unrecorded, known_hint
from probes.lowering.instructions.offset_check import check_offset, offset_notes
from probes.lowering.mechanism import Mechanism, choose
from probes.names import choice_name, event_name, unique_field
from probes.plans.plan import DEFAULT_GROUP, MAX_PATTERN, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbeEnds
from probes.refusal import CannotLower
from probes.rules.expand import beyond_last
from probes.rules.messages.error_remedies import WAYS_OUT
from probes.rules.site import Site
from probes.rules.symbols import unverifiable_symbols
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtoul
from probes.verdict import Refusal


def lower_function(
    probe: Probe,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None,
    environment: Environment = UNKNOWN,
    shared: Signature | None = None,
) -> Plan:
    """Lower a function probe, as `lower` does. Raises CannotLower.

    Args:
        probe: the probe to lower.
        btf: types of the target.
        facts: features of the target.
        group: group of the events.
        event: name of the event.
        environment: symbols, and files of names.
        shared: signature by which the values of several functions are read; None: they are read by number only.
    """
    mechanism = choose(probe, facts, environment, btf)
    several = is_choice(probe.place.symbol)
    signature = shared
    if btf is not None and not probe.place.offset and not several:
        signature = certain_signature_of(btf, probe.place.symbol)
    convention = (
        convention_of(btf, signature.params, facts.machine, signature.returns)
        if btf is not None and signature is not None
        else FunctionConvention()
    )
    check_offset(probe, environment)
    function = _ProbedFunction(probe, mechanism, btf, facts, signature, convention, environment)
    fetchargs, notes = typed_results(probe.fetchargs, probe.place.symbol, mechanism.functions, btf)
    fetchargs = _with_raw_result(fetchargs, facts) if mechanism.others or shared is not None else fetchargs
    selection = function.select(fetchargs, signature if shared is None else None)
    fields = name_fields(selection)
    if reason := _no_function_reason(probe):
        _check_no_function(probe, fields, reason)
    ends, split_losses = _ends(probe, fields, facts)
    losses = [
        *_implied_exit_note(probe),
        *mechanism.losses,
        *notes,
        *_symbol_notes(probe, facts, environment),
        *selection.losses,
        *split_losses,
    ]
    frame = unique_field("frame", {field.name for field in fields}) if len(ends) > 1 else ""
    events = []
    for at_exit, members in ends:
        planned, event_losses = function.event(at_exit, members, group, event, frame)
        losses += event_losses
        events.append(planned)
    if several:
        events = _with_functions(events, str(probe.place))
        check_function_filter(probe, events[0].function_field, mechanism.functions, facts)
    filtered = distribute_filter(str(probe), probe.filter, events, losses, function.explain_unrecorded)
    return Plan(probe, filtered, tuple(dict.fromkeys(losses)))


@dataclass(frozen=True, slots=True)
class _ProbedFunction:
    """Function that a probe is on, or several, with all that decides how their values are read."""

    probe: Probe
    mechanism: Mechanism
    btf: Btf | None
    facts: TargetFacts
    signature: Signature | None
    convention: FunctionConvention
    environment: Environment

    def select(self, fetchargs: Sequence[FetchArg], all_of: Signature | None) -> CaptureSelection:
        """Return the values to record; `$arg*` stands for the arguments of `all_of`. Raises CannotLower."""
        unknown = OF_A_PATTERN if is_choice(self.probe.place.symbol) else UNKNOWN_ARGUMENTS
        reason = _no_function_reason(self.probe) or unknown
        selection = expand_all_arguments(fetchargs, all_of, self.convention, reason)
        if self.mechanism.by_name and self.signature is not None and dialect_of(self.facts).btf_args:
            _check_numbers(self.probe, selection, self.signature)
        return selection

    def event(
        self, at_exit: bool, fields: list[NamedField], group: str, event: str | None, frame: str
    ) -> tuple[PlannedEvent, list[str]]:
        """Return the event at one end of the call, and losses. Raises CannotLower.

        Args:
            at_exit: True: at the exit; False: at the entry.
            fields: values to record there.
            group: group of the event.
            event: name of the event; None: the probe's own.
            frame: name of the field that pairs the events of both ends; empty: the probe has one event.
        """
        dialect, by_name = dialect_of(self.facts), self.mechanism.by_name
        at_entry = not at_exit and not self.probe.place.offset
        named = self.signature if by_name else None
        site = Site(
            dialect, self.btf, named, at_entry, at_exit, self.mechanism.is_fprobe, environment=self.environment
        )
        capturer = Capturer(site, self.signature, self.convention, by_name and dialect.btf_args)
        with _explained_by_pattern(self.probe, self.mechanism.functions, self.btf, self.facts, site):
            most = MAX_ARGS - bool(frame)
            captured = capture(self.probe, fields, capturer, self.mechanism.longest(frame), most)
        words = [*captured.words, f"{frame}=$stack"] if frame else captured.words
        planned = _event(self.probe, self.mechanism, at_exit, words, captured.columns, group, event, bool(frame))
        shift = pushed_by_call(self.facts.machine) if frame and at_exit else 0
        losses = [*captured.losses, *value_warnings(fields, captured.columns, capturer)]
        return replace(planned, frame=frame, frame_shift=shift), losses

    def explain_unrecorded(self, name: str) -> str:
        """Return the hint on a name in the filter that is not recorded; empty: none."""
        place, condition = self.probe.place.symbol, self.probe.filter
        if not is_choice(place):
            return explain_unrecorded(name, condition, place, self.signature)
        if known := known_hint(name, condition, place):
            return known
        if self.btf is None:
            return ""
        site = Site(dialect_of(self.facts), self.btf, None, at_entry=True)
        refusal = Refusal("unknown_filter_field", "", None, name)
        functions, machine = self.mechanism.functions, self.facts.machine
        return explain_pattern_argument(
            refusal, FetchArg(Variable(name)), place, functions, self.btf, machine, site
        ).hint


@contextlib.contextmanager
def _explained_by_pattern(
    probe: Probe, names: Sequence[str], btf: Btf | None, facts: TargetFacts, site: Site
) -> Iterator[None]:
    """Explain the refusal of a name on a pattern by the functions that have it and those that lack it."""
    try:
        yield
    except CannotLower as error:
        refusal = error.refusal
        arg = next((arg for arg in probe.fetchargs if str(innermost(arg.expression)) == refusal.token), None)
        if not names or btf is None or arg is None or refusal.code != "NO_BTF_ENTRY":
            raise
        explained = explain_pattern_argument(refusal, arg, probe.place.symbol, names, btf, facts.machine, site)
        raise CannotLower(explained) from None


def _with_functions(events: Sequence[PlannedEvent], pattern: str) -> list[PlannedEvent]:
    """Return the events of a pattern with a column for the function that a record is from.

    Results have the type of no function, unless all return that, as a path behind `$retval` proves.
    """
    is_common = any("$retval->" in column.label for event in events for column in event.columns)
    name = unique_field(FUNCTION, {column.name for event in events for column in event.columns})
    # Names are found by the addresses then: a recording keeps no longer texts.
    column = PlanColumn(name, FUNCTION, functions=pattern if len(pattern) <= MAX_PATTERN else "*")

    def own(event: PlannedEvent) -> Iterator[PlanColumn]:
        for one in event.columns:
            yield replace(one, btf_type=None) if one.is_retval and not is_common else one

    return [replace(event, columns=(column, *own(event))) for event in events]


def _implied_exit_note(probe: Probe) -> list[str]:
    """Return a note that the probe records at the exit, where only `$retval` says so."""
    implied = probe.suffix is False and probe.when is ProbeEnds.EXIT and probe.returns_by_value
    return ["$retval is there at the exit only: recorded at the return"] if implied else []


def _no_function_reason(probe: Probe) -> str:
    """Return why a place has no arguments of a known function; empty: it may have some."""
    if probe.place.base is None and kstrtoul(probe.place.symbol) is not None:
        return "at an address the kernel knows of no function, its arguments and what it returns: name the function"
    return WAYS_OUT["NOFENTRY_ARGS"] if probe.place.offset else ""


def _check_no_function(probe: Probe, fields: Sequence[NamedField], reason: str) -> None:
    """Check that a place within a function captures no arguments or return values. Raises CannotLower."""
    for field in fields:
        expression = field.request.arg.expression
        hint = reason[:1].upper() + reason[1:]
        if needs_entry(expression):
            raise refused_at(probe, field.request, ValueUnavailable("NOFENTRY_ARGS", hint=hint), None)
        if needs_exit(expression) and not probe.place.offset:
            unavailable = ValueUnavailable("RETVAL_ON_PROBE", token="$retval", hint=hint)  # noqa: S106
            raise refused_at(probe, field.request, unavailable, None)


def _check_numbers(probe: Probe, selection: CaptureSelection, signature: Signature) -> None:
    """Check each bare `$argN` against the number of arguments in BTF. Raises CannotLower."""
    names = [param.name for param in signature.params]
    for wanted in selection.requests:
        arg = wanted.arg
        if not isinstance(arg.expression, Argument) or arg.name is not None or not wanted.is_explicit:
            continue
        if names and arg.expression.number > len(names):
            raise refused_at(probe, wanted, beyond_last(str(arg), names), None)


def _symbol_notes(probe: Probe, facts: TargetFacts, environment: Environment) -> list[str]:
    """Return notes from the symbol table: the place is in another function, or a variable is unknown."""
    notes = offset_notes(probe.place, facts, environment)
    names = (name for arg in probe.fetchargs for name in unverifiable_symbols(str(arg), environment))
    notes += [f"@{name}: the symbols here are those of code, so nobody knows whether it is there" for name in names]
    return notes


def _with_raw_result(fetchargs: Sequence[FetchArg], facts: TargetFacts) -> list[FetchArg]:
    """Give `$retval` a raw type: probes share an event only with equal types, and functions return different ones."""
    raw = f"x{facts.long_size * 8}"
    return [
        replace(arg, type=raw)
        if arg.type is None and isinstance(arg.expression, ReturnValue) and not arg.expression.path
        else arg
        for arg in fetchargs
    ]


def _ends(
    probe: Probe, fields: list[NamedField], facts: TargetFacts
) -> tuple[list[tuple[bool, list[NamedField]]], list[str]]:
    """Return the events that are needed, each as (at the exit, its fields), and notes."""
    at_entry = [f for f in fields if not needs_exit(f.request.arg.expression)]
    arguments = [f for f in fields if needs_entry(f.request.arg.expression)]
    if probe.when is ProbeEnds.ENTRY:
        for field in fields:
            if needs_exit(field.request.arg.expression):
                raise refused_at(probe, field.request, Refused("RETVAL_ON_PROBE", 0, "$retval"), None)
        return [(False, fields)], []
    if dialect_of(facts).entry_at_exit or not arguments:
        ends = [(False, at_entry), (True, fields)]
        return (ends if probe.when is ProbeEnds.BOTH else ends[1:]), []
    rest = [f for f in fields if f not in arguments]
    names = ", ".join(f.name for f in arguments)
    if probe.when is ProbeEnds.BOTH:
        return [(False, at_entry), (True, rest)], [
            f"{names}: this kernel has arguments at the entry only, the exit shows the rest"
        ]
    return [(False, arguments), (True, rest)], [
        f"{names}: this kernel has arguments at the entry only; an event of their own shows them before the call"
    ]


def _event(
    probe: Probe,
    mechanism: Mechanism,
    at_exit: bool,
    words: Sequence[str],
    columns: Sequence[PlanColumn],
    group: str,
    event: str | None,
    paired: bool,
) -> PlannedEvent:
    """Build the planned event with its line."""
    place, offset = probe.place.symbol, probe.place.offset
    end = "__exit" if at_exit else f"_{offset:#x}" if offset else "__entry"
    chosen_name = event if event is not None else probe.event
    base = chosen_name or (choice_name(place) if is_choice(place) else place)
    name = chosen_name if chosen_name and not paired else event_name(base, end)
    path = f"{group or probe.group or DEFAULT_GROUP}/{name}"
    head = f"{mechanism.letter(at_exit)}:{path}"
    line, *more = (" ".join([head, target, *words]) for target in (mechanism.target(at_exit), *mechanism.others))
    triggers = (*(("stacktrace",) if probe.stack else ()), *probe.triggers)
    group_name, _, event_part = path.partition("/")
    return PlannedEvent(
        group_name, event_part, line, f"-:{path}", at_exit, "", triggers, tuple(columns), more=tuple(more)
    )
