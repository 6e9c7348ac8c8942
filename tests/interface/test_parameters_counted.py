"""What the tests of the interface share between applications is what each would have by itself."""

from __future__ import annotations

from functools import partial

from textual._callback import count_parameters


class Owner:
    def act(self, one: int, two: int) -> int:
        return one + two


def test_a_method_has_its_parameters_whether_a_partial_or_it_was_counted_first() -> None:
    assert count_parameters(partial(Owner().act, 1)) == 1
    assert count_parameters(Owner().act) == 2
    assert count_parameters(partial(Owner.act, Owner(), 1)) == 1
