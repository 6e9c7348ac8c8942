"""Write C declarations with exactly the text of bpftool (libbpf's btf_dump_emit_type_chain,
tools/lib/bpf/btf_dump.c).

A declaration is a chain: `PTR -> CONST -> INT` is processed from its end, the base type first, then outwards. Text
and depth are bounded for any input.
"""

from __future__ import annotations

from btf.btf import Btf
from btf.errors import BtfError
from btf.types import (
    Array,
    Const,
    DeclTag,
    Enum,
    Enum64,
    Func,
    FuncProto,
    Fwd,
    Modifier,
    Ptr,
    Restrict,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Var,
    Void,
    Volatile,
)

MAX_CHAIN = 64
"""Maximum number of pointers, arrays and modifiers in one declaration."""
MAX_NESTING = 48
"""Maximum nesting of declarations: parameters of function pointers, members of anonymous structs."""
MAX_TEXT = 1 << 18
"""Maximum characters; the longest struct of a kernel has 22,000."""
MAX_PIECES = 1 << 16
"""Maximum pieces of that text; that struct has 5,200."""
SPARSE = ("user", "kernel", "rcu", "percpu", "iomem")
"""Type tags that C code writes with two leading underscores."""


class Declarator:
    """Writer of one declaration; the result is `text`.

    Args:
        b: the types.
        sparse: write `__user` for the type tag, not `__attribute__((btf_type_tag("user")))`.
        inline: write out anonymous structs, unions and enums, not `struct {...}`.
    """

    def __init__(self, b: Btf, sparse: bool = False, inline: bool = False) -> None:
        self.b = b
        self.sparse = sparse
        self.inline = inline
        self.named = True
        """True if parameters are written with their names."""
        self._out: list[str] = []
        self._length = 0
        self._nesting = 0

    @property
    def text(self) -> str:
        return "".join(self._out)

    def put(self, text: str) -> None:
        """Append to the text.

        Raises:
            BtfError: the text exceeds MAX_TEXT or MAX_PIECES.
        """
        self._length += len(text)
        if self._length > MAX_TEXT or len(self._out) > MAX_PIECES:
            raise BtfError(f"a declaration of more than {len(self._out)} words")
        self._out.append(text)

    def declare(self, type_id: int, name: str, level: int = 0) -> None:
        """Write a declaration of `name`; its lines are indented by `level` tabs."""
        chain = [self.b.type(type_id)]
        while (target := _target(chain[-1])) is not None:
            chain.append(self.b.type(target))
            if len(chain) > MAX_CHAIN:
                raise BtfError(f"type {type_id} doesn't end within {MAX_CHAIN} links", self.b.offset(type_id))
        self._emit(chain, name, level)

    def _emit(self, chain: list[Type], name: str, level: int) -> None:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise BtfError(f"declarations nested more than {MAX_NESTING} deep", self.b.offset(chain[0].id))
        after_pointer = True
        while chain:
            found = chain.pop()
            match found:
                case Ptr():
                    self.put("*" if after_pointer else " *")
                case Const() | Volatile() | Restrict():
                    self.put(f" {found.kind.name.lower()}")
                case TypeTag():
                    self._mods(chain)
                    self.put(f" {self._tag(found)}")
                case Array():
                    self._array(found, chain, name, level, after_pointer)
                    break
                case FuncProto():
                    self._function(found, chain, name, level, after_pointer)
                    break
                case _:
                    self._mods(chain)
                    self._base(found, level)
            after_pointer = isinstance(found, Ptr)
        else:
            self._name(name, after_pointer)
        self._nesting -= 1

    def _mods(self, chain: list[Type]) -> None:
        """Write the modifiers of the base type, which precede it."""
        while chain and isinstance(chain[-1], Const | Volatile | Restrict):
            self.put(f"{chain.pop().kind.name.lower()} ")

    def _name(self, name: str, after_pointer: bool) -> None:
        self.put(f" {name}" if name and not after_pointer else name)

    def _tag(self, tag: TypeTag) -> str:
        if self.sparse and tag.name in SPARSE:
            return f"__{tag.name}"
        attribute = tag.name if tag.is_attribute else f'btf_type_tag("{tag.name}")'
        return f"__attribute__(({attribute}))"

    def _base(self, found: Type, level: int) -> None:
        match found:
            case Struct() if not found.name and self.inline:
                self.struct(found, level)
            case Enum() | Enum64() if not found.name and self.inline:
                self.enum(found, level)
            case Struct() | Fwd():
                self.put(f"{found.keyword} {found.name or '{...}'}")
            case Enum() | Enum64():
                self.put(f"enum {found.name or '{...}'}")
            case _:
                self.put(found.name)

    def _array(self, found: Array, chain: list[Type], name: str, level: int, after_pointer: bool) -> None:
        _drop_mods(chain)
        if not chain:
            self._name(name, after_pointer)
        else:
            several = isinstance(chain[-1], Array)
            if name and not after_pointer:
                self.put(" ")
            self.put("" if several else "(")
            self._emit(chain, name, level)
            self.put("" if several else ")")
        self.put(f"[{found.nelems}]")

    def _function(self, found: FuncProto, chain: list[Type], name: str, level: int, after_pointer: bool) -> None:
        _drop_mods(chain)
        if chain:
            self.put(" (")
            self._emit(chain, name, level)
            self.put(")")
        else:
            self._name(name, after_pointer)
        self.put("(")
        if not found.params or (len(found.params) == 1 and found.params[0].type_id == 0):
            self.put("void")
        else:
            self._params(found, level)
        self.put(")")

    def _params(self, found: FuncProto, level: int) -> None:
        last = len(found.params) - 1
        for i, param in enumerate(found.params):
            self.put(", " if i else "")
            if i == last and param.type_id == 0:
                self.put("...")
            else:
                self.declare(param.type_id, param.name if self.named else "", level)

    def struct(self, found: Struct, level: int) -> None:
        """Write `struct name {...}` with its members; a subclass may add comments after each."""
        self.put(f"{found.keyword}{' ' if found.name else ''}{found.name} {{")
        tabs = "\t" * (level + 1)
        for member in found.members:
            self.put(f"\n{tabs}")
            self.declare(member.type_id, member.name, level + 1)
            self.put(f": {member.bit_size};" if member.bit_size else ";")
        if found.members or found.size:
            self.put("\n" + "\t" * level)
        self.put("}")

    def enum(self, found: Enum | Enum64, level: int) -> None:
        """Write `enum name {...}` with its values."""
        self.put(f"enum{' ' if found.name else ''}{found.name}")
        if not found.values:
            return
        self.put(" {")
        suffix = ("LL" if found.is_signed else "ULL") if isinstance(found, Enum64) else ""
        tabs = "\t" * (level + 1)
        for name, value in found.values:
            self.put(f"\n{tabs}{name} = {value}{suffix},")
        self.put("\n" + "\t" * level + "}")


def _drop_mods(chain: list[Type]) -> None:
    """Remove modifiers of arrays and functions, which some compilers write (see btf_dump_drop_mods)."""
    while chain and isinstance(chain[-1], Const | Volatile | Restrict):
        chain.pop()


def _target(found: Type) -> int | None:
    """Return the type id that a link of a chain refers to; None at the end of the chain."""
    if isinstance(found, Typedef | Func | Var | DeclTag | Void):
        return None
    return found.type_id if isinstance(found, Ptr | Modifier | Array | FuncProto) else None
