"""Functions that take or return a type exactly as written."""

from __future__ import annotations

import pytest

from btf.functions.functions_of_type import functions_using, functions_with
from btf.types import Ptr, Struct
from btf.walk import strip
from tests.probes_data import KERNELS, kernel


@pytest.mark.parametrize("name", KERNELS)
def test_each_function_of_a_pointer_and_no_other(name: str) -> None:
    btf = kernel(name).btf

    def is_file(type_id: int) -> bool:
        pointer = btf.type(strip(btf, type_id))
        target = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
        return isinstance(target, Struct) and target.name == "file"

    takes: dict[str, int] = {}
    returns = set()
    for function in btf.functions:
        found = btf.function(function)
        assert found is not None
        prototype = btf.prototype(found)
        places = [number for number, param in enumerate(prototype.params) if is_file(param.type_id)]
        takes |= {function: places[0]} if places else {}
        returns |= {function} if is_file(prototype.type_id) else set()
    uses = functions_with(btf, "struct file *")
    assert uses.takes == takes and uses.returns == returns
    assert uses.takes["vfs_read"] == 0 and uses.takes["vfs_open"] == 1
    assert functions_with(btf, "file*") == functions_with(btf, "const struct  file  *") == uses


def test_the_number_of_pointers_decides() -> None:
    btf = kernel("7.2").btf
    assert not functions_with(btf, "struct file").takes and not functions_with(btf, "struct file **").takes
    assert not functions_with(btf, "struct nobody *").takes
    assert functions_with(btf, "loff_t").takes.keys() <= set(functions_using(btf, "loff_t").takes)
    assert functions_with(btf, "size_t").takes["vfs_read"] == 2
