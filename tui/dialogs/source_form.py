"""Form for the options of a source: a line for each, with its bounds, and what this kernel would refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.app import App

from kernel.errors import KernelError
from probes.command import CommandText
from probes.sources.kinds import KINDS
from probes.sources.option import BadValue
from probes.sources.source import Source
from widgets.dialogs.form import FormDialog, FormField

if TYPE_CHECKING:
    from kernel.connection.planner import Planner


def ask_options(
    app: App[None],
    planner: Planner,
    name: str,
    chosen: Callable[[Source], object],
    given: Mapping[str, str] = MappingProxyType({}),
    structure: str = "",
) -> None:
    """Ask for the options of a kind of source; `chosen` gets the source, which this kernel accepts.

    Args:
        app: the application.
        planner: judge of the source.
        name: name of the kind.
        chosen: called at the end, unless the form was cancelled.
        given: options that are known already.
        structure: name of the structure that is watched; empty: it is unknown.
    """

    def wrong(values: Mapping[str, str]) -> str:
        return read_form(name, values)[1]

    def judge(values: Mapping[str, str]) -> str:
        source = read_form(name, values)[0]
        return refusal_of(planner, source) if source is not None else ""

    def done(values: dict[str, str] | None) -> None:
        source = read_form(name, values)[0] if values is not None else None
        if source is not None:
            chosen(source)

    title = f"{name}: {KINDS[name].title}" + (f"; field={structure}.… has one field" if structure else "")
    app.push_screen(FormDialog(title, form_of(name, given), wrong, judge=judge), done)


def form_of(name: str, given: Mapping[str, str] = MappingProxyType({})) -> list[FormField]:
    """Return the lines of a form, with the options that are given, and the defaults of the others."""
    return [
        FormField(option.name, given.get(option.name, option.default), f"{option.help} ({option.bounds})")
        for option in KINDS[name].options
    ]


def read_form(name: str, values: Mapping[str, str]) -> tuple[Source | None, str]:
    """Return the source of a form's values, without those that are defaults, and an error; one of both is there."""
    defaults = {option.name: option.default for option in KINDS[name].options}
    given = {option: value for option, value in values.items() if value and value != defaults[option]}
    try:
        return Source.of(name, given), ""
    except BadValue as error:
        return None, str(error)


def refusal_of(planner: Planner, source: Source) -> str:
    """Return why this kernel refuses a source; empty: it accepts it, or can't be asked, which arming tells."""
    try:
        error = planner.check(CommandText.parse(str(source))).verdict.error
    except KernelError:
        return ""
    return "" if error is None else f"{error.clause}: {error.hint}" if error.hint else error.message
