"""Layouts and paths: small types written by hand, and structs of a real kernel."""

from functools import cache

import pytest

from btf import layout, values, walk
from btf.btf import Btf
from btf.functions.functions_of_type import functions_using
from btf.kinds import Kind
from btf.layout import PathError, ResolvedPath
from btf.types import Func, Ptr, Struct
from tests.btf_writer import Writer, every_kind, stored


@cache
def kernel() -> Btf:
    return Btf.load(stored("btf-7.2"))


@cache
def small() -> Btf:
    return Btf.load(every_kind())


def an_id(b: Btf, name: str, kind: Kind | None = None) -> int:
    found = b.find(name, kind)
    assert found is not None
    return found


def parameter(b: Btf, function: str, name: str) -> int:
    func = b.function(function)
    assert func is not None
    return next(p.type_id for p in b.prototype(func).params if p.name == name)


def test_fields_of_anonymous_members_stand_in_their_place():
    fields = layout.fields(small(), an_id(small(), "record"))
    assert [(f.name, f.byte_offset, f.bit_offset % 8, f.bit_size) for f in fields] == [
        ("name", 0, 0, 0),
        ("word", 8, 0, 0),
        ("low", 8, 0, 3),
        ("high", 8, 3, 5),
        ("rest", 9, 0, 0),
        ("state", 12, 0, 0),
        ("matrix", 16, 0, 0),
        ("call", 40, 0, 0),
        ("inner", 48, 0, 0),
        ("count", 64, 0, 0),
        ("tail", 72, 0, 0),
    ]
    low = fields[2]
    kinds = [small().type(i).kind for i in low.anonymous]
    assert kinds == [Kind.UNION, Kind.STRUCT]
    assert [m.name for m in layout.members(small(), an_id(small(), "record"))][:3] == ["name", "", "state"]


def test_children_open_step_by_step():
    b = small()
    pointer = parameter(b, "record_read", "record")
    below = layout.children(b, pointer)
    assert below.op == "->"
    by_name = {f.name: f for f in below.fields}
    assert layout.children(b, by_name["inner"].type_id).op == "."
    assert [f.name for f in layout.children(b, by_name["inner"].type_id).fields] == ["next", "value"]
    matrix = layout.children(b, by_name["matrix"].type_id)
    assert (matrix.op, [(f.name, f.byte_offset) for f in matrix.fields]) == ("[]", [("0", 0), ("1", 12)])
    assert [f.byte_offset for f in layout.children(b, matrix.fields[1].type_id).fields] == [0, 4, 8]
    assert len(layout.children(b, by_name["tail"].type_id).fields) == 1
    node = layout.children(b, by_name["inner"].type_id).fields[0]
    again = layout.children(b, layout.children(b, node.type_id).fields[0].type_id)
    assert again.op == "->"
    for leaf in ("state", "call", "count"):
        assert layout.children(b, by_name[leaf].type_id) == layout.Children("", ())


@pytest.mark.parametrize(
    ("path", "derefs", "bit_offset", "bit_size"),
    [
        ([], (), 0, 0),
        ([("->", "count")], (64,), 0, 0),
        ([("->", "high")], (8,), 3, 5),
        ([("->", "inner"), (".", "value")], (56,), 0, 0),
        ([("->", "inner"), (".", "next"), ("->", "value")], (48, 8), 0, 0),
        ([("->", "inner"), (".", "next"), ("->", "next"), ("->", "next")], (48, 0, 0), 0, 0),
        ([("->", "matrix"), ("[]", "1"), ("[]", "2")], (36,), 0, 0),
        ([("->", "tail"), ("[]", "5")], (77,), 0, 0),
        ([("[]", "2"), (".", "count")], (208,), 0, 0),
        ([("->", "name"), ("[]", "3")], (0, 3), 0, 0),
    ],
)
def test_paths(path, derefs, bit_offset, bit_size):
    found = layout.resolve(small(), parameter(small(), "record_read", "record"), path)
    assert found[1:4] == (derefs, bit_offset, bit_size)


