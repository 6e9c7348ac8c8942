"""The histograms a kernel keeps, with their variables, and the one that a command is about to make.

Of kernel/trace/trace_events_hist.c: struct hist_trigger_data, tr->hist_vars, and the searches for variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from probes.facts.dialect import Dialect
from probes.facts.errors_table import HIST_MESSAGES, message_of
from probes.facts.lookups import Environment, StaticEventField
from probes.hist.clause import Action, error_column, silent
from probes.hist.dialect import HistDialect
from probes.hist.field import HistError, HistField, HistFieldFlag
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord


class EventName(NamedTuple):
    """An event by its group and name."""

    group: str
    event: str


@dataclass(slots=True)
class HistAction:
    """An action that was read (struct action_data)."""

    written: Action
    event: EventName | None
    """The event that `onmatch` is about; None for the other handlers."""
    params: tuple[str, ...]
    synthetic: str
    """The synthetic event it makes; empty: none."""

    @property
    def identity(self) -> tuple[object, ...]:
        """What must be equal for two to be the same (actions_match)."""
        kind = next((word for word in ("save", "snapshot") if (self.written.call or "").startswith(word)), "trace")
        called = self.synthetic if kind == "trace" else self.written.call
        return self.written.handler, kind, self.params, called, self.event or self.written.subject


@dataclass(eq=False, slots=True)
class Hist:
    """One histogram; two are equal when they are the same one."""

    file: EventName
    """The event it is on."""
    fields: list[HistField] = field(default_factory=list)
    """Hits, values, variables, then keys."""
    keys: list[HistField] = field(default_factory=list)
    sort: list[tuple[int, bool]] = field(default_factory=list)
    """Which value or key, and whether the greatest comes first."""
    actions: list[HistAction] = field(default_factory=list)
    references: list[HistField] = field(default_factory=list)
    filter: str = ""
    name: str = ""
    timestamps: bool = False
    own_variables: int = 0
    """Variables that it has besides: of actions, and fields kept for them."""
    saved: int = 0
    """Fields that save() keeps."""
    snapshot: bool = False
    """Whether it has a snapshot() action."""
    shared_with: Hist | None = None
    """The first of its name, whose data it shares."""

    @property
    def values(self) -> list[HistField]:
        """Hits, values and variables."""
        return self.fields[: len(self.fields) - len(self.keys)]

    def variable(self, name: str) -> HistField | None:
        """Look for a variable (find_var_field)."""
        return next((f for f in self.fields if f.flags & HistFieldFlag.VAR and f.variable == name), None)

    @property
    def variables(self) -> int:
        """How many it has in all."""
        return sum(bool(f.flags & HistFieldFlag.VAR) for f in self.fields) + self.own_variables

    @property
    def has_variables(self) -> bool:
        """Whether it has or refers to any."""
        return bool(self.references) or any(has_variables(f) for f in self.fields)


def has_variables(found: HistField, level: int = 0) -> bool:
    """Whether a field is, or is computed from, a variable (field_has_hist_vars)."""
    if found.flags & (HistFieldFlag.VAR | HistFieldFlag.VAR_REF):
        return True
    return level < 3 and any(has_variables(operand, level + 1) for operand in found.operands)


@dataclass(slots=True)
class HistState:
    """What is there when a command comes."""

    dialect: HistDialect
    parser: Dialect
    environment: Environment
    existing: tuple[ParsedEvent, ...]
    """Dynamic events."""
    cpus: int
    """How many there are, for filters."""
    hists: list[Hist] = field(default_factory=list)
    """In the order in which they came."""
    with_variables: list[Hist] = field(default_factory=list)
    """The last one first."""
    others: list[tuple[EventName, str, EventName | None]] = field(default_factory=list)
    """Other triggers: where, what kind, which event they switch."""

    def has_event(self, name: EventName) -> bool:
        """Whether there is such an event."""
        return find_event(name.group, name.event, self.existing, self.environment).exists

    def fields_of(self, name: EventName) -> Mapping[str, StaticEventField] | None:
        """Fields of an event; None: not known."""
        return find_event(name.group, name.event, self.existing, self.environment).fields

    def check_filter(self, text: str, file: EventName) -> None:
        """Check the filter of a trigger. Raises At."""
        logged = self.dialect.filter_logged
        try:
            check_filter(text, self.fields_of(file), self.environment, self.parser, self.cpus)
        except RefusedWord as error:
            raise error if logged else silent(f"The filter: {message_of(error.refused.code)}", text) from None

    def on(self, file: EventName) -> list[Hist]:
        """Histograms of one event."""
        return [hist for hist in self.hists if hist.file == file]

    def variable_on(self, file: EventName, name: str) -> HistField | None:
        """Look for a variable of an event's histograms (find_file_var)."""
        found = (hist.variable(name) for hist in self.on(file))
        return next((variable for variable in found if variable is not None), None)


@dataclass(slots=True)
class Creation:
    """A histogram while a command makes it."""

    state: HistState
    hist: Hist
    command: str
    """As error_log shows it."""
    log: list[Refused]
    """What error_log gets; the last line is what a person sees."""
    remove: bool = False
    definitions: list[tuple[str, str]] = field(default_factory=list)
    """Variables of this command that others may still refer to, with what is left of their text."""

    @property
    def fields(self) -> Mapping[str, StaticEventField] | None:
        """Fields of the event."""
        return self.state.fields_of(self.hist.file)

    def note(self, code: str, token: str, names: tuple[str, ...] = ()) -> None:
        """Write a line of error_log."""
        column = error_column(self.command, token)
        self.log.append(Refused(code, column, token, names=names, message=HIST_MESSAGES[code]))

    def error(self, code: str, token: str, names: tuple[str, ...] = ()) -> HistError:
        """Write a line of error_log and give up."""
        self.note(code, token, names)
        return HistError()

    def find_variable(self, name: str) -> HistField | None:
        """Look on this event, the new histogram first (find_var)."""
        return self.hist.variable(name) or self.state.variable_on(self.hist.file, name)

    def find_event_variable(self, path: EventName | None, name: str) -> HistField | None:
        """Look on another event: the one named, those that `onmatch` names, or all (find_event_var)."""
        if path is not None:
            return self.state.variable_on(path, name)
        found = None
        for action in self.hist.actions:
            variable = None if action.event is None else self.state.variable_on(action.event, name)
            if variable is not None and found is not None:
                self.note("VAR_NOT_UNIQUE", name)
                return None
            found = variable or found
        return found or self._anywhere(name)

    def _anywhere(self, name: str) -> HistField | None:
        """Look on all events; a variable of two of them isn't found (find_var_file)."""
        file = None
        for hist in self.state.with_variables:
            if hist.file == file or hist.variable(name) is None:
                continue
            if file is not None:
                self.note("VAR_NOT_UNIQUE", name)
                return None
            file = hist.file
        return None if file is None else self.state.variable_on(file, name)
