"""List the values that a probe in a program can record, each as a node to tick.

Of a function the arguments are those in registers; of a static probe those of its note.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.fetcharg import Argument, Comm, Dereference, FetchArg, ReturnValue, Stack
from probes.functions.capture_tree import CaptureNode
from probes.programs.program import STATIC, Program

_TEXT = "text"
_OTHERS = (
    CaptureNode("$comm", FetchArg(Comm()), "char [16]", "string"),
    CaptureNode("$stack", FetchArg(Stack()), "void *", "x64"),
)


class ProgramTree:
    """The tree of values: behind an argument that may be an address there is a text."""

    def children(self, node: CaptureNode, part: str = "") -> Sequence[CaptureNode]:
        """Return the text behind an argument, if its name has `part` in it."""
        arg = node.fetcharg
        if not node.expandable or arg is None or part.lower() not in _TEXT:
            return ()
        return (CaptureNode(_TEXT, FetchArg(Dereference("+0", arg.expression), None, "string"), "char *", "string"),)


def program_values(program: Program, symbol: str, registers: int) -> tuple[CaptureNode, ...]:
    """Return the values of a function, or of a static probe (`sdt_PROVIDER:NAME`).

    `registers`: how many hold arguments. Raises SymbolNotPlaced.
    """
    if symbol.startswith(STATIC) and ":" in symbol:
        return (*_static(program, symbol), *_OTHERS)
    program.place(symbol)
    arguments = (_argument(number, "x64", f"{_ordinal(number)} argument") for number in range(1, registers + 1))
    return (*arguments, CaptureNode("$retval", FetchArg(ReturnValue()), "", "x64", at_exit=True), *_OTHERS)


def _static(program: Program, symbol: str) -> Sequence[CaptureNode]:
    nodes = []
    for number, one in enumerate(program.arguments(symbol), 1):
        if one.expression is None:
            reason = f"no probe can read {one.written}"
            nodes.append(CaptureNode(f"arg{number}", None, one.written, reason=reason))
        else:
            nodes.append(_argument(number, one.type, one.written))
    return nodes


def _argument(number: int, kind: str, about: str) -> CaptureNode:
    step = "->" if kind.endswith("64") else ""
    return CaptureNode(f"arg{number}", FetchArg(Argument(number)), about, kind, step=step)


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