@pytest.mark.parametrize(
    ("path", "code", "hop"),
    [
        ([(".", "count")], "NOSUP_DAT_ARG", 0),
        ([("->", "none")], "NO_BTF_FIELD", 0),
        ([("->", "inner"), ("->", "value")], "NO_PTR_STRCT", 1),
        ([("->", "count"), (".", "value")], "BAD_BTF_TID", 1),
        ([("->", "inner"), (".", "none")], "NO_BTF_FIELD", 1),
        ([("->", "call"), ("->", "none")], "BAD_BTF_TID", 1),
        ([("->", "count"), ("->", "none")], "NO_PTR_STRCT", 1),
        ([("->", "count"), ("[]", "0")], "NO_PTR_STRCT", 1),
        ([("->", "matrix"), ("[]", "x")], "NO_BTF_FIELD", 1),
    ],
)
def test_paths_that_lead_nowhere(path, code, hop):
    with pytest.raises(PathError) as caught:
        layout.resolve(small(), parameter(small(), "record_read", "record"), path)
    assert (caught.value.code, caught.value.hop_index) == (code, hop)


def test_pointer_to_pointer_and_void():
    w = Writer()
    integer = w.integer("int", 4)
    thing = w.add(Kind.STRUCT, "thing", 4, [("x", integer, 0)])
    pointer = w.add(Kind.PTR, last=thing)
    double = w.add(Kind.PTR, last=pointer)
    void = w.add(Kind.PTR)
    b = Btf.load(w.data())
    for type_id in (double, void):
        with pytest.raises(PathError, match="BAD_BTF_TID"):
            layout.resolve(b, type_id, [("->", "x")])
    assert layout.resolve(b, double, [("[]", "1"), ("->", "x")]).derefs == (8, 0)
    assert layout.children(b, void).fields == ()


def test_paths_of_a_kernel():
    b = kernel()
    file = parameter(b, "vfs_read", "file")
    found = layout.resolve(b, file, [("->", "f_path"), (".", "dentry"), ("->", "d_inode"), ("->", "i_ino")])
    offsets = [layout.find_field(b, an_id(b, *of), name).bit_offset // 8 for of, name in (
        (("file", Kind.STRUCT), "f_path"), (("path", Kind.STRUCT), "dentry"),
        (("dentry", Kind.STRUCT), "d_inode"), (("inode", Kind.STRUCT), "i_ino"),
    )]  # fmt: skip
    assert found == ResolvedPath(found.type_id, (offsets[0] + offsets[1], offsets[2], offsets[3]), 0, 0, True)
    skb = an_id(b, "sk_buff", Kind.STRUCT)
    assert layout.find_field(b, skb, "pkt_type").bit_size == 3


def test_where_the_kernel_reads_bit_fields_wrong():
    """A bit-field of an anonymous struct whose outer struct has none: parse_btf_field takes the outer's kind flag."""
    hit = layout.find_field(small(), an_id(small(), "record"), "high")
    assert not hit.kernel_agrees
    assert layout.find_field(small(), an_id(small(), "record"), "rest").kernel_agrees
    w = Writer()
    integer = w.integer("int", 4)
    inner = w.add(Kind.STRUCT, "", 4, [("x", integer, 0)])
    many = [("", inner, 32 * i) for i in range(17)]
    deep = w.add(Kind.STRUCT, "", 4, [("last", integer, 0)])
    outer = w.add(Kind.STRUCT, "outer", 72, [*many, ("", deep, 544)])
    assert not layout.find_field(Btf.load(w.data()), outer, "last").kernel_agrees


