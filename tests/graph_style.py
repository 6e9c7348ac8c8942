"""How the kernel prints a function graph: the options of the tracer that change its text, and its columns.

kernel/trace/trace_functions_graph.c: trace_opts, print_graph_*; kernel/trace/trace_output.c:trace_find_mark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from events.format import EventFormat

_MARKS = ((10**9, "$"), (10**8, "@"), (10**7, "*"), (10**6, "#"), (10**5, "!"), (10**4, "+"))
_OPTIONS = {
    "funcgraph-overrun": "overrun",
    "funcgraph-cpu": "cpu",
    "funcgraph-overhead": "overhead",
    "funcgraph-proc": "proc",
    "funcgraph-duration": "duration",
    "funcgraph-abstime": "abstime",
    "funcgraph-irqs": "irqs",
    "funcgraph-tail": "tail",
    "funcgraph-retval": "retval",
    "funcgraph-retval-hex": "retval_hex",
    "funcgraph-retaddr": "retaddr",
}
_PROC_WIDTH = 14
_ERRORS = 4095
_LONG = 1 << 64


@dataclass(frozen=True, slots=True)
class GraphStyle:
    """What is printed; as the kernel has it from the start. Of one name with the options, see `style_of`."""

    cpu: bool = True
    duration: bool = True
    overhead: bool = True
    """The mark before a duration."""
    irqs: bool = True
    """Functions of interrupts too, with arrows around them."""
    proc: bool = False
    abstime: bool = False
    tail: bool = False
    """The function's name behind every closing brace."""
    overrun: bool = False
    retval: bool = False
    retval_hex: bool = False
    retaddr: bool = False
    says_ret: bool = True
    """Return values as ` ret=0x1`; kernels that can't record return addresses print ` = 0x1`."""
    cpu_digits: int = 1
    """Digits of the largest CPU number that the kernel could have (nr_cpu_ids - 1)."""


def style_of(
    options: Collection[str], formats: Iterable[EventFormat], cpu_digits: int = 1, *, irqs: bool | None = None
) -> GraphStyle:
    """The style of an instance.

    Args:
        options: names in its trace_options, `no` before those that are off; a name that is missing is off.
        formats: of the events of that kernel; those of the tracer are looked for among them.
        cpu_digits: see `GraphStyle`.
        irqs: in the place of the option funcgraph-irqs.
    """
    flags = {field: name in options for name, field in _OPTIONS.items()}
    # The word came with return addresses, and after them came arguments; both leave their mark in the formats.
    newer = any(fmt.system == "ftrace" and _is_newer(fmt) for fmt in formats)
    style = GraphStyle(**flags, says_ret=newer, cpu_digits=cpu_digits)
    return style if irqs is None else replace(style, irqs=irqs)


def _is_newer(fmt: EventFormat) -> bool:
    return fmt.name in ("fgraph_retaddr_entry", "funcgraph_retaddr_entry") or (
        fmt.name == "funcgraph_entry" and "args" in fmt.names
    )


def mark(duration: int) -> str:
    """The sign of a call that took so many nanoseconds: `$ @ * # ! +` or a space."""
    return next((sign for limit, sign in _MARKS if duration > limit), " ")


def duration_text(duration: int) -> str:
    """`117.596 us  `: nanoseconds in a column of twelve, seven digits at most."""
    micro, rest = divmod(duration, 1000)
    text = f"{micro}"
    if len(text) < 7:
        text += "." + f"{rest:03d}"[: min(3, 7 - len(text))]
    return f"{text} us " + " " * (8 - len(text))


def retval_text(retval: int, style: GraphStyle) -> str:
    """` ret=0x1`, ` ret=-2`: negative error numbers in decimal, unless all are to be hexadecimal."""
    word = " ret=" if style.says_ret else " = "
    value = retval % _LONG
    if value and not style.retval_hex:
        # What returns an int leaves the upper half of the register empty.
        wide = value | 0xFFFFFFFF00000000 if value >> 32 == 0 and value & 0x80000000 else value
        if wide >= _LONG - _ERRORS:
            return f"{word}{wide - _LONG}"
    return f"{word}0x{value:x}"


def proc_text(comm: str, pid: int) -> str:
    """`  sh-101    `: seven letters of the name, in the middle of fourteen."""
    short = comm.encode("utf-8", "surrogateescape")[:7].decode("utf-8", "surrogateescape")
    spaces = max(0, _PROC_WIDTH - len(f"{short}-{pid}"))
    return " " * (spaces // 2) + f"{short}-{pid}" + " " * (spaces - spaces // 2)


def headers(style: GraphStyle) -> list[str]:
    """The lines above the graph in the file `trace`, from `# tracer:` on."""
    first, second = "#", "#"
    for shown, name, below in (
        (style.abstime, "     TIME       ", "      |         "),
        (style.cpu, " CPU", " |  "),
        (style.proc, "  TASK/PID       ", "   |    |        "),
        (style.duration, "  DURATION   ", "   |   |      "),
    ):
        first += name if shown else ""
        second += below if shown else ""
    first += "               FUNCTION CALLS"
    second += "               |   |   |   |"
    return ["# tracer: function_graph", "#", first, second]
