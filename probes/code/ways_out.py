"""Find the instructions by which a call of a function ends: returns, and jumps to code that returns in its place."""

from __future__ import annotations

from typing import NamedTuple

from foreign.count_text import counted
from probes.code.body import CodePart, FunctionBody, Instruction, InstructionKind


class WayOut(NamedTuple):
    """Instruction by which a call ends."""

    part: CodePart
    instruction: Instruction

    @property
    def place(self) -> str:
        """Place as a kprobe names it."""
        return self.part.place_at(self.instruction.offset)

    @property
    def is_return(self) -> bool:
        """True for a return; False for a tail call, behind which another function returns to the caller."""
        return self.instruction.kind is InstructionKind.RETURN

    @property
    def is_conditional(self) -> bool:
        """True for a jump that is not always taken: a kprobe on it is hit, too, where the call goes on."""
        return self.instruction.is_conditional

    @property
    def target(self) -> str:
        """Function that a tail call goes to; empty: a return, or a jump through a pointer."""
        one = self.instruction
        if self.is_return or one.is_indirect:
            return ""
        return one.target_name or (f"{one.target:#x}" if one.target is not None else "")


def ways_out(body: FunctionBody) -> tuple[WayOut, ...]:
    """Return the ways out of a function, in the order of its code."""
    return tuple(WayOut(part, one) for part, one in body.instructions() if one.leaves)


def ways_out_text(body: FunctionBody) -> str:
    """Return the ways out in a line: `2 of 3 ways out return (+0x12e, +0x1f4); +0x1a jumps to other`."""
    ways = ways_out(body)
    if not ways:
        return "no way out: it does not return"
    returns = [body.label(way.part, way.instruction.offset) for way in ways if way.is_return]
    others = [
        f"{body.label(way.part, way.instruction.offset)} jumps {destination_text(way)}"
        for way in ways
        if not way.is_return
    ]
    if not others:
        return f"{counted(len(returns), 'way out: it returns', 'ways out: all return')} at {', '.join(returns)}"
    seen = f"{len(returns)} of {len(ways)} ways out return ({', '.join(returns)})"
    return "; ".join([seen if returns else "no return of its own", *others])


def destination_text(way: WayOut) -> str:
    """Return the destination of a tail call: `to other`, `through a pointer`."""
    return f"to {way.target}" if way.target else "through a pointer"
