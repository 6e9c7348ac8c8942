"""Find the canonical frame address at an instruction, from call frame information: .debug_frame, or .eh_frame.

One row of one function is wanted of some ten thousand, so that others are passed by their lengths. DWARF 5 6.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from btf.debug.dwarf import ByteSource, DwarfError, unsigned_leb
from btf.debug.parts import DebugSection, WorkBound

FRAME_SECTIONS: Final = (".debug_frame", ".eh_frame")
_ADVANCE, _OFFSET, _RESTORE = 0x40, 0x80, 0xC0
_ADVANCES: Final = {0x02: 1, 0x03: 2, 0x04: 4}
"""Bytes of the operands of DW_CFA_advance_loc*."""
_SKIPPED = {0x00: 0, 0x05: 2, 0x06: 1, 0x07: 1, 0x08: 1, 0x09: 2, 0x11: 2, 0x14: 2, 0x15: 2}
_SKIPPED |= {0x2D: 0, 0x2E: 1, 0x2F: 2}
"""Operands, each a LEB128, of instructions DW_CFA_* about other registers."""
_REMEMBER, _RESTORE_STATE, _DEF_CFA, _DEF_CFA_REGISTER, _DEF_CFA_OFFSET = 0x0A, 0x0B, 0x0C, 0x0D, 0x0E
_DEF_CFA_EXPRESSION, _EXPRESSION, _VAL_EXPRESSION, _DEF_CFA_SF, _DEF_CFA_OFFSET_SF = 0x0F, 0x10, 0x16, 0x12, 0x13
_PC_RELATIVE: Final = 0x10
_WIDTHS: Final = {0x00: (8, False), 0x03: (4, False), 0x04: (8, False), 0x0B: (4, True), 0x0C: (8, True)}
"""Bytes and sign of encoded pointers DW_EH_PE_*."""


class FrameAddress(NamedTuple):
    """Canonical frame address: what a register has, and a number of bytes."""

    register: int
    """Number in DWARF; -1: another rule, such as an expression."""
    offset: int


class _Common(NamedTuple):
    """Common information of several functions (a CIE)."""

    code_factor: int
    data_factor: int
    encoding: int
    """Encoding of addresses."""
    has_augmentation: bool
    program: tuple[int, int]
    """Beginning and end of its instructions."""


def frame_address_at(
    parts: Mapping[str, DebugSection], starts: Mapping[str, int], address: int, work: WorkBound
) -> FrameAddress | None:
    """Return the canonical frame address at an instruction; None: no section has it.

    `parts`: sections by name; `starts`: their addresses. Raises DwarfError, IndexError.
    """
    for name in FRAME_SECTIONS:
        if (part := parts.get(name)) is not None:
            found = _Section(part, starts.get(name, 0), name == ".eh_frame", work).find(address)
            if found is not None:
                return found
    return None


class _Section:
    def __init__(self, data: ByteSource, start: int, is_eh: bool, work: WorkBound) -> None:
        self._data, self._start, self._is_eh, self._work = data, start, is_eh, work
        self._known: dict[int, _Common] = {}

    def find(self, address: int) -> FrameAddress | None:
        """Return the frame address at an instruction."""
        at, data = 0, self._data
        while at + 8 <= len(data):
            self._work.take(1)
            length, identity = (int.from_bytes(data[i : i + 4], "little") for i in (at, at + 4))
            end = at + 4 + length
            if length == 0:
                at += 4
                continue
            if length >= 0xFFFFFFF0 or length < 4 or end > len(data):
                raise DwarfError(f"call frame information of an unknown kind at {at:#x}")
            if identity != (0 if self._is_eh else 0xFFFFFFFF):
                common = self._common(at + 4 - identity if self._is_eh else identity)
                first, place = self._pointer(at + 8, common.encoding)
                size, place = self._pointer(place, common.encoding & ~_PC_RELATIVE)
                if first <= address < first + size:
                    return self._row(common, first, (place, end), address)
            at = end
        return None

    def _common(self, at: int) -> _Common:
        """Return the common information at an offset. Raises DwarfError."""
        if at in self._known:
            return self._known[at]
        data = self._data
        if not 0 <= at <= len(data) - 12:
            raise DwarfError(f"no common information at {at:#x}")
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        version, at_text = data[at + 8], at + 9
        text = bytes(data[at_text : at_text + 8]).partition(b"\0")[0]
        at_next = at_text + len(text) + 1
        if version not in (1, 3, 4) or (text and not text.startswith(b"z")):
            raise DwarfError(f"call frame information of an unknown kind at {at:#x}")
        if version == 4:
            at_next += 2  # sizes of addresses and of segments
        code_factor, at_next = unsigned_leb(data, at_next)
        data_factor, at_next = _signed_leb(data, at_next)
        at_next = at_next + 1 if version == 1 else unsigned_leb(data, at_next)[1]
        encoding = 0
        if text:
            size, at_next = unsigned_leb(data, at_next)
            encoding = self._encoding(text[1:], at_next)
            at_next += size
        found = self._known[at] = _Common(code_factor, data_factor, encoding, bool(text), (at_next, end))
        return found

    def _encoding(self, letters: bytes, at: int) -> int:
        """Return the encoding of addresses among the data of an augmentation."""
        for letter in letters.decode("latin-1"):
            if letter == "R":
                return self._data[at]
            if letter == "L":
                at += 1
            elif letter == "P":
                at = self._pointer(at + 1, self._data[at] & 0x0F)[1]
            elif letter not in "SBG":
                raise DwarfError(f"call frame information with an unknown augmentation {letter!r}")
        return 0

    def _pointer(self, at: int, encoding: int) -> tuple[int, int]:
        """Return an encoded pointer and its end."""
        if encoding & 0x0F not in _WIDTHS or encoding & 0x70 not in (0, _PC_RELATIVE):
            raise DwarfError(f"an address of an unknown encoding {encoding:#x}")
        size, is_signed = _WIDTHS[encoding & 0x0F]
        value = int.from_bytes(self._data[at : at + size], "little", signed=is_signed)
        base = self._start + at if encoding & _PC_RELATIVE else 0
        return (base + value) & (1 << 64) - 1, at + size

    def _row(self, common: _Common, first: int, program: tuple[int, int], address: int) -> FrameAddress:
        at, end = program
        if common.has_augmentation:
            size, at = unsigned_leb(self._data, at)
            at += size
        rules = _Rules(common, first, address)
        rules.run(self._data, *common.program)
        rules.run(self._data, at, end)
        return rules.frame


class _Rules:
    """The rules of a function, up to an instruction."""

    def __init__(self, common: _Common, first: int, address: int) -> None:
        self._common, self._location, self._address = common, first, address
        self.frame = FrameAddress(-1, 0)
        self._kept: list[FrameAddress] = []

    def run(self, data: ByteSource, at: int, end: int) -> None:
        """Follow the instructions from an offset to an end, or to those of later code."""
        while at < end and self._location <= self._address:
            code, at = data[at], at + 1
            if code & 0xC0:
                if code & 0xC0 == _ADVANCE:
                    if not self._advance(code & 0x3F):
                        return
                elif code & 0xC0 == _OFFSET:
                    at = unsigned_leb(data, at)[1]
            elif code in _ADVANCES:
                if not self._advance(int.from_bytes(data[at : at + _ADVANCES[code]], "little")):
                    return
                at += _ADVANCES[code]
            elif code in _SKIPPED:
                for _ in range(_SKIPPED[code]):
                    at = unsigned_leb(data, at)[1]
            else:
                at = self._define(code, data, at)

    def _advance(self, delta: int) -> bool:
        """Go on to other code; return False where it is behind the instruction."""
        self._location += delta * self._common.code_factor
        return self._location <= self._address

    def _define(self, code: int, data: ByteSource, at: int) -> int:
        """Follow an instruction about the frame address; return its end."""
        if code == _REMEMBER:
            self._kept.append(self.frame)
        elif code == _RESTORE_STATE:
            self.frame = self._kept.pop()
        elif code in (_DEF_CFA, _DEF_CFA_SF):
            register, at = unsigned_leb(data, at)
            offset, at = unsigned_leb(data, at) if code == _DEF_CFA else self._factored(data, at)
            self.frame = FrameAddress(register, offset)
        elif code == _DEF_CFA_REGISTER:
            register, at = unsigned_leb(data, at)
            self.frame = self.frame._replace(register=register)
        elif code in (_DEF_CFA_OFFSET, _DEF_CFA_OFFSET_SF):
            offset, at = unsigned_leb(data, at) if code == _DEF_CFA_OFFSET else self._factored(data, at)
            self.frame = self.frame._replace(offset=offset)
        elif code in (_DEF_CFA_EXPRESSION, _EXPRESSION, _VAL_EXPRESSION):
            if code == _DEF_CFA_EXPRESSION:
                self.frame = FrameAddress(-1, 0)
            else:
                at = unsigned_leb(data, at)[1]
            size, at = unsigned_leb(data, at)
            at += size
        else:
            raise DwarfError(f"an unknown instruction {code:#x} of call frame information")
        return at

    def _factored(self, data: ByteSource, at: int) -> tuple[int, int]:
        offset, at = _signed_leb(data, at)
        return offset * self._common.data_factor, at


def _signed_leb(data: ByteSource, at: int) -> tuple[int, int]:
    """Decode a signed LEB128; return it and its end."""
    value, end = unsigned_leb(data, at)
    return value - (1 << 7 * (end - at) if data[end - 1] & 0x40 else 0), end
