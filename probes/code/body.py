"""Represent a function's code as values: instructions with named targets, and the parts of a function."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from btf.debug.dwarf import SourceLine
from probes.probe import ProbePlace


class InstructionKind(enum.StrEnum):
    """Effect of an instruction on the flow of control."""

    CALL = "call"
    JUMP = "jump"
    """Jump within the function, also into a part that the compiler split off."""
    TAIL_CALL = "tail call"
    """Jump out of the function, to code that returns to the caller in its place."""
    RETURN = "return"
    OTHER = "other"


class Instruction(NamedTuple):
    """One decoded instruction."""

    offset: int
    """Bytes from the beginning of its part of the function."""
    code: bytes
    """Encoded bytes, without breakpoints and jumps of kprobes."""
    mnemonic: str
    operands: str = ""
    """Operands in the syntax of objdump (AT&T on x86-64)."""
    kind: InstructionKind = InstructionKind.OTHER
    target: int | None = None
    """Address that is branched to, or that a PC-relative operand means; None: none is encoded."""
    target_name: str = ""
    """Symbol and offset of the target: `fdput`, `vfs_read+0x40`; empty: no symbol is there."""
    refusal: str = ""
    """Reason why the kernel takes no kprobe there, in a line; empty: it takes one."""
    source: SourceLine | None = None
    """Line of source code that it was made from; None: not known."""
    is_indirect: bool = False
    """True for a call or jump to an address that is in a register or in memory."""
    is_conditional: bool = False
    """True for a jump that is not always taken."""

    @property
    def text(self) -> str:
        """Mnemonic and operands."""
        return f"{self.mnemonic} {self.operands}".rstrip()

    @property
    def leaves(self) -> bool:
        """True for a return or a tail call."""
        return self.kind in (InstructionKind.RETURN, InstructionKind.TAIL_CALL)


class CodePart(NamedTuple):
    """Contiguous code of a function: the function itself, or a part split off by the compiler (`name.cold`)."""

    name: str
    """Symbol of the part."""
    place: ProbePlace
    """First instruction, as a kprobe names it: by another symbol, or by its address, where the name repeats."""
    address: int
    size: int
    """Bytes up to the next symbol, padding behind the last instruction left out."""
    instructions: tuple[Instruction, ...]

    def place_at(self, offset: int) -> str:
        """Return a place in the part as a kprobe names it: `vfs_read+0x1f`, `_text+4711`, `0xffffffff81234567`."""
        if self.place.base is not None or not offset:
            return replace(self.place, offset=offset).kernel_text
        if self.place.symbol == self.name:
            return f"{self.place.kernel_text}+{offset:#x}"
        return f"{self.address + offset:#x}"

    def __contains__(self, address: object) -> bool:
        """Return whether an address lies in the part."""
        return isinstance(address, int) and self.address <= address < self.address + self.size


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """Code of one function as the kernel runs it."""

    name: str
    module: str
    """Name of the module that has the function; empty: the kernel itself."""
    machine: str
    """`uname -m`."""
    parts: tuple[CodePart, ...]
    """The function, then the parts that were split off."""
    refusal: str = ""
    """Reason why no instruction of the function takes a kprobe, in a line; empty: some may."""
    notes: tuple[str, ...] = ()
    """Limits of what is shown, each in a line: a table of the kernel that can't be read, code that is not decoded."""

    def instructions(self) -> Iterator[tuple[CodePart, Instruction]]:
        """Yield each instruction with its part, in order of the parts and of addresses."""
        for part in self.parts:
            for instruction in part.instructions:
                yield part, instruction

    def label(self, part: CodePart, offset: int) -> str:
        """Return a place within the function: `+0x1f`, or `.cold+0x1f` in a part that was split off."""
        return f"{part.name.removeprefix(self.name)}+{offset:#x}"
