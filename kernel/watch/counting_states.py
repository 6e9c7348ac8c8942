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


class CountRequest(NamedTuple):
    """A request to count."""

    keys: frozenset[object]
    """`Armed.key` of the probes."""
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
            return Phase.DISCONNECTED if has_effects or self.request else Phase.OFF
        if self.request is not None:
            return Phase.COUNTING if next_step(self) is None else Phase.BEGINNING
        return Phase.ENDING if has_effects else Phase.OFF

    @property
    def counted(self) -> frozenset[object]:
        """Keys of the probes whose triggers are written."""
        return frozenset(probe.key for probe in self.probes if probe.written is not None)

    # -- inputs -------------------------------------------------------------------------------------------------

    def seen(self, armed: Iterable[SessionProbe]) -> CountingState:
        """Take the probes armed now: probes appear, disappear, get another filter, or are switched by someone else.

        A probe that someone switched meanwhile keeps its mode, and is no longer counted.
        """
        previous = {probe.key: probe for probe in self.probes}
        probes: list[CountedProbe] = []
        switched: set[object] = set()
        for key, plan, mode in armed:
            probe = previous.get(key, CountedProbe(key, plan, mode))
            if probe.previous_mode is not None and mode is not probe.mode:
                probe = replace(probe, previous_mode=None)
                switched.add(key)
            probes.append(replace(probe, plan=plan, mode=mode))
        return (
            replace(self, probes=tuple(probes))
            ._limit_request({probe.key for probe in probes} - switched)
            ._drop_restored()
        )

    def armed(self, keys: Collection[object]) -> CountingState:
        """Take the keys of all armed probes, and drop the others."""
        probes = tuple(probe for probe in self.probes if probe.key in keys)
        return replace(self, probes=probes)._limit_request(keys)

    def _limit_request(self, keys: Collection[object]) -> CountingState:
        """Return the state with its request limited to these probes."""
        wish = self.request
        if wish is not None:
            wish = wish._replace(keys=wish.keys & frozenset(keys))
        return replace(self, request=wish if wish is not None and wish.keys else None)

    def count(self, keys: Iterable[object], *, recording: bool = False) -> CountingState:
        """Take a request to count these probes and no others, from 0 on."""
        present = {probe.key for probe in self.probes}
        wish = CountRequest(frozenset(keys) & present, recording, self.requests + 1)
        probes = [
            replace(probe, previous_mode=probe.mode)
            if probe.key in wish.keys and probe.previous_mode is None
            else probe
            for probe in self.probes
        ]
        return replace(
            self,
            probes=tuple(probes),
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
        return replace(self, zeroing=self.request is not None)

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


def next_step(state: CountingState) -> Step | None:
    """Return the next step for the kernel; None: there is none, or it has to wait for the connection."""
    if not state.connected:
        return None
    return next((step for step in _steps(state) if step not in state.rejected_steps), None)


def _steps(state: CountingState) -> Iterator[Step]:
    """Yield the steps from the present to the requested state, in the order in which they have to be performed."""
    wish = state.request
    requested = tuple(probe for probe in state.probes if wish is not None and probe.key in wish.keys)
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
        elif state.zeroing:
            yield ZeroCounts(tuple(probe.key for probe in requested))
    for probe in state.probes:
        restored = probe not in requested or (wish is not None and wish.recording and probe.written is not None)
        if restored and probe.previous_mode is not None and probe.mode is not probe.previous_mode:
            yield SwitchMode(probe.key, probe.previous_mode)
