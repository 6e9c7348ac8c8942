"""C text beyond what bpftool writes: offsets, sparse tags, short forms. (Its own text: test_btf_bpftool.)"""

from functools import cache

import pytest

from btf import render
from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from tests.btf_writer import Writer, every_kind, stored


@cache
def small() -> Btf:
    return Btf.load(every_kind())


def text_of(name: str, **options: bool) -> str:
    found = small().find(name)
    assert found is not None
    return render.definition(small(), found, **options)


def test_prototypes():
    func = small().function("record_read")
    assert func is not None
    tagged = 'size_t record_read(struct record *record, char __attribute__((btf_type_tag("user"))) *buf, size_t n)'
    assert render.prototype(small(), func) == tagged
    assert render.prototype(small(), func, sparse=True) == (
        "size_t record_read(struct record *record, char __user *buf, size_t n)"
    )
    assert render.prototype(small(), func, names=False, sparse=True) == (
        "size_t record_read(struct record *, char __user *, size_t)"
    )
    call = small().function("record_call")
    assert call is not None
    assert render.prototype(small(), call) == "void record_call(int (*call)(struct node *node, ...))"
    assert text_of("record_exit") == "void record_exit(void);"
    assert text_of("record_find") == (
        "const struct record *record_find("
        "struct declared * restrict where, void __attribute__((address_space(1))) *memory);"
    )


def test_a_struct_with_its_offsets():
    assert (
        text_of("record")
        == """\
struct record {
	const char *name;                     /*     0     8 */
	union {
		unsigned int word;            /*     8     4 */
		struct {
			unsigned int low: 3;  /*     8: 0  3 */
			unsigned int high: 5; /*     8: 3  5 */
			char rest;            /*     9     1 */
			/* 2 bytes padding */
		};                            /*     8     4 */
	};                                    /*     8     4 */
	volatile unsigned int state;          /*    12     4 */
	int matrix[2][3];                     /*    16    24 */
	int (*call)(struct node *node, ...);  /*    40     8 */
	struct node inner;                    /*    48    16 */
	size_t count;                         /*    64     8 */
	char tail[0];                         /*    72     0 */

	/* size: 72, members: 8 */
};"""
    )


def test_holes():
    w = Writer()
    char, long = w.integer("char", 1), w.integer("long int", 8)
    bits = [("a", char, 1 << 24), ("b", char, 1 << 24 | 3), ("c", long, 64)]
    w.add(Kind.STRUCT, "holes", 24, bits, flag=True)
    b = Btf.load(w.data())
    lines = render.struct(b, 3).split("\n")
    assert [line.strip() for line in lines if line.endswith(("hole */", "padding */"))] == [
        "/* 2 bits hole */",
        "/* 60 bits hole */",
        "/* 8 bytes padding */",
    ]
    assert render.struct(b, 3, offsets=False) == "struct holes {\n\tchar a: 1;\n\tchar b: 1;\n\tlong int c;\n};"


def test_other_definitions():
    assert text_of("colour") == "enum colour {\n\tRED = 0,\n\tGREEN = 1,\n\tBLUE = 7,\n};"
    assert "W_HIGH = 9223372036854775808ULL," in text_of("wide")
    assert text_of("size_t") == "typedef long unsigned int size_t;"
    assert text_of("declared") == "struct declared"
    assert render.c_type(small(), 0) == "void"
    with pytest.raises(BtfError, match="no struct"):
        render.struct(small(), 1)


def test_what_a_person_sees_of_a_kernel():
    b = Btf.load(stored("btf-7.2"))
    func = b.function("vfs_read")
    assert func is not None
    assert render.prototype(b, func) == "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)"
    page = b.find("page", Kind.STRUCT)
    assert page is not None
    text = render.struct(b, page)
    assert "struct address_space *mapping;" in text
    assert text.endswith("/* size: 64, members: 5 */\n};")
    comments = {line.index("/*") for line in text.expandtabs(8).split("\n") if line.count("*/") == 1 and ";" in line}
    assert len(comments) == 1
