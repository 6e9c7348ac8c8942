"""libbpf as a second implementation: look-ups by name and sizes, over all types of a kernel."""

import pytest

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.walk import size_of
from kernel.local import libbpf
from tests.btf_writer import every_kind, stored, swapped


@pytest.fixture(scope="module")
def library():
    found = libbpf.load()
    if found is None:
        pytest.skip("no libbpf.so.1 here")
    return found


def _size(b: Btf, type_id: int) -> int | None:
    try:
        return size_of(b, type_id)
    except BtfError:
        return None


@pytest.mark.parametrize("data", ["kernel", "kinds", "big"])
def test_sizes_of_all_types(data, library):
    raw = {"kernel": stored("btf-7.2"), "kinds": every_kind(), "big": swapped(every_kind())}[data]
    b = Btf.load(raw)
    with library.btf(raw) as theirs:
        assert theirs.type_cnt == len(b)
        different = [i for i in range(1, len(b)) if theirs.resolve_size(i) != _size(b, i)]
    assert different == []


def test_look_ups_by_name_and_kind(library):
    raw = stored("btf-7.2")
    b = Btf.load(raw)
    wanted = [(b.type(i).name, Kind(b.kind(i))) for i in range(1, len(b), 397)]
    wanted = [(name, kind) for name, kind in wanted if name]
    wanted += [("file", Kind.STRUCT), ("file", Kind.UNION), ("no_such_name", Kind.FUNC), ("vfs_read", Kind.FUNC)]
    assert len(wanted) > 100
    with library.btf(raw) as theirs:
        assert [theirs.find_by_name_kind(*pair) for pair in wanted] == [b.find(*pair) for pair in wanted]
