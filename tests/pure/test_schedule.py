"""Tests are ordered, grouped and chosen by the kernel in their parameters."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.schedule import (
    LONG_ELSEWHERE,
    LONGEST,
    also_on_arm64,
    group_of,
    kernel_of,
    kernels_of,
    only_in_matrix,
    places,
)

REAL = "tests/real/test_kinds.py::TestKinds::test_event"


@pytest.mark.parametrize(
    ("parameters", "kernel"),
    [
        ("", "7.2"),
        ("[6.1]", "6.1"),
        ("[arm64:6.12]", "arm64:6.12"),
        ("[True-arm64:6.12]", "arm64:6.12"),
        ("[7.2-sh]", "7.2"),
        ("[6.1-sh-TERM]", "6.1"),
        ("[7.2+trace-cmd+perf-sh]", "7.2"),
        ("[slow-full]", "full"),
        ("[6.12-p:x/two vfs_read $arg3]", "6.12"),
        ("[carefully]", "7.2"),
        ("[v6.1]", "7.2"),
    ],
)
def test_kernel_of_a_node_id(parameters: str, kernel: str) -> None:
    assert kernel_of(REAL + parameters) == kernel


def test_the_matrix_has_other_kernels_only_of_tests_that_the_newest_has() -> None:
    both = [f"{REAL}[{kernel}]" for kernel in ("6.1", "7.2", "arm64:6.12", "7.2-64k")]
    variants = [f"{REAL}_too[{kernel}]" for kernel in ("6.1-sh", "7.2-64k", "full")]
    old = "tests/real/test_function_graph.py::test_an_old_kernel_says_why_not[6.1]"
    plain = "tests/real/test_headless.py::test_it_runs"
    assert only_in_matrix([*both, *variants, old, plain]) == {both[0], *both[2:], variants[0], variants[2]}
    assert only_in_matrix([both[0]]) == set()  # asked for by its name


def test_what_is_left_out_of_the_matrix_runs_on_three_kernels_next_to_it() -> None:
    test = "tests/real/test_a.py::test_x"
    every = [f"{test}[{kernel}-{name}]" for kernel in ("6.1", "6.12", "arm64:6.12", "7.2") for name in ("one", "two")]
    assert also_on_arm64(every) == {f"{test}[6.12-one]", f"{test}[6.12-two]"}
    for missing in every:
        kept = [one for one in every if one != missing]
        name = missing.rpartition("-")[2]
        assert also_on_arm64(kept) == {one for one in (f"{test}[6.12-one]", f"{test}[6.12-two]") if name not in one}
    assert also_on_arm64([f"{test}[6.12-sh]", f"{test}[6.1]", f"{test}[arm64:6.12]", f"{test}[7.2]"]) == set()


def test_only_tests_on_real_kernels_have_a_kernel() -> None:
    assert kernels_of([f"{REAL}[6.1]", f"{REAL}_too[6.1-sh]", REAL]) == {"6.1", "7.2"}
    assert kernels_of(["tests/pure/btf/test_lies.py::test[6.1]"]) == set()


def test_groups_are_a_file_on_a_kernel() -> None:
    assert group_of(f"{REAL}[6.1]") == group_of(f"{REAL}_too[6.1-sh]") != group_of(f"{REAL}[7.2]")
    pure = [f"tests/pure/btf/test_lies.py::test[{kernel}]" for kernel in ("6.1", "7.2")]
    assert group_of(pure[0]) == group_of(pure[1])


def test_the_longest_come_first_and_others_beside_those_on_guests() -> None:
    names = [*LONGEST, *(f"test_z{number:02}" for number in range(40))]
    real = [f"tests/real/{name}.py::test[{kernel}]" for name in names for kernel in ("6.1", "7.2")]
    long = [f"tests/interface/{name}.py::test" for name in LONG_ELSEWHERE]
    others = [f"tests/pure/btf/test_{number}.py::test[{one}]" for number in range(200) for one in range(3)]
    tests = [*real, *long, *others]
    place = places(random.Random(1).sample(tests, len(tests)))
    order = sorted(place, key=place.__getitem__)
    assert set(order) == {group_of(test) for test in tests}
    assert [group for group in order if " " in group] == [group_of(test) for test in real]
    beside = [group for group in order if " " not in group]
    assert set(beside[: len(long)]) == {group_of(test) for test in long}
    for half in (order[: len(order) // 2], order[len(order) // 2 :]):
        assert len(real) / 4 < sum(" " in group for group in half) < len(real) * 3 / 4


def test_the_longest_files_are_there() -> None:
    tests = Path(__file__).parents[1]
    assert all((tests / "real" / f"{name}.py").exists() for name in LONGEST)
    assert all(list(tests.glob(f"[!r]*/**/{name}.py")) for name in LONG_ELSEWHERE)
