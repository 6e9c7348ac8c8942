"""Create actions of hist triggers: `onmatch(GROUP.EVENT).trace(…)`, `onmax($VARIABLE).save(…)`,
`onchange(…).snapshot()`.

By parse_actions, create_actions and the functions they call in kernel/trace/trace_events_hist.c.
"""

from __future__ import annotations

from collections.abc import Callable

from probes.facts.lookups import StaticEventField
from probes.hist.clause import MAX_VARIABLES, Action, inner
from probes.hist.expression import Expressions
from probes.hist.field import LONG_STRING, HistError, HistField, HistFieldFlag, is_stack
from probes.hist.state import Creation, EventName, Hist, HistAction
from probes.rules.events.fields import FoundEvent, find_event
from probes.rules.events.predicate import is_text

_MAX_PARAMS = 64
_SPACE = " \t\n\v\f\r"
_SYNTHETIC = "synthetic"
_TRACK = {"onmax": "__max", "onchange": "__change"}

Nested = Callable[[Creation, EventName, str], None]
"""Function that creates a histogram on another event from a text after `hist:`. Raises HistError."""


def parse_action(action: Action, creation: Creation) -> HistAction:
    """Parse an action as far as possible without the histogram. Raises HistError."""
    action = Action(inner(action.text))
    event = None
    if action.handler == "onmatch":
        event = _match_event(action, creation)
    elif action.trailing_text is None:
        raise HistError("A bracket is not closed")
    if action.call is None:
        raise creation.error("ACTION_NOT_FOUND", "")
    params: tuple[str, ...] = ()
    if action.call.startswith("snapshot"):
        if not action.closed:
            raise creation.error("NO_CLOSING_PAREN", action.arguments)
    else:
        params = _params(action.arguments, action.call.startswith("trace"), creation)
    if action.call.startswith(("save", "snapshot")):
        if event is not None:
            raise creation.error("ACTION_MISMATCH", action.call)
        return HistAction(action, event, params, "")
    if action.call.startswith("trace"):
        return HistAction(action, event, params[1:], params[0])
    return HistAction(action, event, params, action.call)


def _match_event(action: Action, creation: Creation) -> EventName:
    group, dot, event = action.subject.partition(".")
    if action.trailing_text is None:
        raise creation.error("NO_CLOSING_PAREN", action.subject)
    if not dot:
        raise creation.error("SUBSYS_NOT_FOUND", group)
    if not creation.state.has_event(EventName(group, event)):
        raise creation.error("INVALID_SUBSYS_EVENT", event)
    return EventName(group, event)


def _params(text: str, with_name: bool, creation: Creation) -> tuple[str, ...]:
    params: list[str] = []
    for number, part in enumerate(text.split(",")):
        if number >= _MAX_PARAMS + with_name:
            raise creation.error("TOO_MANY_PARAMS", "")
        param = part.strip(_SPACE)
        if len(param) < 2:
            raise creation.error("INVALID_PARAM", param)
        params.append(param)
    return tuple(params)


