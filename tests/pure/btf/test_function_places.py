"""Functions by name: what the strings tell is what a table of all names tells."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.damage import Damage
from btf.debug import function_places
from btf.debug.function_places import FunctionPlaces
from kernel.connection.open_target import shipped_recording
from kernel.connection.shared_types import shared_btf
from kernel.recording.target import open_recording

NAMES = st.text("ab_", min_size=1, max_size=4)


@given(st.lists(NAMES, max_size=12), st.lists(NAMES, max_size=6), st.lists(NAMES, min_size=1, max_size=8))
def test_a_few_questions_have_the_answers_of_the_table(
    functions: list[str], others: list[str], asked: list[str]
) -> None:
    strings, words = b"\0", list[int]()
    for name in others:
        strings += name.encode() + b"\0"
    for name in functions:  # each string stands there once, as writers of BTF have it, or is the end of another
        at = strings.find(name.encode() + b"\0")
        if at < 0:
            at, strings = len(strings), strings + name.encode() + b"\0"
        words += [at, 0, 0]

    def offsets(text: bytes, most: int) -> list[int]:
        return [at for at in range(len(strings)) if strings.startswith(text, at)][:most]

    def places() -> FunctionPlaces:
        return FunctionPlaces(array("I", range(0, len(words), 3)), words, lambda: functions, offsets)

    table, few = places(), places()
    table.among(set())
    for name in asked:
        known = [3 * at for at, one in enumerate(functions) if one == name]
        assert list(few.of(name)) == known == list(table.of(name))
    assert "_first" not in few.__dict__


def test_many_questions_make_the_table() -> None:
    btf = Btf.load(open_recording(shipped_recording()).btf())
    names = btf.functions[: function_places._FEW + 2]
    for number, name in enumerate(names):
        assert btf.has_function(name) and not btf.has_function(f"{name}_none")
        assert 2 * (number + 1) >= function_places._FEW or "_first" not in btf._places.__dict__
    assert "_first" in btf._places.__dict__


def test_equal_types_are_held_once_and_only_while_somebody_has_them() -> None:
    data = open_recording(shipped_recording()).btf()
    damage = Damage()
    one, other = shared_btf(data, damage), shared_btf(bytes(bytearray(data)), Damage())
    assert one is other
    assert shared_btf(data, Damage(is_raised=False)) is not one
