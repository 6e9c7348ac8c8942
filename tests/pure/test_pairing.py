"""Pairing against a model: tasks that call functions in each other, on any CPU, with ends that get lost."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.pairing import Alone, Call, End, Pairing, idle_task


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
        proof = next(end.proof for number, end in self.events if number == call)
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
    assert all(call.alone is None and true[call.entry] == true[call.exit] for call in calls)
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
        assert (call.alone is None) == (call.entry is not None and call.exit is not None)
        if call.alone is None:
            assert true[call.entry] == true[call.exit]
    told = [seq for call in calls for seq in (call.entry, call.exit) if seq is not None]
    assert len(told) == len(set(told))
    assert len(told) + pairing.open == seen


@given(machines(), st.integers(1, 5))
def test_bounded(machine: _Machine, limit: int) -> None:
    pairing = Pairing(_nothing_lost, limit)
    true = _true_call(machine)
    for _, end in machine.events:
        for call in pairing.take(end):
            assert call.alone is not None or true[call.entry] == true[call.exit]
        assert pairing.open <= limit


def _nothing_lost(start: int, end: int) -> bool:
    return False


def _end(seq: int, kind: str, function: int = 0, proof: int = 0, task: int = 1) -> End:
    return End(seq, seq, task, function, kind == "x", proof)


def test_recursion_with_the_same_arguments_is_told_by_the_frame() -> None:
    """The inner entry was missed: without the frame its exit would take the outer entry."""
    pairing = Pairing(_nothing_lost)
    assert pairing.take(_end(0, "e", proof=1000)) == []
    assert pairing.take(_end(1, "x", proof=900)) == [Call(None, 1, Alone.NO_ENTRY)]
    assert pairing.take(_end(2, "x", proof=1000)) == [Call(0, 2)]


def test_outer_exit_shows_that_the_inner_call_is_over() -> None:
    pairing = Pairing(_nothing_lost)
    pairing.take(_end(0, "e", function=0))
    pairing.take(_end(1, "e", function=1))
    assert pairing.take(_end(2, "x", function=0)) == [Call(1, None, Alone.NO_EXIT), Call(0, 2)]
    assert pairing.open == 0


@pytest.mark.parametrize("sign", [0, 1 << 64])
def test_a_call_in_the_place_of_another_shows_that_it_is_over(sign: int) -> None:
    """Whose exit a filter on the return value leaves out is not open for ever."""
    pairing = Pairing(_nothing_lost)
    top = sign - (1 << 40)

    def entry(seq: int, function: int, below: int) -> End:
        return End(seq, seq, 7, function, False, seq, top - below)

    assert pairing.take(entry(0, 0, 128)) == []
    assert pairing.take(entry(1, 1, 160)) == []
    assert pairing.take(entry(2, 1, 160)) == [Call(1, None, Alone.NO_EXIT)]
    assert pairing.take(entry(3, 2, 160)) == [], "what is called as the last act of a function stands in its place"
    assert pairing.take(entry(4, 1, (1 << 14) + 200)) == [], "another stack"
    assert pairing.open == 4
    assert pairing.take(entry(5, 0, 128)) == [], "that is not the youngest one any more"
    assert pairing.take(entry(6, 0, 96)) == [Call(5, None, Alone.NO_EXIT)]


def test_stacks_of_a_program_show_nothing() -> None:
    pairing = Pairing(_nothing_lost)
    for seq in range(3):
        assert pairing.take(End(seq, seq, 7, 0, False, 0, 0x7FFC_0000_1000)) == []
    assert pairing.open == 3


def test_idle_tasks_are_told_apart() -> None:
    pairing = Pairing(_nothing_lost)
    pairing.take(_end(0, "e", task=idle_task(0)))
    assert pairing.take(_end(1, "x", task=idle_task(1))) == [Call(None, 1, Alone.NO_ENTRY)]
    assert pairing.take(_end(2, "x", task=idle_task(0))) == [Call(0, 2)]


@pytest.mark.parametrize("same_task", [True, False])
def test_the_call_of_the_stillest_task_is_forgotten_first(same_task: bool) -> None:
    pairing = Pairing(_nothing_lost, 2)
    for seq in range(2):
        pairing.take(_end(seq, "e", task=1 if same_task else seq))
    assert pairing.take(_end(2, "e", task=1 if same_task else 2)) == [Call(0, None, Alone.TOO_MANY)]
