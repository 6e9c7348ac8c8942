"""List all export dialects, and write plans in a dialect."""

from __future__ import annotations

from collections.abc import Sequence

from probes.export import bootconfig, comment, kernel_cmdline, perf_probe, posix_sh, trace_cmd
from probes.export.bpftrace import script
from probes.export.dialect import BY_NUMBER, KPROBES_ONLY, ExportDialect, ExportText, PlanTypes, gather
from probes.export.fleets import ansible, kubernetes
from probes.facts.facts import Feature, TargetFacts
from probes.plans.plan import Plan

DIALECTS = (
    ExportDialect("sh", "POSIX shell script", ".sh", posix_sh.write),
    ExportDialect("trace-cmd", "trace-cmd script", ".sh", trace_cmd.write),
    ExportDialect("perf", "perf script", ".sh", perf_probe.write, missing_features=BY_NUMBER),
    ExportDialect(
        *("bpftrace", "bpftrace script", ".bt", script.write, script.write),
        missing_features=BY_NUMBER,
        extra_features=frozenset({Feature.ENTRY_ARGS_AT_EXIT}),
    ),
    ExportDialect("bootconfig", "boot-time tracing", ".bconf", bootconfig.write, missing_features=KPROBES_ONLY),
    ExportDialect("cmdline", "kernel command line", ".txt", kernel_cmdline.write, missing_features=KPROBES_ONLY),
    ExportDialect("ansible", "playbook for Ansible", ".yml", ansible.write),
    ExportDialect("kubernetes", "DaemonSet for Kubernetes", ".yaml", kubernetes.write),
    ExportDialect("comment", "comment in C", ".c", comment.write),
)
"""Dialects in the order in which they are offered."""
_OF_US = "{}: a program of ours records it, which no other tool has"
_SAMPLED = "{}: a thread of probewright takes the samples, which no other tool does"
_HELD = "{0}: no script holds an event of programs registered; once a program has it, export 'on user_events/{0}'"


def dialect_named(name: str) -> ExportDialect:
    """Return the dialect of a name. Raises KeyError."""
    return next(dialect for dialect in DIALECTS if dialect.name == name)


def export(
    dialect: ExportDialect, plans: Sequence[Plan], facts: TargetFacts, types: Sequence[PlanTypes] = ()
) -> ExportText:
    """Write plans in a dialect.

    Args:
        dialect: a dialect of `DIALECTS`.
        plans: plans lowered for `dialect.lowered_for(facts)`.
        facts: facts of the kernel that the plans are for.
        types: types that each plan was lowered with; empty: unknown.

    Raises CannotExport.
    """
    gather([_SAMPLED.format(plan.probe.subject) for plan in plans if plan.sampled is not None])
    gather(
        [_OF_US.format(plan.probe.subject) for plan in plans if any(one.memory is not None for one in plan.programs)]
    )
    if dialect.name != "comment":
        gather([_HELD.format(event.event) for plan in plans for event in plan.events if event.is_of_programs])
    if dialect.write_typed is not None:
        return dialect.write_typed(plans, facts, types)
    return dialect.write(plans, facts)
