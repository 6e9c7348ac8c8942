"""Write the instructions of a function's body as rows of text; the commands and the application share them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probes.code.body import CodePart, FunctionBody, Instruction, InstructionKind
from probes.code.ways_out import ways_out

_TOLD_KINDS = (InstructionKind.TAIL_CALL, InstructionKind.RETURN)


class CodeRow(NamedTuple):
    """Texts of one instruction."""

    place: str
    """`+0x1f`, or `.cold+0x1f`."""
    takes_kprobe: bool
    text: str
    """Instruction with the name of its target in place of the address."""
    note: str
    """Symbol that a PC-relative operand means, tail call or return, the reason why no kprobe goes there."""


def code_row(body: FunctionBody, part: CodePart, instruction: Instruction) -> CodeRow:
    """Return the texts of one instruction."""
    notes, operands = list[str](), instruction.operands
    if instruction.target is not None and instruction.target_name:
        address = f"{instruction.target:#x}"
        if address in operands:
            operands = operands.replace(f"#{address}", address).replace(address, instruction.target_name)
        else:
            notes.append(instruction.target_name)
    if instruction.kind in _TOLD_KINDS:
        pointer = ", through a pointer" if instruction.is_indirect else ""
        notes.append(f"{instruction.kind}{pointer}")
    if instruction.refusal:
        notes.append(f"no kprobe: {instruction.refusal}")
    text = f"{instruction.mnemonic} {operands}".rstrip()
    return CodeRow(
        body.label(part, instruction.offset), not kprobe_refusal(body, instruction), text, "; ".join(notes)
    )


def source_text(instruction: Instruction) -> str:
    """Return the source line of an instruction, `fs/read_write.c:554`, with what is inlined there; empty: unknown."""
    source = instruction.source
    if source is None:
        return ""
    return f"{source.text} (inlined: {', '.join(source.inlined)})" if source.inlined else source.text


def source_starts(part: CodePart) -> Iterator[tuple[Instruction, str]]:
    """Yield each instruction of a part with its source line where another one begins, else with an empty text."""
    before = ""
    for one in part.instructions:
        text = source_text(one)
        yield one, text if text != before else ""
        before = text


def kprobe_refusal(body: FunctionBody, instruction: Instruction) -> str:
    """Return why an instruction takes no kprobe: the function's reason, or its own; empty: it takes one."""
    return body.refusal or instruction.refusal


def code_rows(body: FunctionBody) -> list[CodeRow]:
    """Return the texts of all instructions."""
    return [code_row(body, part, instruction) for part, instruction in body.instructions()]


def summary_text(body: FunctionBody) -> str:
    """Return size and number of instructions in a line, and how many take a kprobe."""
    every = [instruction for _, instruction in body.instructions()]
    size = sum(part.size for part in body.parts)
    free = sum(1 for one in every if not kprobe_refusal(body, one))
    return f"{size} bytes, {len(every)} instructions, {free} take a kprobe"


def body_json(body: FunctionBody) -> dict[str, Any]:
    """Return a body as an object for JSON."""
    return {
        "function": body.name,
        "module": body.module or None,
        "machine": body.machine,
        "refusal": body.refusal or None,
        "notes": list(body.notes),
        "ways_out": [
            {
                "place": way.place,
                "kind": str(way.instruction.kind),
                "target": way.target or None,
                "kprobe": not kprobe_refusal(body, way.instruction),
            }
            for way in ways_out(body)
        ],
        "parts": [
            {
                "symbol": part.name,
                "address": f"{part.address:#x}",
                "size": part.size,
                "instructions": [instruction_json(body, part, one) for one in part.instructions],
            }
            for part in body.parts
        ],
    }


def instruction_json(body: FunctionBody, part: CodePart, one: Instruction) -> dict[str, Any]:
    """Return an instruction as an object for JSON."""
    refusal = kprobe_refusal(body, one)
    return {
        "offset": one.offset,
        "place": part.place_at(one.offset),
        "bytes": one.code.hex(),
        "mnemonic": one.mnemonic,
        "operands": one.operands,
        "kind": str(one.kind),
        "target": None if one.target is None else f"{one.target:#x}",
        "target_name": one.target_name or None,
        "kprobe": not refusal,
        "refusal": refusal or None,
        "source": one.source.text if one.source is not None else None,
        "inlined": list(one.source.inlined) if one.source is not None else [],
    }
