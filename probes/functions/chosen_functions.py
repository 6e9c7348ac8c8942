"""Find the functions that the place of an `f` probe stands for: those of patterns, lists, types and files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.functions.functions_of_type import ExactUses, functions_with
from events.names.function_choice import ChoiceError, FunctionChoice
from events.names.glob import Glob
from events.names.name_pattern import NamePattern, names_among
from foreign.count_text import counted, shortened
from foreign.refusal import InputRefusal
from probes.bpf.exclusions import exclusion_reason
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.functions.function_index import index_of
from probes.probe import ProbePlace
from probes.refusal import CannotLower, own_refusal

_MOST_STORED = 8
_MOST_PATTERNS = 64
"""Patterns of a list or a file: each is tried on each function."""


@dataclass(frozen=True, slots=True)
class ChosenFunctions:
    """Traceable functions that a place stands for."""

    names: tuple[str, ...]
    """In the order of available_filter_functions; behind them addresses of functions whose names others have."""
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Name -> number of the parameter that has the type of the place, from 0; empty: the place is no such type."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Address among the names, of a function whose name others have -> place of a kprobe on it."""


_found: list[tuple[tuple[str, ...], str, ChosenFunctions]] = []
"""The last few results, each with its list of functions and its text, which is looked up at each key that follows."""
_of_files: list[tuple[tuple[str, ...], str, Sequence[str], tuple[tuple[str, ...], list[str]]]] = []
"""The last few results of files, each with its list of functions, its text and the file's lines."""
_uses: WeakKeyDictionary[Btf, dict[str, ExactUses]] = WeakKeyDictionary()


def chosen_functions(
    place: ProbePlace, btf: Btf | None, facts: TargetFacts, environment: Environment, column: int
) -> ChosenFunctions:
    """Return the functions that a place stands for.

    Args:
        place: of a probe on several functions.
        btf: types of the kernel; None: unknown.
        facts: features of the target.
        environment: lookups, for files of names.
        column: of the place in the probe's text.

    Raises:
        CannotLower: it stands for none, or a name in it is of no traceable function.
    """
    text = f"{place.module}:{place.symbol}" if place.module else place.symbol
    try:
        choice = FunctionChoice.parse(text)
        if choice.file:
            return _of_file(choice, facts, environment, column)
        if choice.callers:
            return _of_calls(choice, facts, environment, column)
        if choice.type:
            found = _of_type(choice, btf, facts, column)
        else:
            found = _known(text, facts) or _keep(text, facts, _of_names(choice, facts, environment, column))
    except ChoiceError as error:
        raise CannotLower(own_refusal("no_choice", text, column, str(error))) from None
    if not found.names:
        raise CannotLower(own_refusal("not_traceable", text, column, "No name in available_filter_functions fits"))
    return found


def _known(text: str, facts: TargetFacts) -> ChosenFunctions | None:
    """Return what was found for names, patterns or an expression before, which may be none; None: it is not kept."""
    for functions, known, result in tuple(_found):
        if functions is facts.functions and known == text:
            return result
    return None


def _keep(text: str, facts: TargetFacts, found: ChosenFunctions) -> ChosenFunctions:
    _found[:] = [*_found[-_MOST_STORED + 1 :], (facts.functions, text, found)]
    return found


def names_meant(
    text: str, names: Sequence[str], btf: Btf | None, facts: TargetFacts, environment: Environment
) -> list[str]:
    """Return those of some names that a text stands for, whether they are traceable or not.

    Args:
        text: place of a probe on several functions.
        names: functions of the target.
        btf: types of the kernel; None: unknown.
        facts: features of the target.
        environment: lookups, for files of names and calls.

    Raises ChoiceError, InputRefusal, CannotLower: it stands for none.
    """
    choice, known = FunctionChoice.parse(text), index_of(facts).modules
    modules = {name: known.get(name, "") for name in names}
    if choice.callers or any(one.address for one in choice.patterns):
        meant = set(chosen_functions(ProbePlace(text), btf, facts, environment, 0).names)
        return [name for name in names if name in meant]
    if choice.file:
        patterns = _patterns_of(choice, environment.function_list(choice.file) if environment.function_list else ())
        return names_among(modules, _fits([*patterns, *choice.patterns], modules)) if patterns else []
    if choice.type:
        if btf is None:
            raise ChoiceError("The types of this kernel are not known")
        found = uses_of(btf, choice.type)
        typed = found.returns if choice.returns else found.takes
        modules = {name: module for name, module in modules.items() if name in typed}
    _check_number(choice.patterns)
    return choice.among(modules)


