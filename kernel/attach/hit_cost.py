"""Measure what a hit costs by each means: time a cheap system call of our own thread, with each means armed in turn.

All is bounded in time, recorded of our own thread only, and undone: events in an instance of our own, links of BPF.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from foreign.refusal import InputRefusal
from kernel.agent import bpf_calls
from kernel.attach.readable_values import OPTIMISATION, ReadableValueReader
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX
from kernel.cleanup.undo import UndoList, failure_lines
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import FileRefused
from kernel.session.instance import configure, make_instance, require_usable
from kernel.target import BpfPart
from kernel.tracefs import Instance, Tracefs, decode
from probes.bpf.fentry import target_of
from probes.bpf.instructions import MapRole, encode
from probes.bpf.program import NO_FUNCTION, AttachPoint
from probes.command import CommandText
from probes.functions.function_index import index_of
from probes.functions.signature import certain_signature_of
from probes.plans.plan import Via
from probes.readable.hit_cost import (
    COUNT_BYTES,
    SYSTEM_CALL,
    CostReport,
    MeansCost,
    Spread,
    calls_for,
    count_own_hits,
    per_call,
)
from probes.readable.optimised import kprobe_offsets
from probes.readable.report import FunctionReport, Means, MeansReport
from probes.refusal import CannotLower

_ROUNDS: Final = 9
_ROUND_NS: Final = 2e6
"""Duration of a round of bare calls that is aimed at, in ns."""
_BREAKPOINT_ROUND_NS: Final = 2e5
"""Duration of a round of a kprobe that the kernel optimises some 20 ms later."""
_BREAKPOINT_TRIES: Final = 5
_OPTIMISED_WITHIN: Final = 2.0
"""Seconds that the kernel has to optimise a kprobe."""
_PAUSE: Final = 0.05
_PREFIXES: Final = ("__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__do_sys_", "sys_")
_POINTS: Final = {
    Means.MULTI_ENTRY: AttachPoint.ENTRY,
    Means.MULTI_EXIT: AttachPoint.EXIT,
    Means.FENTRY: AttachPoint.FENTRY,
    Means.FEXIT: AttachPoint.FEXIT,
}
_OPTIMISED_FLAG: Final = "[OPTIMIZED]"
_KPROBES: Final = "/sys/kernel/debug/kprobes/list"


def measured_function(info: KernelInfo) -> str:
    """Return the function that serves the timed system call. Raises InputRefusal: it can't be traced."""
    index = index_of(info.facts)
    found = next((name for prefix in _PREFIXES if index.count(name := f"{prefix}{SYSTEM_CALL}") == 1), "")
    if not found:
        raise InputRefusal(SYSTEM_CALL, "no function of this system call can be traced, so no hit can be timed")
    return found


def measure(info: KernelInfo, reader: ReadableValueReader) -> CostReport:
    """Return the costs of a hit by each means that attaches, beside a call without a probe.

    Raises InputRefusal (it can't be measured), TargetUnusable, TargetLost.
    """
    require_usable(info.target)
    function = measured_function(info)
    report = reader.report(function)
    undo = UndoList(info.target)
    failures = []
    try:
        costs = _HitTimer(info, undo, reader, report).costs()
    except FileRefused as error:
        raise InputRefusal("", f"hits can't be timed there: {error}") from None
    finally:
        failures = undo.run()
    if failures:
        raise InputRefusal("", "; ".join(failure_lines(failures)))
    return costs


