"""Words of failed calls, and objects for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from events.names.errnos import errno_name
from foreign.count_text import counted
from widgets.number_format import grouped

if TYPE_CHECKING:
    from probes.presets.failure_request import FailureRequest
    from tui.views.failures.model import ChainCall, Failure, FailureGroup, FailureModel

_MOST_NAMES: Final = 3
"""Names of processes and calls of a line."""
_FIRST: Final = "first:"
_DEEPEST: Final = "deepest:"
"""Mark of the deepest call that was watched, where the error may come from further down."""


def most_frequent(counts: Counter[str]) -> str:
    """Return the most frequent names, each with its number where there are several."""
    names = counts.most_common(_MOST_NAMES)
    if len(counts) == 1:
        return names[0][0]
    rest = f", {len(counts) - _MOST_NAMES} more" if len(counts) > _MOST_NAMES else ""
    return ", ".join(f"{name} {grouped(count)}" for name, count in names) + rest


def call_text(call: ChainCall) -> str:
    """Return a call with arguments and result in one line."""
    return f"{call.function}{call.arguments}" + (f" = {call.returned}" if call.returned else "")


def notes_of(failure: Failure) -> list[str]:
    """Return what is uncertain about a first failure, and an error that it replaced."""
    notes = []
    if failure.replaced is not None:
        notes.append(f"just before it {call_text(failure.replaced)}, which it may have replaced")
    if failure.is_ambiguous:
        notes.append("several calls returned this error: the last one was taken")
    if failure.is_incomplete:
        notes.append("a return inside it was not recorded: the error may come from further down")
    if failure.has_unseen_calls:
        notes.append("it calls through pointers, which is not seen here: the error may come from further down")
    if failure.is_unwatched:
        notes.append("not all calls inside it were watched: the error may come from further down")
    return notes


def chain_lines(failure: Failure) -> Iterator[tuple[str, str]]:
    """Yield the calls of a failure, the failed call first, each with its style; then what is uncertain about it."""
    last, first = len(failure.calls) - 1, _DEEPEST if failure.is_unwatched else _FIRST
    for level, call in enumerate(failure.calls):
        mark = first if level == last else ""
        yield f"{mark:<{len(first)}} {'  ' * level}{call_text(call)}", "name" if level == last else ""
    for note in notes_of(failure):
        yield f"{'':<{len(first)}} {'  ' * last}({note})", "dim"


def object_of_failure(model: FailureModel, failure: Failure) -> dict[str, Any]:
    """Return a failure as an object for JSON."""
    return {
        "ts": failure.ts,
        "task": model.task_text(failure),
        "pid": failure.task,
        "call": failure.calls[0].function,
        "error": failure.errno,
        "origin": failure.origin,
        "chain": [call._asdict() for call in failure.calls],
        "ambiguous": failure.is_ambiguous,
        "incomplete": failure.is_incomplete or failure.has_unseen_calls or failure.is_unwatched,
        "replaced": failure.replaced._asdict() if failure.replaced else None,
    }


def object_of_group(model: FailureModel, group: FailureGroup) -> dict[str, Any]:
    """Return the failures of one origin as an object for JSON."""
    return {
        "kind": "origin",
        "origin": group.origin,
        "error": group.errno,
        "count": group.calls,
        "ambiguous": group.ambiguous,
        "calls": dict(group.by_call.most_common()),
        "comms": dict(model.comms(group).most_common()),
        "example": object_of_failure(model, group.example),
    }


def error_words(errnos: Collection[int]) -> str:
    """Return the errors that failures are limited to: `with ENOENT`; empty: every error."""
    names = sorted(str(errno_name(number) or number).removeprefix("-") for number in errnos)
    return f"with {' or '.join(names)}" if names else ""


def chosen_words(request: FailureRequest) -> str:
    """Return the failures that are chosen: `failures of __x64_sys_openat with ENOENT`."""
    more = f" and {len(request.calls) - _MOST_NAMES} more" if len(request.calls) > _MOST_NAMES else ""
    words = f"failures of {', '.join(request.calls[:_MOST_NAMES])}{more}"
    return " ".join(filter(None, (words, error_words(request.errnos))))


def summary_line(model: FailureModel) -> str:
    """Return the number of failures, calls and first failures in one line.

    A filter is of the first failures alone, the other numbers are of all chosen calls.
    """
    words = [f"{grouped(model.failed)} of {counted(model.checked, 'call')} failed"]
    words += [f"{grouped(model.without_values)} without a recorded result"] if model.without_values else []
    if model.failed:
        verb = "passes" if model.shown == 1 else "pass"
        of = f" of the {grouped(model.shown)} that {verb} the filter" if model.passing is not None else ""
        words.append(f"{counted(len(model.groups), 'first failure')}{of}")
    return ", ".join(words)
