"""Represent a tracer of a plan: the settings it needs, and its name for `current_tracer`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TracerSetting:
    """Value of one file of tracefs."""

    file: str
    """Path below the root of tracefs: `osnoise/period_us`."""
    value: str
    shared: bool = True
    """True for a setting of the whole kernel; False: the instance has its own, which disappears with it."""
    below: str = ""
    """File with a number that the kernel keeps at least as large as this one; set in the order that it accepts."""

    def __str__(self) -> str:
        return f"{self.file} = {self.value}"


@dataclass(frozen=True, slots=True)
class PlannedTracer:
    """Tracer that an instance runs, beside the events that are enabled."""

    name: str
    settings: tuple[TracerSetting, ...]
    """Settings, in an order in which the kernel accepts them once `below` is respected."""

    stacks_of: str = ""
    """Path of the events behind which the tracer records the kernel's stack; empty: of none."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Settings and start, each in a line for a person."""
        return (*map(str, self.settings), f"current_tracer = {self.name}")
