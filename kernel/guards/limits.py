"""Define rate limits of probes: one for a question before arming, one that stops an armed probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from events.names.name_pattern import is_address
from kernel.errors import KernelError
from probes.command import short_subject
from probes.plans.cost_estimate import EventRate, ReaderCost, cost_of, percent, reading_cost_of
from probes.plans.plan import Plan
from probes.probe import Probe, ProbePlace
from probes.remedies import TOO_FAST

MAX_RATE = 50_000
"""Events per second: a person can still inspect them in some way, and they keep one CPU busy for a twentieth of its
time.
"""
MAX_COST = 0.5
"""Share of one CPU: a filter can make events of a hot function few, but each call costs all the same."""
STORM = 2_000_000
"""Events per second of one probe: twice what this program can receive. At that rate a buffer of 1.4 MB is overwritten
forty times a second, and about one CPU only writes events.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Rate limits in events per second; 0: no limit."""

    max_rate: float = MAX_RATE
    """Highest rate armed without a question; 0: the rate is not measured."""
    storm: float = STORM
    """Highest rate of an armed probe before it is stopped."""
    asks_about_several: bool = False
    """True: a probe on several functions is armed only after a question that shows its rate, whatever that is."""

    @classmethod
    def of(cls, asked: Mapping[str, float], *, asks_about_several: bool = False) -> Limits:
        """Return the limits that options ask for, by their names."""
        return cls(asked.get("max_rate", MAX_RATE), asked.get("storm", STORM), asks_about_several)


_MOST_NAMED = 4
_MOST_LEFT_OUT = 16
"""Functions that a quieter probe leaves out at most."""
_LOUD = 0.1
"""Share of the calls of the loudest function from which on another one is loud, too."""
_TIMES = 4
"""Times that a loud function is called as often as the quietest one that is called."""
_MOST_CALLS = 0.8
"""Share of all calls that the loudest functions have."""
UNLIMITED: Final = Limits(0, 0)


class MeasuredRate(NamedTuple):
    """Event rates of a probe, measured for a moment before it was armed."""

    rates: Mapping[str, EventRate]
    """Event rates by `group/event`."""
    seconds: float
    """Seconds of measurement."""
    reader: ReaderCost | None = None
    """Reader of the events on a remote host; None: they are read locally."""
    slowdown: float = 1
    """Times as long as the figures of `probes.plans.cost_estimate` everything takes there."""
    by_function: Mapping[str, float] = MappingProxyType({})
    """Calls a second of each function of a probe on several, the most frequent first; empty: not counted."""

    @property
    def hits(self) -> float:
        """Hits per second, all events."""
        return sum(rate.hits for rate in self.rates.values())

    @property
    def records(self) -> float:
        """Records per second that would be written, all events."""
        return sum(rate.records for rate in self.rates.values())

    def cost(self, plan: Plan, *, counting: bool = False) -> float:
        """Return the share of one CPU that the probe itself takes."""
        return self.slowdown * cost_of(plan, self.rates, counting=counting)

    def reading_cost(self, plan: Plan) -> float:
        """Return the share of one remote CPU that reading its events takes there; 0 if they are read locally."""
        return self.slowdown * reading_cost_of(plan, self.rates, self.reader) if self.reader is not None else 0.0

    def most_frequent(self) -> str:
        """Return `fput 12,000 a second, dput 9,000`: the functions that are called most."""
        first, *others = (f"{name} {_figure(rate)}" for name, rate in islice(self.by_function.items(), _MOST_NAMED))
        return ", ".join([f"{first} a second", *others])

    def text(self, plan: Plan, *, counting: bool = False) -> str:
        """Return `about 12,000 events a second, 0.3 % of a CPU, 1.8 % of a CPU more to read them there`."""
        cost = percent(self.cost(plan, counting=counting))
        if self.reader is not None and not counting:
            cost += f", {percent(self.reading_cost(plan))} more to read them there"
        hits, records = _figure(self.hits), _figure(self.records)
        if not self.hits:
            return f"no call in the {self.seconds:.2f} s before it was armed"
        events = "event" if records == "1" else "events"
        if hits == records:
            return f"about {records} {events} a second, {cost}"
        return f"about {records} {events} a second of {hits} hits, {cost}"


REMEDY: Final = TOO_FAST
"""Remedy of commands that arm; in the application --max-rate alone is possible."""


def too_fast_error(plan: Plan, measured: MeasuredRate, limits: Limits) -> TooFast:
    """Return the error of a probe that is armed only after a question: it exceeds the limits, or is on several."""
    exceeded = exceeded_limit(plan, measured, limits)
    quieter = without_most_frequent(plan, measured, limits) if exceeded else without_loudest(plan, measured)
    most = f"; the most frequent: {measured.most_frequent()}" if measured.by_function else ""
    limit = f"; the limit is {exceeded}" if exceeded else ""
    return TooFast(
        f"{short_subject(plan.probe)}: {measured.text(plan)}{limit}{most}",
        f"without the most frequent: '{quieter}'; {REMEDY}" if quieter is not None else REMEDY,
        plan,
        measured,
        quieter,
        exceeded=exceeded,
    )


def without_most_frequent(plan: Plan, measured: MeasuredRate, limits: Limits) -> Probe | None:
    """Return a probe on fewer functions that keeps the limits: without the most frequent ones.

    None: the functions were not counted, or too many of them would have to be left out.
    """
    probe, calls = plan.probe, measured.by_function
    total = sum(calls.values())
    if not isinstance(probe, Probe) or not total:
        return None
    left_out = list[str]()
    for name in islice(calls, min(_MOST_LEFT_OUT, len(calls) - 1)):
        left_out.append(name)
        share = 1 - sum(calls[each] for each in left_out) / total
        rates = {path: EventRate(rate.hits * share, rate.records * share) for path, rate in measured.rates.items()}
        if not exceeded_limit(plan, measured._replace(rates=rates), limits):
            return _without(probe, left_out)
    return None


def without_loudest(plan: Plan, measured: MeasuredRate) -> Probe | None:
    """Return a probe without the functions that most of the calls are of; None: they were not counted."""
    probe, names = plan.probe, loudest(measured.by_function)
    return _without(probe, names) if isinstance(probe, Probe) and names else None


def loudest(calls: Mapping[str, float]) -> list[str]:
    """Return the functions that most of the calls are of; of functions that are called alike the first.

    Args:
        calls: calls a second of each function, the most frequent first.
    """
    if len(calls) < 2:
        return []
    (first, most), *others = calls.items()
    least = max(_LOUD * most, _TIMES * min(calls.values()))
    found, heard = [first], most
    for name, rate in others[:-1]:
        if rate < least or heard >= _MOST_CALLS * sum(calls.values()) or len(found) == _MOST_LEFT_OUT:
            break
        found.append(name)
        heard += rate
    return found


def _without(probe: Probe, names: Sequence[str]) -> Probe | None:
    """Return a probe that leaves functions out; None: one of them is known by its address only."""
    if any(map(is_address, names)):
        return None
    return replace(probe, place=ProbePlace("".join([str(probe.place), *(f",!{name}" for name in names)])))


def asks_before(plan: Plan, measured: MeasuredRate, limits: Limits) -> bool:
    """Return whether a probe may be armed only after a question."""
    is_several = any(event.function_field for event in plan.events)
    return bool(exceeded_limit(plan, measured, limits)) or (limits.asks_about_several and is_several)


def exceeded_limit(plan: Plan, measured: MeasuredRate, limits: Limits) -> str:
    """Return `50,000 events a second` or `50 % of a CPU`, the limit that a probe exceeds, and that it may be armed
    beyond only after a question; empty: it exceeds none.
    """
    if not limits.max_rate:
        return ""
    # A lab's guest is made for load: its slowdown against a real machine does not count.
    usual = measured._replace(slowdown=1)
    if usual.records > limits.max_rate:
        return f"{limits.max_rate:,.0f} events a second"
    return percent(MAX_COST) if usual.cost(plan) + usual.reading_cost(plan) > MAX_COST else ""


def _figure(rate: float) -> str:
    """Format a rate with two digits, the precision of a short measurement."""
    if rate < 100:
        return f"{rate:.0f}"
    unit = 10 ** (len(f"{rate:.0f}") - 2)
    return f"{round(rate / unit) * unit:,}"


class TooFast(KernelError):
    """A probe was not armed: its events would exceed the rate limit, or its rate is to be shown before."""

    def __init__(
        self,
        message: str,
        remedy: str,
        plan: Plan,
        measured: MeasuredRate,
        quieter: Probe | None = None,
        exceeded: str = "",
    ) -> None:
        super().__init__(message, remedy)
        self.plan = plan
        self.measured = measured
        self.exceeded = exceeded
        """The limit that it would exceed (`exceeded_limit`); empty: its rate is to be shown before."""
        self.quieter = quieter
        """The probe without its most frequent functions, which keeps the limit; None: there is none."""
