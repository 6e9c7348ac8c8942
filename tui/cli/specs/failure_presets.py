"""Run a preset of failures as the command `errors`: `run first-failure openat --for 5`."""

from __future__ import annotations

import argparse
import contextlib

from kernel.preset_files import Presets
from probes.presets.errors import PresetError
from probes.presets.failure_request import failure_request
from probes.presets.schema import Preset, PresetView
from tui.cli.specs.preset_specs import is_name, preset_named, print_skipped_presets, values_of

_SHARED = ("target", "json", "seconds", "count", "clock", "reconnect", "program", "targets", "version")
"""Arguments of `run` that `errors` has, too."""
_OWN = ("command", "parameters", "specs", "counting")
"""Arguments of `run` that say which calls are meant."""


def errors_arguments(arguments: argparse.Namespace) -> argparse.Namespace | None:
    """Return the arguments of `errors` for those of `run` that begin with a preset of failures; None: they don't.

    Raises PresetError where they ask for more than `errors` does.
    """
    word, *calls = arguments.specs
    if _failure_preset(word) is None:
        return None
    print_skipped_presets(Presets())
    preset = preset_named(word)
    request = failure_request(preset, values_of(arguments.parameters), calls)
    _refuse_others(arguments, preset)
    from tui.cli.args.parser import parse

    made = parse(["errors", *request.calls])
    for name in _SHARED:
        setattr(made, name, getattr(arguments, name))
    made.errnos = list(request.errnos)
    return made


def _failure_preset(word: str) -> Preset | None:
    """Return the preset of failures that a word names; None: none, or no preset at all."""
    with contextlib.suppress(PresetError):
        preset = Presets().find(word).preset if is_name(word) else None
        return preset if preset is not None and preset.view is PresetView.FAILURES else None
    return None


def _refuse_others(arguments: argparse.Namespace, preset: Preset) -> None:
    """Raise PresetError where an option of `run` was given that `errors` lacks, or several targets."""
    from tui.cli.args.parser import parse

    usual = vars(parse(["run", "x"]))
    others = [
        name for name, value in vars(arguments).items() if name not in (*_SHARED, *_OWN) and value != usual.get(name)
    ]
    if len(arguments.targets) > 1:
        raise PresetError(f"{preset.name} traces calls on one --target")
    if others:
        option = others[0].replace("_", "-")
        raise PresetError(
            f"{preset.name} traces calls: it takes --for, --count, --json, --clock and a command, not --{option}; "
            "`probewright errors` has more options"
        )
