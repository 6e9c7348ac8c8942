"""The tree of stacks: no weight is lost, and every number is that of a dictionary of whole stacks."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.kallsyms import Symbols
from events.stacks.call_tree import ROOT, Cell, StackTree, TreeComparison
from events.stacks.stack import stack_frames
from events.stacks.stack_paths import FrameKind, Path, PathFrame, Shape, kernel_path, names_of, task_path

FRAMES = st.sampled_from(
    [PathFrame(name) for name in "abc"]
    + [PathFrame(f"{name} [{module}]", FrameKind.MODULE) for name in "ab" for module in ("ext4", "xfs")]
    + [PathFrame("0x77", FrameKind.UNKNOWN), PathFrame("sh", FrameKind.TASK)]
)
STACKS = st.dictionaries(st.lists(FRAMES, max_size=7).map(tuple), st.integers(0, 1000), max_size=12)
SHAPES = st.builds(Shape, st.booleans(), st.booleans())


def tree_of(stacks: dict[Path, int], shape: Shape = Shape()) -> tuple[StackTree, list[int], list[int]]:  # noqa: B008
    """The tree, the own weight and the total of each node."""
    tree, own = StackTree(), Counter[int]()
    for path, weight in stacks.items():
        own[tree.add(shape.of(path))] += weight
    weights = [own[node] for node in range(len(tree))]
    return tree, weights, tree.totals(weights)


@given(STACKS, SHAPES)
def test_totals_are_those_of_a_dictionary_of_prefixes(stacks, shape):
    tree, _, totals = tree_of(stacks, shape)
    true = Counter[Path]()
    for path, weight in stacks.items():
        shaped = shape.of(path)
        for end in range(len(shaped) + 1):
            true[shaped[:end]] += weight
    assert {tree.path(node): totals[node] for node in range(len(tree))} == dict(true) | {(): sum(stacks.values())}
    assert len({tree.path(node) for node in range(len(tree))}) == len(tree)


@given(STACKS)
def test_the_stacks_come_back_out_of_the_tree(stacks):
    tree, own, _ = tree_of(stacks)
    found = {tree.path(node): weight for node, weight in enumerate(own) if weight}
    assert found == {path: weight for path, weight in stacks.items() if weight}


@given(STACKS)
def test_bottom_up_of_bottom_up_is_top_down(stacks):
    up = Shape(bottom_up=True)
    tree, own, totals = tree_of({up.of(path): weight for path, weight in stacks.items()}, up)
    assert (tree.frames, own, totals) == (tree_of(stacks)[0].frames, *tree_of(stacks)[1:])


@given(STACKS, SHAPES, st.sampled_from(["a", "b", "ext4", "sh", "nothing"]))
def test_the_weight_of_a_search_is_of_the_stacks_that_have_it(stacks, shape, text):
    tree, _, totals = tree_of(stacks, shape)
    found = tree.matched(totals, lambda frame: text in frame.name)
    assert found == sum(
        weight for path, weight in stacks.items() if any(text in frame.name for frame in shape.of(path))
    )


@given(STACKS, SHAPES, st.integers(1, 60), st.data())
def test_cells_lie_in_their_parent_beside_each_other_and_fill_their_share(stacks, shape, columns, data):
    tree, _, totals = tree_of(stacks, shape)
    root = data.draw(st.integers(0, len(tree) - 1))
    levels = tree.cells(totals, root, columns)
    assert bool(levels) == bool(totals[root])
    above: dict[int, Cell] = {}
    for number, level in enumerate(levels):
        for before, cell in pairwise(level):
            assert before.after <= cell.start
        for cell in level:
            assert cell.after > cell.start
            exact = totals[cell.node] * columns / totals[root]
            assert abs(cell.after - cell.start - exact) < 1
            if number:
                parent = above[tree.parents[cell.node]]
                assert parent.start <= cell.start and cell.after <= parent.after
        above = {cell.node: cell for cell in level}
    if levels:
        assert levels[0] == [(root, 0, columns)]


@given(STACKS, STACKS, SHAPES)
def test_a_comparison_is_the_difference_of_shares(old, new, shape):
    tree = StackTree()
    owns = []
    for stacks in (old, new):
        own = Counter[int]()
        for path, weight in stacks.items():
            own[tree.add(shape.of(path))] += weight
        owns.append(own)
    before, after = (tree.totals([own[node] for node in range(len(tree))]) for own in owns)
    compared = TreeComparison(before, after)
    for node in range(len(tree)):
        children = sum(compared.widths[child] for child in tree.children[node])
        assert compared.widths[node] >= children >= 0
        assert bool(compared.widths[node]) == bool(before[node] or after[node])
        if before[ROOT] and after[ROOT]:
            assert compared.change(node) == pytest.approx(after[node] / after[ROOT] - before[node] / before[ROOT])
        else:
            assert compared.change(node) == 0


def test_children_stand_in_order_of_names_whenever_they_came():
    tree = StackTree()
    for name in "cab":
        tree.add((PathFrame("top"), PathFrame(name)))
    assert [tree.frames[node].name for node in tree.children[1]] == ["a", "b", "c"]
    assert [tree.frames[node].name for node in tree.line(tree.children[1][2])] == ["", "top", "c"]


def test_a_recorded_stack_is_a_path_with_its_modules():
    symbols = Symbols(b"1000 T do_syscall\n2000 T vfs_read\n3000 t ext4_read\t[ext4]\n3100 t ext4_more\t[ext4]\n")
    path = kernel_path(stack_frames((0x3104, 0x3004, 0x2008, 0x1004, 0x77), symbols))
    assert names_of(path) == ("0x77", "do_syscall", "vfs_read", "ext4_read [ext4]", "ext4_more [ext4]")
    assert names_of(Shape(by_module=True).of(task_path("sh") + path)) == ("sh", "[unknown]", "kernel", "[ext4]")
    assert names_of(Shape(True, True).of(path)) == ("[ext4]", "kernel", "[unknown]")
