"""Make a function's body from its machine code: kinds and names of targets, and places that take a kprobe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from probes.code.architectures.table import ARCHITECTURES
from probes.code.body import CodePart, Instruction, InstructionKind
from probes.code.decode import decode, iter_padding
from probes.code.decoded import UNDECODED, Decoded
from probes.code.patched_sites import PatchedSite
from probes.probe import ProbePlace

_INSIDE_FTRACE: Final = "the place of ftrace's call, which this kernel lets no kprobe use"


class PartCode(NamedTuple):
    """Machine code of a part of a function."""

    name: str
    place: ProbePlace
    address: int
    code: bytes
    """Bytes up to the next symbol."""


class CodeContext(NamedTuple):
    """Facts of a kernel that its code is read with."""

    machine: str
    name_of: Callable[[int], str]
    """Returns symbol and offset of an address; empty: no symbol is there."""
    sites: Sequence[PatchedSite] = ()
    """Places that the kernel patches itself."""
    kprobes_on_ftrace: bool = True
    """True if a kprobe may stand where ftrace's call does (CONFIG_KPROBES_ON_FTRACE)."""


def make_parts(codes: Iterable[PartCode], context: CodeContext) -> tuple[CodePart, ...]:
    """Return the decoded parts of one function.

    Raises:
        probes.code.decode.NoCapstone: capstone is not installed.
        KeyError: code of another architecture than ARCHITECTURES.
    """
    parts = list(codes)
    ranges = [range(part.address, part.address + len(part.code)) for part in parts]
    return tuple(_make_part(part, ranges, context, number == 0) for number, part in enumerate(parts))


def _make_part(part: PartCode, ranges: Sequence[range], context: CodeContext, is_first: bool) -> CodePart:
    architecture = ARCHITECTURES[context.machine]
    code = architecture.without_next_pointer(part.code, part.address + len(part.code))
    decoded = decode(code, part.address, context.machine)
    padding = sum(1 for _ in iter_padding(decoded, context.machine))
    if padding < len(decoded):
        decoded = decoded[: len(decoded) - padding]
    refusals = _refusals(decoded, part.address, context, is_first)
    instructions = []
    for index, (one, refusal) in enumerate(zip(decoded, refusals, strict=True)):
        target = architecture.target_of(decoded, index, part.address)
        name = context.name_of(target) if target is not None else ""
        kind = architecture.kind_of(one, target, name, ranges)
        made = Instruction(one.offset, one.code, one.mnemonic, one.operands, kind, target, name, refusal)
        if kind is not InstructionKind.OTHER:
            made = made._replace(
                is_indirect=kind is not InstructionKind.RETURN and architecture.is_indirect(one, target, name),
                is_conditional=not architecture.is_unconditional(one),
            )
        instructions.append(made)
    size = decoded[-1].offset + len(decoded[-1].code) if decoded else 0
    return CodePart(part.name, part.place, part.address, size, tuple(instructions))


def _refusals(decoded: Sequence[Decoded], start: int, context: CodeContext, is_first: bool) -> list[str]:
    """Return for each instruction why it takes no kprobe; empty texts: it takes one."""
    architecture, codes = ARCHITECTURES[context.machine], [one.code for one in decoded]
    found = [
        "no known instruction" if one.mnemonic == UNDECODED else architecture.encoding_refusal(codes, index)
        for index, one in enumerate(decoded)
    ]
    offsets = {one.offset: index for index, one in enumerate(decoded)}
    for site in context.sites:
        for offset in range(site.start - start, site.end - start):
            if offset in offsets:
                found[offsets[offset]] = site.reason
    place = architecture.ftrace_index(codes) if is_first and not context.kprobes_on_ftrace else None
    if place is not None:
        found[place] = _INSIDE_FTRACE
    return found
