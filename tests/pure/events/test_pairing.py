"""Pairing against a model: tasks that call functions in each other, on any CPU, with ends that get lost."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.calls.call_values import Call, End, EndRole, UnpairedReason, function_key, idle_task
from events.calls.pairing import Pairing


@dataclass
class _Task:
    """A task with its kernel stack: each call stands deeper than the one it was made from."""

    number: int
    open: list[tuple[int, int, int]] = field(default_factory=list)
    """(call, function, frame) of what it is in."""


@dataclass
class _Machine:
    """What really happened: (call, end) in the order of time."""

    events: list[tuple[int, End]] = field(default_factory=list)
    calls: int = 0

    def enter(self, task: _Task, function: int, argument: int) -> None:
        depth = sum(frame for _, _, frame in task.open[-1:]) - 16
        self._add(self.calls, End(0, 0, task.number, function, False, depth * 2 + argument, depth))
        task.open.append((self.calls, function, depth))
        self.calls += 1

    def leave(self, task: _Task) -> None:
        call, function, depth = task.open.pop()
        proof = next(end.pair_key for number, end in self.events if number == call)
        self._add(call, End(0, 0, task.number, function, True, proof, depth))

    def _add(self, call: int, end: End) -> None:
        self.events.append((call, end._replace(seq=len(self.events), ts=10 * len(self.events))))


STEPS = st.integers(0, 60).flatmap(lambda length: st.lists(st.integers(0, 31), min_size=length, max_size=length))


@st.composite
def machines(draw: st.DrawFn) -> _Machine:
    machine = _Machine()
    tasks = [_Task(number) for number in (7, 8, idle_task(0), idle_task(1))]
    for step in draw(STEPS):  # bits: two of the task, whether it leaves, function, argument
        task = tasks[step & 3]
        if task.open and step & 4:
            machine.leave(task)
        else:
            machine.enter(task, step >> 3 & 1, step >> 4)
    return machine


def _true_call(machine: _Machine) -> dict[int | None, int]:
    return {end.seq: call for call, end in machine.events}


def _run(pairing: Pairing, ends: list[End]) -> list[Call]:
    return [call for end in ends for call in pairing.take(end)]


@given(machines())
def test_everything_seen_is_paired(machine: _Machine) -> None:
    pairing = Pairing(_nothing_lost)
    calls = _run(pairing, [end for _, end in machine.events])
    true = _true_call(machine)
    assert all(call.unpaired_reason is None and true[call.entry] == true[call.exit] for call in calls)
    assert len(calls) * 2 + pairing.open == len(machine.events)


@given(machines(), st.booleans(), st.sets(st.integers(0, 59)), st.sets(st.integers(0, 60), max_size=3))
def test_no_false_pair_where_ends_are_missed(
    machine: _Machine, at_exit: bool, missed: set[int], losses: set[int]
) -> None:
    """Ends of one side are missed without a word; at some places the loss of any of both is announced."""
    pairing = Pairing(lambda start, end: any(start <= 10 * loss <= end for loss in losses))
    calls: list[Call] = []
    seen = 0
    for number, end in machine.events:
        if end.seq not in losses and not (end.at_exit == at_exit and number in missed):
            calls += pairing.take(end)
            seen += 1
    true = _true_call(machine)
    for call in calls:
        assert (call.unpaired_reason is None) == (call.entry is not None and call.exit is not None)
        if call.unpaired_reason is None:
            assert true[call.entry] == true[call.exit]
    told = [seq for call in calls for seq in (call.entry, call.exit) if seq is not None]
    assert len(told) == len(set(told))
    assert len(told) + pairing.open + pairing.waiting == seen


@given(machines(), st.integers(1, 5))
def test_bounded(machine: _Machine, limit: int) -> None:
    pairing = Pairing(_nothing_lost, limit)
    true = _true_call(machine)
    for _, end in machine.events:
        for call in pairing.take(end):
            assert call.unpaired_reason is not None or true[call.entry] == true[call.exit]
        assert pairing.open <= limit


def _nothing_lost(start: int, end: int) -> bool:
    return False


def _end(seq: int, kind: str, function: int = 0, proof: int = 0, task: int = 1) -> End:
    return End(seq, seq, task, function, kind == "x", proof)


def test_recursion_with_the_same_arguments_is_told_by_the_frame() -> None:
    """The inner entry was missed: without the frame its exit would take the outer entry."""
    pairing = Pairing(_nothing_lost)
    assert pairing.take(_end(0, "e", proof=1000)) == []
    assert pairing.take(_end(1, "x", proof=900)) == [Call(None, 1, UnpairedReason.NO_ENTRY)]
    assert pairing.take(_end(2, "x", proof=1000)) == [Call(0, 2)]


def test_outer_exit_shows_that_the_inner_call_is_over() -> None:
    pairing = Pairing(_nothing_lost)
    pairing.take(_end(0, "e", function=0))
    pairing.take(_end(1, "e", function=1))
    assert pairing.take(_end(2, "x", function=0)) == [Call(1, None, UnpairedReason.NO_EXIT), Call(0, 2)]
    assert pairing.open == 0


@pytest.mark.parametrize("sign", [0, 1 << 64])
def test_a_call_in_the_place_of_another_shows_that_it_is_over(sign: int) -> None:
    """Whose exit a filter on the return value leaves out is not open for ever."""
    pairing = Pairing(_nothing_lost, result_filtered={0, 1, 2})
    top = sign - (1 << 40)

    def entry(seq: int, function: int, below: int) -> End:
        return End(seq, seq, 7, function, False, seq, top - below)

    assert pairing.take(entry(0, 0, 128)) == []
    assert pairing.take(entry(1, 1, 160)) == []
    assert pairing.take(entry(2, 1, 160)) == [Call(1, None, UnpairedReason.NO_EXIT)]
    assert pairing.take(entry(3, 2, 160)) == [], "what is called as the last act of a function stands in its place"
    assert pairing.take(entry(4, 1, (1 << 14) + 200)) == [], "another stack"
    assert pairing.open == 4
    assert pairing.take(entry(5, 0, 128)) == [Call(0, None, UnpairedReason.NO_EXIT)], "whatever was called from it"
    assert pairing.take(entry(6, 0, 96)) == [Call(5, None, UnpairedReason.NO_EXIT)]


def test_stacks_of_a_program_show_nothing() -> None:
    pairing = Pairing(_nothing_lost)
    for seq in range(3):
        assert pairing.take(End(seq, seq, 7, 0, False, 0, 0x7FFC_0000_1000)) == []
    assert pairing.open == 3


def test_idle_tasks_are_told_apart() -> None:
    pairing = Pairing(_nothing_lost)
    pairing.take(_end(0, "e", task=idle_task(0)))
    assert pairing.take(_end(1, "x", task=idle_task(1))) == [Call(None, 1, UnpairedReason.NO_ENTRY)]
    assert pairing.take(_end(2, "x", task=idle_task(0))) == [Call(0, 2)]


@pytest.mark.parametrize("same_task", [True, False])
def test_the_call_of_the_stillest_task_is_forgotten_first(same_task: bool) -> None:
    pairing = Pairing(_nothing_lost, 2)
    for seq in range(2):
        pairing.take(_end(seq, "e", task=1 if same_task else seq))
    assert pairing.take(_end(2, "e", task=1 if same_task else 2)) == [Call(0, None, UnpairedReason.TOO_MANY)]


@dataclass
class _Chain:
    """A call with the calls that it, and they, made as their last act: all in one place on the stack."""

    frame: int
    returned: int
    calls: list[tuple[int, int, int]] = field(default_factory=list)
    """(number, function, argument), the first one first."""


@dataclass
class _TailCaller:
    """A task on the kernel's stack, in calls, tail calls and interrupts, on a CPU."""

    number: int
    open: list[_Chain] = field(default_factory=list)

    def place(self, interrupt: bool, above: int) -> int:
        """Stack pointer of a call of the innermost function; an interrupt has a stack of its own."""
        base = -(1 << 40) + (self.number << 20)
        if interrupt and not (self.open and self.open[-1].frame > base + (1 << 18)):
            return base + (1 << 19) - 64 - above
        return (self.open[-1].frame if self.open else base) - 64 - above


