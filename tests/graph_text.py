"""A function graph as the kernel prints it in `trace`, byte for byte (print_graph_function_flags).

The kernel prints a record when it comes to it, with what it remembers of the CPU's records before it; an entry whose
exit is the next record of the same CPU is printed with it as one line. A stack trace between calls, which the kernel
prints on lines of its own, is a comment here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.arguments import ArgumentTypes, registers_of
from events.graph.arguments import kernel_text as arguments_text
from events.graph.call_ends import EndKind, GraphEnds
from events.graph.switch_events import comment
from events.names.kallsyms import Symbols
from events.record import Record
from tests.graph_style import GraphStyle, duration_text, mark, proc_text, retval_text

_DEPTHS = 50
"""FTRACE_RETFUNC_DEPTH: calls of a task that the kernel remembers while it prints."""
_INDENT = "  "
_RULE = " ------------------------------------------"
_NO_DURATION = "              |  "


@dataclass(frozen=True)
class Names:
    """Where the words of the text come from."""

    symbols: Symbols
    comm: Callable[[int], str]
    """Name of a task by its thread id, as `TaskNames.name` gives it."""
    record: Callable[[int], Record]
    """The event of a row, as `Store.record` gives it: for arguments, and for comments."""
    types: ArgumentTypes | None = None
    """None: arguments are not printed, as with a kernel without BTF."""
    comment: Callable[[Record], str] = comment
    """What stands in a comment, for an event that is not of the tracer."""


class _End(NamedTuple):
    """One row, in Python's numbers."""

    ts: int
    cpu: int
    pid: int
    kind: int
    function: int
    depth: int
    duration: int
    retval: int
    has_retval: bool
    retaddr: int
    overrun: int
    arguments: int
    seq: int


@dataclass
class _Cpu:
    """What is remembered of a CPU (struct fgraph_cpu_data)."""

    last_pid: int = -1
    depth: int = 0
    depth_irq: int = -1
    entered: dict[int, int] = field(default_factory=dict)
    """Function by depth."""


