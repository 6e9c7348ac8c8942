"""Rounds, spreads, bounds and names of figures; no time is measured."""

import itertools
import subprocess
import sys

import pytest

from tests.bench._choice import NoSuchFigure, chosen_modules, chosen_parts
from tests.bench._measure import CALLS, ROUNDS, SECONDS, Figure, Part, Spread, interleaved, run_child, together

MODULES = ("decode", "find")
PARTS = tuple(Part(name, (), list) for name in ("columns", "values"))


class Work:
    """A timer that says how long it took, and counts its calls."""

    def __init__(self, *seconds: float) -> None:
        self.calls = 0
        self._seconds = itertools.cycle(seconds)

    def __call__(self) -> float:
        self.calls += 1
        return next(self._seconds)


def test_the_median_is_that_of_the_rounds_and_the_row_shows_the_least_and_the_most():
    figure = Figure("reading", "ms", most=10)
    row = figure.of(Spread((30.0, 1.0, 9.0, 8.0, 40.0)), "a note")
    assert row.spread.median == 9.0
    assert row.value == "9.0 ms (1.0–40.0)"
    assert str(row).split() == ["ok", "reading", "9.0", "ms", "(1.0–40.0)", "<=", "10", "ms", "a", "note"]


def test_a_bound_is_held_by_the_median_alone():
    most, least = Figure("a", "x", most=0.15, digits=3), Figure("a", "x", least=10)
    assert most.of(Spread((0.9, 0.15, 0.1, 0.1, 0.9))).holds
    assert not most.of(Spread((0.1, 0.1, 0.151, 0.16, 0.2))).holds
    assert least.of(Spread((1, 1, 10, 11, 12))).holds
    assert not least.of(Spread((9, 9, 9.99, 11, 12))).holds
    assert "FAIL" in str(least.of(Spread((9,))))
    assert (most.bound, least.bound) == ("<= 0.15 x", ">= 10 x")


def test_a_figure_without_a_bound_always_holds_and_one_that_is_missing_never():
    figure = Figure("a", "x")
    assert figure.of(Spread((1e9,))).holds
    assert figure.bound == ""
    assert not figure.missing("no bpftool here").holds
    assert str(figure.missing("no bpftool here")).split() == ["FAIL", "a", "no", "bpftool", "here"]


def test_a_ratio_is_taken_round_by_round():
    own, peer = Spread((1.0, 6.0, 3.0)), Spread((2.0, 3.0, 1.0))
    assert own.over(peer).rounds == (0.5, 2.0, 3.0)
    assert own.each(lambda value: value * 2).rounds == (2.0, 12.0, 6.0)
    with pytest.raises(ValueError):
        own.over(Spread((1.0,)))


def test_slow_calls_are_measured_for_all_the_seconds():
    slow, slower = Work(SECONDS / 10), Work(SECONDS)
    spreads = interleaved(slow, slower)
    assert (slow.calls, slower.calls) == (2 * ROUNDS, ROUNDS)
    assert [spread.median for spread in spreads] == pytest.approx([SECONDS / 10, SECONDS])
    assert all(len(spread.rounds) == ROUNDS for spread in spreads)


def test_fast_calls_are_measured_so_many_times():
    fast = Work(1e-6, 3e-6)
    (spread,) = interleaved(fast)
    assert fast.calls == CALLS
    assert spread.median == pytest.approx(2e-6)


def test_rounds_of_a_peer_stand_between_those_of_ours():
    order = []

    def timer(name):
        def call():
            order.append(name)
            return SECONDS

        return call

    interleaved(timer("ours"), timer("peer"))
    assert order == ["ours", "peer"] * ROUNDS


def test_many_works_share_the_seconds():
    works = [Work(SECONDS / ROUNDS / 4), Work(SECONDS / ROUNDS / 4)]
    spreads = together(works)
    assert [work.calls for work in works] == [2 * ROUNDS] * 2
    assert len(spreads) == 2


def test_a_command_that_fails_is_no_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        run_child([sys.executable, "-c", "raise SystemExit(3)"])
    assert run_child([sys.executable, "-c", ""]).cpu > 0


def test_a_word_is_a_module_or_a_part_of_one():
    assert chosen_modules([], MODULES) == {"decode": [], "find": []}
    assert chosen_modules(["find"], MODULES) == {"find": []}
    assert chosen_modules(["decode:columns", "decode:values"], MODULES) == {"decode": ["columns", "values"]}
    assert chosen_modules(["decode:columns", "decode"], MODULES) == {"decode": []}
    assert chosen_modules(["decode", "decode:columns"], MODULES) == {"decode": []}
    assert chosen_parts("decode", [], PARTS) == list(PARTS)
    assert chosen_parts("decode", ["values"], PARTS) == [PARTS[1]]


def test_a_name_that_is_none_says_which_there_are():
    with pytest.raises(NoSuchFigure, match=r"no bench named decoed; there are decode, find"):
        chosen_modules(["decoed:columns"], MODULES)
    with pytest.raises(NoSuchFigure, match=r"decode has no part colums; there are columns, values"):
        chosen_parts("decode", ["colums"], PARTS)


def test_every_figure_is_listed_with_its_bound_and_nothing_is_measured():
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--list"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert " decode:columns\n    raw pages to columns, every number / trace-cmd report" in done.stdout
    assert ">= 10 x" in done.stdout
    names = [line.strip() for line in done.stdout.splitlines() if line.startswith(" ") and not line.startswith("  ")]
    assert len(names) == len(set(names)) > 20


def test_a_wrong_name_is_told_before_anything_is_measured():
    done = subprocess.run([sys.executable, "-m", "tests.bench", "btf:here", "keys:x"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "keys has no part x; there are verdict, completions\n")
