"""Tell why the kernel leaves a kprobe a breakpoint: can_optimize and copy_optimized_instructions on x86-64.

Rules that need more than the code, such as exception tables, are left to the kernel: it may optimise fewer places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from probes.code.body import FunctionBody, Instruction, InstructionKind

JUMP_BYTES: Final = 5
"""Bytes of the jump that takes the place of the breakpoint (JMP32_INSN_SIZE)."""


def optimisation_refusal(body: FunctionBody, offset: int) -> str:
    """Return why a kprobe at an offset of a function is not optimised, in a line; empty: nothing known is against it.

    The jump overwrites whole instructions, which run elsewhere then: no call can, and nothing may jump between them.
    """
    part = body.parts[0]
    if part.size - offset < JUMP_BYTES:
        return f"less than {JUMP_BYTES} bytes of the function are left there, which a jump takes"
    covered = list(_covered(part.instructions, offset))
    if call := next((one for one in covered if one.kind is InstructionKind.CALL), None):
        return f"the jump would overwrite the call at +{call.offset:#x}, which can't run elsewhere"
    if left := next((one for one in covered[:-1] if one.kind is not InstructionKind.OTHER), None):
        return f"the jump would overwrite code behind +{left.offset:#x}, where the function jumps or returns"
    inside = range(part.address + offset + 1, part.address + offset + JUMP_BYTES)
    for _, one in body.instructions():
        if one.kind is InstructionKind.JUMP and one.target in inside:
            return f"the code at +{one.offset:#x} jumps between the instructions that a jump would overwrite"
    return ""


def _covered(instructions: tuple[Instruction, ...], offset: int) -> Iterator[Instruction]:
    """Yield the instructions that the jump at an offset overwrites in whole or in part."""
    for one in instructions:
        if offset <= one.offset < offset + JUMP_BYTES:
            yield one


def kprobe_offsets(body: FunctionBody, *, optimised: bool) -> list[int]:
    """Return the offsets of instructions that every call runs, which take a kprobe that is optimised, or never is.

    The first instruction, and those that branch, are left out.
    """
    found = []
    for one in body.parts[0].instructions:
        if one.kind not in (InstructionKind.OTHER, InstructionKind.CALL):
            break
        if one.kind is InstructionKind.CALL or not one.offset or one.refusal:
            continue
        if optimised is not bool(optimisation_refusal(body, one.offset)):
            found.append(one.offset)
    return found