class Actions:
    """Creator of the actions of a histogram, and of the variables they need."""

    def __init__(self, creation: Creation, nested: Nested) -> None:
        self._creation = creation
        self._hist = creation.hist
        self._expressions = Expressions(creation)
        self._nested = nested

    def create(self, action: HistAction) -> None:
        """Create an action. Raises HistError."""
        if action.event is None:
            self._track(action)
        call = action.written.call or ""
        if call.startswith("save"):
            self._save(action)
        elif call.startswith("snapshot"):
            if self._hist.snapshot or any(hist.snapshot for hist in self._creation.state.hists):
                raise HistError("There can be one snapshot() at a time")
            self._hist.snapshot = True
        else:
            self._trace(action)

    def _track(self, action: HistAction) -> None:
        """Refer to the variable of onmax or onchange, and store its value (track_data_create). Raises HistError."""
        creation, subject = self._creation, action.written.subject
        if not subject.startswith("$"):
            raise creation.error("ONX_NOT_VAR", subject)
        variable = self._hist.variable(subject[1:])
        if variable is None:
            raise creation.error("ONX_VAR_NOT_FOUND", subject[1:])
        if self._expressions.reference(variable) is None:
            raise HistError("Too many variables are referred to")
        if not self._can_add(_TRACK[action.written.handler]):
            raise creation.error("ONX_VAR_CREATE_FAIL", "")
        self._hist.own_variables += 1

    def _can_add(self, name: str) -> bool:
        """Return whether there is room for another variable, and no other variable of its name (create_var)."""
        exists = self._creation.find_variable(name) is not None and not self._creation.remove
        return not exists and self._hist.variables < MAX_VARIABLES

    def _save(self, action: HistAction) -> None:
        creation, hist = self._creation, self._hist
        if hist.saved:
            raise creation.error("TOO_MANY_SAVE_ACTIONS", "")
        for param in action.params:
            try:
                self._field_variable(param)
            except HistError:
                raise creation.error("FIELD_VAR_CREATE_FAIL", _cut(param)) from None
            hist.saved += 1

    def _field_variable(self, name: str) -> HistField:
        """Store a field of this event as a variable; returns the field (create_field_var). Raises HistError."""
        creation, hist = self._creation, self._hist
        try:
            value = self._expressions.atom(name, HistFieldFlag.VAR)
        except HistError:
            raise creation.error("FIELD_VAR_PARSE_FAIL", _cut(name)) from None
        if not self._can_add(_cut(name)):
            raise creation.error("VAR_CREATE_FIND_FAIL", _cut(name))
        hist.own_variables += 1
        return value

    def _trace(self, action: HistAction) -> None:
        """Match the parameters with the fields of the synthetic event (trace_action_create). Raises HistError."""
        creation = self._creation
        event = _synthetic(action.synthetic, creation)
        if not event.exists:
            raise creation.error("SYNTH_EVENT_NOT_FOUND", action.synthetic)
        fields = None if event.fields is None else list(event.fields.values())
        for number, param in enumerate(action.params):
            path, name = _path(param)
            value = self._param(action, path, name)
            if fields is not None and not (
                number < len(fields) and _fits(fields[number], value, creation.state.dialect.stack_by_flag)
            ):
                raise creation.error("SYNTH_TYPE_MISMATCH", name)
            if self._expressions.reference(value) is None:
                raise HistError("Too many variables are referred to")
        if fields is not None and len(action.params) != len(fields):
            raise creation.error("SYNTH_COUNT_MISMATCH", action.synthetic)

    def _param(self, action: HistAction, path: EventName | None, name: str) -> HistField:
        if not name.startswith("$"):
            return self._field_param(action, path, name)
        creation, variable = self._creation, None
        if path in (None, self._hist.file):
            variable = self._hist.variable(name[1:])
        if variable is None:
            variable = creation.find_event_variable(path or action.event, name[1:])
        if variable is None:
            raise creation.error("PARAM_NOT_FOUND", name[1:])
        return variable

    def _field_param(self, action: HistAction, path: EventName | None, name: str) -> HistField:
        """Create a variable from a field of this event, else of the matched event (trace_action_create_field_var)."""
        if path in (None, self._hist.file):
            try:
                value = self._field_variable(name)
            except HistError:
                name = _cut(name)
            else:
                return _variable_like(value, self._creation.state.dialect.stack_by_flag)
        path = path or action.event
        if path is None:
            raise HistError
        return self._remote_variable(path, name)

    def _remote_variable(self, path: EventName, name: str) -> HistField:
        """Create a histogram with a variable on another event (create_field_var_hist). Raises HistError."""
        creation = self._creation
        if not creation.state.has_event(path):
            raise creation.error("EVENT_FILE_NOT_FOUND", name)
        like = next((h for h in creation.state.on(path) if _same_keys(self._hist, h)), None)
        if like is None:
            raise creation.error("HIST_NOT_FOUND", name)
        variable = f"synthetic_{name}"
        existing = creation.find_event_variable(path, variable)
        if existing is not None:
            return existing
        keys = ",".join(key.field.name for key in like.keys if key.field is not None)
        text = f"keys={keys}:{variable}={name}{f' if {like.filter}' if like.filter else ''}"
        if len(text) >= LONG_STRING:
            raise HistError(
                f"{path.group}.{path.event}.{name}: too long for the histogram that the kernel makes of it"
            )
        try:
            self._nested(creation, path, text)
        except HistError:
            raise creation.error("HIST_CREATE_FAIL", name) from None
        existing = creation.find_event_variable(path, variable)
        if existing is None:
            raise creation.error("SYNTH_VAR_NOT_FOUND", name)
        return existing


def _cut(name: str) -> str:
    """Return the part of a parameter with a path that remains after the kernel has parsed it."""
    return name.partition(".")[0] if name.count(".") >= 2 else name


def _path(param: str) -> tuple[EventName | None, str]:
    """Split `group.event.name`. Raises HistError."""
    group, dot, rest = param.partition(".")
    if not dot:
        return None, param
    event, dot, name = rest.partition(".")
    if not dot:
        raise HistError(f"{param}: a field of another event is GROUP.EVENT.FIELD")
    return EventName(group, event), name


def _synthetic(name: str, creation: Creation) -> FoundEvent:
    state = creation.state
    return find_event(_SYNTHETIC, name, state.existing, state.environment)


def _variable_like(value: HistField, keeps_stack: bool) -> HistField:
    """Return the variable that stores a field (create_var)."""
    flags = HistFieldFlag.VAR | (value.flags & HistFieldFlag.STACKTRACE if keeps_stack else HistFieldFlag.NONE)
    return HistField(flags, type=value.type, size=value.size, variable="")


def _same_keys(hist: Hist, other: Hist) -> bool:
    """Return whether two histograms have keys of the same types (compatible_keys)."""
    types = [(key.type, key.size, key.signed) for key in hist.keys]
    return types == [(key.type, key.size, key.signed) for key in other.keys]


def _fits(field: StaticEventField, value: HistField, stack_by_flag: bool) -> bool:
    """Return whether a value fits a field of a synthetic event (check_synth_field)."""
    text, stack = is_text(field), is_stack(field)
    if not value.type:
        return True  # the value is from an event whose fields are unknown
    if "char[" in value.type and text and "__data_loc" in field.type:
        return True
    if stack_by_flag:
        if bool(value.flags & HistFieldFlag.STACKTRACE) != stack:
            return False
        if stack:
            return True
    elif stack and "long[" in value.type:
        return True
    if field.type == value.type:
        return True
    return field.size == value.size and (text or field.signed == value.signed)