def _patterns_of(choice: FunctionChoice, lines: Iterable[str]) -> list[NamePattern]:
    """Return the names and patterns of a file, in its lines. Raises ChoiceError."""
    patterns = list[NamePattern]()
    for line in dict.fromkeys(lines):
        parts = FunctionChoice.parse(line)
        if not parts.is_list:
            raise ChoiceError(f"{choice.file}: no name or pattern: {line}")
        patterns += parts.patterns
    return patterns


def uses_of(btf: Btf, type_name: str) -> ExactUses:
    """Return the functions that take or return a type; the last few results are kept (200 ms each)."""
    uses = _uses.setdefault(btf, {})
    found = uses.get(type_name)
    if found is None:
        found = functions_with(btf, type_name)
        if len(uses) >= _MOST_STORED:
            uses.clear()
        uses[type_name] = found
    return found


def _of_names(choice: FunctionChoice, facts: TargetFacts, environment: Environment, column: int) -> ChosenFunctions:
    """Return the functions whose names fit. Raises CannotLower, ChoiceError."""
    index = index_of(facts)
    if any(one.address for one in choice.patterns):
        return _of_addresses(choice, facts, environment, column)
    for one in choice.patterns:
        if one.name and not one.excluded and not _is_there(one, index.modules):
            hint = "available_filter_functions does not have this name of the list"
            raise CannotLower(own_refusal("not_traceable", one.name, column + one.column, hint))
    if choice.is_one_pattern:  # the kernel itself matches it
        return ChosenFunctions(tuple(choice.among(index.modules)))
    fits = _fits(choice.patterns, index.modules)
    like = index.modules if choice.expression is None else replace(choice, patterns=()).among(index.modules)
    return ChosenFunctions(tuple(names_among(like, fits)), _unused(choice, fits))


def _of_addresses(
    choice: FunctionChoice, facts: TargetFacts, environment: Environment, column: int
) -> ChosenFunctions:
    """Return the functions of a list with addresses; one whose name others have, too, by its address.

    Raises CannotLower, ChoiceError.
    """
    if environment.function_at is None:
        raise CannotLower(own_refusal("no_choice", choice.text, column, "The addresses of this kernel are not known"))
    count = index_of(facts).count
    patterns, twins, notes = list[NamePattern](), dict[str, str](), list[str]()
    for one in choice.patterns:
        found = environment.function_at(one.address) if one.address else None
        name = found.name if found is not None else ""
        if one.address and not count(name):
            hint = f"{name} is not traceable" if name else "No function of this kernel begins there"
            raise CannotLower(own_refusal("not_traceable", one.text, column + one.column, hint))
        if found is not None and count(name) > 1:
            among = f"{name}, one of {counted(count(name), 'function')} of this name"
            if one.excluded:
                raise CannotLower(
                    own_refusal("no_choice", one.text, column + one.column, f"{among}, can't be left out")
                )
            if reason := exclusion_reason(name):
                hint = f"{among}: {reason}; alone it takes a kprobe"
                raise CannotLower(own_refusal("no_choice", one.text, column + one.column, hint))
            twins[one.text.lower()] = found.place
            notes.append(f"{one.text}: {among}")
            continue
        patterns.append(one._replace(text=name, glob=Glob(name)) if one.address else one)
    names: tuple[str, ...] = ()
    if any(not one.excluded for one in patterns) or not twins:
        names = _of_names(replace(choice, patterns=tuple(patterns)), facts, environment, column).names
    notes.append(f"{choice.short_text}: addresses of this boot; after the next one something else is there")
    return ChosenFunctions((*names, *twins), tuple(notes), places=twins)


def _is_there(one: NamePattern, modules: Mapping[str, str]) -> bool:
    module = modules.get(one.name)
    return module is not None and one.matches(one.name, module)


def _unused(choice: FunctionChoice, fits: Sequence[tuple[NamePattern, Collection[str]]]) -> tuple[str, ...]:
    """Return a note on the patterns of a choice that no traceable function fits, as where they are misspelt."""
    unused = [one for one, names in fits if not names]
    names = [("!" if one.excluded else "") + (f"{one.module}:" if one.module else "") + one.text for one in unused]
    return (f"{choice.short_text}: no traceable function fits {shortened(names)}",) if names else ()


def _fits(patterns: Sequence[NamePattern], modules: Mapping[str, str]) -> list[tuple[NamePattern, Collection[str]]]:
    """Return names and patterns, each with those of some functions that it is for. Raises ChoiceError: too many."""
    _check_number(patterns)
    return [(one, one.among(modules)) for one in patterns]


def _check_number(patterns: Sequence[NamePattern]) -> None:
    if sum(not one.name for one in patterns) > _MOST_PATTERNS:
        raise ChoiceError(f"At most {_MOST_PATTERNS} patterns stand beside any number of names")


