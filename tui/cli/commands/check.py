"""`probewright check SPEC…`: the kernel's verdict before anything is written, and the lines that would be."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping

from kernel.connection.planner import Connection
from probes.check import armable, comes_back
from probes.command import Armable
from probes.lowering.other_kernels import OtherKernelLines, elsewhere
from probes.plans.plan import DEFAULT_GROUP, Plan
from probes.probe import Probe, ProbePlace
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from probes.verdict import Refusal, Verdict
from tui.cli.console.output import connect, emit, plain, require_line
from tui.cli.console.verdict import error_object, show_verdict
from tui.cli.follow.attach_text import told
from tui.cli.follow.translation import in_our_words, targets_of
from tui.cli.status import DONE, REFUSED, USAGE
from tui.compose.kernel_matrix import kernels


def run(arguments: argparse.Namespace) -> int:
    if arguments.stdin == bool(arguments.specs):
        print("probewright: give specifications, or --stdin to read them", file=sys.stderr)
        return USAGE
    connection = connect(arguments.target)
    try:
        refused = False
        specs, counting = _specs(arguments)
        for spec in specs:
            verdict, plan = connection.check(spec, look=True)[:2]
            verdict = told(connection, spec, verdict, lambda text: connection.check(text, look=True).verdict)
            plan = plan or _lowered(connection, spec, verdict)
            if verdict.ok and (of_trigger := _of_triggers(connection, plan, counting.get(spec, ()))) is not None:
                verdict = Verdict(spec, of_trigger)
            refused |= not verdict.ok
            others = _elsewhere(connection, spec) if arguments.matrix else None
            if arguments.json:
                emit(_object(spec, verdict, plan, others))
            else:
                show_verdict(spec, verdict, plan.lines, notes=plan.losses)
                _show_others(others or {})
        require_line(connection)
        return REFUSED if refused else DONE
    finally:
        connection.close()


def _specs(arguments: argparse.Namespace) -> tuple[Iterable[str], Mapping[str, tuple[str, ...]]]:
    """Return what is judged, and the triggers of probes, where another tool's text counts."""
    if not arguments.stdin:
        return in_our_words(arguments.specs, targets_of(arguments))
    return (line.rstrip("\n") for line in sys.stdin if line.strip()), {}


def _of_triggers(connection: Connection, plan: Plan, triggers: tuple[str, ...]) -> Refusal | None:
    """Return why this kernel takes one of some triggers on no event of a probe; None: it takes them."""
    try:
        connection.with_triggers(plan, triggers if plan.events else ())
    except CannotLower as error:
        return error.refusal
    return None


def _lowered(connection: Connection, spec: str, verdict: Verdict) -> Plan:
    """What `run` would write all the same: a kernel may refuse a text for lack of a feature that can be lowered."""
    probe: Armable = Probe(ProbePlace(""))
    try:
        probe = armable(spec)
        plan = connection.lower(probe, DEFAULT_GROUP)
    except ParseError:
        return Plan(probe, ())
    except CannotLower as error:
        # What the kernel takes may do harm, or can't be known to be what was meant.
        return Plan(probe, (), (f"`run` does not arm it: {error}",) if verdict.ok else ())
    return Plan(probe, ()) if comes_back(verdict, plan) else plan


def _elsewhere(connection: Connection, spec: str) -> dict[str, OtherKernelLines]:
    """What the kernels of the matrix would be given, with the structures of this one."""
    try:
        probe = armable(spec)
    except ParseError as error:
        return {name: OtherKernelLines(error=error.refusal) for name in kernels(connection.facts)}
    return elsewhere(probe, connection.types_of(probe), kernels(connection.facts), DEFAULT_GROUP)


def _object(spec: str, verdict: Verdict, plan: Plan, others: dict[str, OtherKernelLines] | None) -> dict[str, object]:
    found: dict[str, object] = {
        "spec": spec,
        "ok": verdict.ok,
        "error": error_object(verdict.error),
        "lowered": plan.lines,
        "notes": plan.losses,
    }
    if others is not None:
        found["matrix"] = {
            name: {"lowered": one.lines, "losses": one.losses, "error": error_object(one.error)}
            for name, one in others.items()
        }
    return found


def _show_others(others: dict[str, OtherKernelLines]) -> None:
    if others:
        print("    other kernels, with the structures of this one:")
    for name, one in others.items():
        told = f"no: {one.error.hint or one.error.message}" if one.error else "; ".join(one.losses)
        print(f"    {name}: {plain(told)}".rstrip())
        for line in one.lines:
            print(f"        {plain(line)}")
