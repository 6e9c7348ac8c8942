"""What tells one kernel's parser of probes from another's, as far as verdicts and lowering depend on it.

Found in what the kernel says of itself: the features, and two lines of its tracefs README that came together with a
change that no line announces (measured on 6.1 to 7.3).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from btf.btf import Btf
from probes.facts.facts import Feature, TargetFacts
from probes.facts.parser_changes import ParserChanges, marks_of

MAX_ARGS = 128
"""Arguments of one event (MAX_TRACE_ARGS)."""
MAX_ARRAY = 64
"""Elements of an array (MAX_ARRAY_LEN)."""
MAX_META_ARGS = 128
"""Bytes of the names that `$arg*` and `$argN` become, a NUL each (MAX_BTF_ARGS_LEN)."""
MAX_DENTRY_ARGS = 256
"""Bytes of the text that `%pd` and `%pD` become, a NUL each (MAX_DENTRY_ARGS_LEN)."""
MAX_EVENT_SIZE = 3072
"""Bytes of an event without its strings (MAX_PROBE_EVENT_SIZE)."""
MAX_ENTRY_LONGS = 15
"""Longs that an fprobe keeps from entry to exit (MAX_FPROBE_DATA_SIZE)."""
MAX_OPERATIONS = 15
"""Fetch operations of one argument (FETCH_INSN_MAX without its end)."""
MAX_MAXACTIVE = 4096
MAX_LINE = 4094
"""Characters of one command (WRITE_BUFSIZE)."""

_REGISTERS = {
    "x86_64": frozenset(
        "r15 r14 r13 r12 r11 r10 r9 r8 bx cx dx si di bp ax orig_ax ip cs flags sp ss".split()  # noqa: SIM905
    ),
    "aarch64": frozenset([*(f"x{n}" for n in range(31)), "lr", "sp", "pc", "pstate"]),
}
_ARGUMENT_REGISTERS = {
    "x86_64": ("di", "si", "dx", "cx", "r8", "r9"),
    "aarch64": tuple(f"x{number}" for number in range(8)),
    "riscv64": tuple(f"a{number}" for number in range(8)),
}
_STACK_LONGS = {"x86_64": 2048, "aarch64": 2048}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kernel's parser."""

    btf_args: bool
    """Takes arguments by name."""
    entry_at_exit: bool
    """Takes entry arguments in exit probes."""
    fprobe: bool
    char: bool
    dentry: bool
    fprobe_on_graph: bool
    """Fprobes sit on the function graph tracer: no MAXACTIVE for `f`, BAD_PROBE_ADDR for a bad target, TOO_MANY_ARGS
    is logged."""
    late_symbols: bool
    """Fprobes look for the symbols of `@SYM` when they are enabled."""
    event_size: bool
    """An event has at most MAX_EVENT_SIZE bytes, and a deletion compares whole arguments with it."""
    lone_quote: bool
    r"""`\"` alone is text: one quote opens and closes it (seen in 6.16 to 6.18; mended in 6.19, and in the
    long-term kernels before, together with `event_size`)."""
    logs_no_match: bool
    """error_log says where no kind of dynamic event takes a command."""
    event_variable_at_name: bool
    """BAD_VAR of an event probe stands at the argument's beginning."""
    typecast_known: bool
    """`(` is read as a typecast, which event probes take, function probes not."""
    star_logged_once: bool
    """`$arg*` without BTF gives one error; before 7.2, and in 7.3-rc7, the kernel reads on and trips over it as
    a variable."""
    typecast: bool
    """Function probes take typecasts, `$current` and `this_cpu_read()`; arguments may be 255 characters long."""
    whole_filters: bool
    """A filter that ends in `&&` is refused."""
    saturates: bool
    """Of a number that fills more than a long, where it isn't refused, the biggest one is left (seen in 7.2)."""
    registers: frozenset[str] | None
    """Names of registers; None: not known for this architecture."""
    argument_registers: tuple[str, ...]
    """By the kernel's names (regs_query_register_offset), where a program's calling convention puts plain arguments;
    empty: not known for this architecture."""
    stack_longs: int
    """The highest N of `$stackN` and `$argN` (THREAD_SIZE in longs)."""
    bits: int

    @property
    def max_body(self) -> int:
        """Characters of one argument without its name (MAX_ARGSTR_LEN)."""
        return 255 if self.typecast else 63


def dialect_of(facts: TargetFacts, btf: Btf | None = None) -> Dialect:
    """Look at what the kernel says it can do, and at its own tracing code in BTF."""
    return _dialect(facts.features, facts.machine, facts.readme, facts.long_size, marks_of(btf))


@functools.lru_cache(maxsize=16)
def _dialect(features: frozenset[str], machine: str, readme: str, long_size: int, marks: ParserChanges) -> Dialect:
    typecast = Feature.TYPECAST in features or "(structname[,field])" in readme
    on_graph = ":mod:<module>" in readme

    def mark(found: bool | None, otherwise: bool) -> bool:
        return otherwise if found is None else found

    since_7_2 = "\n  synthetic_events\t" in readme
    event_size = mark(marks.event_size, True)
    logs_no_match = mark(marks.logs_no_match, on_graph)
    cast_known = typecast or mark(marks.event_cast, since_7_2)
    return Dialect(
        btf_args=Feature.BTF_ARGS in features,
        entry_at_exit=Feature.ENTRY_ARGS_AT_EXIT in features,
        fprobe=Feature.FPROBE_EVENTS in features,
        char=Feature.CHAR_TYPE in features,
        dentry=Feature.DENTRY_TYPE in features,
        fprobe_on_graph=on_graph,
        late_symbols=mark(marks.late_symbols, on_graph),
        event_size=event_size,
        lone_quote=not (event_size or logs_no_match),
        logs_no_match=logs_no_match,
        event_variable_at_name=on_graph and mark(marks.event_variable_at_name, False),
        typecast_known=cast_known,
        star_logged_once=since_7_2,
        typecast=typecast,
        whole_filters=mark(marks.whole_filters, Feature.BTF_ARGS not in features),
        saturates=since_7_2,
        registers=_REGISTERS.get(machine),
        argument_registers=_ARGUMENT_REGISTERS.get(machine, ()),
        stack_longs=_STACK_LONGS.get(machine, 2048),
        bits=long_size * 8,
    )