class GraphPrinter:
    """Prints rows in their order. What comes in one piece is printed together; see `text`."""

    def __init__(self, style: GraphStyle, names: Names) -> None:
        self._style = style
        self._names = names
        self._cpus: dict[int, _Cpu] = {}
        low, high = (names.symbols.named(name) for name in ("__irqentry_text_start", "__irqentry_text_end"))
        self._irq_code = range(low[0].address, high[0].address) if low and high else range(0)

    def text(self, ends: GraphEnds) -> list[str]:
        """The lines of rows, without ends. An entry whose exit comes in a later piece is not seen to be a leaf."""
        exits = _leaf_exits(ends)
        taken = np.zeros(len(ends), np.bool_)
        taken[exits[exits >= 0]] = True
        lines: list[str] = []
        for place in np.flatnonzero(~taken).tolist():
            end = _end(ends, place)
            state = self._cpus.setdefault(end.cpu, _Cpu())
            leaf = _end(ends, int(exits[place])) if exits[place] >= 0 else None
            if end.kind == EndKind.ENTRY:
                lines += self._entry(end, leaf, state)
            elif end.kind == EndKind.EXIT:
                lines += self._exit(end, state)
            else:
                lines += self._comment(end, state)
        return lines

    def _entry(self, end: _End, leaf: _End | None, state: _Cpu) -> list[str]:
        if self._skips_entry(end, state):
            # The kernel looks for the exit of a leaf only when it prints: this one's comes by itself.
            return self._exit(leaf, state) if leaf else []
        lines = self._switched(end, state) + self._arrow(end, "==========>")
        head = self._prologue(end)
        indent = _INDENT * end.depth
        name = self._names.symbols.text(end.function, offset=False)
        if leaf is None:
            state.depth = end.depth
            if end.depth < _DEPTHS:
                state.entered[end.depth] = end.function
            caller = f" /*{self._caller(end)} */" if self._style.retaddr and end.retaddr else ""
            return [*lines, f"{head}{self._blank()}{indent}{name}{self._arguments(end)} {{{caller}"]
        state.depth = end.depth - 1
        state.entered.pop(end.depth, None)
        caller = self._caller(end) if self._style.retaddr and end.retaddr else ""
        said = caller + (retval_text(leaf.retval, self._style) if self._shows_retval(leaf) else "")
        comment = f" /*{said} */" if said else ""
        line = f"{head}{self._duration(leaf.duration)}{indent}{name}{self._arguments(end)};{comment}"
        return [*lines, line, *self._arrow(end, "<==========")]

    def _exit(self, end: _End, state: _Cpu) -> list[str]:
        if self._skips_exit(end, state):
            return []
        state.depth = end.depth - 1
        matches = end.depth >= _DEPTHS or state.entered.pop(end.depth, 0) == end.function
        lines = self._switched(end, state)
        name = self._names.symbols.text(end.function, offset=False)
        closing = "}"
        if self._shows_retval(end):
            closing += f" /* {name}{retval_text(end.retval, self._style)} */"
        elif self._style.tail or not matches:
            closing += f" /* {name} */"
        lines.append(f"{self._prologue(end)}{self._duration(end.duration)}{_INDENT * end.depth}{closing}")
        if self._style.overrun:
            lines.append(f" (Overruns: {end.overrun})")
        return [*lines, *self._arrow(end, "<==========")]

    def _comment(self, end: _End, state: _Cpu) -> list[str]:
        lines = self._switched(end, state)
        indent = _INDENT * (state.depth + 1) if state.depth > 0 else ""
        text = self._names.comment(self._names.record(end.seq))
        return [*lines, f"{self._prologue(end)}{self._blank()}{indent}/* {text} */"]

    def _skips_entry(self, end: _End, state: _Cpu) -> bool:
        """Without the option irqs, what interrupts call is left out (check_irq_entry)."""
        if self._style.irqs:
            return False
        if state.depth_irq < 0 and end.function in self._irq_code:
            state.depth_irq = end.depth
        return state.depth_irq >= 0

    def _skips_exit(self, end: _End, state: _Cpu) -> bool:
        if self._style.irqs or state.depth_irq < 0:
            return False
        if state.depth_irq >= end.depth:
            state.depth_irq = -1
        return True

    def _switched(self, end: _End, state: _Cpu) -> list[str]:
        """The lines that say which task a CPU goes on with (verif_pid)."""
        before, state.last_pid = state.last_pid, end.pid
        if before in (end.pid, -1):
            return []
        comm = self._names.comm
        tasks = f"{proc_text(comm(before), before)} => {proc_text(comm(end.pid), end.pid)}"
        return [_RULE, f"{self._cpu(end.cpu)}{tasks}", _RULE, ""]

    def _arrow(self, end: _End, arrow: str) -> list[str]:
        """The line around a function of an interrupt (print_graph_irq)."""
        if end.function not in self._irq_code:
            return []
        before, behind = ("  ", " |") if self._style.duration else ("", "")
        return [f"{self._prologue(end)}{before}{arrow}{behind}"]

    def _prologue(self, end: _End) -> str:
        style = self._style
        text = f"{end.ts // 10**9:5d}.{end.ts % 10**9 // 1000:06d} |  " if style.abstime else ""
        text += self._cpu(end.cpu) if style.cpu else ""
        return text + (proc_text(self._names.comm(end.pid), end.pid) + " | " if style.proc else "")

    def _cpu(self, cpu: int) -> str:
        return f" {cpu:{self._style.cpu_digits}d}) "

    def _blank(self) -> str:
        return _NO_DURATION if self._style.duration else ""

    def _duration(self, duration: int) -> str:
        if not self._style.duration:
            return ""
        return f"{mark(duration) if self._style.overhead else ' '} {duration_text(duration)}|  "

    def _arguments(self, end: _End) -> str:
        if not end.arguments:
            return "()"
        place = self._names.symbols.find(end.function)
        registers = registers_of(self._names.record(end.seq))
        return arguments_text(place.name if place else "", registers, self._names.types)

    def _caller(self, end: _End) -> str:
        return f" <-{self._names.symbols.instruction(end.retaddr)}"

    def _shows_retval(self, end: _End) -> bool:
        return self._style.retval and end.has_retval


def _leaf_exits(ends: GraphEnds) -> NDArray[np.int64]:
    """For each row the place of the exit that the kernel prints on its line; -1: none (get_return_for_leaf)."""
    order = np.argsort(ends.cpu, kind="stable")
    here, following = order[:-1], order[1:]
    leaf = (ends.cpu[here] == ends.cpu[following]) & (ends.kind[here] == EndKind.ENTRY)
    leaf &= (ends.kind[following] == EndKind.EXIT) & (ends.pid[here] == ends.pid[following])
    leaf &= ends.function[here] == ends.function[following]
    exits = np.full(len(ends), -1, np.int64)
    exits[here[leaf]] = following[leaf]
    return exits


def _end(ends: GraphEnds, place: int) -> _End:
    called, returned = int(ends.calltime[place]), int(ends.rettime[place])
    return _End(
        int(ends.ts[place]),
        int(ends.cpu[place]),
        int(ends.pid[place]),
        int(ends.kind[place]),
        int(ends.function[place]),
        int(ends.depth[place]),
        (returned - called) % (1 << 64),
        int(ends.retval[place]),
        bool(ends.has_retval[place]),
        int(ends.retaddr[place]),
        int(ends.overrun[place]),
        int(ends.arguments[place]),
        int(ends.seq[place]),
    )
