"""The program that counts the calls of many functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.bpf.instructions import Helper
from probes.bpf.tracing.hit_counter import HIT_BYTES, count_hits
from tests.bpf_machine import BpfMachine

HITS = 0x20000


def counted(functions: int, cookies: list[int]) -> list[int]:
    """Return the counters after calls of functions by cookie."""
    waiting = iter(cookies)
    machine = BpfMachine({Helper.GET_ATTACH_COOKIE: lambda _: next(waiting)})
    machine.write(HITS, bytes(HIT_BYTES * functions))
    program = [
        one if one.code != 0x18 or not one.source else one._replace(source=0, immediate=HITS)
        for one in count_hits(functions)
    ]
    for _ in cookies:
        assert machine.run(program) == 0
    return [machine.read(HITS + HIT_BYTES * at, HIT_BYTES) for at in range(functions)]


@given(st.lists(st.integers(0, 6), max_size=20))
def test_each_function_has_its_counter(cookies: list[int]) -> None:
    assert counted(7, cookies) == [cookies.count(number) for number in range(7)]


@pytest.mark.parametrize("cookie", [7, 8, 1 << 40, (1 << 64) - 1])
def test_a_number_beyond_the_last_counts_nothing(cookie: int) -> None:
    assert counted(7, [cookie]) == [0] * 7
