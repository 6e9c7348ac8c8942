"""Represent the lines that will be written for a probe on a target, shown to the user before they take effect."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from probes.bpf.disassembly import listing
from probes.bpf.program import BpfProgram
from probes.command import Armable, short_subject
from probes.plans.tracer import PlannedTracer
from probes.user_events.kernel_reading import PREFIX

if TYPE_CHECKING:
    from events.format import EventFormat
    from probes.objects.object_plan import ObjectPlan
    from probes.plans.sampled_number import SampledNumber

DEFAULT_GROUP = "probewright"
"""Group of events whose probe names none."""


MAX_PATTERN = 1 << 13
"""Longest text in characters by which a column names its functions."""


class Via(enum.StrEnum):
    """Means by which probes on functions are recorded."""

    AUTO = "auto"
    """Tracefs; BPF programs for several functions of which tracefs can't record what is asked."""
    TRACEFS = "tracefs"
    BPF = "bpf"


@lru_cache(maxsize=256)
def _enumerators(names: str) -> dict[int, str]:
    """Return the names of a `PlanColumn` by number."""
    pairs = (one.partition("=") for one in names.split(","))
    return {int(number): name for number, _, name in pairs if re.fullmatch(r"-?\d{1,20}", number)}


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """Recorded field, with its type in BTF."""

    name: str
    """Field name in the event's format."""
    label: str
    """Expression as a person wrote or picked it: `file->f_pos`, `$retval`."""
    btf_type: int | None = None
    """Type id of the value in the target's BTF, to name enums, bools and errno; None: unknown."""
    is_retval: bool = False
    kept: bool = False
    """True for an argument with its value at the entry: at the exit the field has the same value."""
    is_call: bool = False
    """True for the number of a system call."""
    names: str = ""
    """Names of numbers that the target's BTF does not have: `0=IDLE,1=BUSY`."""
    functions: str = ""
    """Pattern of the probed functions, for the field with the one that a record is from; empty: another field."""
    naming: str = ""
    """Set of constants that names the numbers, or an argument of another event's `print fmt` that does
    (`events.names.constants.names_of`); empty: those of the field itself."""
    pointers: tuple[str, ...] = ()
    """Fields of the event with the pointers through which this one is read (`events.format.Field.pointers`)."""

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of `names` by their names; empty: it is empty."""
        return {name: number for number, name in _enumerators(self.names).items()} if self.names else {}

    def name_of(self, number: int) -> str:
        """Return the name that a number has by `names`, or its digits."""
        return _enumerators(self.names).get(number) or str(number)


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """Event of a plan."""

    group: str
    event: str
    line: str
    """Line for `dynamic_events`; empty: the kernel has the event already."""
    remove: str
    """Line for `dynamic_events` that removes the event with all its probes; empty where there is no line."""
    at_exit: bool = False
    filter: str = ""
    """Text for the event's `filter` file."""
    triggers: tuple[str, ...] = ()
    """Lines for the event's `trigger` file."""
    columns: tuple[PlanColumn, ...] = ()
    frame: str = ""
    """Field with the stack pointer, which distinguishes calls; empty: the event is not one of a pair."""
    frame_shift: int = 0
    """Bytes by which that field exceeds the value recorded at the entry of the same call."""
    more: tuple[str, ...] = ()
    """Lines for `dynamic_events` that add further probes to the same event."""
    recorded: bool = True
    """True if the event is enabled; False: only its triggers act."""
    programs: tuple[BpfProgram, ...] = ()
    """BPF programs that record the event in place of a line, on different functions; empty: tracefs records it."""

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines that define the event."""
        return (self.line, *self.more) if self.line else ()

    @property
    def function_field(self) -> str:
        """Name of the field with the probed function; empty: the probe is on one function only."""
        return next((column.name for column in self.columns if column.functions), "")

    @property
    def results(self) -> dict[str, bool]:
        """Fields with return values, by name: see `events.format.EventFormat.with_results`."""
        return {one.name: bool(self.function_field) and one.btf_type is None for one in self.columns if one.is_retval}

    @property
    def pointers(self) -> dict[str, tuple[str, ...]]:
        """Names of the fields with pointers through which others are read, by their names."""
        return {one.name: one.pointers for one in self.columns if one.pointers}

    def describe(self, fmt: EventFormat) -> EventFormat:
        """Return the event's format with what the plan knows: results, pointers, the probed function."""
        found = fmt.with_results(self.results).with_pointers(self.pointers)
        return found.with_function(self.function_field) if self.function_field else found

    @property
    def function_address(self) -> str:
        """Name of the field with the address in the probed function (kernel/trace/trace_probe.h)."""
        return "__probe_func" if self.at_exit else "__probe_ip"

    @property
    def is_by_tracer(self) -> bool:
        """True if a tracer writes the event: it has neither switch nor filter nor triggers."""
        return self.group == "ftrace"

    @property
    def is_of_programs(self) -> bool:
        """True for a user event: it is registered, not written to dynamic_events, and programs may keep it."""
        return self.line.startswith(PREFIX)

    @property
    def path(self) -> str:
        """Folder of the event under `events/` of an instance."""
        return f"{self.group}/{self.event}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Planned events of a probe, and losses on this target."""

    probe: Armable
    events: tuple[PlannedEvent, ...]
    losses: tuple[str, ...] = ()
    """Losses of lowering, each a line."""
    tracer: PlannedTracer | None = None
    """Tracer that runs while the plan records; None: none is needed, or the plan is a recording's."""
    object: ObjectPlan | None = None
    """Compiled BPF object whose programs make the events; None: it is another probe, or of a recording."""
    sampled: SampledNumber | None = None
    """Number whose samples are the events; None: it is another probe, or of a recording."""

    @property
    def by_programs(self) -> bool:
        """True if BPF programs make the events, ours or those of an object, or a thread of ours, as of a monitor."""
        return self.object is not None or self.sampled is not None or bool(self.programs)

    @property
    def counts_only(self) -> bool:
        """True for an object without ring and perf buffers: all that it shows is in its maps."""
        return self.object is not None and not self.object.records

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines, in the order of writing."""
        return tuple(line for event in self.events for line in event.lines)

    @property
    def shown_lines(self) -> tuple[str, ...]:
        """Lines for a person: those that are written, or the instructions of the programs that are loaded."""
        if self.object is not None:
            return self.object.lines
        if self.sampled is not None:
            return self.sampled.lines
        settings = self.tracer.lines if self.tracer is not None else ()
        return (*self.lines, *settings) or tuple(line for program in self.programs for line in listing(program))

    @property
    def programs(self) -> tuple[BpfProgram, ...]:
        """BPF programs; empty: tracefs records the events."""
        return tuple(program for event in self.events for program in event.programs)

    @property
    def has_hist_trigger(self) -> bool:
        """True if a hist trigger counts a recorded event; hist triggers on unrecorded events measure a `lat:`."""
        return any(text.startswith("hist:") for event in self.events if event.recorded for text in event.triggers)


def titles_of(plans: Sequence[Plan], beside: Sequence[Plan] = ()) -> list[str]:
    """Return a title for each plan: its subject, with its event names where several plans have that subject.

    `vfs_read`, and for a second plan `vfs_read (vfs_read_2)`; of many functions a few; plans with equal names have
    equal titles. Plans in `beside` get no titles but may share a subject; a plan may be in both.
    """
    by_events = {tuple(event.event for event in plan.events): plan for plan in (*plans, *beside)}
    subject_counts = Counter(short_subject(plan.probe) for plan in by_events.values())
    return [_title(plan, shared=subject_counts[short_subject(plan.probe)] > 1) for plan in plans]


def _title(plan: Plan, *, shared: bool) -> str:
    names = dict.fromkeys(event.event.removesuffix("__entry").removesuffix("__exit") for event in plan.events)
    subject = short_subject(plan.probe)
    own = ", ".join(name for name in names if name != subject)
    return f"{subject} ({own})" if shared and own else subject
