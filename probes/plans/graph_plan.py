"""What the function_graph tracer shall do, as a value; and what of it a kernel can do.

Documentation/trace/ftrace.rst; kernel/trace/{trace_functions_graph.c,ftrace.c}. `kernel.graph.function_graph` carries
it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Self

from probes.plain_types import require_types

KEY: Final = "graph"
"""Of a plan in the meta values of a recording."""
_MOST_NAMES: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """Which calls are followed, and what is recorded of them."""

    roots: tuple[str, ...] = ()
    """Functions below which everything is followed (set_graph_function); globs (`vfs_*`) as ftrace has them. Empty:
    everything, everywhere: that is hundreds of thousands of calls a second.
    """
    not_below: tuple[str, ...] = ()
    """Functions that are not followed, nor anything they call (set_graph_notrace)."""
    functions: tuple[str, ...] = ()
    """The only functions that are traced at all (set_ftrace_filter); calls between them are seen, others are not."""
    left_out: tuple[str, ...] = ()
    """Functions that are not traced themselves (set_ftrace_notrace); what they call is."""
    max_depth: int = 0
    """Calls below a root, the root included; 0: all (max_graph_depth)."""
    threshold_us: int = 0
    """Microseconds: only calls that took so long, of which only the exits are recorded (tracing_thresh); 0: all."""
    pids: tuple[int, ...] = ()
    """The only threads that are followed (set_ftrace_pid, set_event_pid); empty: all but ours."""
    args: bool = True
    """Record what calls were given, where the kernel can."""
    retaddr: bool = False
    """Record where calls return to, where the kernel can."""
    irqs: bool = True
    """Follow interrupts too."""
    sleep_time: bool = True
    """Durations include the time in which the task slept."""
    switches: bool = False
    """sched_switch events between the calls."""
    interrupts: bool = False
    """Events of interrupts and softirqs between the calls."""
    vectors: bool = True
    """With `interrupts`: also of those that have no handler (irq_vectors on x86: timers, IPIs). They are two dozen
    events, each of which a slow guest takes seconds to switch on.
    """
    options: tuple[str, ...] = ()
    """Further options of the tracer as trace_options has them, `no` before what shall be off. They change what the
    kernel prints, nothing of what is recorded.
    """

    @property
    def traced(self) -> tuple[str, ...]:
        """Return the words for set_ftrace_filter; empty: every function.

        Of a single level the roots are all that is recorded. Without a filter the kernel would be slowed down at each
        function that it calls, and would take seconds to begin and end.
        """
        return self.functions or (self.roots if self.max_depth == 1 else ())

    def __str__(self) -> str:
        """What it follows, in a few words: `vfs_read, depth 3`."""
        words = [", ".join(self.roots or self.functions) or "every function"]
        words += [f"depth {self.max_depth}"] if self.max_depth else []
        words += [f"from {self.threshold_us} us on"] if self.threshold_us else []
        return ", ".join(words)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Return it as a meta value of a recording."""
        return {KEY: asdict(self)}

    @classmethod
    def of_meta(cls, meta: Mapping[str, Any]) -> Self | None:
        """Return the plan of a recording; None: it has none (of an older version, or of probes), or a damaged one."""
        plain = meta.get(KEY)
        if not isinstance(plain, Mapping):
            return None
        known = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        try:
            require_types(cls, known)
        except TypeError:
            return None
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return None if any(len(names) > _MOST_NAMES for names in lists.values()) else cls(**{**known, **lists})


@dataclass(frozen=True, slots=True)
class GraphSupport:
    """What a kernel's function_graph tracer can do."""

    why_not: str = ""
    """Why there is none for us, in a line; empty: there is."""
    options: frozenset[str] = frozenset()
    """Its options, without `no`."""
    args: bool = False
    """Arguments can be recorded."""
    retval: bool = False
    """Return values are recorded."""
    retaddr: bool = False
    """Return addresses can be recorded."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Why `args`, `retval` or `retaddr` are not there, a line each."""

    @property
    def usable(self) -> bool:
        """Whether a graph can be recorded at all."""
        return not self.why_not
