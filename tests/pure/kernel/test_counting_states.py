"""Counting in the kernel never gets stuck: whatever is done in whatever order, it is told and given back as it is.

A model test: a watch over a tracefs that treats hist triggers as the kernel does (`tests.fake_hist`), and beside it
what a person would expect of each probe.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, KernelError, TargetLost, TargetUnusable
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.rearm import ArmedState
from kernel.target import Step
from kernel.watch import reconnect
from kernel.watch.counting_states import CountingState, Phase, SessionProbe, next_step
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from probes.hist.kept import LATENCY, TASK, is_session_trigger
from probes.plans.plan import Plan, PlannedEvent
from tests.fake_hist import HistKernel
from tests.pure.kernel.test_histograms_reconnect import TwoEnds
from tests.pure.kernel.test_ssh_reconnect import Side, cut
from tests.pure.kernel.test_watch import probe
from tui import kernel_jobs
from tui.present.activity import activity, activity_of

NAMES = ("a", "b", "c")
BY_HAND = (
    "hist:keys=common_pid.execname",
    "hist:keys=common_pid.execname:size=16384",
    "hist:keys=common_pid.execname if count > 4",
    "hist:keys=count",
    "hist:keys=common_cpu",
    "stacktrace",
)
CHANGED = ("count > 4", "count > 9", "")


class HistSide(HistKernel, Side):
    """A kernel with hist triggers behind a connection that can be lost."""


@dataclass
class Expected:
    """One armed probe, as a person knows it."""

    mode: Mode
    """Mode when nothing of it is counted."""
    since: int | None = None
    """Hits since its values are counted; None: they are not."""
    by_hand: Counter[str] = field(default_factory=Counter)
    """Hits since each trigger of its entry was added."""


@dataclass
class Disarmed:
    """One probe that was disarmed, as it was then."""

    name: str
    plan: Plan
    state: ArmedState
    was: Expected
    group: str
    """Group of the events of the session of then."""
    wanted: bool
    """True: it is counted when it is armed again."""


class CountingInTheKernel(RuleBasedStateMachine):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(reconnect, "PAUSES", (0.01,))
        self.side = HistSide()
        self.watch = Watch(TwoEnds(KernelInfo(self.side.target)))
        self.probes: dict[str, Expected] = {}
        self.wanted: set[str] = set()
        """Probes to be counted when the connection is back."""
        self.disarmed: list[Disarmed] = []
        """Newest last, as a person takes them back."""

    def teardown(self) -> None:
        with contextlib.suppress(TargetLost):
            if self.side.lost:
                self.come_back()
        assert self.watch.close() == []
        assert self.side.traces == [] and not any(self.side.hists.values())
        self.patch.undo()

    @initialize()
    def begin(self) -> None:
        self.arm("a", Mode.RECORD)
        self.arm("b", Mode.COUNT)

    def armed(self, name: str) -> Armed:
        return next(armed for armed in self.watch.armed.probes if armed.plan.probe.subject == name)

    @property
    def counted(self) -> set[str]:
        return {name for name, one in self.probes.items() if one.since is not None}

    def entry(self, name: str) -> PlannedEvent:
        return self.armed(name).plan.events[0]

    connected = precondition(lambda self: not self.side.lost)
    disconnected = precondition(lambda self: self.side.lost)

    # -- what a person and the world do -------------------------------------------------------------------------

    @connected
    @rule(name=st.sampled_from(NAMES), mode=st.sampled_from([Mode.RECORD, Mode.COUNT]))
    def arm(self, name: str, mode: Mode) -> None:
        if name not in self.probes:
            self.watch.armed.arm(probe(name), mode=mode)
            self.probes[name] = Expected(mode)

    @connected
    @rule(name=st.sampled_from(NAMES))
    def disarm(self, name: str) -> None:
        if name in self.probes:
            armed = self.armed(name)
            state = self.watch.armed.armed_state(armed)
            assert self.watch.armed.disarm(armed) == []
            was = self.probes.pop(name)
            group = self.watch.session.group
            self.disarmed.append(Disarmed(name, armed.plan, state, was, group, was.since is not None))

    @connected
    @rule()
    def disarm_all(self) -> None:
        for name in NAMES:
            self.disarm(name)

    @connected
    @precondition(lambda self: self.disarmed)
    @rule(looks=st.booleans())
    def take_back(self, looks: bool) -> None:
        """The newest first; nobody looked since, or the screen did."""
        one = self.disarmed.pop()
        if one.group != self.watch.session.group:
            return  # the session of then is gone
        if looks:
            self.watch.histograms.read()
        if one.name in self.probes:
            with pytest.raises(TargetUnusable):
                self.watch.armed.arm_back(one.plan, one.state)
            return
        assert self.watch.armed.arm_back(one.plan, one.state).rejected_triggers == ()
        assert self.watch.histograms.take_failure() is None
        by_hand = Counter(dict.fromkeys(one.was.by_hand, 0))
        self.probes[one.name] = Expected(one.was.mode, 0 if one.wanted else None, by_hand)

    @connected
    @rule(name=st.sampled_from(NAMES), looks=st.booleans())
    def disarm_and_take_back(self, name: str, looks: bool) -> None:
        if name in self.probes:
            self.disarm(name)
            self.take_back(looks)

    @connected
    @rule(name=st.sampled_from(NAMES))
    def arm_by_the_same_plan(self, name: str) -> None:
        """As for another number of calls that a kretprobe follows."""
        if name in self.probes:
            one = self.probes[name]
            self.watch.armed.rearm(self.armed(name), self.armed(name).plan)
            one.since = None if one.since is None else 0
            one.by_hand = Counter(dict.fromkeys(one.by_hand, 0))
            self.probes = {other: self.probes[other] for other in self.names}

    @connected
    @rule()
    def stop_and_take_back(self) -> None:
        """The probes that were counted are counted again, and no others."""
        former = self.watch.histograms.wanted
        was, wanted = self.counted, [one.wanted for one in self.disarmed]
        self.stop()
        self.watch.histograms.count(former)
        for name in was:
            self.probes[name].since = 0
        for one, again in zip(self.disarmed, wanted, strict=True):
            one.wanted = again

    @connected
    @rule(name=st.sampled_from(NAMES), mode=st.sampled_from(Mode))
    def switch_and_take_back(self, name: str, mode: Mode) -> None:
        if name in self.probes:
            one, since = self.probes[name].mode, self.probes[name].since
            done = kernel_jobs.switch(self.watch, self.armed(name), mode)
            assert not done.failed and done.undo is not None and not done.undo(self.watch).failed
            ended = since is not None and mode is not Mode.COUNT and one is not Mode.COUNT
            self.probes[name].since = 0 if ended else since

    @rule(with_values=st.booleans())
    def count(self, with_values: bool) -> None:
        entries = [armed.plan.events[0].path for armed in self.watch.armed.probes]
        fields = [(path, "count") for path in entries] if with_values else []
        with contextlib.suppress(TargetLost) if self.side.lost else contextlib.nullcontext():
            self.watch.histograms.begin(self.watch.armed.probes, fields)
        self.wanted = set(self.probes)
        self.forget_disarmed()
        for one in self.probes.values():
            one.since = 0

    @rule()
    def stop(self) -> None:
        with contextlib.suppress(TargetLost) if self.side.lost else contextlib.nullcontext():
            self.watch.histograms.end()
        self.wanted.clear()
        self.forget_disarmed()
        for one in self.probes.values():
            one.since = None

    def forget_disarmed(self) -> None:
        for one in self.disarmed:
            one.wanted = False

    @rule()
    def clear(self) -> None:
        self.watch.intake.forget()
        with contextlib.suppress(TargetLost) if self.side.lost else contextlib.nullcontext():
            self.watch.histograms.clear()
        for name in self.counted:
            self.probes[name].since = 0

    @connected
    @rule(name=st.sampled_from(NAMES), text=st.sampled_from(BY_HAND))
    def trigger_by_hand(self, name: str, text: str) -> None:
        """The kernel refuses only what is there by hand already."""
        if name not in self.probes:
            return
        there = {one.replace(":size=16384", "") for one in self.probes[name].by_hand}
        taken = text.replace(":size=16384", "") in there
        try:
            self.watch.armed.add_trigger(self.armed(name), self.entry(name), text)
        except KernelError:
            assert taken
        else:
            assert not taken
            self.probes[name].by_hand[text] = 0

    @connected
    @rule(name=st.sampled_from(NAMES))
    def remove_by_hand(self, name: str) -> None:
        if name in self.probes and self.probes[name].by_hand:
            text = next(iter(self.probes[name].by_hand))
            self.watch.session.probes.remove_trigger(self.armed(name), self.entry(name), text)
            del self.probes[name].by_hand[text]

    @connected
    @rule(name=st.sampled_from(NAMES), text=st.sampled_from(CHANGED))
    def change_filter(self, name: str, text: str) -> None:
        if name in self.probes:
            is_other = self.armed(name).plan.probe.filter != text
            self.watch.armed.change_filter(self.armed(name), text)
            if is_other and self.probes[name].since is not None:
                self.probes[name].since = 0

    @connected
    @rule(name=st.sampled_from(NAMES), mode=st.sampled_from(Mode))
    def switch(self, name: str, mode: Mode) -> None:
        """Someone else does: a guard, a key."""
        if name in self.probes:
            one, now = self.probes[name], self.watch.session.probes.mode(self.armed(name))
            assert self.watch.armed.switch(self.armed(name), mode) == []
            if mode is not now:
                one.mode, one.since = mode, None
                self.wanted.discard(name)

    @connected
    @rule()
    def lose_connection(self) -> None:
        if self.watch.armed.probes:
            cut(self.side, self.watch)
            self.wanted = self.counted

    @disconnected
    @rule()
    def come_back(self) -> None:
        assert ReconnectAttempt(self.watch).run().rejected_probes == ()
        for name, one in self.probes.items():
            one.since = 0 if name in self.wanted else None
            one.by_hand.update({text: -hits for text, hits in one.by_hand.items()})

    @connected
    @rule(number=st.integers(1, 12))
    def count_refused(self, number: int) -> None:
        """The kernel refuses one of the steps, once: all is given back, or the next request does."""
        left = number

        def refuse(step: Step) -> None:
            nonlocal left
            left -= step.path.endswith(("/trigger", "/enable", "/dynamic_events"))
            if not left and not step.path.endswith("/tracing_on"):
                left = -1
                raise FileRefused(step.path, 22)

        self.side.before = refuse
        try:
            self.watch.histograms.begin(self.watch.armed.probes)
        except KernelError:
            self.side.before = lambda step: None
            assert self.watch.counting in (Phase.OFF, Phase.ENDING)
            self.stop()
        else:
            self.side.before = lambda step: None
            self.forget_disarmed()
            for one in self.probes.values():
                one.since = 0
        for name, one in self.probes.items():
            # What could not be taken back from before is told by a step's failure, and stays to be tried again.
            assert one.since is not None or self.watch.session.probes.mode(self.armed(name)) is one.mode

    # -- what has to be so --------------------------------------------------------------------------------------

    def events_happen(self) -> None:
        """Twice each, between any two of the rules."""
        for name, one in self.probes.items():
            for event in self.armed(name).plan.events:
                self.side.hit(event.path)
                self.side.hit(event.path)
            one.since = None if one.since is None else one.since + 2
            one.by_hand.update(dict.fromkeys(one.by_hand, 2))

    @invariant()
    def the_screen_says_what_is(self) -> None:
        if self.side.lost:
            return
        # Another filter, or mode, is seen when somebody looks, as the screen does each second.
        if self.watch.session is not None:
            self.watch.histograms.read()
        self.events_happen()
        reads = self.watch.histograms.read() if self.watch.session is not None else ()
        counted = self.counted
        assert self.watch.counting is (Phase.COUNTING if counted else Phase.OFF)
        modes = [Mode.COUNT if name in counted else self.probes[name].mode for name in self.names]
        assert list(self.watch.armed.modes) == modes
        said = activity_of(self.watch)
        silent = [mode for mode in modes if mode is not Mode.RECORD]
        assert bool(said.mark) == (bool(modes) and len(silent) == len(modes))
        assert ("counting in the kernel" in said.mark + said.note) == bool(counted)
        hits = {(one.watched.event.path, one.watched.value): one.histogram.hits for one in reads}
        for name in counted:
            for event in self.armed(name).plan.events:
                assert hits[event.path, TASK] == self.probes[name].since, "no old counts"
        assert {path for path, what in hits if what != LATENCY} == {
            event.path for name in counted for event in self.armed(name).plan.events
        }

    @property
    def names(self) -> list[str]:
        return [armed.plan.probe.subject for armed in self.watch.armed.probes]

    @invariant()
    def the_triggers_of_people_are_theirs(self) -> None:
        if self.side.lost:
            return
        for name, one in self.probes.items():
            there = {hist.written: hist.counts.hits for hist in self.side.on(self.entry(name).path)}
            theirs = {text: hits for text, hits in there.items() if not is_session_trigger(text)}
            assert theirs == {text: hits for text, hits in one.by_hand.items() if text.startswith("hist")}
            own = [text for text in there if is_session_trigger(text) and not re.search("_(?:hits|passing)", text)]
            assert bool(own) == (one.since is not None)


def test_whatever_is_done_it_is_told_and_given_back():
    run_state_machine_as_test(
        CountingInTheKernel, settings=settings(max_examples=40, stateful_step_count=25, deadline=None)
    )


def test_words_for_each_state():
    both = (Mode.COUNT, Mode.RECORD)
    assert activity(Phase.OFF, ()) == activity(Phase.OFF, (Mode.RECORD,)) == ("", "")
    assert activity(Phase.COUNTING, (Mode.COUNT,) * 2) == ("counting in the kernel", "")
    assert activity(Phase.COUNTING, both) == ("", "1 of 2 probes: counting in the kernel")
    assert activity(Phase.OFF, (Mode.COUNT,)) == ("count only", "")
    assert activity(Phase.OFF, (Mode.OFF,)) == ("off", "")
    assert activity(Phase.OFF, both) == ("", "1 of 2 probes: count only")


def test_a_step_that_stays_refused_is_not_tried_for_ever():
    armed = [SessionProbe("key", object(), Mode.RECORD)]
    state = CountingState().seen(armed).count(["key"])
    for _ in range(20):
        step = next_step(state)
        if step is None:
            break
        state = state.fail(step)
    assert next_step(state) is None and state.phase is Phase.OFF
    state = CountingState().seen(armed).count(["key"])
    while (step := next_step(state)) is not None:
        state = state.done(step)
    assert state.phase is Phase.COUNTING
    state = state.stop()
    steps = 0
    while (step := next_step(state)) is not None:
        state, steps = state.fail(step), steps + 1
    assert state.phase is Phase.ENDING and steps == 2
    assert next_step(state.stop()) is not None, "the next request tries again"