class _Kernel:
    """Gives the ends of calls that are seen, and knows which belong together.

    The kernel misses exits of any call when it enters it; a filter on what is returned leaves out exits of functions
    in `result_filtered`; pages of a CPU are lost with all that is on them. All of these at once.
    """

    chosen = frozenset((4, 5))
    functions = 6

    def __init__(self, miss: int, lose: int, random: Random) -> None:
        self.random, self.miss, self.lose = random, miss, lose
        self.ends: list[End] = []
        self.call_of: dict[int, int] = {}
        self.losses: list[int] = []
        self.missed: Counter[int] = Counter()
        """Exits that the kernel missed, as it counts them, by function."""
        self.whole = 0
        self._calls = self._ts = self._lost = 0
        self._hooked: dict[int, bool] = {}
        self._entered: set[int] = set()
        tasks = [_TailCaller(number) for number in (7, 8, 9)]
        for _ in range(random.randrange(20, 200)):
            self._step(random.choice(tasks))

    def _step(self, task: _TailCaller) -> None:
        if self._lost == 0 and self.random.randrange(1000) < self.lose:
            self._lost = self.random.randrange(1, 12)
        doing = self.random.randrange(10)
        if doing < 4 or not task.open:
            place = task.place(doing == 0, self.random.choice((0, 0, 0, 32)))
            task.open.append(_Chain(place, self.random.choice((-2, 0, 5))))
            self._enter(task)
        elif doing < 6:
            self._enter(task)  # as the last act of the innermost
        else:
            chain = task.open.pop()
            for call, function, argument in self._exits(chain):
                left_out = function in self.chosen and chain.returned >= 0
                if self._hooked[call] and not left_out:
                    self._see(call, task, function, True, argument, chain.frame)

    def _exits(self, chain: _Chain) -> list[tuple[int, int, int]]:
        """Return the calls of a chain in the order in which they return."""
        return chain.calls[::-1]

    def _enter(self, task: _TailCaller) -> None:
        chain, function = task.open[-1], self.random.randrange(6)
        argument = self.random.choice((0, 0, 0, 1))
        chain.calls.append((self._calls, function, argument))
        misses = self.random.randrange(100) < self.miss
        self._hooked[self._calls] = not misses
        self.missed[function] += misses
        self._see(self._calls, task, function, False, argument, chain.frame)
        self._calls += 1

    def _see(self, call: int, task: _TailCaller, function: int, at_exit: bool, argument: int, frame: int) -> None:
        self._ts += 10
        if self._lost:
            self._lost -= 1
            self.losses.append(self._ts)
            return
        seq = len(self.ends)
        self.call_of[seq] = call
        self.whole += at_exit and call in self._entered
        self._entered.add(call)
        self.ends.append(End(seq, self._ts, task.number, function, at_exit, frame * 4 + argument, frame))

    def lost_between(self, start: int, end: int) -> bool:
        at = bisect_left(self.losses, start)
        return at < len(self.losses) and self.losses[at] <= end


