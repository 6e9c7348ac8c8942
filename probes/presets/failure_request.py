"""Represent what a preset with the view of failures asks for: calls that are traced, and errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from probes.presets.errors import PresetError
from probes.presets.schema import Parameter, ParameterType, Preset
from probes.presets.substitute import PLACEHOLDER, values_of
from probes.presets.values import value_text


class FailureRequest(NamedTuple):
    """Calls whose first failures are wanted."""

    calls: tuple[str, ...]
    """System calls, functions and patterns."""
    errnos: frozenset[int] = frozenset()
    """Negative error numbers; empty: every error."""


def failure_request(preset: Preset, given: Mapping[str, str], calls: Iterable[str] = ()) -> FailureRequest:
    """Return what a preset asks for with values of its parameters. Raises PresetError.

    Args:
        preset: one with the view of failures.
        given: values of parameters.
        calls: calls in place of the preset's; none: those of the preset.
    """
    values = values_of(preset, given)
    errno = _value(preset.errno, values)
    number = value_text(Parameter("errno", ParameterType.ERRNO), errno, quoted=False) if errno else ""
    words = [value for word in tuple(calls) or preset.calls if (value := _value(word, values))]
    names = [name for word in words for name in _names(word)]
    if not names:
        raise PresetError(f"{preset.name}: say the system call or the function that fails, as openat")
    return FailureRequest(tuple(dict.fromkeys(names)), frozenset([int(number)] if number else ()))


def only_traces(preset: Preset) -> str:
    """Return the reason why a preset of failures gives no probes, with what does its work."""
    return (
        f"{preset.name} traces calls, and has no probes: `probewright run {preset.name} openat` does that on one "
        "target, and `probewright errors openat -o FILE.pwr` records it"
    )


def _names(word: str) -> list[str]:
    return value_text(Parameter("calls", ParameterType.CALL), word, quoted=False).split(",")


def _value(text: str, values: Mapping[str, str]) -> str:
    match = PLACEHOLDER.fullmatch(text)
    return values.get(match[1], "").strip() if match else text
