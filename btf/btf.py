"""Parse BTF. Loading only indexes the types; a type is decoded on first access.

Split BTF (a module's) continues the ids and the strings of its base: ids and names below `base` are the base's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Set
from functools import cached_property
from itertools import repeat
from operator import getitem

from btf.damage import Damage
from btf.debug.function_places import FunctionPlaces
from btf.decode import decode
from btf.errors import BtfError
from btf.header import ByteOrder, parse_header
from btf.index import walk
from btf.kinds import MAX_NAME, Kind
from btf.types import Func, FuncProto, Int, Type, Void
from foreign.text import encode_text

_VOID = Void(0, "void")
UNREADABLE = "?"
"""Placeholder for an unreadable name or text where no error is raised: not a valid C name."""
_MAX_NAME_DISTANCE = 4096
"""Maximum bytes of other names between the names of two consecutive functions."""
_END_MARKER = "\0" * MAX_NAME
"""Placeholder after the last string: too long to be a name."""
_LONGS = ("long int", "long unsigned int", "unsigned long", "long")


class Btf:
    """Types of a kernel, or of a module on top of it. Make one with `load`.

    Attributes:
        base: BTF that this one continues; None for a kernel's.
        byteorder: "little" or "big".
        start_id: first type id of its own (1 without a base).
        strings_end: offset of the first name that BTF split from this one may have.
        index: raw words, for iteration over all types.
        damage: handler of errors in types; by default the base's, or one that raises them.
    """

    def __init__(self, data: bytes, base: Btf | None = None, damage: Damage | None = None) -> None:
        header = parse_header(data)
        if base is not None and base.byteorder != header.byteorder:
            raise BtfError(f"byte order is {header.byteorder}, that of its base is {base.byteorder}", 0)
        self.base = base
        self.damage: Damage = damage or (base.damage if base else Damage())
        self.byteorder: ByteOrder = header.byteorder
        self.start_id = base.end_id if base else 1
        self._header = header
        self._data = data
        self._strings_start: int = base.strings_end if base else 0
        self.strings_end: int = self._strings_start + header.strings_end - header.strings
        if base is None and (header.strings == header.strings_end or data[header.strings]):
            raise BtfError("strings don't begin with NUL: split BTF, or none; a base is needed", header.strings)
        self.index = walk(data, header)
        self._words = self.index.words
        self._types: dict[int, Type] = {}

    @classmethod
    def load(cls, data: bytes, base: Btf | None = None, damage: Damage | None = None) -> Btf:
        """Index raw BTF.

        Raises:
            BtfError: the data is no BTF, is truncated, or has an unknown kind.
        """
        return cls(data, base, damage)

    @property
    def end_id(self) -> int:
        """Last type id plus one."""
        return self.start_id + len(self.index.functions) + len(self.index.others)

    def __len__(self) -> int:
        return self.end_id

    def type(self, type_id: int) -> Type:
        """Return the type with this id; 0 is void.

        Raises:
            BtfError: there is no such type, or one of its names lies outside the strings (if `damage` does not raise:
                void).
        """
        found = self._types.get(type_id)
        if found is None:
            if type_id < self.start_id:
                return self.base.type(type_id) if self.base and type_id > 0 else self._void(type_id)
            if type_id >= self.end_id:
                self.damage.met(BtfError(f"no type {type_id}, the last is {self.end_id - 1}", self._header.types_end))
                return _VOID
            found = decode(self._words, self.index.positions[type_id - self.start_id], type_id, self.name)
            self._types[type_id] = found
        return found

    def kind(self, type_id: int) -> int:
        """Return the number of the kind (see `kinds.Kind`), without decoding the type.

        Raises:
            BtfError: as `type`.
        """
        if self.start_id <= type_id < self.end_id:
            return self._words[self.index.positions[type_id - self.start_id] + 1] >> 24 & 0x1F
        return self.type(type_id).kind

    def name(self, name_off: int) -> str:
        r"""Return the string at an offset of the string section (in split BTF: relative to the base's first string).

        Bytes that are not UTF-8 appear as `\xNN`.

        Raises:
            BtfError: no string that a kernel would accept begins there.
        """
        if not name_off:
            return ""
        start = name_off - self._strings_start
        if start < 0 and self.base is not None:
            return self.base.name(name_off)
        at = self._header.strings + start
        end = self._data.find(b"\0", at, min(at + MAX_NAME, self._header.strings_end))
        if end < 0:
            what = "name has no end" if at < self._header.strings_end else "name lies outside the strings"
            self.damage.met(BtfError(f"{what} (offset {name_off})", at))
            return UNREADABLE
        return self._data[at:end].decode("utf-8", "backslashreplace")

    def has_name(self, name: str) -> bool:
        """Return whether a type, a member, an enumerator etc. has this name; `base` is not searched."""
        return self._data.find(encode_text(f"\0{name}\0"), self._header.strings, self._header.strings_end) >= 0

    def find(self, name: str, kind: Kind | None = None) -> int | None:
        """Return the lowest id of a type of this name, the base's before its own (as btf__find_by_name_kind); None:
        none.
        """
        return next((i for i in self.find_all(name) if kind is None or self.kind(i) == kind), None)

    def find_all(self, name: str) -> list[int]:
        """Return the ids of all types with this name, of any kind, ascending."""
        found = self.base.find_all(name) if self.base else []
        ids = [*self._named.get(name, ())]
        ids += map(self._id_at, self._places.of(name))
        return found + sorted(ids)

    def names_of(self, kind: Kind) -> list[str]:
        """Return the names of all types of a kind, the base's first; builds an index of all names."""
        found = self.base.names_of(kind) if self.base else []
        return found + [name for name, ids in self._named.items() if any(self.kind(i) == kind for i in ids)]

    @cached_property
    def functions(self) -> list[str]:
        """Names of its own FUNCs (not the base's), in file order."""
        try:
            return self._neighbouring_names()
        # one by one, so that the error names the first invalid one
        except (BtfError, UnicodeDecodeError, StopIteration):
            return [self.name(self._words[at]) for at in self.index.functions]

    def _neighbouring_names(self) -> list[str]:
        """Return the names of its own FUNCs by splitting all strings from the first one on in one step.

        Writers of BTF add a string with its first use, so most names are in the order of the functions. Other names
        are looked up individually.

        Raises:
            BtfError, UnicodeDecodeError, StopIteration: the names cannot be read this way.
        """
        functions, words = self.index.functions, self._words
        if not functions:
            return []
        at = words[functions[0]]
        begin = self._header.strings + at - self._strings_start
        if not self._header.strings <= begin < self._header.strings_end:
            return [self.name(words[position]) for position in functions]
        # Without the last NUL, after which there is no further string.
        texts = iter(str(memoryview(self._data)[begin : self._header.strings_end - 1], "ascii").split("\0"))
        names, text = list[str](), next(texts)
        add = names.append
        for offset in map(getitem, repeat(words), functions):
            if offset != at:
                while at < offset < at + _MAX_NAME_DISTANCE:
                    at += len(text) + 1
                    text = next(texts)
                if offset != at:
                    add(self.name(offset))
                    continue
            add(text)
            at += len(text) + 1
            text = next(texts, _END_MARKER)
        if len(max(names, key=len)) >= MAX_NAME:
            raise StopIteration
        return names

    def function(self, name: str) -> Func | None:
        """Return the function of this name, its own before the base's; None: there is none."""
        places = self._places.of(name)
        if not places:
            return self.base.function(name) if self.base else None
        found = self.type(self._id_at(places[0]))
        return found if isinstance(found, Func) else None

    def has_function(self, name: str) -> bool:
        """Return whether `function` finds one, without decoding."""
        return bool(self._places.of(name)) or (self.base is not None and self.base.has_function(name))

    def functions_among(self, names: Set[str]) -> set[str]:
        """Return those of some names for which `has_function` is True."""
        found = self.base.functions_among(names) if self.base else set()
        return found.union(self._places.among(names))

    def is_ambiguous(self, name: str) -> bool:
        """Return whether functions of this name differ in parameter or return types, so that the one meant is
        unknown.

        Older pahole wrote all of them, newer versions omit such functions.
        """
        places = self._places.of(name)
        if len(places) < 2:
            return self.base is not None and not places and self.base.is_ambiguous(name)
        found = [self.type(type_id) for type_id in self.find_all(name)]
        protos = [self.prototype(func) for func in found if isinstance(func, Func)]
        return len({(proto.type_id, *(param.type_id for param in proto.params)) for proto in protos}) > 1

    def prototype(self, func: Func) -> FuncProto:
        """Return the parameters and the return type of a function.

        Raises:
            BtfError: the function's type is no FuncProto.
        """
        proto = self.type(func.type_id)
        if not isinstance(proto, FuncProto):
            what = f"function {func.name} is no function but type {func.type_id}"
            self.damage.met(BtfError(what, self.offset(func.id)))
            return FuncProto(0, "", 0, ())
        return proto

    @cached_property
    def pointer_size(self) -> int:
        """Bytes of a pointer, which BTF does not contain: those of a `long` (determine_ptr_size in libbpf), else
        8.
        """
        if self.base:
            return self.base.pointer_size
        words, info = self._words, Kind.INT << 24
        # building the index of all names takes 100 ms
        ints = (at for at in self.index.others if words[at + 1] == info)
        for found in map(self.type, map(self._id_at, ints)):
            if isinstance(found, Int) and found.name in _LONGS and found.size in (4, 8):
                return found.size
        return 8

    def offset(self, type_id: int) -> int:
        """Return the byte offset of a type in the file; 0 for a type that is not its own."""
        if not self.start_id <= type_id < self.end_id:
            return 0
        return self._header.types + self.index.positions[type_id - self.start_id] * 4

    def _id_at(self, position: int) -> int:
        return bisect_left(self.index.positions, position) + self.start_id

    @cached_property
    def _places(self) -> FunctionPlaces:
        return FunctionPlaces(self.index.functions, self._words, lambda: self.functions, self._offsets_of)

    def _offsets_of(self, text: bytes, most: int) -> list[int]:
        """Return up to `most` offsets in the strings, the base's first, at which some bytes occur."""
        found = self.base._offsets_of(text, most) if self.base else []
        at = self._data.find(text, self._header.strings, self._header.strings_end)
        while at >= 0 and len(found) < most:
            found.append(at - self._header.strings + self._strings_start)
            at = self._data.find(text, at + 1, self._header.strings_end)
        return found

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """Ids by name of all its own named types except functions."""
        words, name, found = self._words, self.name, dict[str, list[int]]()
        for type_id, at in enumerate(self.index.positions, self.start_id):
            if words[at] and words[at + 1] >> 24 != Kind.FUNC:
                found.setdefault(name(words[at]), []).append(type_id)
        return found

    def _void(self, type_id: int) -> Type:
        if type_id:
            self.damage.met(BtfError(f"no type {type_id}", self._header.types))
        return _VOID
