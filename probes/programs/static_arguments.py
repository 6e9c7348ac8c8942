"""Read the arguments of a static probe as its note has them, `8@%rbx -4@112(%rsp)`, into values of a uprobe.

Each is a size in bytes (below 0: signed), `@`, and an operand of the program's assembler (systemtap's sdt.h).
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Final, NamedTuple

from probes.fetcharg import Dereference, Expression, Immediate, Register

MOST_ARGUMENTS: Final = 12
"""Arguments of a static probe (sdt.h has no more)."""
_BEGINS: Final = re.compile(r"(?:^|(?<=\s))(-?)([1248])(f?)@")
_X86_MEMORY: Final = re.compile(r"([+-]?(?:0x)?[0-9a-f]*)\(%([a-z0-9]+)\)")
_ARM_MEMORY: Final = re.compile(r"\[([a-z0-9]+)(?:,\s*#?(-?[0-9]+))?\]")
_RISCV_MEMORY: Final = re.compile(r"(-?[0-9]*)\(([a-z0-9]+)\)")
_NUMBER: Final = re.compile(r"[$#]?(-?(?:0x[0-9a-f]+|[0-9]+))")
_NAME: Final = re.compile(r"%?([a-z][a-z0-9]*)")
_X86_HIGH: Final = re.compile(r"(r[0-9]+)[dwb]?")
_X86_LETTERS: Final = {f"{letter}{end}": f"{letter}x" for letter in "abcd" for end in ("x", "l")}
_X86_WORDS: Final = {f"{word}{end}": word for word in ("si", "di", "bp", "sp") for end in ("", "l")}


class StaticArgument(NamedTuple):
    """Argument of a static probe at one of its places."""

    expression: Expression | None
    """The value in the kernel's words; None: no probe can read it."""
    type: str
    """`u64`, `s32`."""
    written: str
    """The argument as its note has it."""


def read_arguments(text: str, machine: str) -> tuple[StaticArgument, ...]:
    """Return the arguments of a static probe of a program for a machine (as in `uname -m`), in their order."""
    begins = list(_BEGINS.finditer(text))[:MOST_ARGUMENTS]
    found = []
    for begin, after in zip_longest(begins, begins[1:]):
        end = after.start() if after is not None else len(text)
        operand = text[begin.end() : end].strip()
        kind = f"{'s' if begin[1] else 'u'}{8 * int(begin[2])}"
        expression = None if begin[3] else _expression(operand, machine)
        found.append(StaticArgument(expression, kind, text[begin.start() : end].strip()))
    return tuple(found)


def _expression(operand: str, machine: str) -> Expression | None:
    """Return an operand in the kernel's words; None: a uprobe has none for it (an index, a symbol)."""
    if (number := _NUMBER.fullmatch(operand)) is not None:
        return Immediate(number[1])
    if (name := _NAME.fullmatch(operand)) is not None:
        register = _register(name[1], machine)
        return Register(register) if register else None
    if machine in ("x86_64", "i686"):
        memory = _X86_MEMORY.fullmatch(operand)
        offset, base = (memory[1], memory[2]) if memory is not None else ("", "")
    elif machine == "aarch64":
        memory = _ARM_MEMORY.fullmatch(operand)
        offset, base = (memory[2] or "", memory[1]) if memory is not None else ("", "")
    else:
        memory = _RISCV_MEMORY.fullmatch(operand)
        offset, base = (memory[1], memory[2]) if memory is not None else ("", "")
    register = _register(base, machine)
    if not register:
        return None
    offset = offset or "0"
    return Dereference(offset if offset[0] in "+-" else f"+{offset}", Register(register))


def _register(name: str, machine: str) -> str:
    """Return the kernel's name of a register (regs_query_register_offset); empty: it has none."""
    if machine in ("x86_64", "i686"):
        if (high := _X86_HIGH.fullmatch(name)) is not None:
            return high[1]
        own = name[1:] if name[:1] in ("r", "e") else name
        return _X86_LETTERS.get(own) or _X86_WORDS.get(own) or ""
    if machine == "aarch64":
        return f"x{name[1:]}" if re.fullmatch(r"[xw][0-9]+", name) else name if name == "sp" else ""
    return name if machine == "riscv64" and re.fullmatch(r"[ast][0-9]+|[sgt]p|ra", name) else ""
