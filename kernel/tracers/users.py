"""Find the instances in which somebody else runs a tracer, as many settings of tracers are of the whole kernel."""

from __future__ import annotations

from typing import Final, NamedTuple

from kernel.errors import FileRefused
from kernel.tracefs import Instance, Tracefs

BY_THRESHOLD: Final = frozenset(
    (
        *("function_graph", "irqsoff", "preemptoff", "preemptirqsoff", "wakeup", "wakeup_rt", "wakeup_dl"),
        *("hwlat", "osnoise", "timerlat"),
    )
)
"""Tracers that use tracing_thresh."""


class TracerUser(NamedTuple):
    """An instance with a running tracer."""

    instance: str
    """Name of the instance; empty: the root of tracefs."""
    tracer: str

    def __str__(self) -> str:
        place = f"in the instance {self.instance}" if self.instance else "at the top of tracefs"
        return f"{self.tracer} is on {place}"


def other_tracer_users(tracefs: Tracefs, own_instance: Instance) -> list[TracerUser]:
    """Return the other instances with a running tracer. Raises TargetLost."""
    other_users: list[TracerUser] = []
    for name in ("", *tracefs.instances()):
        instance = tracefs.instance(name) if name else tracefs
        if instance.path == own_instance.path:
            continue
        try:
            tracer = instance.read("current_tracer").strip()
        except FileRefused:  # it was removed meanwhile
            continue
        if tracer and tracer != "nop":
            other_users.append(TracerUser(name, tracer))
    return other_users
