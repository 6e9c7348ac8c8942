"""`probewright check SPEC…`: print the verdict on each probe before anything is written, and the lines that would
be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping

from foreign.refusal import InputRefusal
from foreign.text import lines_from
from kernel.connection.planner import Planner
from kernel.guards.limits import MeasuredRate
from probes.check import lowers_to_same_line
from probes.command import Armable, parse_armable
from probes.lowering.other_kernels import OtherKernelLines, lower_for_others
from probes.plans.plan import DEFAULT_GROUP, Plan, Via
from probes.probe import Probe, ProbePlace
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from probes.verdict import Refusal, Verdict
from tui.cli.console.output import connect, emit, plain, require_connection, usage_error
from tui.cli.console.verdict import error_object, show_verdict
from tui.cli.specs.attach_text import with_corrections
from tui.cli.specs.measured_rate import measure_rate, rate_lines
from tui.cli.specs.source_lines import with_places
from tui.cli.specs.translation import targets_of, translate_words
from tui.cli.status import DONE, REFUSED, UsageFault
from tui.compose.kernel_matrix import kernels

_LONGEST_LINE = 64 << 10
"""Characters of a line of standard input; a command of a kernel has 4094 at most."""
_MOST_LINES = 1_000_000


def run(arguments: argparse.Namespace) -> int:
    if arguments.stdin == bool(arguments.specs):
        return usage_error("give specifications, or --stdin to read them")
    planner = Planner(connect(arguments.target, arming=arguments.rate), Via(arguments.via))
    try:
        refused = False
        specs, counting = _specs(arguments)
        for spec in with_places(specs, planner.info):
            verdict, plan = planner.check(spec, look=True)[:2]
            verdict = with_corrections(
                planner.info, spec, verdict, lambda text: planner.check(text, look=True).verdict
            )
            plan = plan or _lowered(planner, spec, verdict)
            if verdict.ok and (of_trigger := _of_triggers(planner, plan, counting.get(spec, ()))) is not None:
                verdict = Verdict(spec, of_trigger)
            refused |= not verdict.ok
            others = _elsewhere(planner, spec) if arguments.matrix else None
            measured = measure_rate(planner, plan.probe) if arguments.rate and verdict.ok and plan.events else None
            if arguments.json:
                emit(_object(spec, verdict, plan, others) | (_rate_object(measured[1]) if measured else {}))
            else:
                show_verdict(spec, verdict, plan.shown_lines, notes=plan.losses)
                _show_others(others or {})
                for line in rate_lines(*measured) if measured else ():
                    print(f"    rate: {plain(line)}")
        require_connection(planner.info)
        return REFUSED if refused else DONE
    finally:
        planner.info.close()


def _specs(arguments: argparse.Namespace) -> tuple[Iterable[str], Mapping[str, tuple[str, ...]]]:
    """Return the specifications to check, and their triggers where another tool's text was translated."""
    if not arguments.stdin:
        return translate_words(arguments.specs, targets_of(arguments))
    return _typed_lines(), {}


def _typed_lines() -> Iterator[str]:
    """Yield the specifications of standard input, each when it is there. Raises UsageFault: a line is too long."""
    try:
        for line in lines_from(sys.stdin, "standard input", _LONGEST_LINE, _MOST_LINES):
            if line.strip():
                yield line
    except InputRefusal as error:
        raise UsageFault(str(error)) from None


def _of_triggers(planner: Planner, plan: Plan, triggers: tuple[str, ...]) -> Refusal | None:
    """Return the reason why this kernel rejects one of the triggers on every event of a probe; None: it accepts
    them.
    """
    try:
        planner.with_triggers(plan, triggers if plan.events else ())
    except CannotLower as error:
        return error.refusal
    return None


def _lowered(planner: Planner, spec: str, verdict: Verdict) -> Plan:
    """Return the plan that `run` would write even for a rejected text: a missing feature can often be lowered."""
    probe: Armable = Probe(ProbePlace(""))
    try:
        probe = parse_armable(spec)
        plan = planner.lower(probe, DEFAULT_GROUP)
    except ParseError:
        return Plan(probe, ())
    except CannotLower as error:
        # A text that the kernel accepts may do harm, or its meaning may be uncertain.
        return Plan(probe, (), (f"`run` does not arm it: {error}",) if verdict.ok else ())
    return Plan(probe, ()) if lowers_to_same_line(verdict, plan) else plan


def _elsewhere(planner: Planner, spec: str) -> dict[str, OtherKernelLines]:
    """Return the lines for the kernels of the matrix, computed with the structures of this kernel."""
    try:
        probe = parse_armable(spec)
    except ParseError as error:
        return {name: OtherKernelLines(error=error.refusal) for name in kernels(planner.info.facts)}
    return lower_for_others(probe, planner.lookups.types_of(probe), kernels(planner.info.facts), DEFAULT_GROUP)


def _object(spec: str, verdict: Verdict, plan: Plan, others: dict[str, OtherKernelLines] | None) -> dict[str, object]:
    result: dict[str, object] = {
        "spec": spec,
        "ok": verdict.ok,
        "error": error_object(verdict.error),
        "lowered": plan.shown_lines,
        "notes": plan.losses,
    }
    if others is not None:
        result["matrix"] = {
            name: {"lowered": other.lines, "losses": other.losses, "error": error_object(other.error)}
            for name, other in others.items()
        }
    return result


def _rate_object(measured: MeasuredRate | None) -> dict[str, object]:
    """Return a measured rate as keys of the object of a probe."""
    if measured is None:
        return {"rate": None}
    return {"rate": {"hits": measured.hits, "records": measured.records, "by_function": dict(measured.by_function)}}


def _show_others(others: dict[str, OtherKernelLines]) -> None:
    if others:
        print("    other kernels, with the structures of this one:")
    for name, other in others.items():
        note = f"no: {other.error.hint or other.error.message}" if other.error else "; ".join(other.losses)
        print(f"    {name}: {plain(note)}".rstrip())
        for line in other.lines:
            print(f"        {plain(line)}")
