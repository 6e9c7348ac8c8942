"""Find the functions that the place of an `f` probe stands for: those of patterns, lists, types and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.uses import ExactUses, functions_with
from events.names.function_choice import ChoiceError, FunctionChoice, NamePattern
from foreign.count_text import counted, shortened
from foreign.refusal import InputRefusal
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.functions.function_index import FunctionIndex, index_of
from probes.probe import ProbePlace
from probes.refusal import CannotLower, own_refusal
from probes.syntax.text import glob

_MOST_STORED = 8


@dataclass(frozen=True, slots=True)
class ChosenFunctions:
    """Traceable functions that a place stands for."""

    names: tuple[str, ...]
    """In the order of available_filter_functions."""
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Name -> number of the parameter that has the type of the place, from 0; empty: the place is no such type."""


_found: list[tuple[tuple[str, ...], str, ChosenFunctions]] = []
"""The last few results, each with its list of functions and its text, which is looked up at each key that follows."""
_uses: WeakKeyDictionary[Btf, dict[str, ExactUses]] = WeakKeyDictionary()


def chosen_functions(
    place: ProbePlace, btf: Btf | None, facts: TargetFacts, environment: Environment, column: int
) -> ChosenFunctions:
    """Return the functions that a place stands for.

    Args:
        place: of a probe on several functions.
        btf: types of the kernel; None: unknown.
        facts: what the target can do.
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
        for functions, known, result in tuple(_found):
            if functions is facts.functions and known == text and not choice.type:
                return result
        found = _of_type(choice, btf, facts, column) if choice.type else _of_names(choice, facts, column)
    except ChoiceError as error:
        raise CannotLower(own_refusal("no_choice", text, column + error.offset, str(error))) from None
    if not found.names:
        raise CannotLower(own_refusal("not_traceable", text, column, "No name in available_filter_functions fits"))
    if not choice.type:
        _found[:] = [*_found[-_MOST_STORED + 1 :], (facts.functions, text, found)]
    return found


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


def _of_names(choice: FunctionChoice, facts: TargetFacts, column: int) -> ChosenFunctions:
    """Return the functions whose names fit. Raises CannotLower."""
    index = index_of(facts)
    for one in choice.patterns:
        if one.name and not one.excluded and not _is_there(one, index):
            at = column + choice.text.index(one.text)
            raise CannotLower(
                own_refusal(
                    "not_traceable", one.text, at, "It is not in available_filter_functions, as the list has it"
                )
            )
    if choice.is_one_pattern:  # the kernel itself matches it
        fits = glob(choice.patterns[0].text).match
        return ChosenFunctions(tuple(name for name in index.modules if fits(name)))
    return ChosenFunctions(tuple(name for name, module in index.modules.items() if choice.matches(name, module)))


def _is_there(one: NamePattern, index: FunctionIndex) -> bool:
    module = index.modules.get(one.name)
    return module is not None and one.matches(one.name, module)


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
    names = [name for name in names if choice.matches(name)]
    there = {name for name in names if index.modules.get(name) == "" and not btf.is_ambiguous(name)}
    chosen = tuple(name for name in index.modules if name in there)
    missing = len(names) - len(there)
    told = counted(missing, "more function has the type and is", "more functions have the type and are")
    notes = (f"{choice.text}: {told} not traceable",) if missing else ()
    return ChosenFunctions(chosen, notes, {} if choice.returns else {name: found.takes[name] for name in chosen})


def _of_file(choice: FunctionChoice, facts: TargetFacts, environment: Environment, column: int) -> ChosenFunctions:
    """Return the functions that a file names. Raises CannotLower, ChoiceError."""
    if environment.function_list is None:
        raise CannotLower(own_refusal("no_choice", choice.text, column, "No files can be read here"))
    try:
        lines = environment.function_list(choice.file)
    except InputRefusal as error:
        raise CannotLower(own_refusal("no_choice", choice.text, column, str(error))) from None
    index, missing = index_of(facts), []
    wanted: dict[str, None] = {}
    for line in lines:
        parts = FunctionChoice.parse(line)
        if not parts.is_list:
            raise ChoiceError(f"A line of {choice.file} is no name: {line}", 1)
        if len(parts.patterns) == 1 and parts.patterns[0].name and not parts.patterns[0].excluded:
            name = parts.patterns[0].name
            wanted |= {name: None} if _is_there(parts.patterns[0], index) else {}
            missing += [] if name in wanted else [name]
        else:
            wanted |= {name: None for name, module in index.modules.items() if parts.matches(name, module)}
    wanted = {name: None for name in wanted if choice.matches(name, index.modules[name])}
    note = f"{choice.text}: {len(missing)} of its names are of no traceable function: {shortened(missing)}"
    if not wanted:
        hint = note if missing else f"{choice.file} has no names"
        raise CannotLower(own_refusal("not_traceable", choice.text, column, hint))
    names = tuple(name for name in index.modules if name in wanted)
    return ChosenFunctions(names, (note,) if missing else ())
