"""Parameters put into specifications: `${pid}` becomes its value, typed and quoted.

A specification without a value for one of its parameters loses the clauses of its filter (between `&&`) that name
it, so those may hold neither parentheses nor `||`; outside of a filter there has to be a value.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from probes.presets.clauses import can_go, clauses_of, ends_in_filter, filter_of
from probes.presets.errors import PresetError
from probes.presets.schema import Parameter, ParameterType, Preset
from probes.presets.values import check_value, number_of, written

PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_FILTER = " if "
_AND = " && "


def names_in(text: str) -> tuple[str, ...]:
    """Names of the parameters in a specification, each once."""
    return tuple(dict.fromkeys(PLACEHOLDER.findall(text)))


def stuck_clause(text: str) -> str:
    """The first clause of a specification's filter that names a parameter and can't be left out; empty: none is."""
    condition = filter_of(text)[1]
    return next((one for one in clauses_of(condition) if names_in(one) and not can_go(one)), "")


def values_of(preset: Preset, given: Mapping[str, str], machine: str = "") -> dict[str, str]:
    """Every parameter with what was given for it, else its default; `machine`: see `written`. Raises PresetError."""
    for name in given:
        if preset.parameter(name) is None:
            names = [one.name for one in preset.parameters]
            near = difflib.get_close_matches(name.lower(), names, 1, 0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            known = ", ".join(names) or "none"
            raise PresetError(f"{preset.name} has no parameter {ascii(name)[1:-1]}; {hint}it has {known}")
    values = {one.name: given.get(one.name, one.default) for one in preset.parameters}
    for one in preset.parameters:
        if values[one.name]:
            check_value(one, values[one.name], machine)
    return values


def substituted(preset: Preset, given: Mapping[str, str], machine: str = "") -> tuple[tuple[str, ...], ...]:
    """The specifications with values in them, alternatives as in the preset. Raises PresetError.

    `machine` is `uname -m` of the target: a system call has a name only where it is known.
    """
    values = values_of(preset, given, machine)
    return tuple(tuple(_put(preset, text, values, machine) for text in texts) for texts in preset.probes)


def least_latency(preset: Preset, given: Mapping[str, str]) -> int:
    """Nanoseconds that a call has to take to be shown; 0: all are. Raises PresetError."""
    values, text = values_of(preset, given), preset.min_latency
    if found := PLACEHOLDER.fullmatch(text):
        parameter = preset.parameter(found[1])
        text = values.get(found[1], "")
        if parameter is not None and text:
            return number_of(parameter, text)
    return number_of(Parameter("min_latency", ParameterType.DURATION), text) if text else 0


def _put(preset: Preset, text: str, values: Mapping[str, str], machine: str) -> str:
    place, condition = filter_of(text)
    place = PLACEHOLDER.sub(
        lambda m: _value(preset, m[1], values, machine, quoted=ends_in_filter(place[: m.start()])), place
    )
    if not condition:
        return place
    clauses = [clause for clause in clauses_of(condition) if all(values.get(name) for name in names_in(clause))]
    if not clauses:
        return place
    put = (
        PLACEHOLDER.sub(lambda m: _value(preset, m[1], values, machine, quoted=True), clause) for clause in clauses
    )
    return place + _FILTER + _AND.join(put)


def _value(preset: Preset, name: str, values: Mapping[str, str], machine: str, *, quoted: bool) -> str:
    parameter: Parameter | None = preset.parameter(name)
    if parameter is None:
        raise PresetError(f"{preset.name}: no parameter is named {ascii(name)[1:-1]}")
    if not values.get(name):
        raise PresetError(f"{preset.name} needs a value: {name}={parameter.type}")
    return written(parameter, values[name], quoted=quoted, machine=machine)
