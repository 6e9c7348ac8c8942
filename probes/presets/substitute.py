"""Substitute parameters in specifications: `${pid}` becomes its value, checked by type and quoted.

Where a parameter has no value, the filter clauses (between `&&`) that name it are left out, so such clauses may have
neither parentheses nor `||`; outside of a filter a value is required.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from probes.presets.clauses import clauses_of, ends_in_filter, filter_of, is_removable
from probes.presets.errors import PresetError
from probes.presets.schema import Parameter, ParameterType, Preset
from probes.presets.values import check_value, number_of, value_text

PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_FILTER = " if "
_AND = " && "


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of the parameters in a specification, each once."""
    return tuple(dict.fromkeys(PLACEHOLDER.findall(text)))


def unremovable_clause(text: str) -> str:
    """Return the first filter clause that names a parameter and can't be left out; empty: none."""
    condition = filter_of(text)[1]
    return next((clause for clause in clauses_of(condition) if names_in(clause) and not is_removable(clause)), "")


def values_of(preset: Preset, given: Mapping[str, str], machine: str = "") -> dict[str, str]:
    """Return the value of each parameter, chosen or default; `machine`: see `value_text`. Raises PresetError."""
    for name in given:
        if preset.parameter(name) is None:
            names = [parameter.name for parameter in preset.parameters]
            similar = difflib.get_close_matches(name.lower(), names, 1, 0.5)
            hint = f"did you mean {similar[0]}? " if similar else ""
            existing = ", ".join(names) or "none"
            raise PresetError(f"{preset.name} has no parameter {ascii(name)[1:-1]}; {hint}it has {existing}")
    values = {parameter.name: given.get(parameter.name, parameter.default) for parameter in preset.parameters}
    for parameter in preset.parameters:
        if values[parameter.name]:
            check_value(parameter, values[parameter.name], machine)
    return values


def substitute(preset: Preset, given: Mapping[str, str], machine: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the specifications with values substituted, alternatives as in the preset. Raises PresetError.

    `machine` is `uname -m` of the target: names of system calls need it.
    """
    values = values_of(preset, given, machine)
    return tuple(tuple(_substitute(preset, text, values, machine) for text in texts) for texts in preset.probes)


def least_latency(preset: Preset, given: Mapping[str, str]) -> int:
    """Return the least latency in nanoseconds of the calls shown; 0: all calls are shown. Raises PresetError."""
    values, text = values_of(preset, given), preset.min_latency
    if match := PLACEHOLDER.fullmatch(text):
        parameter = preset.parameter(match[1])
        text = values.get(match[1], "")
        if parameter is not None and text:
            return number_of(parameter, text)
    return number_of(Parameter("min_latency", ParameterType.DURATION), text) if text else 0


def _substitute(preset: Preset, text: str, values: Mapping[str, str], machine: str) -> str:
    place, condition = filter_of(text)
    place = PLACEHOLDER.sub(
        lambda m: _value(preset, m[1], values, machine, quoted=ends_in_filter(place[: m.start()])), place
    )
    if not condition:
        return place
    clauses = [clause for clause in clauses_of(condition) if all(values.get(name) for name in names_in(clause))]
    if not clauses:
        return place
    substituted_clauses = (
        PLACEHOLDER.sub(lambda m: _value(preset, m[1], values, machine, quoted=True), clause) for clause in clauses
    )
    return place + _FILTER + _AND.join(substituted_clauses)


def _value(preset: Preset, name: str, values: Mapping[str, str], machine: str, *, quoted: bool) -> str:
    parameter: Parameter | None = preset.parameter(name)
    if parameter is None:
        raise PresetError(f"{preset.name}: no parameter is named {ascii(name)[1:-1]}")
    if not values.get(name):
        raise PresetError(f"{preset.name} needs a value: {name}={parameter.type}")
    return value_text(parameter, values[name], quoted=quoted, machine=machine)
