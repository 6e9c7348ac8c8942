"""Where the entry of a call around another one in its place may have been lost: by columns as one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from events.calls.call_ends import CallEnds
from events.calls.call_values import End
from events.calls.chain_starts import ChainStarts
from events.losses import UNKNOWN_TASK

STACK = -(1 << 40)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([7, 8]),
        st.integers(0, 2),
        st.booleans(),
        st.sampled_from([0, 5000, STACK, STACK + 64, STACK + 128, STACK + (1 << 16)]),
        st.sampled_from([False] * 5 + [True]),  # events were lost before it
    ),
    max_size=60,
)


def _columns(ends: list[End]) -> CallEnds:
    def column(name: str, kind: type) -> np.ndarray:
        return np.array([getattr(end, name) for end in ends], kind)

    cpus = np.zeros(len(ends), np.int64)
    numbers = [column(name, np.int64) for name in ("seq", "ts", "task", "function")]
    proof = column("at_exit", np.bool_), column("pair_key", np.uint64), column("frame", np.int64)
    return CallEnds._make([*numbers, *proof, cpus, cpus, np.zeros(len(ends), np.bool_)])


def _plain(ends: list[End], losses: set[int], never_missed: set[int]) -> list[bool]:
    """An entry is unsure where a loss came and nothing since that shows its place to have been free."""
    told = []
    for at, end in enumerate(ends):
        lost = [n for n in range(at + 1) if n in losses]
        since = [one for one in ends[lost[-1] if lost else 0 : at] if one.task == end.task]
        kernel = end.frame < 0
        near = [one for one in since if (one.frame >> 14 == end.frame >> 14 if kernel else one.frame == end.frame)]
        free = any((one.at_exit and one.frame >= end.frame) or (kernel and one.frame > end.frame) for one in near)
        told.append(bool(lost) and not free and not end.at_exit and end.function not in never_missed)
    return told


@given(STEPS, st.integers(1, 20), st.sets(st.integers(0, 2), max_size=1), st.sampled_from([UNKNOWN_TASK, 7, 6]))
def test_by_columns_as_one_by_one(
    steps: list[tuple[int, int, bool, int, bool]], piece: int, never_missed: set[int], newest: int
) -> None:
    ends = [
        End(n, 10 * n + 10, task, function, leave, 0, frame)
        for n, (task, function, leave, frame, _) in enumerate(steps)
    ]
    losses = {n for n, step in enumerate(steps) if step[-1]}
    single, columns = (
        ChainStarts(lambda start, end: any(start < 10 * n + 5 < end for n in losses), lambda *_: newest)
        for _ in range(2)
    )
    single.never_missed = columns.never_missed = frozenset(never_missed)
    plain = zip(_plain(ends, losses, never_missed), ends, strict=True)
    expected = [hides and end.task <= newest for hides, end in plain]  # a younger task can have lost nothing
    assert [single.hides(end) for end in ends] == expected
    found: list[bool] = []
    at = 0
    while at < len(ends):  # no piece has a loss in it
        stop = min([at + piece, len(ends), *(n for n in losses if n > at)])
        hides = columns.hides_of(_columns(ends[at:stop]))
        found += [False] * (stop - at) if hides is None else hides.tolist()
        at = stop
    assert found == expected