class _HitTimer:
    """Timer of calls on one target, with an instance of its own."""

    def __init__(self, info: KernelInfo, undo: UndoList, reader: ReadableValueReader, report: FunctionReport) -> None:
        self._info = info
        self._reader = reader
        self._target = info.target
        self._undo = undo
        self._report = report
        self._tracefs = Tracefs(info.target, info.facts.tracefs)
        self._instance: Instance = make_instance(info.target, self._tracefs, undo)
        info.target.hold(self._instance.file("tracing_on"))
        configure(info.target, self._instance)
        self._group = GROUP_PREFIX + self._instance.path.rpartition(INSTANCE_PREFIX)[2]
        self._planner = Planner(info, Via.TRACEFS)
        self._thread, first = self._time(100, 1)
        self._calls = calls_for(min(first), _ROUND_NS)
        self._short = calls_for(min(first), _BREAKPOINT_ROUND_NS)
        self._target.perform(self._instance.write("set_event_pid", str(self._thread)))
        self._bare: list[float] = []
        self._optimises = dict(report.settings).get(OPTIMISATION) == "1"

    def _time(self, number: int, rounds: int) -> tuple[int, list[float]]:
        """Return our thread there, and the ns of a call in each round. Raises FileRefused, TargetLost."""
        attributes = struct.pack("<II", number, rounds)
        part = BpfPart(0, b"8", bpf_calls.RETURNED)
        answer = self._target.bpf(bpf_calls.TIME_CALLS, attributes, (part,))
        return answer.result, per_call(answer.returned[0], number)

    def costs(self) -> CostReport:
        """Return the costs by all means. Raises FileRefused, TargetLost."""
        self._time_bare()
        found = [(means, self._timed(means)) for means in Means]
        self._time_bare()
        bare = Spread.of(self._bare)
        costs = [one._replace(cost=one.cost.beside(bare) if one.cost else None) for _, one in found]
        return CostReport(self._report.function, bare, self._calls, tuple(costs))

    def _time_bare(self) -> None:
        self._bare += self._time(self._calls, _ROUNDS)[1]

    def _timed(self, means: Means) -> MeansCost:
        """Return the time of a call with a means armed, bare calls before it."""
        report = self._report.report(means)
        if means in (Means.BREAKPOINT, Means.OPTIMISED):
            report = self._kprobe_report(means)
        if report.refusal and means is not Means.TRACEPOINT:
            return MeansCost(means, reason=report.refusal)
        self._bare += self._time(self._calls, 2)[1]
        try:
            return self._timed_program(means) if means.by_program else self._timed_event(report)
        except (BpfRefused, CannotLower, FileRefused) as error:
            return MeansCost(means, reason=str(error))

    def _kprobe_report(self, means: Means) -> MeansReport:
        """Return the report of a kprobe by a breakpoint, or of an optimised one, on an instruction that is such."""
        report, name = self._report.report(means), self._report.function
        body = self._reader.body(name) if self._optimises else None
        places = kprobe_offsets(body, optimised=means is Means.OPTIMISED) if body is not None else []
        first = self._reader.call_end(name) or 0
        place = next((one for one in places if one >= first), None)
        return report if place is None else MeansReport(means, f"p {name}+{place:#x}")

    # -- events of tracefs -----------------------------------------------------------------------------------------

    @contextmanager
    def _armed(self, report: MeansReport) -> Iterator[None]:
        """Arm a probe as an event of our instance, and take it away. Raises FileRefused, CannotLower."""
        before = len(self._undo)
        try:
            path = self._event(report)
            self._undo.do(self._instance.enable(path, on=True), self._instance.enable(path, on=False))
            yield
        finally:
            self._undo.run(down_to=before)

    def _event(self, report: MeansReport) -> str:
        """Return the path of the event of a means, made where it is not the kernel's."""
        if report.means is Means.TRACEPOINT:
            path = f"syscalls/sys_enter_{SYSTEM_CALL}"
            if path not in self._info.environment.events:
                raise InputRefusal(path, "this kernel has no such event")
            return path
        probe = CommandText.parse(report.spec).require_armable()
        [event] = self._planner.lower(probe, self._group).events
        self._undo.do(self._tracefs.define(event.line), self._tracefs.define(event.remove))
        return f"{event.group}/{event.event}"

    def _timed_event(self, report: MeansReport) -> MeansCost:
        means = report.means
        if means is Means.BREAKPOINT and self._optimises:
            return self._timed_breakpoint(report)
        try:
            with self._armed(report):
                if means is Means.OPTIMISED and not self._is_optimised():
                    reason = f"the kernel did not optimise it within {_OPTIMISED_WITHIN:.0f} s"
                    return MeansCost(means, reason=reason, flags=self._flags())
                return self._timed_armed(means, self._calls)
        except InputRefusal as error:
            return MeansCost(means, reason=str(error))

    def _timed_armed(self, means: Means, number: int) -> MeansCost:
        hits = self._recorded()
        _, times = self._time(number, _ROUNDS)
        hits = self._recorded() - hits
        return MeansCost(means, Spread.of(times), hits, number * len(times), self._flags())

    def _timed_breakpoint(self, report: MeansReport) -> MeansCost:
        """Return the time of a call before the kernel optimises the kprobe: it was not optimised afterwards."""
        for _ in range(_BREAKPOINT_TRIES):
            with self._armed(report):
                found = self._timed_armed(Means.BREAKPOINT, self._short)
            if _OPTIMISED_FLAG not in found.flags:
                return found
        return MeansCost(Means.BREAKPOINT, reason="the kernel optimised it before it could be timed")

    def _recorded(self) -> int:
        """Return the number of events that were written into our instance."""
        return sum(one.entries + one.overrun + one.read for one in self._instance.stats().values())

    def _is_optimised(self) -> bool:
        """Wait until the kernel has optimised the kprobe; return whether it did."""
        for _ in range(int(_OPTIMISED_WITHIN / _PAUSE)):
            if _OPTIMISED_FLAG in self._flags():
                return True
            time.sleep(_PAUSE)
        return False

    def _flags(self) -> str:
        """Return the flags of kprobes/list and enabled_functions for the timed function."""
        name = re.escape(self._report.function)
        found = re.findall(rf"^\S+\s+[kr]\s+{name}\+\S+(.*)$", self._text(_KPROBES), re.MULTILINE)
        flags = [flag for rest in found for flag in re.findall(r"\[\w+\]", rest)]
        enabled = re.search(
            rf"^{name}(?: \[\w+\])? \(\d+\)([ A-Z]*)",
            self._text(f"{self._info.facts.tracefs}/enabled_functions"),
            re.MULTILINE,
        )
        letters = enabled[1].split() if enabled else []
        return " ".join(dict.fromkeys([*flags, *letters]))

    def _text(self, path: str) -> str:
        try:
            return decode(self._target.read(path))
        except FileRefused:
            return ""

    # -- BPF programs ----------------------------------------------------------------------------------------------

    def _timed_program(self, means: Means) -> MeansCost:
        point, files, name = _POINTS[means], list[int](), self._report.function
        function = NO_FUNCTION
        if point.on_one:
            btf = self._info.btf
            signature = certain_signature_of(btf, name) if btf is not None else None
            function = (target_of(signature, self._info.facts) if signature is not None else None) or NO_FUNCTION
        try:
            files.append(calls.create_map(self._target, MapType.ARRAY, 4, COUNT_BYTES, 1, "pw_cost"))
            code = encode(count_own_hits(self._thread), {MapRole.HITS: files[0]})
            files.append(calls.load_program(self._target, code, "pw_cost", point, function))
            if point.on_one:
                files.append(calls.attach_to_function(self._target, files[1]))
            else:
                files.append(calls.attach(self._target, files[1], [name], point))
            _, times = self._time(self._calls, _ROUNDS)
            hits = int.from_bytes(calls.read_element(self._target, files[0], 0, COUNT_BYTES), "little")
            return MeansCost(means, Spread.of(times), hits, self._calls * len(times), self._flags())
        finally:
            self._target.close_bpf([*reversed(files)])
