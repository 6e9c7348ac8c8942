"""Compute the states of counting in the kernel: inputs give the next state, `next_step` the next effect. Pure.

`kernel.watch.histogram` performs the steps and feeds back the result of each, so that the screen, the written
triggers and the restored modes follow from one value. For any order of inputs, performing steps until there is none
ends in `Phase.OFF` or `Phase.COUNTING`, or in `Phase.DISCONNECTED` until the reconnect.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernel.session.probe_steps import Mode
from probes.plans.plan import Plan


class Phase(enum.Enum):
    """State of counting as shown to the user."""

    OFF = "off"
    """Counting is off, and every probe has its previous mode."""
    BEGINNING = "beginning"
    """Probes are to be counted, and some triggers are not written yet."""
    COUNTING = "counting"
    """The kernel counts."""
    ENDING = "ending"
    """Counting is to end; triggers remain, or modes are not restored yet."""
    DISCONNECTED = "disconnected"
    """Disconnected: steps continue after the reconnect."""


class SessionProbe(NamedTuple):
    """An armed probe as its session has it."""

    key: object
    """`Armed.key`."""
    plan: Plan
    mode: Mode
    has_triggers: bool = True
    """False: none of the triggers that count it are there, whoever removed them: it may have been disarmed, and
    armed again."""


class CountRequest(NamedTuple):
    """A request to count."""

    keys: frozenset[object]
    """`Armed.key` of the probes. One that is disarmed stays: it is counted again once it is armed again."""
    recording: bool
    """True: the probes keep their previous mode while the kernel counts."""
    number: int
    """Number of the request: triggers written for an earlier one are removed."""

    @property
    def mode(self) -> Mode:
        """Mode of the probes while their triggers are written."""
        return Mode.OFF if self.recording else Mode.COUNT


class RemoveTriggers(NamedTuple):
    """Removal of the triggers of a probe."""

    key: object


class SwitchMode(NamedTuple):
    """Change of a probe's mode."""

    key: object
    mode: Mode


class WriteTriggers(NamedTuple):
    """Writing of the triggers of some probes, in one pause of the instance."""

    keys: tuple[object, ...]


class ZeroCounts(NamedTuple):
    """Reset of all counts of some probes to 0."""

    keys: tuple[object, ...]


Step = RemoveTriggers | SwitchMode | WriteTriggers | ZeroCounts


@dataclass(frozen=True, slots=True)
class CountedProbe:
    """An armed probe, with the effects of counting on it."""

    key: object
    plan: Plan
    mode: Mode
    previous_mode: Mode | None = None
    """Mode to be restored; None: the probe has its own mode."""
    written: tuple[Plan, int] | None = None
    """Plan and request by which its triggers were written; None: it has none."""


