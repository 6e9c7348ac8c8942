"""Print BPF programs for reading, one line for each instruction, in the notation of the kernel's verifier."""

from __future__ import annotations

from collections.abc import Sequence

from foreign.count_text import counted
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
    MapRole,
)
from probes.bpf.program import BpfProgram, counter_stride
from probes.bpf.program_writer import assembled

_ALU = {
    AluOperation.ADD: "+=",
    AluOperation.SUB: "-=",
    AluOperation.MUL: "*=",
    AluOperation.OR: "|=",
    AluOperation.AND: "&=",
    AluOperation.LSH: "<<=",
    AluOperation.RSH: ">>=",
    AluOperation.XOR: "^=",
    AluOperation.MOV: "=",
    AluOperation.ARSH: "s>>=",
}
_COMPARISONS = {
    JumpCondition.EQ: "==",
    JumpCondition.GT: ">",
    JumpCondition.GE: ">=",
    JumpCondition.SET: "&",
    JumpCondition.NE: "!=",
    JumpCondition.SGT: "s>",
    JumpCondition.SGE: "s>=",
    JumpCondition.LT: "<",
    JumpCondition.LE: "<=",
    JumpCondition.SLT: "s<",
    JumpCondition.SLE: "s<=",
}
_BITS = {code: size * 8 for size, code in SIZES.items()}


def listing(program: BpfProgram) -> list[str]:
    """Return the lines of a program: its place, then its instructions."""
    count = len(program.functions)
    where = program.functions[0] if count == 1 else counted(count, "function")
    if program.memory is not None:
        where = str(program.memory)
    return [
        f"{program.point.value} on {where}, {program.size} bytes a record:",
        *disassembled(assembled(program, (), 1, counter_stride(1))),
    ]


def disassembled(program: Sequence[BpfInstruction]) -> list[str]:
    """Return a line for each instruction: its slot and its text; jumps name the slot they go to."""
    lines, slot = [], 0
    for instruction in program:
        lines.append(f"{slot:3}: {_text(instruction, slot + instruction.slots)}")
        slot += instruction.slots
    return lines


def _text(instruction: BpfInstruction, following: int) -> str:
    code, target, source, offset, immediate = instruction
    if code == LOAD_IMMEDIATE:
        return f"r{target} = {_address(AddressKind(source), immediate)}"
    if code == CALL:
        return (
            f"call kfunc#{immediate}"
            if source == AddressKind.KERNEL_FUNCTION
            else f"call {Helper(immediate).name.lower()}"
        )
    if code == EXIT:
        return "exit"
    if code == JUMP:
        return f"goto {following + offset}"
    operand = f"r{source}" if code & FROM_REGISTER else str(immediate)
    kind = code & 0x07
    if kind == JMP:
        return f"if r{target} {_COMPARISONS[JumpCondition(code & 0xF0)]} {operand} goto {following + offset}"
    if kind == ALU64:
        return f"r{target} {_ALU[AluOperation(code & 0xF0)]} {operand}"
    memory = f"*(u{_BITS[code & 0x18]} *)(r{source if kind == LDX else target} {offset:+})"
    if kind == LDX:
        return f"r{target} = {memory}"
    if kind == ST:
        return f"{memory} = {immediate}"
    if kind == STX and code & 0xE0 == ATOMIC:
        return f"r{source} = xchg({memory}, r{source})" if immediate == EXCHANGE else f"lock {memory} += r{source}"
    return f"{memory} = r{source}"


def _address(kind: AddressKind, immediate: int) -> str:
    if kind is AddressKind.NUMBER:
        return hex(immediate)
    name = MapRole(immediate).name.lower()
    return f"map {name}" if kind is AddressKind.MAP else f"value of map {name}"
