"""The bound on work can be exceeded."""

import itertools

import pytest

from tests.steps import TooMuchWork, at_most


def test_what_never_ends_is_ended_and_what_is_within_is_counted():
    with pytest.raises(TooMuchWork, match="more than 1,000 calls"), at_most(1000):
        for number in itertools.count():
            str.upper(str(number))
    with at_most(1000) as steps:
        [str.upper("a") for _ in range(100)]
    assert 100 <= steps.taken < 110