@dataclass(frozen=True, slots=True)
class CountingState:
    """State of counting of one watch."""

    probes: tuple[CountedProbe, ...] = ()
    """All armed probes, the oldest first."""
    disarmed: tuple[CountedProbe, ...] = ()
    """Probes that were disarmed while they were counted: they may be armed again, in the mode of then."""
    request: CountRequest | None = None
    """Present request; None: counting is to be off."""
    requests: int = 0
    zeroing: bool = False
    """True if counts are to be set to 0."""
    connected: bool = True
    rejected_steps: frozenset[Step] = frozenset()
    """Undo steps that the kernel rejected; tried again at the next request."""

    @property
    def phase(self) -> Phase:
        """Phase of this state."""
        has_effects = any(probe.written or probe.previous_mode is not None for probe in self.probes)
        if not self.connected:
            return Phase.DISCONNECTED if has_effects or self.requested else Phase.OFF
        if self.requested:
            return Phase.COUNTING if next_step(self) is None else Phase.BEGINNING
        return Phase.ENDING if has_effects else Phase.OFF

    @property
    def requested(self) -> tuple[CountedProbe, ...]:
        """Armed probes that are to be counted."""
        request = self.request
        return tuple(probe for probe in self.probes if request is not None and probe.key in request.keys)

    @property
    def counted(self) -> frozenset[object]:
        """Keys of the probes whose triggers are written."""
        return frozenset(probe.key for probe in self.probes if probe.written is not None)

    # -- inputs -------------------------------------------------------------------------------------------------

    def seen(self, armed: Iterable[SessionProbe]) -> CountingState:
        """Take the probes armed now: probes appear, disappear, get another filter, or are switched by someone else.

        A probe that someone switched meanwhile keeps its mode, and is no longer counted. One that was disarmed while
        it was counted, and is armed again, goes on where it was.
        """
        previous = {probe.key: probe for probe in (*self.disarmed, *self.probes)}
        probes: list[CountedProbe] = []
        switched: set[object] = set()
        for key, plan, mode, has_triggers in armed:
            probe = previous.pop(key, CountedProbe(key, plan, mode))
            if probe.previous_mode is not None and mode is not probe.mode:
                probe = replace(probe, previous_mode=None)
                switched.add(key)
            written = probe.written if has_triggers else None
            probes.append(replace(probe, plan=plan, mode=mode, written=written))
        disarmed = tuple(
            replace(probe, written=None) for probe in previous.values() if probe.previous_mode is not None
        )
        return replace(self, probes=tuple(probes), disarmed=disarmed)._without(switched)._drop_restored()

    def armed(self, keys: Collection[object]) -> CountingState:
        """Take the keys of all armed probes, and leave out the others."""
        return replace(self, probes=tuple(probe for probe in self.probes if probe.key in keys))

    def _without(self, keys: Collection[object]) -> CountingState:
        """Return the state with these probes no longer requested."""
        wish = self.request
        if wish is not None:
            wish = wish._replace(keys=wish.keys - frozenset(keys))
        return replace(self, request=wish if wish is not None and wish.keys else None)

    def include(self, key: object) -> CountingState:
        """Take a request to count one probe too, beside those that are counted: their counts go on."""
        wish = self.request or CountRequest(frozenset(), recording=False, number=self.requests + 1)
        wish = wish._replace(keys=wish.keys | {key})
        return replace(
            self,
            probes=tuple(_to_be_counted(probe, wish) for probe in self.probes),
            request=wish,
            requests=wish.number,
            rejected_steps=frozenset(),
        )

    def count(self, keys: Iterable[object], *, recording: bool = False) -> CountingState:
        """Take a request to count these probes and no others, from 0 on."""
        known = {probe.key for probe in (*self.probes, *self.disarmed)}
        wish = CountRequest(frozenset(keys) & known, recording, self.requests + 1)
        return replace(
            self,
            probes=tuple(_to_be_counted(probe, wish) for probe in self.probes),
            request=wish if wish.keys else None,
            requests=wish.number,
            zeroing=False,
            rejected_steps=frozenset(),
        )._drop_restored()

    def stop(self) -> CountingState:
        """Take a request to end counting."""
        return replace(self, request=None, zeroing=False, rejected_steps=frozenset())._drop_restored()

    def clear(self) -> CountingState:
        """Take a request to reset the counts."""
        return replace(self, zeroing=bool(self.requested))

    def disconnect(self) -> CountingState:
        """Take a disconnect."""
        return replace(self, connected=False)

    def reconnect(self) -> CountingState:
        """Take a reconnect: probes are armed again in their modes, without our triggers."""
        probes = tuple(replace(probe, written=None) for probe in self.probes)
        return replace(
            self, probes=probes, connected=True, zeroing=False, rejected_steps=frozenset()
        )._drop_restored()

    def done(self, step: Step) -> CountingState:
        """Take the success of a step."""
        if isinstance(step, ZeroCounts):
            return replace(self, zeroing=False)
        return replace(self, probes=tuple(self._apply(step, probe) for probe in self.probes))._drop_restored()

    def fail(self, step: Step) -> CountingState:
        """Take the kernel's rejection of a step: everything is restored, except if only counts stay as they are.

        A `WriteTriggers` may have been performed in part.
        """
        if isinstance(step, ZeroCounts):
            return replace(self, zeroing=False)
        undoing = self.request is None or isinstance(step, RemoveTriggers)
        probes = self.probes
        if isinstance(step, WriteTriggers):
            probes = tuple(self._apply(step, probe) for probe in probes)
        refused = self.rejected_steps | {step} if undoing else self.rejected_steps
        return replace(self, probes=probes, request=None, zeroing=False, rejected_steps=refused)._drop_restored()

    def _apply(self, step: Step, probe: CountedProbe) -> CountedProbe:
        if isinstance(step, WriteTriggers) and probe.key in step.keys:
            return replace(probe, written=(probe.plan, self.requests))
        if isinstance(step, RemoveTriggers) and probe.key == step.key:
            return replace(probe, written=None)
        if isinstance(step, SwitchMode) and probe.key == step.key:
            return replace(probe, mode=step.mode)
        return probe

    def _drop_restored(self) -> CountingState:
        """Drop the previous mode of probes that have it again."""

        def without_restored(probe: CountedProbe) -> CountedProbe:
            done = (self.request is None or probe.key not in self.request.keys) and not probe.written
            return replace(probe, previous_mode=None) if done and probe.mode is probe.previous_mode else probe

        return replace(self, probes=tuple(map(without_restored, self.probes)))


def _to_be_counted(probe: CountedProbe, wish: CountRequest) -> CountedProbe:
    """Return a probe with its mode kept, if it is to be counted and was not."""
    begins = probe.key in wish.keys and probe.previous_mode is None
    return replace(probe, previous_mode=probe.mode) if begins else probe


def next_step(state: CountingState) -> Step | None:
    """Return the next step for the kernel; None: there is none, or it has to wait for the connection."""
    if not state.connected:
        return None
    return next((step for step in _steps(state) if step not in state.rejected_steps), None)


def _steps(state: CountingState) -> Iterator[Step]:
    """Yield the steps from the present to the requested state, in the order in which they have to be performed."""
    wish = state.request
    requested = state.requested
    for probe in state.probes:
        stays = probe in requested and probe.written == (probe.plan, state.requests)
        if probe.written is not None and not stays:
            yield RemoveTriggers(probe.key)
    if wish is not None:
        unwritten = [probe for probe in requested if probe.written is None]
        for probe in unwritten:
            if probe.mode is not wish.mode:
                yield SwitchMode(probe.key, wish.mode)
        if unwritten:
            yield WriteTriggers(tuple(probe.key for probe in unwritten))
        elif requested and state.zeroing:
            yield ZeroCounts(tuple(probe.key for probe in requested))
    for probe in state.probes:
        restored = probe not in requested or (wish is not None and wish.recording and probe.written is not None)
        if restored and probe.previous_mode is not None and probe.mode is not probe.previous_mode:
            yield SwitchMode(probe.key, probe.previous_mode)
