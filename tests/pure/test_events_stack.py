"""Whose stack it is: the one right behind the event on its CPU, within interrupts as brackets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from events import stack
from events.stack import STACK, stack_behind


class Rows:
    """Rows of (cpu, path, who): of a stack, whose it is."""

    def __init__(self, rows: list[tuple[int, str, int]]) -> None:
        self.rows = rows
        self.names = sorted({path for _, path, _ in rows})
        self.next_seq = len(rows)

    def row(self, seq: int) -> tuple[int, int, int]:
        cpu, path, _ = self.rows[seq]
        return seq, cpu, self.names.index(path)

    def event(self, number: int) -> str:
        return self.names[number]

    def record(self, seq: int) -> SimpleNamespace:
        cpu, path, who = self.rows[seq]
        return SimpleNamespace(seq=seq, cpu=cpu, event=path, who=who)


def whose(rows: Rows, seq: int) -> tuple[int, ...]:
    return stack_behind(rows, rows.record(seq), {"g/a", "g/irq"})  # type: ignore[arg-type]


def nested(depth: int) -> st.SearchStrategy[list[Any]]:
    """Events of one CPU, each with what an interrupt put between it and its stack."""
    inner = st.just([]) if not depth else st.lists(nested(depth - 1), max_size=2)
    return st.tuples(st.booleans(), inner).map(list)


def flat(tree: list[Any], cpu: int, rows: list[Any], expected: dict[int, bool]) -> None:
    has_stack, inner = tree
    who = len(rows) * 2 + cpu
    path = "g/a" if has_stack else "g/plain"
    rows.append((cpu, path, who))
    expected[who] = has_stack
    if has_stack:
        for one in inner:
            flat(one, cpu, rows, expected)
        rows.append((cpu, STACK, who))


@given(st.lists(nested(2), max_size=6), st.lists(nested(2), max_size=6), st.randoms())
def test_each_event_gets_its_own_stack(one, two, random):
    sides: list[list[Any]] = [[], []]
    expected: dict[int, bool] = {}
    for cpu, trees in enumerate((one, two)):
        for tree in trees:
            flat(tree, cpu, sides[cpu], expected)
    merged = []
    left = [list(side) for side in sides]
    while any(left):
        merged.append(random.choice([side for side in left if side]).pop(0))
    rows = Rows(merged)
    stack_of, stack.stack_of = stack.stack_of, lambda record: (record.who,)
    try:
        for seq, (_, path, who) in enumerate(merged):
            if path != STACK:
                assert whose(rows, seq) == ((who,) if expected[who] else ())
    finally:
        stack.stack_of = stack_of


def test_no_stack_is_given_to_an_event_whose_trigger_did_not_act():
    rows = Rows([(0, "g/a", 1), (0, "g/a", 2), (0, STACK, 2), (0, "g/a", 3)])
    assert whose(rows, 0) == ()
    assert whose(rows, 3) == ()
