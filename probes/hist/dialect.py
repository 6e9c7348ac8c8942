"""Describe the differences between kernels' hist triggers."""

from __future__ import annotations

from dataclasses import dataclass

from btf.btf import Btf
from probes.facts.dialect import dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.parser_changes import parser_changes_of

_DEPTHS = (16, 31)
_CLOCKS = frozenset({"local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai"})


@dataclass(frozen=True, slots=True)
class HistDialect:
    """Hist triggers of a kernel; features missing from the README are found in BTF
    (`probes.facts.parser_changes`).
    """

    nohitcount: bool
    """True if the kernel has `nohitcount`, and takes `hitcount` as a further field (README, seen from 6.12)."""
    stack_field: bool
    """True if `common_stacktrace` is a field and `.stacktrace` a modifier (README, seen from 6.12); else `stacktrace`
    is only a key."""
    comm_field: bool
    """True if `common_comm` is a field (seen from 6.16)."""
    shares: bool
    """True if values may be shown with `.percent` and `.graph`."""
    stack_by_flag: bool
    """True if a synthetic event's stack field takes stacks only; older kernels take any value of its type or size."""
    stack_modifier: bool
    """True if `.stacktrace` is for stacks only."""
    filter_logged: bool
    """True if error_log has errors in a trigger's filter (seen from 6.12)."""
    stack_size: int
    """Bytes of a stack (HIST_STACKTRACE_SIZE)."""
    clocks: frozenset[str]
    triggers: frozenset[str]
    """Triggers that are built in; empty: unknown."""


def hist_dialect(facts: TargetFacts, btf: Btf | None) -> HistDialect:
    """Return a kernel's hist dialect from its README and its own tracing code in BTF."""
    readme, marks = facts.readme, parser_changes_of(btf)
    dialect = dialect_of(facts, btf)
    recent = dialect.star_logged_once
    no_reference_count = recent if marks.hist_fields_uncounted is None else marks.hist_fields_uncounted
    comm = dialect.fprobe_on_graph if marks.hist_comm is None else marks.hist_comm
    # Kernels without `hist_pad` have the shorter stack.
    by_readme = _DEPTHS[0 if btf is not None else dialect.fprobe_on_graph]
    depth = by_readme if marks.hist_stack_depth is None else marks.hist_stack_depth
    listed = readme.rpartition("trigger: traceon, traceoff")[2].partition("example:")[0]
    names = {"traceon", "traceoff"} | {line.split(":")[0].split("(")[0].strip() for line in listed.splitlines()}
    return HistDialect(
        nohitcount="[:nohitcount]" in readme,
        stack_field="common_stacktrace" in readme,
        comm_field=comm,
        shares=no_reference_count,
        stack_by_flag=no_reference_count,
        stack_modifier=no_reference_count,
        filter_logged=dialect.btf_args,
        stack_size=depth * facts.long_size,
        clocks=_CLOCKS | {"x86-tsc"} if facts.machine == "x86_64" else _CLOCKS,
        triggers=frozenset(names - {""}) if listed else frozenset(),
    )
