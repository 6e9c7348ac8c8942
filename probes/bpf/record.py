"""Lay out the record of a BPF program, with the text of an event's format for those who read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from events.bpf_layout import FAULTS, RECORD_DATA, event_shift
from events.format import FAULTS_FIELD

TEXT_BYTES: Final = 128
"""Bytes of a recorded string, with its end; longer ones are cut."""
COMM_BYTES: Final = 16
"""Bytes of a task's name (TASK_COMM_LEN)."""
_NUMBER = re.compile(r"([usx])(8|16|32|64)")
_BITS = re.compile(r"b(\d+)@(\d+)/(8|16|32|64)")
_ARRAY = re.compile(r"(.*)\[([1-9]\d?)\]")
_ADDRESS = "unsigned long"


class BitRange(NamedTuple):
    """Bits of a number (`b3@2/8`)."""

    size: int
    first: int
    container: int
    """Bits of the number."""


class StoredType(NamedTuple):
    """Type of a recorded field."""

    declared: str
    """Declaration in the event's format: `u64`, `char[128]`."""
    size: int
    """Bytes of one element."""
    conversion: str
    """Conversion in `print fmt`."""
    signed: bool = False
    elements: int = 1
    bits: BitRange | None = None
    text: str = ""
    """`string` or `ustring` for a string of the kernel or of the process."""


class StoredField(NamedTuple):
    """Field of a record."""

    name: str
    type: StoredType
    offset: int
    """Bytes from the start of the record."""


ADDRESS = StoredType(_ADDRESS, 8, "%lx")
COMM = StoredType(f"char[{COMM_BYTES}]", COMM_BYTES, '\\"%s\\"')


def stored_type(kind: str) -> StoredType | None:
    """Return the type by which a fetcharg's type is recorded; None: no program here records it."""
    if kind in ("string", "ustring"):
        return StoredType(f"char[{TEXT_BYTES}]", TEXT_BYTES, '\\"%s\\"', text=kind)
    if kind == "symbol":
        return StoredType(_ADDRESS, 8, "%pS")
    if kind == "char":
        return StoredType("char", 1, "'%c'", signed=True)
    if match := _BITS.fullmatch(kind):
        size, first, container = map(int, match.groups())
        number = _number("u", container)
        return number._replace(bits=BitRange(size, first, container)) if size + first <= container else None
    if match := _NUMBER.fullmatch(kind):
        return _number(match[1], int(match[2]))
    if (match := _ARRAY.fullmatch(kind)) and (element := _NUMBER.fullmatch(match[1])):
        number = _number(element[1], int(element[2]))
        return number._replace(declared=f"{number.declared}[{match[2]}]", elements=int(match[2]))
    return None


def _number(sign: str, bits: int) -> StoredType:
    conversion = {"u": "%{}u", "s": "%{}d", "x": "0x%{}x"}[sign].format("L" if bits == 64 else "")
    return StoredType(f"{'s' if sign == 's' else 'u'}{bits}", bits // 8, conversion, signed=sign == "s")


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Fields of a record, each at its own alignment."""

    fields: tuple[StoredField, ...]
    size: int
    """Bytes of a record, a multiple of 8."""

    @classmethod
    def of(cls, types: Sequence[tuple[str, StoredType]]) -> RecordLayout:
        """Return the layout of fields by name and type, in their order."""
        at, fields = RECORD_DATA, []
        for name, kind in types:
            alignment = 8 if kind.declared.startswith("char[") else kind.size
            at = -(-at // alignment) * alignment
            fields.append(StoredField(name, kind, at))
            at += kind.size * kind.elements
        return cls(tuple(fields), -(-at // 8) * 8)

    def format_text(self, event: str, number: int, size: int) -> str:
        """Return the text of the event's format file, as the kernel would write it.

        Args:
            event: name of the event.
            number: its id.
            size: bytes of the records in its ring buffer, which other events may share.
        """
        shift = event_shift(size)
        fields = [
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
            "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;",
            "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;",
            "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;",
            f"\tfield:unsigned int {FAULTS_FIELD};\toffset:{FAULTS + shift};\tsize:4;\tsigned:0;",
            "",
            *(_field_line(one, shift) for one in self.fields),
        ]
        return f"name: {event}\nID: {number}\nformat:\n" + "\n".join(fields) + f"\n\nprint fmt: {self._print_fmt()}\n"

    def _print_fmt(self) -> str:
        places = [one for one in self.fields if one.name.startswith("__probe_")]
        own = [one for one in self.fields if one not in places]
        head = ["(" + " <- ".join(one.type.conversion for one in places) + ")"] if places else []
        words = [f"{one.name}={_conversions(one.type)}" for one in own]
        values = [f"REC->{one.name}" for one in places]
        for one in own:
            count = one.type.elements
            values += [f"REC->{one.name}"] if count == 1 else [f"REC->{one.name}[{n}]" for n in range(count)]
        return f'"{" ".join([*head, *words])}", {", ".join(values)}'


def _conversions(kind: StoredType) -> str:
    return kind.conversion if kind.elements == 1 else "{" + ",".join([kind.conversion] * kind.elements) + "}"


def _field_line(one: StoredField, shift: int) -> str:
    base, bracket, count = one.type.declared.partition("[")
    size = one.type.size * one.type.elements
    declared = f"{base} {one.name}{bracket}{count}"
    return f"\tfield:{declared};\toffset:{one.offset + shift};\tsize:{size};\tsigned:{int(one.type.signed)};"
