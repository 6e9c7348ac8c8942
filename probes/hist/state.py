"""Represent a kernel's existing histograms with their variables, and the histogram that a command creates.

From kernel/trace/trace_events_hist.c: struct hist_trigger_data, tr->hist_vars, and the searches for variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from probes.facts.dialect import Dialect
from probes.facts.errors_table import HIST_MESSAGES, message_of
from probes.facts.lookups import Environment, StaticEventField
from probes.hist.clause import Action, error_column, unlogged_refusal
from probes.hist.dialect import HistDialect
from probes.hist.field import HistError, HistField, HistFieldFlag
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord


class EventName(NamedTuple):
    """Event by its group and name."""

    group: str
    event: str


@dataclass(slots=True)
class HistAction:
    """Parsed action (struct action_data)."""

    written: Action
    event: EventName | None
    """The event that `onmatch` names; None for the other handlers."""
    params: tuple[str, ...]
    synthetic: str
    """The synthetic event that the action fires; empty: none."""

    @property
    def identity(self) -> tuple[object, ...]:
        """Values that are equal in equal actions (actions_match)."""
        kind = next((word for word in ("save", "snapshot") if (self.written.call or "").startswith(word)), "trace")
        called = self.synthetic if kind == "trace" else self.written.call
        return self.written.handler, kind, self.params, called, self.event or self.written.subject


@dataclass(eq=False, slots=True)
class Hist:
    """Histogram, compared by identity."""

    file: EventName
    """The event that the histogram is on."""
    fields: list[HistField] = field(default_factory=list)
    """Hitcount, values, variables, then keys."""
    keys: list[HistField] = field(default_factory=list)
    sort: list[tuple[int, bool]] = field(default_factory=list)
    """Index of each value or key to sort by, and True if the greatest comes first."""
    actions: list[HistAction] = field(default_factory=list)
    references: list[HistField] = field(default_factory=list)
    filter: str = ""
    name: str = ""
    timestamps: bool = False
    own_variables: int = 0
    """Number of further variables: those of actions, and fields stored for them."""
    saved: int = 0
    """Number of fields that save() stores."""
    snapshot: bool = False
    """True if the histogram has a snapshot() action."""
    shared_with: Hist | None = None
    """The first histogram of the same name, whose data this one shares."""

    @property
    def values(self) -> list[HistField]:
        """Hitcount, values and variables."""
        return self.fields[: len(self.fields) - len(self.keys)]

    def variable(self, name: str) -> HistField | None:
        """Return a variable by name (find_var_field)."""
        return next((f for f in self.fields if f.flags & HistFieldFlag.VAR and f.variable == name), None)

    @property
    def variables(self) -> int:
        """Number of variables in all."""
        return sum(bool(f.flags & HistFieldFlag.VAR) for f in self.fields) + self.own_variables

    @property
    def has_variables(self) -> bool:
        """True if the histogram has variables or refers to any."""
        return bool(self.references) or any(has_variables(f) for f in self.fields)


def has_variables(checked: HistField, level: int = 0) -> bool:
    """Return whether a field is a variable or is computed from one (field_has_hist_vars)."""
    if checked.flags & (HistFieldFlag.VAR | HistFieldFlag.VAR_REF):
        return True
    return level < 3 and any(has_variables(operand, level + 1) for operand in checked.operands)


@dataclass(slots=True)
class HistState:
    """Existing events, histograms and triggers at the time of a command."""

    dialect: HistDialect
    parser: Dialect
    environment: Environment
    existing: tuple[ParsedEvent, ...]
    """Existing dynamic events."""
    cpus: int
    """Number of CPUs, for filters."""
    hists: list[Hist] = field(default_factory=list)
    """Histograms in the order of their creation."""
    with_variables: list[Hist] = field(default_factory=list)
    """Histograms with variables, the last one first."""
    others: list[tuple[EventName, str, EventName | None]] = field(default_factory=list)
    """Other triggers: event, kind, and the event that the trigger switches."""

    def has_event(self, name: EventName) -> bool:
        """Return whether there is such an event."""
        return find_event(name.group, name.event, self.existing, self.environment).exists

    def fields_of(self, name: EventName) -> Mapping[str, StaticEventField] | None:
        """Return the fields of an event; None: unknown."""
        return find_event(name.group, name.event, self.existing, self.environment).fields

    def check_filter(self, text: str, file: EventName) -> None:
        """Check the filter of a trigger. Raises RefusedWord."""
        logged = self.dialect.filter_logged
        try:
            check_filter(text, self.fields_of(file), self.environment, self.parser, self.cpus)
        except RefusedWord as error:
            raise (
                error if logged else unlogged_refusal(f"The filter: {message_of(error.refused.code)}", text)
            ) from None

    def on(self, file: EventName) -> list[Hist]:
        """Return the histograms of an event."""
        return [hist for hist in self.hists if hist.file == file]

    def variable_on(self, file: EventName, name: str) -> HistField | None:
        """Return a variable of an event's histograms (find_file_var)."""
        variables = (hist.variable(name) for hist in self.on(file))
        return next((variable for variable in variables if variable is not None), None)


@dataclass(slots=True)
class Creation:
    """A histogram while a command creates it."""

    state: HistState
    hist: Hist
    command: str
    """The command as error_log shows it."""
    log: list[Refused]
    """Lines for error_log; a person sees the last line."""
    remove: bool = False
    definitions: list[tuple[str, str]] = field(default_factory=list)
    """Variables of this command that others may still refer to, with the part of their text that remains."""

    @property
    def fields(self) -> Mapping[str, StaticEventField] | None:
        """Fields of the event."""
        return self.state.fields_of(self.hist.file)

    def note(self, code: str, token: str, names: tuple[str, ...] = ()) -> None:
        """Write a line of error_log."""
        column = error_column(self.command, token)
        self.log.append(Refused(code, column, token, names=names, message=HIST_MESSAGES[code]))

    def error(self, code: str, token: str, names: tuple[str, ...] = ()) -> HistError:
        """Write a line of error_log, and return the exception to raise."""
        self.note(code, token, names)
        return HistError()

    def find_variable(self, name: str) -> HistField | None:
        """Return a variable of this event, the new histogram's first (find_var)."""
        return self.hist.variable(name) or self.state.variable_on(self.hist.file, name)

    def find_event_variable(self, path: EventName | None, name: str) -> HistField | None:
        """Return a variable of another event: the named event, those in `onmatch`, or all (find_event_var)."""
        if path is not None:
            return self.state.variable_on(path, name)
        match = None
        for action in self.hist.actions:
            variable = None if action.event is None else self.state.variable_on(action.event, name)
            if variable is not None and match is not None:
                self.note("VAR_NOT_UNIQUE", name)
                return None
            match = variable or match
        return match or self._anywhere(name)

    def _anywhere(self, name: str) -> HistField | None:
        """Return a variable of any event; None for a name that two events have (find_var_file)."""
        file = None
        for hist in self.state.with_variables:
            if hist.file == file or hist.variable(name) is None:
                continue
            if file is not None:
                self.note("VAR_NOT_UNIQUE", name)
                return None
            file = hist.file
        return None if file is None else self.state.variable_on(file, name)
