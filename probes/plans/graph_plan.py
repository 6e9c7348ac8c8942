"""Represent the settings of the function_graph tracer, and a kernel's support for them.

Documentation/trace/ftrace.rst; kernel/trace/{trace_functions_graph.c,ftrace.c}. `kernel.graph.function_graph` applies
the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Self

from probes.plain_types import require_types

KEY: Final = "graph"
"""Key of a plan in the meta values of a recording."""
_MOST_NAMES: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """Settings of function graph tracing: the calls to follow, and the data to record."""

    roots: tuple[str, ...] = ()
    """Functions below which all calls are followed (set_graph_function), globs (`vfs_*`) as in ftrace. Empty: all
    functions everywhere, hundreds of thousands of calls a second."""
    not_below: tuple[str, ...] = ()
    """Functions that are not followed, nor any function they call (set_graph_notrace)."""
    functions: tuple[str, ...] = ()
    """Functions to which tracing is limited (set_ftrace_filter); only calls between them are recorded."""
    left_out: tuple[str, ...] = ()
    """Functions that are not traced themselves (set_ftrace_notrace); the functions they call are."""
    max_depth: int = 0
    """Depth of calls below a root, including the root; 0: unlimited (max_graph_depth)."""
    threshold_us: int = 0
    """Least duration in microseconds of recorded calls, of which only exits are recorded (tracing_thresh); 0: all."""
    pids: tuple[int, ...] = ()
    """Threads to which tracing is limited (set_ftrace_pid, set_event_pid); empty: all except ours."""
    args: bool = True
    """True to record the arguments of calls, if the kernel can."""
    retaddr: bool = False
    """True to record return addresses, if the kernel can."""
    irqs: bool = True
    """True to follow interrupts too."""
    sleep_time: bool = True
    """True if durations include the time in which the task slept."""
    switches: bool = False
    """True to record sched_switch events between the calls."""
    interrupts: bool = False
    """True to record events of interrupts and softirqs between the calls."""
    vectors: bool = True
    """With `interrupts`: also record interrupts without a handler (irq_vectors on x86: timers, IPIs). They are two
    dozen events, each of which takes a slow guest seconds to enable."""
    returns: bool = False
    """True to record return values in any case: by BPF programs or probes where the tracer can't."""
    options: tuple[str, ...] = ()
    """Further options of the tracer as in trace_options, with `no` for those to switch off. They change the kernel's
    text, not the recorded data."""

    @property
    def traced(self) -> tuple[str, ...]:
        """Words for set_ftrace_filter; empty: every function.

        With a depth of 1 only the roots are recorded. Without a filter, the kernel would be slowed down in every
        function, and starting and stopping would take seconds.
        """
        return self.functions or (self.roots if self.max_depth == 1 else ())

    def __str__(self) -> str:
        """Return the settings in a few words: `vfs_read, depth 3`."""
        words = [", ".join(self.roots or self.functions) or "every function"]
        words += [f"depth {self.max_depth}"] if self.max_depth else []
        words += [f"from {self.threshold_us} us on"] if self.threshold_us else []
        words += ["with return values"] if self.returns else []
        return ", ".join(words)

    @property
    def meta(self) -> Mapping[str, Any]:
        """The plan as a meta value of a recording."""
        return {KEY: asdict(self)}

    @classmethod
    def of_meta(cls, meta: Mapping[str, Any]) -> Self | None:
        """Return the plan in meta values; None: none (older version, or recording of probes), or a damaged one."""
        plain = meta.get(KEY)
        if not isinstance(plain, Mapping):
            return None
        known = {field.name: plain[field.name] for field in fields(cls) if field.name in plain}
        try:
            require_types(cls, known)
        except TypeError:
            return None
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return None if any(len(names) > _MOST_NAMES for names in lists.values()) else cls(**{**known, **lists})


@dataclass(frozen=True, slots=True)
class GraphSupport:
    """A kernel's support for function_graph tracing."""

    why_not: str = ""
    """Reason in a line why function graphs can't be recorded; empty: they can."""
    options: frozenset[str] = frozenset()
    """Options of the tracer, without `no`."""
    args: bool = False
    """True if arguments can be recorded."""
    retval: bool = False
    """True if return values are recorded."""
    retaddr: bool = False
    """True if return addresses can be recorded."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Reasons why `args`, `retval` or `retaddr` are missing, each in a line."""

    @property
    def usable(self) -> bool:
        """True if a function graph can be recorded."""
        return not self.why_not