def _judged(kernel: _Kernel, *, counts: bool = True) -> Counter[UnpairedReason | None]:
    """Return the outcome of the ends: each once, no pair false. `counts`: the kernel counts its misses."""
    pairing = Pairing(kernel.lost_between)
    ends = {
        f"g/{function}{kind}": EndRole(
            function, kind == "x", "", 0, (), is_filtered_by_result=function in kernel.chosen
        )
        for function in range(kernel.functions)
        for kind in "ex"
    }
    uncounted = kernel.chosen & set(kernel.missed)  # what else tells of them is no part of the model
    pairing.judge(ends, {f"g/{n}x": kernel.missed[n] for n in range(kernel.functions) if counts or n in uncounted})
    calls = _run(pairing, kernel.ends)
    for call in calls:
        if call.unpaired_reason is None:
            assert kernel.call_of[call.entry or 0] == kernel.call_of[call.exit or 0]
    told = [seq for call in calls for seq in (call.entry, call.exit) if seq is not None]
    assert len(told) == len(set(told))
    assert len(told) + pairing.open + pairing.waiting == len(kernel.ends)
    return Counter(call.unpaired_reason for call in calls)


class _Observers(_Kernel):
    """Each call of the functions 0 and 1 is seen by two probes more, whose exits come in any order at its end."""

    functions = 10

    def _enter(self, task: _TailCaller) -> None:
        super()._enter(task)
        call, function, argument = task.open[-1].calls[-1]
        for more in (6 + function, 8 + function) if function < 2 else ():
            task.open[-1].calls.append((self._calls, more, argument))
            self._hooked[self._calls] = self._hooked[call]
            self.missed[more] += not self._hooked[call]
            self._see(self._calls, task, more, False, argument, task.open[-1].frame)
            self._calls += 1

    def _exits(self, chain: _Chain) -> list[tuple[int, int, int]]:
        exits = chain.calls[::-1]
        for at, (_, function, _) in enumerate(exits):
            if 8 <= function < 10 and [one[1] for one in exits[at + 1 : at + 3]] == [function - 2, function - 8]:
                exits[at : at + 3] = self.random.sample(exits[at : at + 3], 3)
        return exits