def test_sizes_through_modifiers():
    b = small()
    assert walk.size_of(b, parameter(b, "record_read", "n")) == 8
    where = parameter(b, "record_find", "where")
    pointer = b.type(walk.strip(b, where))
    assert isinstance(pointer, Ptr)
    assert pointer.type_id == b.find("declared")
    assert not walk.is_complete(b, an_id(b, "declared"))
    w = Writer()
    short = w.integer("int", 4)
    w.integer("long int", 4)
    short_pointer = w.add(Kind.PTR, last=short)
    narrow = Btf.load(w.data())
    assert walk.size_of(narrow, short_pointer) == 4


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("colour", 7, "BLUE"),
        ("colour", 2, None),
        ("colour", 3, None),
        ("sign", -1, "MINUS"),
        ("sign", 0xFFFFFFFF, "MINUS"),
        ("flags", 5, "F_A|F_C"),
        ("flags", -(1 << 31), "F_HIGH"),
        ("flags", (1 << 31) | 2, "F_B|F_HIGH"),
        ("flags", 8, None),
        ("flags", 0, None),
        ("wide", 0x8000000000000000, "W_HIGH"),
        ("wide_sign", -2, "W_MINUS"),
        ("wide_sign", 0xFFFFFFFFFFFFFFFE, "W_MINUS"),
        ("record", 1, None),
    ],
)
def test_names_of_values(name, value, text):
    assert values.enum_name(small(), an_id(small(), name), value) == text


def test_names_of_a_kernels_values():
    b = kernel()
    assert values.enum_name(b, an_id(b, "pid_type"), 1) == "PIDTYPE_TGID"
    assert values.enum_name(b, an_id(b, "pid_type"), 3) == "PIDTYPE_SID"
    assert values.enum_name(b, an_id(b, "pid_type"), 7) is None
    assert values.is_bool(b, an_id(b, "bool"))
    assert not values.is_bool(b, an_id(b, "int"))


def test_uses_agree_with_a_plain_search():
    """The same answer as from following each parameter of each function by the decoded types."""
    b = kernel()
    wanted = an_id(b, "dentry", Kind.STRUCT)

    def leads(type_id: int) -> bool:
        at = b.type(walk.strip(b, type_id))
        while isinstance(at, Ptr):
            at = b.type(walk.strip(b, at.type_id))
        return isinstance(at, Struct) and at.id == wanted

    takes, returns = [], []
    for name in b.functions:
        func = b.function(name)
        assert isinstance(func, Func)
        proto = b.prototype(func)
        if any(leads(p.type_id) for p in proto.params):
            takes.append(name)
        if leads(proto.type_id):
            returns.append(name)
    found = functions_using(b, "struct dentry")
    assert list(found.takes) == takes
    assert list(found.returns) == returns
    assert len(takes) > 300
    assert "d_alloc" in found.returns
    assert found == functions_using(b, "dentry")
    assert "vfs_read" in functions_using(b, "loff_t").takes
    assert functions_using(b, "union dentry") == ((), ())
    assert functions_using(b, "no_such_type") == ((), ())
    assert functions_using(b, "") == ((), ())


def test_look_ups():
    b = small()
    assert b.name(0) == ""
    assert b.find("node") == b.find("node", Kind.STRUCT)
    assert b.find("node", Kind.UNION) is None
    assert b.find("record_read", Kind.FUNC) in b.find_all("record_read")
    assert b.functions == ["record_read", "record_find", "record_exit", "record_call"]
    assert b.function("no_such_function") is None
    func = b.function("record_exit")
    assert func is not None
    assert b.prototype(func).params == ()
    where = b.type(parameter(b, "record_find", "where"))
    assert (where.kind, where.name) == (Kind.RESTRICT, "")
    assert b.kind(where.id) == Kind.RESTRICT
    twins = Writer()
    proto = twins.add(Kind.FUNC_PROTO)
    first, second = twins.add(Kind.FUNC, "twin", proto), twins.add(Kind.FUNC, "twin", proto)
    b = Btf.load(twins.data())
    assert b.find_all("twin") == [first, second]
    assert b.function("twin") == b.type(first)
    assert b.functions == ["twin", "twin"]


def test_names_that_are_no_ascii():
    w = Writer()
    proto = w.add(Kind.FUNC_PROTO)
    w.add(Kind.FUNC, "größe", proto)
    assert Btf.load(w.data()).functions == ["größe"]
    w.strings[-5:-1] = b"\xff\xfe\xfd!"
    assert Btf.load(w.data()).functions == ["gr\\xc3\\xff\\xfe\\xfd!"]
