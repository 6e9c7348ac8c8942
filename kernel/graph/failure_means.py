"""Find out whether a target can tell the first failures of calls, and by which means it gets their return values."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from events.graph.record_ends import EXIT, NO_RETURNS, lacks_returns
from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import TargetUnusable
from kernel.graph.exit_probes import exit_probe_support
from kernel.graph.function_graph import support
from kernel.graph.program_tracer import tracing_obstacle
from kernel.recording.plans import readable_plans, recorded_graph
from probes.attaching.entry_points import entry_points, name_test, nearest_entry_points

_MOST_NAMES: Final = 4
"""Functions that are named; of more the number is told."""


class ReturnMeans(enum.StrEnum):
    """Means by which calls are traced with their return values, the best first."""

    TRACER = "the function_graph tracer"
    PROGRAMS = "BPF programs at both ends of functions"
    PROBES = "probes at both ends of functions"


class FailureSource(NamedTuple):
    """Calls that a target can tell the failures of, and by what."""

    functions: tuple[str, ...]
    means: str
    losses: tuple[str, ...] = ()
    """Calls that are left out."""

    @property
    def words(self) -> str:
        """Words for the functions and the means."""
        more = f" and {len(self.functions) - _MOST_NAMES} more" if len(self.functions) > _MOST_NAMES else ""
        return f"calls of {', '.join(self.functions[:_MOST_NAMES])}{more} with their return values, by {self.means}"


def return_means(info: KernelInfo) -> ReturnMeans:
    """Return the means of a kernel. Raises TargetUnusable where it has none, TargetLost."""
    if not getattr(info.target, "gives_pages", True):
        raise TargetUnusable(
            f"{info.target.name}: return values need ring-buffer pages; without Python there they come as text",
            "install python3 there",
        )
    tracer = support(info.target)
    if tracer.usable and tracer.retval:
        return ReturnMeans.TRACER
    if not tracing_obstacle(info):
        return ReturnMeans.PROGRAMS
    if reason := exit_probe_support(info):
        why = tracer.why_not or f"its call graph has no return values ({tracer.missing.get('retval', '')})"
        raise TargetUnusable(f"{info.target.name}: {why}, {tracing_obstacle(info)}, and {reason}")
    return ReturnMeans.PROBES


def functions_of(info: KernelInfo, calls: Iterable[str]) -> tuple[str, ...]:
    """Return the functions that words mean, each as a system call, a function or a pattern. Raises TargetUnusable."""
    return tuple(name for word in calls for name in _functions(info, word))


def failure_source(info: KernelInfo, calls: Sequence[str]) -> FailureSource:
    """Return how a target tells the failures of calls. Raises TargetUnusable where it can't, TargetLost."""
    if info.holds_events:
        return _recorded_source(info, calls)
    return FailureSource(functions_of(info, calls), return_means(info))


def _functions(info: KernelInfo, word: str) -> tuple[str, ...]:
    found = entry_points(word, info.facts)
    if not found:
        nearest = nearest_entry_points(word, info.facts)
        hint = f"did you mean {', '.join(nearest)}?" if nearest else "probewright list has the functions"
        raise TargetUnusable(
            f"{word}: {info.target.name} has no such system call or function that can be traced", hint
        )
    return found


def calls_with_returns(recording: Recording) -> tuple[str, ...]:
    """Return the subjects of the recorded probes at both ends of functions that have the return values."""
    return tuple(
        plan.probe.subject
        for plan in readable_plans(recording)
        if {event.at_exit for event in plan.events if event.frame} == {True, False}
        and any(column.is_retval for event in plan.events for column in event.columns)
    )


def _recorded_source(info: KernelInfo, calls: Sequence[str]) -> FailureSource:
    """Return the recorded calls with return values: of a tracer, else of probes at both ends."""
    recording = info.target.recording
    if recording is None:
        raise TargetUnusable(f"{info.target.name}: this is no recording")
    is_meant = name_test(calls, info.facts)
    formats = recording.every_format()
    if any(fmt.path == EXIT for fmt in formats):
        if lacks_returns(formats):
            raise TargetUnusable(NO_RETURNS)
        plan = recorded_graph(info.target)
        roots = plan.roots if plan is not None else ()
        found = tuple(
            name for root in roots for name in (entry_points(root, info.facts) or (root,)) if is_meant(name)
        )
        losses = () if found or not roots else (f"only calls inside those of {', '.join(roots)} were recorded",)
        return FailureSource(found or functions_of(info, calls), "the tracer that was recorded", losses)
    with_results = calls_with_returns(recording)
    found = tuple(name for name in with_results if is_meant(name))
    if not found:
        has = ", ".join(sorted(set(with_results)))
        raise TargetUnusable(
            f"this recording has no calls of {', '.join(calls)} with their return values: it has "
            f"{f'those of {has}' if has else 'none'}"
        )
    return FailureSource(found, "the probes that were recorded")
