"""What will be written for one probe on one target: values only, shown to the user before anything happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from probes.command import Armable

DEFAULT_GROUP = "probewright"
"""Of events whose probe names none."""


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """One recorded field and what BTF knows of it."""

    name: str
    """Field name in the event's format."""
    label: str
    """What a person wrote or picked: `file->f_pos`, `$retval`."""
    btf_type: int | None = None
    """Type id of the value in the target's BTF, to name enums, bools and errno; None: unknown."""
    is_retval: bool = False
    kept: bool = False
    """An argument as it was at the entry: an exit that has the column has that value too."""
    is_call: bool = False
    """It is the number of a system call."""


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """One dynamic event."""

    group: str
    event: str
    line: str
    """For `dynamic_events`; empty: the kernel has the event already."""
    remove: str
    """For `dynamic_events`, takes it away again, with all its probes; empty where there is no line."""
    at_exit: bool = False
    filter: str = ""
    """For the event's `filter` file."""
    triggers: tuple[str, ...] = ()
    """For the event's `trigger` file."""
    columns: tuple[PlanColumn, ...] = ()
    frame: str = ""
    """Of two events that are paired: the field with the stack pointer, which tells one call from another."""
    frame_shift: int = 0
    """Bytes by which that field is above what the entry of the same call recorded."""
    more: tuple[str, ...] = ()
    """For `dynamic_events`: lines that put further probes on the same event."""
    recorded: bool = True
    """Whether it is switched on; else only its triggers work."""

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines that make it."""
        return (self.line, *self.more) if self.line else ()

    @property
    def path(self) -> str:
        """Folder under `events/` of an instance."""
        return f"{self.group}/{self.event}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The events of one probe, and what this target could not give."""

    probe: Armable
    events: tuple[PlannedEvent, ...]
    losses: tuple[str, ...] = ()
    """One line for each thing that was lost in lowering."""

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines, in the order in which they are written."""
        return tuple(line for event in self.events for line in event.lines)

    @property
    def has_hist_trigger(self) -> bool:
        """Whether a hist trigger counts a recorded event; those of events that are not recorded measure a `lat:`."""
        return any(text.startswith("hist:") for event in self.events if event.recorded for text in event.triggers)


def titles_of(plans: Sequence[Plan], beside: Sequence[Plan] = ()) -> list[str]:
    """Return a title for each plan: what it probes, with the name of its events where several probe the same.

    `vfs_read`, and of a second one `vfs_read (vfs_read_2)`; two plans have one title where names are equal. `beside`
    have no titles here, but may probe the same; a plan may be among them too.
    """
    each = {tuple(event.event for event in plan.events): plan for plan in (*plans, *beside)}
    often = Counter(plan.probe.subject for plan in each.values())
    return [_title(plan, shared=often[plan.probe.subject] > 1) for plan in plans]


def _title(plan: Plan, *, shared: bool) -> str:
    names = dict.fromkeys(event.event.removesuffix("__entry").removesuffix("__exit") for event in plan.events)
    subject = plan.probe.subject
    own = ", ".join(name for name in names if name != subject)
    return f"{subject} ({own})" if shared and own else subject
