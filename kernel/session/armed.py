"""The value of an armed probe: its plan, and the formats that the kernel gave its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from events.format import EventFormat
from kernel.guards.limits import MeasuredRate
from probes.plans.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Armed:
    """An armed probe; equal only to itself."""

    plan: Plan
    formats: Mapping[int, EventFormat] = field(repr=False)
    """Formats of its events by id. A kernel may give the id of a removed event to the next new one."""
    measured: MeasuredRate | None = None
    """Rate of its events just before it was armed; None: unknown."""
    key: object = field(default_factory=object, repr=False)
    """Stays the same when it gets another filter, and when it is armed again as it was."""


def text_fields(probes: Iterable[Armed], path: str) -> frozenset[str]:
    """Return the names of the fields of an armed event that are texts, which processes may choose."""
    formats = (fmt for armed in probes for fmt in armed.formats.values())
    return frozenset(name for fmt in formats if fmt.path == path for name in fmt.texts)
