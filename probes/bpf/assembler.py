"""Assemble a BPF program: one method for each instruction, labels for jumps forward."""

from __future__ import annotations

from probes.bpf.instructions import (
    ALU64,
    ATOMIC,
    CALL,
    EXCHANGE,
    EXIT,
    FRAME_POINTER,
    FROM_IMMEDIATE,
    FROM_REGISTER,
    JMP,
    JUMP,
    LDX,
    LOAD_IMMEDIATE,
    MEM,
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


class JumpLabel:
    """Place in a program that jumps name before it is known."""


class Assembler:
    """Program under construction. Registers are numbers: 0 the result of calls, 1 to 5 their arguments, which a call
    destroys, 6 to 9 kept across calls, 10 the end of the stack.
    """

    def __init__(self) -> None:
        self._program: list[BpfInstruction] = []
        self._jumps: list[tuple[int, JumpLabel]] = []
        self._places: dict[JumpLabel, int] = {}

    def program(self) -> tuple[BpfInstruction, ...]:
        """Return the program, with the distance of each jump. Raises KeyError for a label that was not placed."""
        slots = [0]
        for instruction in self._program:
            slots.append(slots[-1] + instruction.slots)
        program = list(self._program)
        for at, label in self._jumps:
            program[at] = program[at]._replace(offset=slots[self._places[label]] - slots[at + 1])
        return tuple(program)

    def place(self, label: JumpLabel) -> None:
        """Let a label stand for the next instruction."""
        self._places[label] = len(self._program)

    def move(self, target: int, source: int) -> None:
        """Copy a register."""
        self._add(ALU64 | AluOperation.MOV | FROM_REGISTER, target, source)

    def constant(self, target: int, number: int) -> None:
        """Set a register to a number of up to 64 bits."""
        if -(1 << 31) <= number < 1 << 31:
            self._add(ALU64 | AluOperation.MOV | FROM_IMMEDIATE, target, immediate=number)
        else:
            self._add(LOAD_IMMEDIATE, target, AddressKind.NUMBER, immediate=number & (1 << 64) - 1)

    def stack_address(self, target: int, offset: int) -> None:
        """Set a register to an address on the stack; the offset from its end is negative."""
        self.move(target, FRAME_POINTER)
        self.alu(AluOperation.ADD, target, offset)

    def map(self, target: int, role: MapRole) -> None:
        """Set a register to a map."""
        self._add(LOAD_IMMEDIATE, target, AddressKind.MAP, immediate=role)

    def map_value(self, target: int, role: MapRole) -> None:
        """Set a register to the address of the only element of an array."""
        self._add(LOAD_IMMEDIATE, target, AddressKind.MAP_VALUE, immediate=role)

    def alu(self, operation: AluOperation, target: int, number: int) -> None:
        """Change a register by a number of 32 bits, which the kernel extends by its sign."""
        self._add(ALU64 | operation | FROM_IMMEDIATE, target, immediate=number)

    def add(self, target: int, source: int) -> None:
        """Add a register to another."""
        self._add(ALU64 | AluOperation.ADD | FROM_REGISTER, target, source)

    def load(self, target: int, address: int, offset: int, size: int) -> None:
        """Read 1, 2, 4 or 8 bytes at a register's address into a register, without a sign."""
        self._add(LDX | MEM | SIZES[size], target, address, offset)

    def store(self, address: int, offset: int, source: int, size: int) -> None:
        """Write the low bytes of a register to an address."""
        self._add(STX | MEM | SIZES[size], address, source, offset)

    def store_constant(self, address: int, offset: int, number: int, size: int) -> None:
        """Write a number of 32 bits, extended by its sign, to an address."""
        self._add(ST | MEM | SIZES[size], address, 0, offset, number)

    def add_in_memory(self, address: int, offset: int, source: int) -> None:
        """Add a register to the 8 bytes at an address, atomically."""
        self._add(STX | ATOMIC | SIZES[8], address, source, offset, AluOperation.ADD)

    def exchange_in_memory(self, address: int, offset: int, source: int) -> None:
        """Exchange a register with the 8 bytes at an address, atomically."""
        self._add(STX | ATOMIC | SIZES[8], address, source, offset, EXCHANGE)

    def call(self, helper: Helper) -> None:
        """Call a function of the kernel."""
        self._add(CALL, immediate=helper)

    def call_kernel_function(self, btf_type: int) -> None:
        """Call a kfunc, by the id of its FUNC in the kernel's BTF."""
        self._add(CALL, source=AddressKind.KERNEL_FUNCTION, immediate=btf_type)

    def exit(self, result: int = 0) -> None:
        """Return a number to the kernel."""
        self.constant(0, result)
        self._add(EXIT)

    def exit_with(self, source: int) -> None:
        """Return a register to the kernel."""
        self.move(0, source)
        self._add(EXIT)

    def jump(self, label: JumpLabel) -> None:
        """Continue at a label."""
        self._jumps.append((len(self._program), label))
        self._add(JUMP)

    def jump_always(self, label: JumpLabel, *, never: bool = False) -> None:
        """Continue at a label, or never, but let both ways look possible: the verifier rejects programs with
        instructions that no jump leads to. Register 3 is destroyed.
        """
        self.constant(3, int(never))
        self.jump_if(JumpCondition.EQ, 3, 0, label)

    def jump_if(self, condition: JumpCondition, register: int, number: int, label: JumpLabel) -> None:
        """Continue at a label where a register compares so with a number of 32 bits, extended by its sign."""
        self._jumps.append((len(self._program), label))
        self._add(JMP | condition | FROM_IMMEDIATE, register, immediate=number)

    def jump_if_registers(self, condition: JumpCondition, register: int, other: int, label: JumpLabel) -> None:
        """Continue at a label where a register compares so with another."""
        self._jumps.append((len(self._program), label))
        self._add(JMP | condition | FROM_REGISTER, register, other)

    def _add(self, code: int, target: int = 0, source: int = 0, offset: int = 0, immediate: int = 0) -> None:
        self._program.append(BpfInstruction(code, target, source, offset, immediate))
