"""References of objects: balance, leaks and uses after free, against a model that knows who holds each reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.references.reference import (
    Reference,
    ReferenceEvent,
    Role,
    counts_of,
    event_name,
    object_address,
    parse_event_name,
)
from events.references.tracker import FAULTS, Judgement, ReferenceTracker, State

A, B = 0xFFFF_8880_0000_1000, 0xFFFF_8880_0000_2000


@dataclass
class Writer:
    """Events with the counts that a kernel would have, written to a tracker."""

    tracker: ReferenceTracker = field(default_factory=ReferenceTracker)
    counts: dict[int, int] = field(default_factory=dict)
    ts: int = 0
    has_counts: bool = True

    def __call__(self, role: Role, address: int = A, task: int = 1, place: str = "", kind: str = "file") -> None:
        before = self.counts.get(address, 0)
        after = {Role.NEW: 1, Role.GET: before + 1, Role.PUT: before - 1, Role.FREE: before}[role]
        self.counts[address] = after
        self.ts += 1
        stack = (place, "outer+0x1/0x2") if place else ()
        known = (before if role is not Role.NEW else 0, after) if self.has_counts else (None, None)
        function = f"{role.value}it"
        self.tracker.take(Reference(self.ts, self.ts, kind, role, function, address, task, known[0], known[1], stack))

    def end(self, task: int) -> None:
        self.ts += 1
        self.tracker.end_task(task, self.ts)

    def judge(self, address: int = A) -> Judgement:
        return self.tracker.judge(self.tracker.objects[address])


@pytest.fixture
def write() -> Writer:
    return Writer()


def test_a_reference_is_leaked_once_its_taker_has_ended(write: Writer) -> None:
    write(Role.NEW, task=7, place="open")
    assert write.judge().state is State.OPEN
    write.end(7)
    found = write.judge()
    assert (found.state, found.leaked, len(found.unmatched), found.is_ambiguous) == (State.LEAKED, 1, 1, False)
    write(Role.PUT, task=8)
    assert write.judge().state is State.BALANCED


def test_a_later_thread_of_the_same_number_is_another_taker(write: Writer) -> None:
    write.end(7)
    write(Role.NEW, task=7)
    assert write.judge().state is State.OPEN


def test_no_object_survives_a_reboot_and_what_was_proven_until_then_stays(write: Writer) -> None:
    write(Role.NEW, task=7)
    write.end(7)
    write(Role.NEW, B, task=8)
    write.tracker.begin_anew()
    assert [judgement.state for _, judgement in write.tracker.judged()] == [State.LEAKED]
    assert write.tracker.forgotten == 1
    write.ts, write.counts = 0, {A: 3, B: 1}
    write(Role.PUT, task=1 << 32 | 7)
    write(Role.FREE, B, task=1 << 32 | 8)
    assert [(one.address, found.state) for one, found in write.tracker.judged()] == [
        (A, State.LEAKED),
        (B, State.HELD_AT_FREE),
    ]


def test_a_put_is_matched_by_the_places_of_other_objects(write: Writer) -> None:
    for number in range(3):
        write(Role.NEW, B, task=5, place="open")
        write(Role.PUT, B, task=5 + number, place="close")
        write(Role.FREE, B)
    write(Role.NEW, task=7, place="open")
    write(Role.GET, task=7, place="send")
    write(Role.PUT, task=7, place="close")
    write.end(7)
    found = write.judge()
    assert (found.state, found.leaked, found.is_ambiguous) == (State.LEAKED, 1, False)
    assert [one.stack[0] for one in found.unmatched] == ["send"]


def test_it_says_where_several_gets_could_be_the_one(write: Writer) -> None:
    write(Role.NEW, task=7, place="open")
    write(Role.GET, task=7, place="send")
    write(Role.PUT, task=7, place="close")
    write.end(7)
    assert write.judge()[:2] == (State.LEAKED, 1)
    assert write.judge().is_ambiguous


def test_a_reference_that_no_event_tells_of_may_be_the_one_that_is_held(write: Writer) -> None:
    """As after fork: the parent opened, the child inherits by an inlined get, the parent closes and ends."""
    write(Role.NEW, task=7)
    write.counts[A] += 1
    write(Role.PUT, task=7)
    write.end(7)
    found = write.judge()
    assert (found.state, found.unmatched, write.tracker.objects[A].unseen_gets) == (State.OPEN, (), 1)
    assert write.tracker.objects[A].count == 1


def test_unseen_puts_prove_nothing_of_what_is_held(write: Writer) -> None:
    write(Role.NEW, task=7)
    write(Role.GET, task=7)
    write.counts[A] -= 1
    write(Role.GET, task=7)
    write.end(7)
    assert write.judge()[:2] == (State.LEAKED, 2)
    assert (write.tracker.objects[A].unseen_puts, write.tracker.objects[A].balance) == (1, 3)


def test_freed_while_held_needs_the_count(write: Writer) -> None:
    write(Role.NEW)
    write(Role.FREE)
    assert write.judge().state is State.HELD_AT_FREE
    write.has_counts = False
    write(Role.NEW, B)
    write(Role.FREE, B)
    assert write.judge(B).state is State.BALANCED
    write(Role.NEW)  # the address again: the fault is kept
    assert [state for _, (state, *_) in write.tracker.judged()] == [State.HELD_AT_FREE, State.OPEN]


def test_use_after_free_is_told_from_an_address_that_is_given_again(write: Writer) -> None:
    write(Role.NEW)
    write(Role.PUT)
    write(Role.FREE)
    write(Role.PUT)
    assert write.judge().state is State.USED_AFTER_END
    write(Role.NEW, B)
    write(Role.PUT, B)
    write(Role.FREE, B)
    write.counts[B] = 1  # made by a function without a probe
    write(Role.GET, B)
    assert write.judge(B).state is State.OPEN
    assert not write.tracker.objects[B].is_new


@pytest.mark.parametrize(("kind", "state"), [("file", State.USED_AFTER_END), ("inode", State.OPEN)])
def test_only_cached_objects_are_taken_without_a_reference(write: Writer, kind: str, state: State) -> None:
    write.tracker.made_kinds = (kind,)
    write(Role.NEW, kind=kind)
    write(Role.PUT, kind=kind)
    write(Role.GET, kind=kind)
    assert write.judge().state is state
    write(Role.NEW, B, kind=kind)
    write(Role.PUT, B, kind=kind)
    write(Role.PUT, B, kind=kind)
    assert write.judge(B).state is State.USED_AFTER_END


def test_a_get_from_zero_makes_an_object_where_no_making_is_recorded(write: Writer) -> None:
    for _ in range(2):
        write(Role.GET)
        write(Role.PUT)
        write.counts[A] = -(1 << 61)  # as a dead `file_ref_t`
        write(Role.FREE)
        write.counts[A] = 0
    tracked = write.tracker.objects[A]
    assert (write.judge().state, tracked.count, tracked.unseen_puts) == (State.BALANCED, 0, 0)


@pytest.mark.parametrize(("made", "state"), [((), State.BALANCED), (("file",), State.USED_AFTER_END)])
def test_without_counts_it_is_proven_only_where_each_making_is_recorded(made: tuple[str, ...], state: State) -> None:
    write = Writer(ReferenceTracker(made), has_counts=False)
    write(Role.NEW)
    write(Role.PUT)
    write(Role.FREE)
    write(Role.PUT)
    assert write.judge().state is state


def test_what_was_handed_to_a_keeper_is_not_leaked() -> None:
    write = Writer(ReferenceTracker(keepers=frozenset({"list_add"})))
    write(Role.NEW, task=7, place="list_add+0x1/0x9")
    write(Role.GET, task=7, place="other+0x1/0x9")
    write(Role.GET, task=7, place="list_add+0x1/0x9")
    write(Role.NEW, B, task=7, kind="inode")
    write.end(7)
    found = write.judge()
    assert (found.state, found.leaked, found.unmatched[0].stack[0]) == (State.LEAKED, 1, "other+0x1/0x9")
    assert write.judge(B).state is State.OPEN  # the cache of dentries has it
    write(Role.GET, B, task=8, kind="inode")
    write.end(8)
    assert write.judge(B)[:2] == (State.LEAKED, 1)


def test_nothing_is_proven_across_a_loss() -> None:
    write = Writer(ReferenceTracker(lost_between=lambda start, end: start <= 2 <= end))
    write(Role.NEW, task=7)
    write(Role.NEW, B, task=7)
    write(Role.PUT, B, task=7)
    write(Role.NEW, B, task=7)
    write.end(7)
    assert write.judge().state is State.UNPROVEN
    assert write.judge(B).state is State.LEAKED


def test_nothing_is_proven_by_events_that_came_late(write: Writer) -> None:
    write(Role.NEW)
    write(Role.PUT)
    write(Role.FREE)
    write.ts -= 2
    write(Role.PUT)
    assert write.judge().state is State.UNPROVEN


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["get", "put", "unseen get", "unseen put", "end"]), st.integers(0, 3), st.integers(0, 3)
    ),
    max_size=80,
)


@dataclass
class Kernel:
    """Objects with the holders of all their references."""

    write: Writer = field(default_factory=Writer)
    held: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    """Task and whether the get was recorded, of each reference, by object."""
    seen: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    """References at the last event of each object."""

    def act(self, name: str, number: int, task: int, choose: Callable[[int], int]) -> None:
        address = A + number * 64
        held, events = self.held.setdefault(address, []), self.write.ts
        if name == "end":
            self.write.end(task)
        elif name.endswith("get"):
            recorded = name == "get"
            if recorded:
                self.write(Role.GET if held else Role.NEW, address, task)
            else:
                self.write.counts[address] = len(held) + 1
            held.append((task, recorded))
        elif held:
            if name == "put":
                self.write(Role.PUT, address, task)
            else:
                self.write.counts[address] = len(held) - 1
            held.pop(choose(len(held)))
        if name in ("get", "put") and self.write.ts > events:
            self.seen[address] = list(held)


@given(OPERATIONS, st.randoms(use_true_random=False))
def test_no_more_is_called_leaked_than_ended_tasks_hold(
    operations: list[tuple[str, int, int]], random: object
) -> None:
    kernel, choose = Kernel(), random.randrange  # type: ignore[attr-defined]
    ended: dict[int, int] = {}
    for name, number, task in operations:
        # A task that has ended does nothing; its number is not given again.
        if task not in ended:
            kernel.act(name, number, task, choose)
        if name == "end":
            ended[task] = 1
    for address, tracked in kernel.write.tracker.objects.items():
        true = [task for task, recorded in kernel.seen[address] if recorded and task in ended]
        found = kernel.write.tracker.judge(tracked)
        assert found.leaked <= len(true)
        assert (found.state is State.LEAKED) == bool(found.leaked)
        assert len(found.unmatched) <= tracked.gets
        assert tracked.count == len(kernel.seen[address])
        assert found.state not in FAULTS or found.leaked


@given(OPERATIONS, st.randoms(use_true_random=False))
def test_all_that_is_leaked_is_found_where_each_task_has_its_object(
    operations: list[tuple[str, int, int]], random: object
) -> None:
    kernel, choose = Kernel(), random.randrange  # type: ignore[attr-defined]
    ended = set()
    for name, number, _ in operations:
        if number not in ended:
            kernel.act(name.removeprefix("unseen "), number, number, choose)
        if name == "end":
            ended.add(number)
    for address, tracked in kernel.write.tracker.objects.items():
        true = len(kernel.held[address]) if (address - A) // 64 in ended else 0
        assert kernel.write.tracker.judge(tracked).leaked == true
        assert (tracked.certain, tracked.unseen_gets, tracked.unseen_puts) == (len(kernel.held[address]), 0, 0)
        assert len(tracked.unmatched(kernel.write.tracker.pairs)) == tracked.certain


def test_objects_at_rest_are_forgotten_first(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.references.tracker.MOST_OBJECTS", 8)
    write(Role.NEW, A, task=7)
    for number in range(1, 40):
        write(Role.NEW, A + number * 64)
        write(Role.PUT, A + number * 64)
    assert A in write.tracker.objects
    assert len(write.tracker.objects) <= 8
    assert write.tracker.forgotten == 40 - len(write.tracker.objects)


def test_names_and_counts_of_events() -> None:
    assert parse_event_name("pw_1_ab/file_get__fget") == ReferenceEvent("file", Role.GET, "fget")
    assert parse_event_name(event_name("netdev", Role.FREE, "a.isra.0")) == ReferenceEvent(
        "netdev", Role.FREE, "a_isra_0"
    )
    for other in ("vfs_read", "file_get_fget", "get__x", "file_use__x", "a_b_get__x"):
        assert parse_event_name(other) is None, other
    assert counts_of(Role.PUT, {"before": 3}) == (3, 2)
    assert counts_of(Role.GET, {"after_less_1": 1}) == (1, 2)
    assert counts_of(Role.NEW, {"after": 1}) == (0, 1)
    assert counts_of(Role.NEW, {"before": 77}) == (0, 1)
    assert counts_of(Role.FREE, {"before": 0}) == (0, 0)
    assert counts_of(Role.GET, {"before": "(fault)"}) == (None, None)


@pytest.mark.parametrize(("value", "address"), [(0, 0), (-2, 0), ((1 << 64) - 2, 0), (A, A), (A - (1 << 64), A)])
def test_error_pointers_are_no_objects(value: int, address: int) -> None:
    assert object_address(value) == address
    assert not object_address("(fault)")