def _of_type(choice: FunctionChoice, btf: Btf | None, facts: TargetFacts, column: int) -> ChosenFunctions:
    """Return the functions that take or return a type. Raises CannotLower."""
    if btf is None:
        raise CannotLower(own_refusal("no_choice", choice.text, column, "The types of this kernel are not known"))
    found = uses_of(btf, choice.type)
    names: Iterable[str] = found.returns if choice.returns else found.takes
    if not names:
        verb = "returns" if choice.returns else "takes"
        pointer = f"{choice.type} *"
        near = uses_of(btf, pointer) if "*" not in choice.type else ExactUses({}, frozenset())
        hint = f"No function of this kernel {verb} it"
        if near.returns if choice.returns else near.takes:
            corrected = choice.text.replace(choice.type, pointer)
            raise CannotLower(own_refusal("no_choice", choice.text, column, hint, (corrected,)))
        raise CannotLower(own_refusal("no_choice", choice.text, column, hint))
    index = index_of(facts)
    # The types are those of the kernel itself: a function of a module that has the same name may differ.
    names = choice.among(dict.fromkeys(names))
    there = {name for name in names if index.modules.get(name) == "" and not btf.is_ambiguous(name)}
    chosen = tuple(name for name in index.modules if name in there)
    missing = len(names) - len(there)
    told = counted(missing, "more function has the type and is", "more functions have the type and are")
    notes = (f"{choice.short_text}: {told} not traceable",) if missing else ()
    return ChosenFunctions(chosen, notes, {} if choice.returns else {name: found.takes[name] for name in chosen})


def _of_calls(choice: FunctionChoice, facts: TargetFacts, environment: Environment, column: int) -> ChosenFunctions:
    """Return the functions that others call. Raises CannotLower."""
    if environment.called is None:
        raise CannotLower(own_refusal("no_choice", choice.text, column, "The kernel's code can't be read here"))
    try:
        found = environment.called(choice.callers, choice.depth)
    except InputRefusal as error:
        raise CannotLower(own_refusal("no_choice", choice.text, column, str(error))) from None
    modules = index_of(facts).modules
    names = tuple(choice.among({name: modules.get(name, "") for name in found.names}))
    if not names:
        hint = "They call no traceable function directly" if not found.names else "All of them are left out"
        raise CannotLower(own_refusal("not_traceable", choice.text, column, hint))
    return ChosenFunctions(names, (f"{choice.short_text}: {found.note}",) if found.note else ())


def _of_file(choice: FunctionChoice, facts: TargetFacts, environment: Environment, column: int) -> ChosenFunctions:
    """Return the functions that a file names. Raises CannotLower, ChoiceError."""
    if environment.function_list is None:
        raise CannotLower(own_refusal("no_choice", choice.text, column, "No files can be read here"))
    try:
        lines = environment.function_list(choice.file)
    except InputRefusal as error:
        raise CannotLower(own_refusal("no_choice", choice.text, column, str(error))) from None
    result = _known_of_file(choice, lines, facts)
    if result is None:
        patterns = _patterns_of(choice, lines)
        if any(one.address for one in patterns):
            every = FunctionChoice(choice.text, (*patterns, *choice.patterns))
            return _of_addresses(every, facts, environment, column)
        result = _of_patterns(choice, patterns, facts)
        _of_files[:] = [*_of_files[-_MOST_STORED + 1 :], (facts.functions, choice.text, lines, result)]
    names, missing = result
    told = counted(len(missing), "name is no traceable function", "names are no traceable functions")
    note = f"{choice.short_text}: {told}: {shortened(missing)}"
    if not names:
        hint = note if missing else f"{choice.file} has no names"
        raise CannotLower(own_refusal("not_traceable", choice.text, column, hint))
    return ChosenFunctions(names, (note,) if missing else ())


def _known_of_file(
    choice: FunctionChoice, lines: Sequence[str], facts: TargetFacts
) -> tuple[tuple[str, ...], list[str]] | None:
    """Return what `_of_patterns` found for a file before; None: it was not asked, or is not kept."""
    for functions, text, known, result in tuple(_of_files):
        if functions is facts.functions and text == choice.text and known is lines:
            return result
    return None


def _of_patterns(
    choice: FunctionChoice, patterns: Sequence[NamePattern], facts: TargetFacts
) -> tuple[tuple[str, ...], list[str]]:
    """Return the functions of a file's names and patterns, and the names of none. Raises ChoiceError."""
    modules = index_of(facts).modules
    missing = [one.text for one in patterns if one.name and not one.excluded and not _is_there(one, modules)]
    return tuple(names_among(modules, _fits([*patterns, *choice.patterns], modules))) if patterns else (), missing
