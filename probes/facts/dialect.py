"""Describe the differences between kernels' probe parsers that verdicts and lowering depend on.

Found from the kernel's own description: its features, and two lines of its tracefs README that appeared together with
an unannounced change (measured on 6.1 to 7.3).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from btf.btf import Btf
from probes.facts.facts import Feature, TargetFacts
from probes.facts.parser_changes import ParserChanges, parser_changes_of

MAX_ARGS = 128
"""Largest number of arguments of an event (MAX_TRACE_ARGS)."""
MAX_ARRAY = 64
"""Largest number of elements of an array (MAX_ARRAY_LEN)."""
MAX_META_ARGS = 128
"""Bytes of the names that replace `$arg*` and `$argN`, each with a NUL (MAX_BTF_ARGS_LEN)."""
MAX_DENTRY_ARGS = 256
"""Bytes of the text that replaces `%pd` and `%pD`, each with a NUL (MAX_DENTRY_ARGS_LEN)."""
MAX_EVENT_SIZE = 3072
"""Bytes of an event without its strings (MAX_PROBE_EVENT_SIZE)."""
MAX_ENTRY_LONGS = 15
"""Longs that an fprobe passes from entry to exit (MAX_FPROBE_DATA_SIZE)."""
MAX_OPERATIONS = 15
"""Fetch operations of an argument (FETCH_INSN_MAX without its end)."""
MAX_MAXACTIVE = 4096
MAX_LINE = 4094
"""Characters of a command (WRITE_BUFSIZE)."""

_REGISTERS = {
    "x86_64": frozenset(
        "r15 r14 r13 r12 r11 r10 r9 r8 bx cx dx si di bp ax orig_ax ip cs flags sp ss".split()  # noqa: SIM905
    ),
    "aarch64": frozenset([*(f"x{n}" for n in range(31)), "lr", "sp", "pc", "pstate"]),
    "riscv64": frozenset(
        [
            *("epc", "ra", "sp", "gp", "tp", "status", "badaddr", "cause", "orig_a0"),
            *(f"{letter}{n}" for letter, count in (("a", 8), ("s", 12), ("t", 7)) for n in range(count)),
        ]
    ),
}
_ARGUMENT_REGISTERS = {
    "x86_64": ("di", "si", "dx", "cx", "r8", "r9"),
    "aarch64": tuple(f"x{number}" for number in range(8)),
    "riscv64": tuple(f"a{number}" for number in range(8)),
}
_STACK_LONGS = {"x86_64": 2048, "aarch64": 2048, "riscv64": 2048}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Properties of a kernel's probe parser."""

    btf_args: bool
    """True if arguments can be written by name."""
    function_filters: bool
    """True if filters compare functions, and lists of CPUs."""
    entry_at_exit: bool
    """True if exit probes take entry arguments."""
    fprobe: bool
    char: bool
    dentry: bool
    fprobe_on_graph: bool
    """True if fprobes use the function graph tracer: no MAXACTIVE for `f`, BAD_PROBE_ADDR for a bad target,
    TOO_MANY_ARGS is logged."""
    late_symbols: bool
    """True if fprobes look up the symbols of `@SYM` only when they are enabled."""
    event_size: bool
    """True if an event has at most MAX_EVENT_SIZE bytes, and a deletion compares whole arguments with it."""
    lone_quote: bool
    r"""True if `\"` alone is text: a single quote character opens and closes it (seen in 6.16 to 6.18; fixed in 6.19,
    and in earlier long-term kernels together with `event_size`)."""
    logs_no_match: bool
    """True if error_log has an entry when no kind of dynamic event takes a command."""
    event_variable_at_name: bool
    """True if BAD_VAR of an event probe is at the argument's beginning."""
    typecast_known: bool
    """True if `(` is parsed as a typecast, which event probes accept and function probes reject."""
    star_logged_once: bool
    """True if `$arg*` without BTF gives a single error; before 7.2, and in 7.3-rc7, the kernel reads on and fails at
    it as a variable."""
    typecast: bool
    """True if function probes take typecasts, `$current` and `this_cpu_read()`; arguments may have 255 characters."""
    whole_filters: bool
    """True if a filter that ends in `&&` is rejected."""
    saturates: bool
    """True if an accepted number too large for a long becomes the largest long (seen in 7.2)."""
    registers: frozenset[str] | None
    """Names of registers; None: unknown for this architecture."""
    argument_registers: tuple[str, ...]
    """Registers of a program's plain arguments, by the kernel's names (regs_query_register_offset); empty: unknown
    for this architecture."""
    stack_longs: int
    """Largest N of `$stackN` and `$argN` (THREAD_SIZE in longs)."""
    bits: int
    machine: str = ""
    """`uname -m`, by which constants of system calls have their values."""

    @property
    def max_body(self) -> int:
        """Largest number of characters of an argument without its name (MAX_ARGSTR_LEN)."""
        return 255 if self.typecast else 63


def dialect_of(facts: TargetFacts, btf: Btf | None = None) -> Dialect:
    """Return a kernel's dialect from its features, its README, and its own tracing code in BTF."""
    changes = parser_changes_of(btf)
    return _dialect(facts.features, facts.machine, facts.readme, facts.long_size, changes, facts.function_lists)


@functools.lru_cache(maxsize=16)
def _dialect(
    features: frozenset[str], machine: str, readme: str, long_size: int, marks: ParserChanges, function_lists: bool
) -> Dialect:
    typecast = Feature.TYPECAST in features or "(structname[,field])" in readme
    on_graph = ":mod:<module>" in readme

    def from_btf_or(in_btf: bool | None, default: bool) -> bool:
        return default if in_btf is None else in_btf

    since_7_2 = "\n  synthetic_events\t" in readme
    event_size = from_btf_or(marks.event_size, True)
    logs_no_match = from_btf_or(marks.logs_no_match, on_graph)
    cast_known = typecast or from_btf_or(marks.event_cast, since_7_2)
    return Dialect(
        btf_args=Feature.BTF_ARGS in features,
        function_filters=function_lists or Feature.BTF_ARGS in features,
        entry_at_exit=Feature.ENTRY_ARGS_AT_EXIT in features,
        fprobe=Feature.FPROBE_EVENTS in features,
        char=Feature.CHAR_TYPE in features,
        dentry=Feature.DENTRY_TYPE in features,
        fprobe_on_graph=on_graph,
        late_symbols=from_btf_or(marks.late_symbols, on_graph),
        event_size=event_size,
        lone_quote=not (event_size or logs_no_match),
        logs_no_match=logs_no_match,
        event_variable_at_name=on_graph and from_btf_or(marks.event_variable_at_name, False),
        typecast_known=cast_known,
        star_logged_once=since_7_2,
        typecast=typecast,
        whole_filters=from_btf_or(marks.whole_filters, Feature.BTF_ARGS not in features),
        saturates=since_7_2,
        registers=_REGISTERS.get(machine),
        argument_registers=_ARGUMENT_REGISTERS.get(machine, ()),
        stack_longs=_STACK_LONGS.get(machine, 2048),
        bits=long_size * 8,
        machine=machine,
    )