@example(0, 5, True, 1390676)
@given(st.sampled_from([0, 3, 10, 30]), st.sampled_from([0, 5, 20, 60]), st.booleans(), st.integers(0, 1 << 32))
@settings(max_examples=200, deadline=None)
def test_no_false_pair_where_several_probes_stand_on_one_function(
    miss: int, lose: int, counts: bool, seed: int
) -> None:
    _judged(_Observers(miss, lose, Random(seed)), counts=counts)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_several_probes_on_one_function_each_have_their_pairs(order: tuple[int, ...]) -> None:
    """In each order of their exits; the call around it, and a call that follows in its place, are paired as well."""
    top = -(1 << 40)
    around, place = top + 64, top
    ends = [(9, False, around)]
    for _ in range(2):
        ends += [(probe, False, place) for probe in range(3)]
        ends += [(probe, True, place) for probe in order]
    ends.append((9, True, around))
    calls = _run(Pairing(_nothing_lost), [End(seq, seq, 7, *end[:2], end[2], end[2]) for seq, end in enumerate(ends)])
    expected = {Call(first + probe, first + 3 + order.index(probe)) for first in (1, 7) for probe in range(3)}
    assert set(calls) == {*expected, Call(0, 13)}


@pytest.mark.parametrize("top", [-(1 << 40), 0x7FFC_0000_1000])
def test_a_tail_call_whose_exit_was_missed_is_told_with_what_comes_next(top: int) -> None:
    pairing = Pairing(_nothing_lost)
    ends = [(0, False, top), (1, False, top), (0, True, top)]
    calls = _run(pairing, [End(seq, seq, 7, *end[:2], 0, end[2]) for seq, end in enumerate(ends)])
    assert calls == [Call(0, 2)]
    assert pairing.take(End(3, 3, 7, 1, False, 0, top)) == [Call(1, None, UnpairedReason.NO_EXIT)]
    assert pairing.take(End(4, 4, 7, 1, True, 0, top)) == [Call(3, 4)]


@given(st.sampled_from([0, 3, 10, 30]), st.sampled_from([0, 5, 20, 60]), st.booleans(), st.integers(0, 1 << 32))
@settings(max_examples=400, deadline=None)
def test_no_false_pair_in_a_kernel_with_tail_calls_that_misses_exits(
    miss: int, lose: int, counts: bool, seed: int
) -> None:
    """Exits are missed, and left out, and pages are lost at once, also within one chain of tail calls."""
    _judged(_Kernel(miss, lose, Random(seed)), counts=counts)


@pytest.mark.parametrize(
    ("miss", "lose", "share"),
    [(0, 0, 0.95), (1, 0, 0.95), (10, 0, 0.94), (0, 5, 0.9), (3, 5, 0.85)],
)
def test_nearly_all_true_pairs_are_shown(miss: int, lose: int, share: float) -> None:
    """Of the calls with both ends seen, a third of which are tail calls of few functions with few arguments."""
    shown = whole = 0
    for seed in range(200):
        kernel = _Kernel(miss, lose, Random(seed))
        shown += _judged(kernel)[None]
        whole += kernel.whole
    assert shown > share * whole


def test_mutual_tail_calls_are_pairs_where_all_ends_were_seen_and_unknown_where_not() -> None:
    """The exits of the inner two were missed: those of the outer ones are not theirs."""
    top = -(1 << 40)
    events = [(0, False), (1, False), (0, False), (1, False), (1, True), (0, True), (1, True), (0, True)]
    ends = [End(seq, seq, 7, function, at_exit, 0, top) for seq, (function, at_exit) in enumerate(events)]
    assert _run(Pairing(_nothing_lost), ends)[-1:] == [Call(0, 7)]
    assert {call for call in _run(Pairing(_nothing_lost), ends) if call.unpaired_reason is None} == {
        Call(3, 4),
        Call(2, 5),
        Call(1, 6),
        Call(0, 7),
    }
    later = End(9, 9, 7, 0, False, 0, top + 64)
    told = _run(Pairing(_nothing_lost), [*ends[:4], *ends[6:], later])
    assert {call.unpaired_reason for call in told} == {UnpairedReason.UNKNOWN}
    assert len(told) == 6


def test_a_tail_call_within_a_pattern_is_two_pairs() -> None:
    """Their probe is one, their functions are not."""
    order = [(1, False), (2, False), (2, True), (1, True)]
    ends = [End(n, n, 7, function_key(3, at << 40), leave, 0, -(1 << 40)) for n, (at, leave) in enumerate(order)]
    assert _run(Pairing(_nothing_lost), ends) == [Call(1, 2), Call(0, 3)]
