"""States of counting in the kernel: inputs give the next state, `next_step` the next effect. Pure.

`kernel.watch.histogram` performs the steps and feeds back how each ended, so that what the screen says, what is
written and what is given back follow from one value. Whatever order inputs come in, performing steps until there is
none ends in `Phase.OFF` or `Phase.COUNTING`, or in `Phase.DISCONNECTED` until the connection is back.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernel.session.arm_steps import Mode
from probes.plans.plan import Plan


class Phase(enum.Enum):
    """State of counting as people know it."""

    OFF = "off"
    """Nothing is counted, and every probe does what it did before."""
    BEGINNING = "beginning"
    """Probes are to be counted, and not all triggers are written."""
    COUNTING = "counting"
    """The kernel counts."""
    ENDING = "ending"
    """Nothing is to be counted; triggers or modes of before are still there."""
    DISCONNECTED = "disconnected"
    """The connection is lost: steps go on when it is back."""


class SessionProbe(NamedTuple):
    """An armed probe as its session has it."""

    key: object
    """`Armed.key`."""
    plan: Plan
    mode: Mode


class CountRequest(NamedTuple):
    """A request to count."""

    keys: frozenset[object]
    """`Armed.key` of the probes."""
    recording: bool
    """Whether the probes go on with what they do beside."""
    number: int
    """Tells requests apart: what was written for an earlier one is taken away."""

    @property
    def mode(self) -> Mode:
        """Mode of the probes while their triggers are written."""
        return Mode.OFF if self.recording else Mode.COUNT


class RemoveTriggers(NamedTuple):
    """Take the triggers of a probe away."""

    key: object


class SwitchMode(NamedTuple):
    """Give a probe another mode."""

    key: object
    mode: Mode


class WriteTriggers(NamedTuple):
    """Write the triggers of some probes, in one pause of the instance."""

    keys: tuple[object, ...]


class ZeroCounts(NamedTuple):
    """Set all counts of some probes to 0."""

    keys: tuple[object, ...]


Step = RemoveTriggers | SwitchMode | WriteTriggers | ZeroCounts


@dataclass(frozen=True, slots=True)
class CountedProbe:
    """An armed probe, with what counting did to it."""

    key: object
    plan: Plan
    mode: Mode
    before: Mode | None = None
    """Mode to be given back; None: it has its own."""
    written: tuple[Plan, int] | None = None
    """Plan and request by which its triggers were written; None: it has none."""


@dataclass(frozen=True, slots=True)
class CountingState:
    """State of counting of one watch."""

    probes: tuple[CountedProbe, ...] = ()
    """All that are armed, the oldest first."""
    wish: CountRequest | None = None
    """None: nothing is to be counted."""
    requests: int = 0
    zeroing: bool = False
    """Whether counts are to be set to 0."""
    connected: bool = True
    refused: frozenset[Step] = frozenset()
    """Steps back that the kernel refused; tried again at the next request."""

    @property
    def phase(self) -> Phase:
        """State in one word."""
        ours = any(one.written or one.before is not None for one in self.probes)
        if not self.connected:
            return Phase.DISCONNECTED if ours or self.wish else Phase.OFF
        if self.wish is not None:
            return Phase.COUNTING if next_step(self) is None else Phase.BEGINNING
        return Phase.ENDING if ours else Phase.OFF

    @property
    def counted(self) -> frozenset[object]:
        """Keys of the probes whose triggers are written."""
        return frozenset(one.key for one in self.probes if one.written is not None)

    # -- inputs -------------------------------------------------------------------------------------------------

    def seen(self, armed: Iterable[SessionProbe]) -> CountingState:
        """Take what is armed now: probes come, go, get another filter, or are switched by someone else.

        A probe that someone switched meanwhile is left as it is, and is counted no more.
        """
        known = {one.key: one for one in self.probes}
        probes: list[CountedProbe] = []
        left: set[object] = set()
        for key, plan, mode in armed:
            one = known.get(key, CountedProbe(key, plan, mode))
            if one.before is not None and mode is not one.mode:
                one = replace(one, before=None)
                left.add(key)
            probes.append(replace(one, plan=plan, mode=mode))
        return replace(self, probes=tuple(probes))._wishing({one.key for one in probes} - left)._tidy()

    def armed(self, keys: Collection[object]) -> CountingState:
        """Take the keys of all probes that are armed: others are gone."""
        probes = tuple(one for one in self.probes if one.key in keys)
        return replace(self, probes=probes)._wishing(keys)

    def _wishing(self, keys: Collection[object]) -> CountingState:
        """Return the state with a request for no other probes than these."""
        wish = self.wish
        if wish is not None:
            wish = wish._replace(keys=wish.keys & frozenset(keys))
        return replace(self, wish=wish if wish is not None and wish.keys else None)

    def count(self, keys: Iterable[object], *, recording: bool = False) -> CountingState:
        """Take a request to count these probes and no others, from 0 on."""
        there = {one.key for one in self.probes}
        wish = CountRequest(frozenset(keys) & there, recording, self.requests + 1)
        probes = [
            replace(one, before=one.mode) if one.key in wish.keys and one.before is None else one
            for one in self.probes
        ]
        return replace(
            self,
            probes=tuple(probes),
            wish=wish if wish.keys else None,
            requests=wish.number,
            zeroing=False,
            refused=frozenset(),
        )._tidy()

    def stop(self) -> CountingState:
        """Take a request to count nothing."""
        return replace(self, wish=None, zeroing=False, refused=frozenset())._tidy()

    def clear(self) -> CountingState:
        """Take a request to forget what was counted so far."""
        return replace(self, zeroing=self.wish is not None)

    def disconnect(self) -> CountingState:
        """Take the loss of the connection."""
        return replace(self, connected=False)

    def reconnect(self) -> CountingState:
        """Take the return of the connection: probes are armed again in their modes, without our triggers."""
        probes = tuple(replace(one, written=None) for one in self.probes)
        return replace(self, probes=probes, connected=True, zeroing=False, refused=frozenset())._tidy()

    def done(self, step: Step) -> CountingState:
        """Take the success of a step."""
        if isinstance(step, ZeroCounts):
            return replace(self, zeroing=False)
        return replace(self, probes=tuple(self._after(step, one) for one in self.probes))._tidy()

    def fail(self, step: Step) -> CountingState:
        """Take the kernel's refusal of a step: everything is given back, except of counts that stay as they are.

        A `WriteTriggers` may have been performed in part.
        """
        if isinstance(step, ZeroCounts):
            return replace(self, zeroing=False)
        back = self.wish is None or isinstance(step, RemoveTriggers)
        probes = self.probes
        if isinstance(step, WriteTriggers):
            probes = tuple(self._after(step, one) for one in probes)
        refused = self.refused | {step} if back else self.refused
        return replace(self, probes=probes, wish=None, zeroing=False, refused=refused)._tidy()

    def _after(self, step: Step, one: CountedProbe) -> CountedProbe:
        if isinstance(step, WriteTriggers) and one.key in step.keys:
            return replace(one, written=(one.plan, self.requests))
        if isinstance(step, RemoveTriggers) and one.key == step.key:
            return replace(one, written=None)
        if isinstance(step, SwitchMode) and one.key == step.key:
            return replace(one, mode=step.mode)
        return one

    def _tidy(self) -> CountingState:
        """Forget the mode of before where a probe has it again."""

        def tidied(one: CountedProbe) -> CountedProbe:
            over = (self.wish is None or one.key not in self.wish.keys) and not one.written
            return replace(one, before=None) if over and one.mode is one.before else one

        return replace(self, probes=tuple(map(tidied, self.probes)))


def next_step(state: CountingState) -> Step | None:
    """Return the next step for the kernel; None: there is none, or it has to wait for the connection."""
    if not state.connected:
        return None
    return next((step for step in _steps(state) if step not in state.refused), None)


def _steps(state: CountingState) -> Iterator[Step]:
    """Yield all that differs from what is wanted, in the order in which it has to be mended."""
    wish = state.wish
    wanted = tuple(one for one in state.probes if wish is not None and one.key in wish.keys)
    for one in state.probes:
        stays = one in wanted and one.written == (one.plan, state.requests)
        if one.written is not None and not stays:
            yield RemoveTriggers(one.key)
    if wish is not None:
        unwritten = [one for one in wanted if one.written is None]
        for one in unwritten:
            if one.mode is not wish.mode:
                yield SwitchMode(one.key, wish.mode)
        if unwritten:
            yield WriteTriggers(tuple(one.key for one in unwritten))
        elif state.zeroing:
            yield ZeroCounts(tuple(one.key for one in wanted))
    for one in state.probes:
        back = one not in wanted or (wish is not None and wish.recording and one.written is not None)
        if back and one.before is not None and one.mode is not one.before:
            yield SwitchMode(one.key, one.before)
