"""A small machine that runs BPF programs: registers, one memory, and helpers as Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from probes.bpf.instructions import (
    ALU64,
    ATOMIC,
    CALL,
    EXCHANGE,
    EXIT,
    FROM_REGISTER,
    JMP,
    JUMP,
    LDX,
    LOAD_IMMEDIATE,
    SIZES,
    ST,
    STX,
    AddressKind,
    AluOperation,
    BpfInstruction,
    Helper,
    JumpCondition,
)

WORD = (1 << 64) - 1
STACK, STACK_BYTES = 0x1000, 512
_BYTES = {code: size for size, code in SIZES.items()}
_ALU: Mapping[int, Callable[[int, int], int]] = {
    AluOperation.ADD: lambda a, b: a + b,
    AluOperation.SUB: lambda a, b: a - b,
    AluOperation.MUL: lambda a, b: a * b,
    AluOperation.OR: lambda a, b: a | b,
    AluOperation.AND: lambda a, b: a & b,
    AluOperation.LSH: lambda a, b: a << (b & 63),
    AluOperation.RSH: lambda a, b: a >> (b & 63),
    AluOperation.XOR: lambda a, b: a ^ b,
    AluOperation.MOV: lambda _, b: b,
    AluOperation.ARSH: lambda a, b: signed(a) >> (b & 63),
}
_COMPARISONS: Mapping[int, Callable[[int, int], bool]] = {
    JumpCondition.EQ: lambda a, b: a == b,
    JumpCondition.NE: lambda a, b: a != b,
    JumpCondition.GT: lambda a, b: a > b,
    JumpCondition.GE: lambda a, b: a >= b,
    JumpCondition.LT: lambda a, b: a < b,
    JumpCondition.LE: lambda a, b: a <= b,
    JumpCondition.SET: lambda a, b: bool(a & b),
    JumpCondition.SGT: lambda a, b: signed(a) > signed(b),
    JumpCondition.SGE: lambda a, b: signed(a) >= signed(b),
    JumpCondition.SLT: lambda a, b: signed(a) < signed(b),
    JumpCondition.SLE: lambda a, b: signed(a) <= signed(b),
}


def signed(number: int) -> int:
    """Return a register as a signed number."""
    return number - (1 << 64) if number >> 63 else number


def _check_reachable(slots: Sequence[BpfInstruction | None]) -> None:
    """Look at each instruction once, as the verifier does first (check_cfg in kernel/bpf/verifier.c)."""
    seen, pending = set[int](), [0]
    while pending:
        at = pending.pop()
        slot = slots[at]
        if at in seen or slot is None:
            continue
        seen.add(at)
        following = at + slot.slots
        is_jump = slot.code & 7 == JMP and slot.code not in (CALL, EXIT)
        pending += [following + slot.offset] if is_jump else []
        pending += [following] if slot.code not in (JUMP, EXIT) else []
    left = [at for at, slot in enumerate(slots) if slot is not None and at not in seen]
    assert not left, f"unreachable: {left}"


class BpfMachine:
    """Memory by address, registers, and helpers, which take the machine and return register 0."""

    def __init__(
        self,
        helpers: Mapping[Helper, Callable[[BpfMachine], int]],
        kernel_functions: Mapping[int, Callable[[BpfMachine], int]] | None = None,
    ) -> None:
        self.helpers = helpers
        self.kernel_functions = kernel_functions or {}
        self.registers = [0] * 11
        self.memory: dict[int, int] = dict.fromkeys(range(STACK - STACK_BYTES, STACK), 0xAA)

    def read(self, address: int, size: int) -> int:
        return int.from_bytes(bytes(self.memory[address + at] for at in range(size)), "little")

    def write(self, address: int, data: bytes) -> None:
        self.memory |= {address + at: byte for at, byte in enumerate(data)}

    def run(self, program: Sequence[BpfInstruction]) -> int:
        """Run a program to its end; return its result."""
        slots: list[BpfInstruction | None] = []
        for instruction in program:
            slots += [instruction, *[None] * (instruction.slots - 1)]
        _check_reachable(slots)
        registers, at = self.registers, 0
        registers[10] = STACK
        while True:
            slot = slots[at]
            assert slot is not None, "a jump into the middle of an instruction"
            code, target, source, offset, immediate = slot
            at += slot.slots
            operand = registers[source] if code & FROM_REGISTER else immediate & WORD
            if code == EXIT:
                return registers[0]
            if code == LOAD_IMMEDIATE:
                registers[target] = immediate & WORD
            elif code == CALL:
                is_kfunc = source == AddressKind.KERNEL_FUNCTION
                called = self.kernel_functions[immediate] if is_kfunc else self.helpers[Helper(immediate)]
                registers[0] = called(self) & WORD
                registers[1:6] = [0xBAD] * 5  # a call destroys them
            elif code == JUMP:
                at += offset
            elif code & 7 == JMP:
                at += offset if _COMPARISONS[code & 0xF0](registers[target], operand) else 0
            elif code & 7 == ALU64:
                registers[target] = _ALU[code & 0xF0](registers[target], operand) & WORD
            else:
                self._move(code, target, source, offset, immediate)

    def _move(self, code: int, target: int, source: int, offset: int, immediate: int) -> None:
        registers, size = self.registers, _BYTES[code & 0x18]
        if code & 7 == LDX:
            registers[target] = self.read(registers[source] + offset & WORD, size)
            return
        address = registers[target] + offset & WORD
        number = immediate & WORD if code & 7 == ST else registers[source]
        if code & 7 == STX and code & 0xE0 == ATOMIC and immediate == EXCHANGE:
            registers[source] = self.read(address, size)
        elif code & 7 == STX and code & 0xE0 == ATOMIC:
            number = number + self.read(address, size) & WORD
        self.write(address, number.to_bytes(8, "little")[:size])
