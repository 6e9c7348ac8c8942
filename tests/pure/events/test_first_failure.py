"""The first failure of a call in trees written by hand, and in random ones with an error planted in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.functions.error_returns import ErrorReturn
from events.failures.failed_calls import FailedCalls
from events.failures.first_failure import FailureSearch, errors_in_results
from events.graph.begin_end_columns import BeginEndColumns, Edge, RowKind
from events.graph.tree import CallTree

ENOENT, EACCES, ECHILD = -2, -13, -10
LONG, INT, NONE, UNKNOWN = ErrorReturn.LONG, ErrorReturn.INT, ErrorReturn.NONE, ErrorReturn.UNKNOWN
_WORD = 1 << 64


@dataclass
class Node:
    """A call that returned `result`, with the calls inside it."""

    result: int
    inside: list[Node] = field(default_factory=list)
    form: ErrorReturn = LONG
    kind: RowKind = RowKind.CALL
    row: int = -1
    has_exit: bool = True


def call(result: int, *inside: Node, form: ErrorReturn = LONG, has_exit: bool = True) -> Node:
    return Node(result, list(inside), form, has_exit=has_exit)


def walk(node: Node) -> Iterator[Node]:
    yield node
    for one in node.inside:
        yield from walk(one)


def edges(node: Node, depth: int = 0) -> Iterator[tuple[Edge, Node, int]]:
    yield Edge.BEGIN, node, depth
    for one in node.inside:
        yield from edges(one, depth + 1)
    if node.has_exit:
        yield Edge.END, node, depth


def tree_of(*roots: Node, task: int = 7) -> tuple[CallTree, FailureSearch]:
    nodes = [node for root in roots for node in walk(root)]
    for number, node in enumerate(nodes):
        node.row = number
    tree = CallTree()
    rows = [edge for root in roots for edge in edges(root)]
    tree.take(columns_of(rows, task))
    return tree, FailureSearch(tree, lambda function, _: nodes[function - 1].form)


def columns_of(rows: list[tuple[Edge, Node, int]], task: int = 7, start: int = 0) -> BeginEndColumns:
    size = len(rows)
    count = np.arange(start, start + size)
    results = [((node.result % _WORD) ^ _WORD >> 1) - (_WORD >> 1) for _, node, _ in rows]
    return BeginEndColumns(
        count * 1000,
        count,
        np.full(size, task, np.int32),
        np.zeros(size, np.int16),
        np.array([edge for edge, _, _ in rows], np.uint8),
        np.array([node.kind for _, node, _ in rows], np.uint8),
        np.array([node.row + 1 for _, node, _ in rows], np.uint64),
        np.array([depth for _, _, depth in rows]),
        np.zeros(size, np.uint64),
        np.full(size, -1),
        np.array(results, np.int64),
        np.array([edge == Edge.END for edge, _, _ in rows]),
    )


def origin_of(root: Node) -> Node:
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    return next(node for node in walk(root) if node.row == chain.origin)


def test_the_deepest_call_that_returned_the_error_is_the_origin() -> None:
    origin = call(ENOENT, call(0), call(5))
    root = call(ENOENT, call(0, call(EACCES)), call(ENOENT, call(3), origin, call(0)), call(0))
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    assert chain.rows == (0, root.inside[1].row, origin.row)
    assert (chain.errno, chain.is_ambiguous, chain.is_incomplete, chain.handled) == (ENOENT, False, False, -1)


def test_an_error_that_its_caller_handled_is_not_the_origin() -> None:
    """The path walk under RCU gives up with ECHILD, and the walk that follows fails by itself."""
    lookup = call(ENOENT)
    root = call(ENOENT, call(ECHILD, call(ECHILD, call(ENOENT))), call(ENOENT, call(0), lookup))
    assert origin_of(root) is lookup


def test_of_several_the_last_one_counts_and_that_is_said() -> None:
    root = call(ENOENT, call(ENOENT), call(0), call(ENOENT))
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    assert chain.origin == root.inside[-1].row
    assert chain.is_ambiguous


def test_several_calls_of_one_function_are_one() -> None:
    tries = [call(ENOENT), call(ENOENT)]
    root = call(ENOENT, *tries)
    tree, _ = tree_of(root)
    tree.columns.column("function")[tries[1].row] = tries[0].row + 1
    chain = FailureSearch(tree, lambda *_: LONG).chain(0)
    assert chain is not None
    assert (chain.origin, chain.is_ambiguous) == (tries[1].row, False)


def test_a_call_that_was_given_the_error_only_hands_it_on() -> None:
    """ERR_PTR(-ELOOP) of a lookup goes into the next walk, which returns it at once."""
    lookup, walk_of_error = call(ENOENT), call(ENOENT)
    root = call(ENOENT, call(0), lookup, walk_of_error)
    tree, _ = tree_of(root)
    given = {walk_of_error.row: (5, ENOENT), lookup.row: (7,)}
    chain = FailureSearch(tree, lambda *_: LONG, lambda row: given.get(row, ())).chain(0)
    assert chain is not None
    assert (chain.rows, chain.is_ambiguous) == ((0, lookup.row), False)
    given[lookup.row] = (ENOENT,)
    chain = FailureSearch(tree, lambda *_: LONG, lambda row: given.get(row, ())).chain(0)
    assert chain is not None
    assert chain.rows == (0,)


def test_an_error_that_was_replaced_is_told_beside_the_origin() -> None:
    translator = call(EACCES, call(0), call(ENOENT), call(0, form=NONE))
    root = call(EACCES, translator)
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    assert (chain.origin, chain.handled) == (translator.row, translator.inside[1].row)


def test_a_call_that_did_not_fail_has_no_chain() -> None:
    for value in (0, 1, -4096, 1 << 63):
        _, search = tree_of(call(value, call(ENOENT)))
        assert search.chain(0) is None


def test_a_function_without_errors_is_no_origin_but_those_inside_it_may_be() -> None:
    inner = call(ENOENT)
    root = call(ENOENT, call(ENOENT, inner, form=NONE), call(0))
    assert origin_of(root) is inner
    direct = call(ENOENT)
    root = call(ENOENT, direct, call(0, call(ENOENT), form=NONE))
    assert origin_of(root) is direct


def test_a_call_inside_an_interrupt_is_no_part_of_the_chain() -> None:
    interrupt = Node(0, [call(ENOENT)], kind=RowKind.IRQ)
    origin = call(ENOENT, interrupt)
    assert origin_of(call(ENOENT, origin)) is origin


def test_a_return_that_was_missed_inside_the_origin_is_told() -> None:
    root = call(ENOENT, call(ENOENT, call(0, has_exit=False)))
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    assert chain.is_incomplete


@pytest.mark.parametrize(
    ("retval", "form", "errno"),
    [
        (-2, LONG, -2),
        (0xFFFFFFFE, LONG, 0),
        (0xFFFFFFFE, INT, -2),
        (0x12345678FFFFFFFE, INT, -2),
        (-2, INT, -2),
        (0xFFFFFFFE, UNKNOWN, -2),
        (0x12345678FFFFFFFE, UNKNOWN, 0),
        (-2, UNKNOWN, -2),
        (-2, NONE, 0),
        (0xFFFFFFFE, NONE, 0),
        (-4095, LONG, -4095),
        (-4096, LONG, 0),
        (0xFFFFF000, INT, 0),
        (0xFFFFF001, INT, -4095),
        (0, INT, 0),
        (2, INT, 0),
        (-(1 << 47), LONG, 0),
    ],
)
def test_an_error_by_the_type_of_its_function(retval: int, form: ErrorReturn, errno: int) -> None:
    assert errors_in_results(np.array([retval], np.int64), np.array([form], np.uint8)).tolist() == [errno]


@st.composite
def planted(draw: st.DrawFn) -> tuple[Node, list[Node]]:
    """A random tree, and the path from its root to the call in which an error was planted.

    The error goes up the path; other calls return any other values, the error too where it comes before the path's
    own call.
    """
    errno = draw(st.integers(-4095, -1))
    harmless = st.one_of(st.integers(0, 1 << 40), st.integers(-4095, -1).filter(lambda value: value != errno))
    any_value = st.one_of(harmless, st.just(errno))

    def subtree(depth: int, values: st.SearchStrategy[int]) -> Node:
        inside = [subtree(depth - 1, any_value) for _ in range(draw(st.integers(0, 2)) if depth else 0)]
        return call(draw(values), *inside)

    path: list[Node] = []
    below: Node | None = None
    for _ in range(draw(st.integers(1, 6))):
        form = draw(st.sampled_from((LONG, INT, UNKNOWN)))
        result = errno % (1 << 32) if form is INT else errno
        if below is None:
            node = call(result, *(subtree(2, harmless) for _ in range(draw(st.integers(0, 3)))), form=form)
        else:
            before = [subtree(2, any_value) for _ in range(draw(st.integers(0, 2)))]
            after = [subtree(2, harmless) for _ in range(draw(st.integers(0, 2)))]
            node = call(result, *before, below, *after, form=form)
        path.insert(0, node)
        below = node
    return path[0], path


@given(planted())
def test_a_planted_error_is_found(case: tuple[Node, list[Node]]) -> None:
    root, path = case
    _, search = tree_of(root)
    chain = search.chain(0)
    assert chain is not None
    assert list(chain.rows) == [node.row for node in path]


@given(st.lists(planted(), min_size=1, max_size=3), st.data())
def test_each_failed_call_is_found_once_wherever_the_events_are_cut(
    cases: list[tuple[Node, list[Node]]], data: st.DataObject
) -> None:
    roots = [root for root, _ in cases]
    _, whole = tree_of(*roots)
    expected = [whole.chain(root.row) for root in roots]
    rows = [edge for root in roots for edge in edges(root)]
    forms = [node.form for root in roots for node in walk(root)]
    tree = CallTree()
    failed = FailedCalls(tree, lambda function, _: forms[function - 1])
    found = []
    start = 0
    while start < len(rows):
        stop = data.draw(st.integers(start + 1, len(rows)))
        tree.take(columns_of(rows[start:stop], start=start))
        found += failed.take()
        start = stop
    assert found == expected
    assert (failed.checked, failed.failed, failed.oldest_needed) == (len(roots), len(roots), tree.next)


def test_chosen_calls_in_one_chain_count_once_and_a_handled_one_by_itself() -> None:
    handled = call(ENOENT)
    passed_on = call(EACCES)
    root = call(EACCES, handled, call(EACCES, passed_on))
    tree, _ = tree_of(root)
    chosen = {1, handled.row + 1, passed_on.row + 1}
    failed = FailedCalls(tree, lambda *_: LONG, lambda function, _: function in chosen)
    assert [chain.rows for chain in failed.take()] == [(0, root.inside[1].row, passed_on.row), (handled.row,)]
    only = FailedCalls(tree, lambda *_: LONG, lambda function, _: function in chosen, frozenset({ENOENT}))
    assert [chain.errno for chain in only.take()] == [ENOENT]
    assert only.failed == 1


def test_a_call_waits_for_the_chosen_one_around_it() -> None:
    inner = call(ENOENT)
    root = call(ENOENT, inner)
    tree_of(root)
    rows = list(edges(root))
    tree = CallTree()
    tree.take(columns_of(rows[:-1]))
    failed = FailedCalls(tree, lambda *_: LONG, lambda *_: True)
    assert failed.take() == []
    assert failed.oldest_needed == 0
    tree.take(columns_of(rows[-1:], start=len(rows) - 1))
    assert [chain.rows for chain in failed.take()] == [(0, 1)]
