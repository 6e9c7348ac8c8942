"""How much a probe may bring: what is asked about before it is armed, and what stops it while it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kernel.errors import KernelError
from probes.plans.cost_estimate import EventRate, ReaderCost, cost_of, percent, reading_cost_of
from probes.plans.plan import Plan

MAX_RATE = 50_000
"""Events a second: what a person can still look at in some way, and one CPU in twenty is busy with."""
MAX_COST = 0.5
"""Share of one CPU: a filter can make events of a hot function few, and each call costs all the same."""
STORM = 2_000_000
"""Events a second of one probe: twice of what this program can take in. At that pace a buffer of 1.4 MB is
overwritten forty times a second, and about one CPU does nothing but write events."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Events a second; 0: no limit."""

    max_rate: float = MAX_RATE
    """More than that is asked about before it is armed; 0: the rate is not measured."""
    storm: float = STORM
    """More than that stops a probe that is armed."""


class MeasuredRate(NamedTuple):
    """How often a probe's events happened in a moment before it was armed."""

    rates: Mapping[str, EventRate]
    """By `group/event`."""
    seconds: float
    """How long that moment was."""
    reader: ReaderCost | None = None
    """What reads the events on a far side; None: they are read here."""
    slowdown: float = 1
    """Times as long as the figures of `probes.plans.cost_estimate` say all takes there."""

    @property
    def hits(self) -> float:
        """A second, all events."""
        return sum(rate.hits for rate in self.rates.values())

    @property
    def records(self) -> float:
        """A second, all events: what would be recorded."""
        return sum(rate.records for rate in self.rates.values())

    def cost(self, plan: Plan, *, counting: bool = False) -> float:
        """Share of one CPU that the probe itself takes."""
        return self.slowdown * cost_of(plan, self.rates, counting=counting)

    def reading_cost(self, plan: Plan) -> float:
        """Share of one CPU of a far side that reading its events takes there; 0 where they are read here."""
        return self.slowdown * reading_cost_of(plan, self.rates, self.reader) if self.reader is not None else 0.0

    def text(self, plan: Plan, *, counting: bool = False) -> str:
        """`about 12,000 events a second, 0.3 % of a CPU, 1.8 % of a CPU more to read them there`."""
        cost = percent(self.cost(plan, counting=counting))
        if self.reader is not None and not counting:
            cost += f", {percent(self.reading_cost(plan))} more to read them there"
        hits, records = _figure(self.hits), _figure(self.records)
        if not self.hits:
            return f"no call in the {self.seconds:.2f} s before it was armed"
        if hits == records:
            return f"about {records} events a second, {cost}"
        return f"about {records} events a second of {hits} hits, {cost}"


REMEDY: Final = "a filter makes them fewer; --force arms it all the same, --max-rate sets the limit"
"""Of the commands that arm; the application takes --max-rate alone."""


def refusal(plan: Plan, measured: MeasuredRate, limits: Limits) -> TooFast:
    """The error that says so."""
    return TooFast(
        f"{plan.probe.subject}: {measured.text(plan)}; the limit is {limits.max_rate:,.0f} a second",
        REMEDY,
        plan,
        measured,
    )


def too_fast(plan: Plan, measured: MeasuredRate, limits: Limits) -> bool:
    """Whether a probe has to be asked about before it is armed."""
    if not limits.max_rate:
        return False
    # A lab's guest is there to be loaded: by how much it is slower than a machine does not count.
    usual = measured._replace(slowdown=1)
    return usual.records > limits.max_rate or usual.cost(plan) + usual.reading_cost(plan) > MAX_COST


def _figure(rate: float) -> str:
    """Two digits are what a moment can tell."""
    if rate < 100:
        return f"{rate:.0f}"
    unit = 10 ** (len(f"{rate:.0f}") - 2)
    return f"{round(rate / unit) * unit:,}"


class TooFast(KernelError):
    """A probe was not armed: its events would come faster than the limits allow."""

    def __init__(self, message: str, remedy: str, plan: Plan, measured: MeasuredRate) -> None:
        super().__init__(message, remedy)
        self.plan = plan
        self.measured = measured
