"""Print types as C: declarations, function prototypes, whole structs with the offsets of their members.

The default text equals bpftool's (`bpftool btf dump ... format c`), as checked by tests. All functions raise BtfError
for invalid types.
"""

from __future__ import annotations

from btf.btf import UNREADABLE, Btf
from btf.cdecl import Declarator
from btf.damage import empty_on_error
from btf.errors import BtfError
from btf.types import Enum, Enum64, Func, Struct, Typedef
from btf.walk import is_complete, size_of, strip

_WIDEST = 80
"""Maximum width of a declaration that affects the alignment of comments."""
_GAP = "\0"
"""Separator between a declaration and its comment until they are aligned; no name contains it."""


def c_type(b: Btf, type_id: int, *, sparse: bool = False) -> str:
    """Return the type without a name: `struct file *`. Anonymous structs are `struct {...}`."""
    return declaration(b, type_id, "", sparse=sparse)


@empty_on_error(lambda: UNREADABLE)
def declaration(b: Btf, type_id: int, name: str, *, sparse: bool = False, inline: bool = False) -> str:
    """Return a declaration of `name`: `char *buf`, `int (*show)(struct seq_file *, void *)`.

    Args:
        b: the types.
        type_id: type to declare.
        name: declared name; may be empty.
        sparse: write `char __user *buf`, not `char __attribute__((btf_type_tag("user"))) *buf`.
        inline: write out anonymous structs, unions and enums (over several lines).
    """
    writer = Declarator(b, sparse, inline)
    writer.declare(type_id, name)
    return writer.text


@empty_on_error(lambda: UNREADABLE)
def prototype(b: Btf, func: Func, names: bool = True, *, sparse: bool = False, inline: bool = False) -> str:
    """Return `ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)`, or without the names."""
    writer = Declarator(b, sparse, inline)
    writer.named = names
    writer.declare(b.prototype(func).id, func.name)
    return writer.text


@empty_on_error(lambda: UNREADABLE)
def struct(b: Btf, type_id: int, *, offsets: bool = True, sparse: bool = False) -> str:
    """Return the definition of a struct or union, with anonymous members inside.

    Each member is followed by its offset and size in bytes, `/* offset size */`, a bit-field by the byte and bit at
    which it begins and its bits, `/* offset:bit bits */`, similar to pahole; holes are marked.
    """
    found = b.type(strip(b, type_id))
    if not isinstance(found, Struct):
        raise BtfError(f"type {type_id} is no struct", b.offset(type_id))
    writer = _Commented(b, sparse) if offsets else Declarator(b, sparse, inline=True)
    writer.struct(found, 0)
    return f"{_align(writer.text)};"


@empty_on_error(lambda: UNREADABLE)
def definition(b: Btf, type_id: int, *, offsets: bool = True, sparse: bool = False) -> str:
    """Return the definition of a struct, enum, typedef or function, or else just the type."""
    found = b.type(type_id)
    match found:
        case Struct():
            return struct(b, type_id, offsets=offsets, sparse=sparse)
        case Enum() | Enum64():
            writer = Declarator(b, sparse)
            writer.enum(found, 0)
            return f"{writer.text};"
        case Func():
            return f"{prototype(b, found, sparse=sparse)};"
        case Typedef():
            writer = _Commented(b, sparse) if offsets else Declarator(b, sparse, inline=True)
            writer.put("typedef ")
            writer.declare(found.type_id, found.name)
            return f"{_align(writer.text)};"
    return c_type(b, type_id, sparse=sparse)


class _Commented(Declarator):
    """Writer of structs with an offset and a size after each member."""

    def __init__(self, b: Btf, sparse: bool) -> None:
        super().__init__(b, sparse, inline=True)
        self._start = 0
        """Bits from the outermost struct to the current one."""

    def struct(self, found: Struct, level: int) -> None:
        self.put(f"{found.keyword}{' ' if found.name else ''}{found.name} {{")
        tabs, start, end = "\t" * (level + 1), self._start, 0
        for member in found.members:
            if not found.is_union and member.bit_offset > end:
                self._gap(member.bit_offset - end, "hole", tabs)
            self.put(f"\n{tabs}")
            self._start = start + member.bit_offset
            self.declare(member.type_id, member.name, level + 1)
            self.put(f": {member.bit_size};" if member.bit_size else ";")
            size = self._size(member.type_id)
            self._comment(start + member.bit_offset, member.bit_size, size)
            end = max(end, member.bit_offset + (member.bit_size or size * 8))
        self._start = start
        if not found.is_union and found.members and found.size * 8 > end:
            self._gap(found.size * 8 - end, "padding", tabs)
        if not level:
            self.put(f"\n\n{tabs}/* size: {found.size}, members: {len(found.members)} */")
        self.put("\n" + "\t" * level + "}")

    def _size(self, type_id: int) -> int:
        return size_of(self.b, type_id) if is_complete(self.b, type_id) else 0

    def _gap(self, bits: int, what: str, tabs: str) -> None:
        number, unit = (bits, "bit") if bits % 8 else (bits // 8, "byte")
        self.put(f"\n{tabs}/* {number} {unit}{'s' if number > 1 else ''} {what} */")

    def _comment(self, bits: int, bit_size: int, size: int) -> None:
        where = f"{bits // 8:5d}:{bits % 8:2d} {bit_size:2d}" if bit_size else f"{bits // 8:5d} {size:5d}"
        self.put(f"{_GAP}/* {where} */")


def _align(text: str) -> str:
    """Align the comments in a column; tabs count as 8."""
    lines = [line.partition(_GAP) for line in text.split("\n")]
    widths = [len(line.expandtabs(8)) if gap else 0 for line, gap, _ in lines]
    column = max((width for width in widths if width <= _WIDEST), default=0) + 1
    return "\n".join(
        line + " " * max(1, column - width) + comment if gap else line
        for (line, gap, comment), width in zip(lines, widths, strict=True)
    )
