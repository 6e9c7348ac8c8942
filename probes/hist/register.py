"""Register a histogram among the existing ones: duplicates, shared names, pause and clear, deletion.

By hist_register_trigger, hist_trigger_match and event_hist_trigger_parse in kernel/trace/trace_events_hist.c.
"""

from __future__ import annotations

from probes.hist.actions import Actions
from probes.hist.clause import read_clauses, unlogged_refusal
from probes.hist.create import HistCreator
from probes.hist.field import HistError
from probes.hist.state import Creation, EventName, Hist, HistState
from probes.hist.trigger import HistTrigger
from probes.syntax.refused import RefusedWord


def read_hist(trigger: HistTrigger, file: EventName, command: str, state: HistState) -> None:
    """Apply a command to the histograms of an event.

    Args:
        trigger: the command.
        file: the event.
        command: as error_log shows it.
        state: existing histograms and triggers; modified.

    Raises:
        RefusedWord: the kernel rejects the command.
    """
    creation = Creation(state, Hist(file), command, [], trigger.remove)
    try:
        _apply(trigger, creation)
    except HistError as error:
        if not creation.log:
            raise unlogged_refusal(str(error)) from None
        raise RefusedWord(creation.log[-1], command=command) from None


def _apply(trigger: HistTrigger, creation: Creation) -> None:
    state, hist = creation.state, creation.hist
    HistCreator(trigger, creation).create()
    if trigger.filter:
        state.check_filter(trigger.filter, hist.file)
        hist.filter = trigger.filter
    if trigger.remove:
        _remove(hist, state)
        return
    changes = trigger.has("pause") or trigger.has("continue") or trigger.has("clear")
    if changes and _exists(hist, state):
        return
    actions = Actions(creation, _nested)
    for action in hist.actions:
        actions.create(action)
    _register(trigger, creation)
    state.hists.append(hist)
    if hist.has_variables:
        state.with_variables.insert(0, hist)


def _nested(creation: Creation, file: EventName, text: str) -> None:
    """Create a histogram that another one's action needs; errors go to the same log. Raises HistError."""
    parts, _, condition = text.partition(" if ")
    trigger = HistTrigger(read_clauses(parts, 0, creation.command, True), condition)
    _apply(trigger, Creation(creation.state, Hist(file), creation.command, creation.log))


def _remove(hist: Hist, state: HistState) -> None:
    """Remove the equal histogram, if there is one. Raises HistError."""
    named = _named(hist, state)
    existing = next((h for h in state.on(hist.file) if _matches(hist, h, named, False)), None)
    if existing is None:
        return
    variables = {id(field) for field in existing.fields}
    for other in state.with_variables:
        if other is not existing and any(id(reference.target) in variables for reference in other.references):
            raise HistError("Another histogram refers to its variables")
    state.hists.remove(existing)
    if existing in state.with_variables:
        state.with_variables.remove(existing)


def _exists(hist: Hist, state: HistState) -> bool:
    """Return whether there is such a histogram to pause, continue or clear (existing_hist_update_only)."""
    named = _named(hist, state)
    if hist.name and (named is None or not _matches(hist, named, named, True)):
        return False
    return any(_matches(hist, other, named, False) for other in state.on(hist.file))


def _register(trigger: HistTrigger, creation: Creation) -> None:
    """Check that a histogram can be added (hist_register_trigger). Raises HistError."""
    state, hist = creation.state, creation.hist
    named = _named(hist, state)
    if named is not None and not _matches(hist, named, named, True):
        raise creation.error("NAMED_MISMATCH", f"name={hist.name}")
    same = (not hist.name or named is not None) and any(
        _matches(hist, other, named, False) for other in state.on(hist.file)
    )
    if same:
        raise creation.error("TRIGGER_EEXIST", "")
    if trigger.has("continue") or trigger.has("clear"):
        raise creation.error("TRIGGER_ENOENT_CLEAR", "")
    hist.shared_with = named
    if hist.timestamps and trigger.clock not in state.dialect.clocks:
        raise creation.error("SET_CLOCK_FAIL", trigger.clock)


def _named(hist: Hist, state: HistState) -> Hist | None:
    """Return the first histogram of the same name."""
    if not hist.name:
        return None
    return next((h for h in state.hists if h.name == hist.name and h.shared_with is None), None)


def _matches(hist: Hist, other: Hist, named: Hist | None, ignore_filter: bool) -> bool:
    """Return whether the kernel considers two histograms equal (hist_trigger_match)."""
    if named is not None and named is not other and named is not other.shared_with:
        return False
    if named is None and other.name:
        return False
    shared = other.shared_with or other  # histograms that share a name share everything but the filter
    if not ignore_filter and hist.filter != other.filter:
        return False
    return _shape(hist) == _shape(shared)


def _shape(hist: Hist) -> tuple[object, ...]:
    """Return the parts of a histogram that are compared; of expressions only the flags."""
    fields = [(f.flags, f.field, f.offset, f.size, f.signed, f.variable) for f in hist.fields]
    return len(hist.values), fields, hist.sort, [action.identity for action in hist.actions]
