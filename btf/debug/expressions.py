"""Evaluate location expressions of DWARF, as far as a probe can read what they say: a register, memory that is found
from one, a constant. Documents: DWARF 5 2.5 and 2.6; the numbers of registers are in the ABIs of the machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

from btf.debug.dwarf import unsigned_leb

REGISTERS: Final = {
    "EM_X86_64": ("ax", "dx", "cx", "bx", "si", "di", "bp", "sp", *(f"r{number}" for number in range(8, 16))),
    "EM_AARCH64": (*(f"x{number}" for number in range(31)), "sp"),
}
"""Names of registers as kprobes call them, in the order of their numbers in DWARF, by machine of an ELF file."""
_LONGEST: Final = 1024
"""Maximum bytes of an expression."""
_DEEPEST: Final = 8
"""Maximum reads of memory for one value; kernels take twelve."""
_BITS: Final = 64
_FIXED = {0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True)}
_FIXED |= {0x0C: (4, False), 0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True)}
"""Bytes and sign of the operands of DW_OP_const*."""
_ADDR, _DEREF, _CONSTU, _CONSTS, _AND, _MINUS, _PLUS, _PLUS_UCONST = 0x03, 0x06, 0x10, 0x11, 0x1A, 0x1C, 0x22, 0x23
_LIT0, _REG0, _BREG0, _REGX, _FBREG, _BREGX = 0x30, 0x50, 0x70, 0x90, 0x91, 0x92
_PIECE, _DEREF_SIZE, _NOP, _CALL_FRAME_CFA, _BIT_PIECE = 0x93, 0x94, 0x96, 0x9C, 0x9D
_IMPLICIT_VALUE, _STACK_VALUE, _ADDRX = 0x9E, 0x9F, 0xA1
_IMPLICIT_POINTERS: Final = (0xA0, 0xF2)
_ENTRY_VALUES: Final = (0xA3, 0xF3)
_CONST_TYPES: Final = (0xA4, 0xF4)
_REGVAL_TYPES: Final = (0xA5, 0xF5)
_DEREF_TYPES: Final = (0xA6, 0xF6)
_CONVERTS: Final = (0xA8, 0xF7)
_PARAMETER_REF: Final = 0xFA

OPTIMISED_OUT: Final = "optimised out"
COMPUTED: Final = "computed of several values, which no fetcharg does"


class NoValue(Exception):
    """Error for a location that no probe can read; its text is the reason."""


class Narrow(NamedTuple):
    """Integer type that a value is reduced to."""

    size: int
    """Bytes."""
    is_signed: bool


class Value(NamedTuple):
    """Value as a chain of reads: a base, to which an offset is added; memory there, and another offset; and so on."""

    register: str
    """Name of the register that is the base; empty: there is none, and the first offset is a number of its own."""
    offsets: tuple[int, ...]
    """Offset added to the base, then one to what is read at each address; 0 last for what is only read."""
    is_address: bool = False
    """True if the first offset is an address as the file was linked."""
    narrow: Narrow | None = None
    """Type that the value is reduced to; None: all bytes are of it."""

    def plus(self, number: int) -> Value:
        """Return the value with a number added."""
        if self.narrow is not None:
            raise NoValue(COMPUTED)
        return self._replace(offsets=(*self.offsets[:-1], _signed(self.offsets[-1] + number)))

    def read(self, narrow: Narrow | None = None) -> Value:
        """Return what is in memory at the value."""
        if self.narrow is not None:
            raise NoValue(COMPUTED)
        return self._replace(offsets=(*self.offsets, 0), narrow=narrow)

    @property
    def constant(self) -> int | None:
        """The number, if it is a constant."""
        is_number = not self.register and not self.is_address and len(self.offsets) == 1 and self.narrow is None
        return self.offsets[0] if is_number else None


class Surroundings(NamedTuple):
    """Answers that an expression needs; each may raise NoValue."""

    registers: tuple[str, ...]
    frame_base: Callable[[], Value]
    frame_address: Callable[[], Value]
    """Returns the canonical frame address (DW_OP_call_frame_cfa)."""
    base_type: Callable[[int], Narrow | None]
    """Returns the integer type at an offset in the unit; None: no type, which is an address."""
    address: Callable[[int], int]
    """Returns the address of a number in .debug_addr."""

    def register(self, number: int) -> str:
        """Return the name of a register."""
        if number >= len(self.registers):
            raise NoValue(f"in register {number} of DWARF, which no probe reads")
        return self.registers[number]


def evaluate(code: bytes, around: Surroundings, *, is_frame_base: bool = False) -> Value:
    """Return the value of an object with this location. Raises NoValue, DwarfError, IndexError: it is damaged.

    `is_frame_base`: a place in memory is meant itself, not what is there.
    """
    if not code:
        raise NoValue(OPTIMISED_OUT)
    if len(code) > _LONGEST:
        raise NoValue(f"an expression of {len(code)} bytes")
    value, is_in_memory = _Machine(code, around).run()
    value = value.read() if is_in_memory and not is_frame_base else value
    if len(value.offsets) > _DEEPEST:
        raise NoValue(COMPUTED)
    return value


def _signed(number: int) -> int:
    number &= (1 << _BITS) - 1
    return number - (1 << _BITS) if number >> _BITS - 1 else number


class _Machine:
    """The stack machine of one expression."""

    def __init__(self, code: bytes, around: Surroundings) -> None:
        self._code, self._around, self._at = code, around, 0
        self._stack: list[Value] = []

    def run(self) -> tuple[Value, bool]:
        """Return the value at the end, and whether it is the address of the object."""
        while self._at < len(self._code):
            operation = self._code[self._at]
            self._at += 1
            if (found := self._final(operation)) is not None:
                if self._at < len(self._code):
                    self._pieces_or_computed(self._code[self._at])
                return found, False
            self._step(operation)
        return self._pop(), True

    def _final(self, operation: int) -> Value | None:
        """Return the value of an object that is no memory; None: the operation is none that ends an expression."""
        if _REG0 <= operation < _BREG0:
            return self._register(operation - _REG0)
        if operation == _REGX:
            return self._register(self._unsigned())
        if operation == _STACK_VALUE:
            return self._pop()
        if operation == _IMPLICIT_VALUE:
            size = self._unsigned()
            if size > _BITS // 8:
                raise NoValue(f"a constant of {size} bytes")
            return self._number(self._integer(size, is_signed=False))
        return None

    def _step(self, operation: int) -> None:
        """Perform an operation on the stack."""
        if operation in _ENTRY_VALUES:
            raise NoValue(self._entry_reason())
        if operation in (_PIECE, _BIT_PIECE) or operation in _IMPLICIT_POINTERS or operation == _PARAMETER_REF:
            self._pieces_or_computed(operation)
        if operation == _NOP:
            return
        pushed = self._pushed(operation)
        self._stack.append(self._computed(operation) if pushed is None else pushed)

    def _pushed(self, operation: int) -> Value | None:
        """Return the value of an operation that takes nothing off the stack; None: it is another one."""
        around = self._around
        if operation in _FIXED:
            size, is_signed = _FIXED[operation]
            return self._number(self._integer(size, is_signed=is_signed))
        if _LIT0 <= operation < _REG0:
            return self._number(operation - _LIT0)
        if operation in (_CONSTU, _CONSTS):
            return self._number(self._unsigned() if operation == _CONSTU else self._sleb())
        if operation in (_ADDR, _ADDRX):
            address = self._integer(8, is_signed=False) if operation == _ADDR else around.address(self._unsigned())
            return Value("", (address,), is_address=True)
        if _BREG0 <= operation < _REGX:
            return self._register(operation - _BREG0).plus(self._sleb())
        if operation == _BREGX:
            return self._register(self._unsigned()).plus(self._sleb())
        if operation == _FBREG:
            return around.frame_base().plus(self._sleb())
        if operation == _CALL_FRAME_CFA:
            return around.frame_address()
        if operation in _REGVAL_TYPES:
            return self._register(self._unsigned())._replace(narrow=around.base_type(self._unsigned()))
        if operation in _CONST_TYPES:
            narrow = around.base_type(self._unsigned())
            return self._number(self._integer(self._integer(1, is_signed=False), narrow is None or narrow.is_signed))
        return None

    def _computed(self, operation: int) -> Value:
        """Return the value of an operation on those of the stack."""
        if operation == _DEREF:
            return self._pop().read()
        if operation == _DEREF_SIZE:
            return self._pop().read(Narrow(self._integer(1, is_signed=False), is_signed=False))
        if operation in _DEREF_TYPES:
            self._integer(1, is_signed=False)
            return self._pop().read(self._around.base_type(self._unsigned()))
        if operation == _PLUS_UCONST:
            return self._pop().plus(self._unsigned())
        if operation in _CONVERTS:
            return _converted(self._pop(), self._around.base_type(self._unsigned()))
        if operation not in (_PLUS, _MINUS, _AND):
            raise NoValue(COMPUTED)
        last, first = self._pop(), self._pop()
        if operation == _PLUS and first.constant is not None:
            first, last = last, first
        if (number := last.constant) is None:
            raise NoValue(COMPUTED)
        if operation == _AND:
            return _masked(first, number)
        return first.plus(number if operation == _PLUS else -number)

    def _pieces_or_computed(self, operation: int) -> NoReturn:
        if operation in (_PIECE, _BIT_PIECE):
            raise NoValue("in pieces, each in a place of its own")
        if operation in _IMPLICIT_POINTERS:
            raise NoValue("a pointer that was optimised out; the compiler kept what it points to")
        raise NoValue(COMPUTED)

    def _entry_reason(self) -> str:
        """Return the reason why a value that a register had at the function's entry can't be read."""
        size = self._unsigned()
        block = self._code[self._at : self._at + size]
        self._at += size
        had = "a register"
        if block and _REG0 <= block[0] < _BREG0:
            had = f"%{self._around.register(block[0] - _REG0)}"
        is_alone = not self._stack and self._code[self._at :] == bytes([_STACK_VALUE])
        what = "what" if is_alone else "computed from what"
        return f"{what} {had} had at the function's entry, which is not kept: probe it there"

    def _register(self, number: int) -> Value:
        return Value(self._around.register(number), (0,))

    def _number(self, number: int) -> Value:
        return Value("", (_signed(number),))

    def _pop(self) -> Value:
        if not self._stack:
            raise NoValue("an expression that makes no sense")
        return self._stack.pop()

    def _unsigned(self) -> int:
        number, self._at = unsigned_leb(self._code, self._at)
        return number

    def _sleb(self) -> int:
        start = self._at
        number = self._unsigned()
        return number - (1 << 7 * (self._at - start) if self._code[self._at - 1] & 0x40 else 0)

    def _integer(self, size: int, is_signed: bool) -> int:
        data = self._code[self._at : self._at + size]
        if len(data) < size:
            raise NoValue("an expression without its end")
        self._at += size
        return int.from_bytes(data, "little", signed=is_signed)


def _masked(value: Value, mask: int) -> Value:
    """Return the lowest bytes of a value."""
    for size in (1, 2, 4):
        if mask & (1 << _BITS) - 1 == (1 << 8 * size) - 1:
            return _converted(value, Narrow(size, is_signed=False))
    raise NoValue(COMPUTED)


def _converted(value: Value, narrow: Narrow | None) -> Value:
    """Return a value as another integer type; what was reduced already stays so, unless it becomes smaller."""
    size = narrow.size if narrow is not None else _BITS // 8
    if narrow is None or (value.narrow is not None and value.narrow.size < size) or size >= _BITS // 8:
        return value
    return value._replace(narrow=narrow)
