"""Words of objects and their references, and objects for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from events.kernel_time import seconds
from events.references.reference import Role
from events.references.tracker import FAULTS, State
from foreign.count_text import counted
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.references.reference import Reference
    from events.references.tracked_object import TrackedObject
    from events.references.tracker import Judgement
    from tui.views.references.model import ReferenceModel

TITLES: Final = ("state", "leaked", "balance", "count", "gets", "puts", "unseen", "object", "taken by")
UNSEEN: Final = "a get that was not seen"
_MOST_FRAMES: Final = 12
_SIGNS: Final = {Role.NEW: "+1 new", Role.GET: "+1 get", Role.PUT: "-1 put", Role.FREE: "   free"}


class ObjectText(NamedTuple):
    """Texts of an object, in the order of `TITLES`."""

    state: str
    leaked: str
    balance: str
    references: str
    gets: str
    puts: str
    unseen: str
    name: str
    taken_by: str


def object_text(tracked: TrackedObject, judgement: Judgement) -> ObjectText:
    """Return the texts of an object."""
    unseen = [f"+{tracked.unseen_gets}"] * bool(tracked.unseen_gets)
    unseen += [f"-{tracked.unseen_puts}"] * bool(tracked.unseen_puts)
    places = Counter(place_text(one) for one in judgement.unmatched)
    taken = ", ".join(f"{place} {number}" if number > 1 else place for place, number in places.most_common(2))
    if judgement.state is State.OPEN and not taken:
        taken = UNSEEN
    return ObjectText(
        judgement.state.value,
        grouped(judgement.leaked) if judgement.leaked else "",
        f"{tracked.balance:+}",
        "" if tracked.count is None else grouped(tracked.count),
        grouped(tracked.gets),
        grouped(tracked.puts),
        " ".join(unseen),
        object_name(tracked),
        taken,
    )


def object_name(tracked: TrackedObject) -> str:
    """Return kind, name and address of an object."""
    return " ".join((tracked.kind, *([tracked.name] if tracked.name else []), f"{tracked.address:#x}"))


def place_text(reference: Reference) -> str:
    """Return the function of an event with its caller: `fget < do_fcntl`."""
    callers = [frame.partition("+")[0] for frame in reference.stack[:2]]
    return " < ".join((reference.function, *callers))


def summary_line(model: ReferenceModel) -> str:
    """Return the numbers of objects in one line."""
    tracker, states = model.tracker, model.states()
    parts = [counted(tracker.seen, "object"), counted(model.events, "event")]
    parts += [f"{grouped(states[state])} {state.value}" for state in State if states[state]]
    if tracker.forgotten:
        parts.append(f"{grouped(tracker.forgotten)} whose end was not seen")
    if model.has_missed:
        parts.append("a probe missed calls: no fault is proven")
    elif model.skipped:
        parts.append(f"{counted(model.skipped, 'event')} dropped: no fault is proven")
    return ", ".join(parts)


def proof_lines(model: ReferenceModel, tracked: TrackedObject, judgement: Judgement) -> Iterator[str]:
    """Yield what makes an object faulty: its gets without puts, or its uses after its end, each with its stack."""
    shown = tracked.uses_after_end if judgement.state is State.USED_AFTER_END else judgement.unmatched
    for one in shown[: max(1, judgement.leaked)]:
        ended = ", which has ended" if model.tracker.has_ended(one) else ""
        yield f"{one.function} by {model.task_text(one)}{ended}, at {seconds(one.ts)}"
        yield from (f"  => {frame}" for frame in one.stack[:_MOST_FRAMES])
    if judgement.is_ambiguous:
        yield "several places fit: another get may be the one without a put"
    if not tracked.is_new:
        yield "it existed before: references from then are not known"


def event_lines(model: ReferenceModel, tracked: TrackedObject, judgement: Judgement) -> Iterator[tuple[str, str]]:
    """Yield the gets and puts of an object in order of time, each with its stack, as lines with their look."""
    unmatched = {one.seq for one in judgement.unmatched}
    after_end = {one.seq for one in tracked.uses_after_end}
    missing = tracked.gets + tracked.puts + (tracked.freed is not None) + len(after_end) - len(tracked.events)
    if missing > 0:
        yield f"… {counted(missing, 'earlier event')}", ""
    for one in tracked.events:
        count = "" if one.after is None else f"  count {one.after}"
        note = "  no put" * (one.seq in unmatched) + "  after its end" * (one.seq in after_end)
        look = "bad" if note and (model.tracker.has_ended(one) or one.seq in after_end) else "name"
        yield f"{seconds(one.ts)} {_SIGNS[one.role]} {one.function} {model.task_text(one)}{count}{note}", look
        yield from ((f"    => {frame}", "") for frame in one.stack[:_MOST_FRAMES])


def object_of(model: ReferenceModel, tracked: TrackedObject, judgement: Judgement) -> dict[str, Any]:
    """Return an object for JSON."""
    return {
        "kind": "object",
        "of": tracked.kind,
        "address": f"{tracked.address:#x}",
        "name": tracked.name,
        "state": judgement.state.name.lower(),
        "leaked": judgement.leaked,
        "balance": tracked.balance,
        "count": tracked.count,
        "gets": tracked.gets,
        "puts": tracked.puts,
        "unseen_gets": tracked.unseen_gets,
        "unseen_puts": tracked.unseen_puts,
        "made": tracked.is_new,
        "freed": tracked.freed is not None,
        "ambiguous": judgement.is_ambiguous,
        "unmatched": [_reference_of(model, one) for one in judgement.unmatched],
        "after_end": [_reference_of(model, one) for one in tracked.uses_after_end],
    }


def _reference_of(model: ReferenceModel, one: Reference) -> dict[str, Any]:
    return {
        "time": one.ts,
        "function": one.function,
        "pid": one.task & 0xFFFFFFFF if one.task >= 0 else None,
        "comm": model.store.task_names.name(one.task) if one.task >= 0 else "",
        "ended": model.tracker.has_ended(one),
        "stack": list(one.stack),
    }


def summary_of(model: ReferenceModel) -> dict[str, Any]:
    """Return the numbers of objects for JSON."""
    states = model.states()
    return {
        "kind": "summary",
        "objects": model.tracker.seen,
        "events": model.events,
        **{state.name.lower(): states[state] for state in State if state is not State.BALANCED},
        "faults": sum(states[state] for state in FAULTS),
    }
