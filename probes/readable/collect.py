"""Collect what can be read of a function's call by each means, from the facts of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from btf.damage import exact_types
from btf.render import c_type
from probes.facts.dialect import dialect_of
from probes.fetcharg import FetchArg, Register, Stack
from probes.functions.capture_tree import CaptureNode, CaptureTree
from probes.functions.convention import CONVENTIONS, FunctionConvention, PassedValue, convention_of
from probes.functions.function_index import index_of
from probes.functions.signature import Signature, certain_signature_of
from probes.probe import ProbePlace
from probes.readable.judge import MeansJudge, probe_by
from probes.readable.report import ArgumentPlace, FunctionReport, Means, MeansReport, ReadableValue
from probes.readable.saved_sets import saved_sets
from probes.readable.tracepoints import tracepoint_reports

RETURNED: Final = "$retval"
_AT_EXIT_ONLY: Final = "it is there at the exit only"
_BY_REGISTER: Final = "behind ftrace's call: nothing of the function has run, arguments are read by register"
_DECIDED_LATER: Final = (
    "the kernel decides when it is enabled, by the code around it: kprobes/list says [OPTIMIZED] then"
)
_NOT_OF_THE_CALL: Final = "cs, ss and orig_ax are what the kernel puts there, not those of the call"
_LEFT_BY_FUNCTION: Final = "registers hold what the function has left in them"
_NO_REGISTERS: Final = "programs get the arguments or the result: ftrace saves the registers of these, and few others"
_NO_REGISTERS_ON_ONE: Final = "programs on one function get its arguments and result, no registers"
_STACK_UNKNOWN: Final = "it is on the stack, whose layout is not known here"
_RESULT_REGISTERS: Final = {"x86_64": ("ax", "dx"), "aarch64": ("x0", "x1"), "riscv64": ("a0", "a1")}


@dataclass(frozen=True, slots=True)
class KprobeFacts:
    """Facts on the kprobes of a kernel, and of one function."""

    on_ftrace: bool | None = None
    """True if kprobes at the entry of a function use ftrace (CONFIG_KPROBES_ON_FTRACE); None: unknown."""
    optimisation: str = ""
    """Content of /proc/sys/debug/kprobes-optimization, `0` or `1`; empty: the kernel optimises none."""
    call_end: int | None = None
    """Offset in bytes behind ftrace's call; None: unknown."""
    behind_call_refusal: str = ""
    """Reason why the instruction there takes no kprobe; empty: it takes one, or its code is not decoded."""
    optimisation_refusal: str = ""
    """Reason why the kernel would leave it a breakpoint there; empty: nothing known is against a jump."""
    settings: tuple[tuple[str, str], ...] = ()
    """Options of the kernel's configuration with their values."""
    obstacles: dict[Means, str] = field(default_factory=dict)
    """Reasons why a means does not attach, by the code and the symbols of the kernel."""
    notes: tuple[str, ...] = ()


class _Collector:
    """Collector for one function."""

    def __init__(self, function: str, judge: MeansJudge, kprobes: KprobeFacts) -> None:
        self.judge = judge
        self.kprobes = kprobes
        self.place = ProbePlace(function)
        self.machine = judge.facts.machine
        self.dialect = dialect_of(judge.facts, judge.btf)
        signature = certain_signature_of(judge.btf, function) if judge.btf is not None else None
        self.signature: Signature | None = signature
        self.convention = (
            convention_of(signature.btf, signature.params, self.machine, signature.returns)
            if signature is not None
            else FunctionConvention()
        )
        self.tree = CaptureTree(judge.btf, function, self.machine)
        self.saved = saved_sets(judge.btf, self.machine, frozenset(self.dialect.registers or ()))

    # -- places by the calling convention --------------------------------------------------------------------------

    def arguments(self) -> Iterator[ArgumentPlace]:
        """Yield the place of each parameter and of the return value."""
        signature = self.signature
        if signature is None:
            return
        for param, passed in zip(signature.params, self.convention.params, strict=False):
            yield ArgumentPlace(param.name, c_type(signature.btf, param.type_id), self._place(passed), passed.reason)
        if signature.returns:
            passed = self.convention.result
            names = _RESULT_REGISTERS.get(self.machine, ())[: len(passed.slots)]
            text = " and ".join(f"%{name}" for name in names) if not passed.reason else ""
            yield ArgumentPlace(RETURNED, c_type(signature.btf, signature.returns), text, passed.reason)

    def _place(self, passed: PassedValue) -> str:
        texts = [str(one) for one in self._holders(passed)]
        copy = "a copy at the address in " if passed.by_reference else ""
        return copy + " and ".join(texts)

    def _holders(self, passed: PassedValue) -> list[Register | Stack]:
        """Return the registers and entries of the stack that hold a parameter when the function begins."""
        names = self.dialect.argument_registers
        convention = CONVENTIONS.get(self.machine)
        found: list[Register | Stack] = []
        for slot in passed.slots:
            if slot <= len(names):
                found.append(Register(names[slot - 1]))
            elif convention is not None:
                found.append(Stack(str(convention.stack_first + slot - convention.registers - 1)))
        return [*found, *(Stack(str(number)) for number in passed.stack)]

    # -- values by a means -----------------------------------------------------------------------------------------

    def values(self, means: Means) -> Iterator[ReadableValue]:
        """Yield each argument, and the return value, by a means that attaches to the beginning of the function."""
        for node in self.tree.roots():
            if not (node.at_exit or node.expression is not None or node.reason):
                continue  # $comm and $stack
            if node.at_exit and not means.at_exit:
                yield ReadableValue(node.label, reason=_AT_EXIT_ONLY)
            else:
                yield self._value(means, node)
        if self.signature is not None and not self.signature.returns:
            yield ReadableValue(RETURNED, reason="the function returns nothing")

    def _value(self, means: Means, node: CaptureNode) -> ReadableValue:
        if node.fetcharg is not None:
            reason = self.judge.refusal(means, self.place, node.fetcharg)
            return ReadableValue(node.label, "" if reason else str(node.fetcharg), reason)
        if node.expandable:
            refused = ""
            for member in self.tree.children(node):
                if member.fetcharg is None:
                    continue
                refused = self.judge.refusal(means, self.place, member.fetcharg)
                if not refused:
                    return ReadableValue(
                        node.label, str(member.fetcharg), note=f"by its members: {member.fetcharg} …"
                    )
            return ReadableValue(node.label, reason=refused or node.reason)
        return self._in_parts(means, node)

    def _in_parts(self, means: Means, node: CaptureNode) -> ReadableValue:
        """Return a value of two registers, as far as each of them can be recorded."""
        signature = self.signature
        number = signature.number_of(node.label) if signature is not None else None
        if number is None or means.at_exit or (passed := self.convention.params[number]).reason:
            return ReadableValue(node.label, reason=node.reason)
        words = [FetchArg(holder) for holder in self._holders(passed)]
        reason = next((text for word in words if (text := self.judge.refusal(means, self.place, word))), "")
        if reason or not words:
            return ReadableValue(node.label, reason=node.reason)
        return ReadableValue(node.label, " ".join(map(str, words)), note=node.reason)

    def values_by_register(self, place: ProbePlace) -> Iterator[ReadableValue]:
        """Yield each argument by the register that holds it, for a place behind the function's beginning."""
        signature = self.signature
        for param, passed in zip(signature.params if signature else (), self.convention.params, strict=False):
            holders = self._holders(passed)
            reason = passed.reason or ("" if holders else _STACK_UNKNOWN)
            words = [FetchArg(holder) for holder in holders]
            reason = reason or next(
                (text for word in words if (text := self.judge.refusal(Means.BREAKPOINT, place, word))), ""
            )
            note = "the address of a copy" if passed.by_reference else ""
            yield ReadableValue(param.name, "" if reason else " ".join(map(str, words)), reason, note)
        if signature is None or signature.returns:
            yield ReadableValue(RETURNED, reason=_AT_EXIT_ONLY)

    def _register_names(self) -> list[str]:
        """Return the names of registers that kprobes take, in the order of struct pt_regs."""
        known = self.dialect.registers or frozenset()
        order = self.saved[0].registers if self.saved else ()
        return [*order, *sorted(known - {*order})]

    def registers(self, means: Means, place: ProbePlace) -> tuple[tuple[str, ...], str]:
        """Return the registers that can be recorded by a means, and why others can't."""
        names = self._register_names()
        refused = {name: self.judge.refusal(means, place, FetchArg(Register(name))) for name in names}
        taken = tuple(name for name, reason in refused.items() if not reason)
        reason = next((text for text in refused.values() if text), "")
        if reason and means.by_program:
            reason = _NO_REGISTERS_ON_ONE if means in (Means.FENTRY, Means.FEXIT) else _NO_REGISTERS
        return taken, reason

    # -- reports ---------------------------------------------------------------------------------------------------

    def report(self, means: Means) -> MeansReport:
        """Return the report of a means."""
        spec = str(probe_by(means, self.place))
        by_attaching = self.kprobes.obstacles.get(means, "")
        if reason := self.judge.refusal(means, self.place) or by_attaching:
            return MeansReport(means, refusal=reason)
        return self._read(means, self.place, spec, tuple(self.values(means)))

    def _read(
        self, means: Means, place: ProbePlace, spec: str, values: tuple[ReadableValue, ...], *notes: str
    ) -> MeansReport:
        registers, note = self.registers(means, place)
        added = list(notes)
        if means is Means.KRETPROBE:
            added.append(_LEFT_BY_FUNCTION)
        if self.machine == "x86_64" and registers and means is not Means.BREAKPOINT:
            added.append(_NOT_OF_THE_CALL)
        return MeansReport(means, spec, "", values, registers, note, tuple(added))

    def kprobe_reports(self) -> Iterator[MeansReport]:
        """Yield the reports of a kprobe on ftrace, by a breakpoint, and optimised."""
        kprobes, place = self.kprobes, self.place
        refused = self.judge.refusal(Means.BREAKPOINT, place) or kprobes.obstacles.get(Means.BREAKPOINT, "")
        traced = index_of(self.judge.facts).count(place.symbol) > 0
        if refused:
            for means in (Means.FTRACE_KPROBE, Means.BREAKPOINT, Means.OPTIMISED):
                yield MeansReport(means, refusal=refused)
            return
        if kprobes.on_ftrace and traced:
            values = tuple(self.values(Means.FTRACE_KPROBE))
            yield self._read(Means.FTRACE_KPROBE, place, str(probe_by(Means.BREAKPOINT, place)), values)
            yield from self._behind_call()
            return
        reason = "this kernel sets no kprobes on ftrace's calls (it has no kprobe_ftrace_handler)"
        if kprobes.on_ftrace is None:
            reason = "it is unknown whether this kernel sets kprobes on ftrace's calls: its symbols are hidden"
        elif kprobes.on_ftrace:
            reason = "ftrace has no call in this function"
        yield MeansReport(Means.FTRACE_KPROBE, refusal=reason)
        values = tuple(self.values(Means.BREAKPOINT))
        spec = str(probe_by(Means.BREAKPOINT, place))
        yield self._read(Means.BREAKPOINT, place, spec, values)
        yield self._optimised(lambda: self._read(Means.OPTIMISED, place, spec, values, _DECIDED_LATER))

    def _behind_call(self) -> Iterator[MeansReport]:
        """Yield the reports of kprobes at the first instruction behind ftrace's call."""
        end = self.kprobes.call_end
        reason = "" if end is not None else "the end of ftrace's call is unknown: the kernel's memory can't be read"
        place = ProbePlace(self.place.symbol, offset=end or 0, written=f"+{end:#x}" if end else "")
        reason = reason or self.judge.refusal(Means.BREAKPOINT, place) or self.kprobes.behind_call_refusal
        if reason:
            yield MeansReport(Means.BREAKPOINT, refusal=reason)
            yield MeansReport(Means.OPTIMISED, refusal=reason)
            return
        spec, values = str(probe_by(Means.BREAKPOINT, place)), tuple(self.values_by_register(place))
        yield self._read(Means.BREAKPOINT, place, spec, values, _BY_REGISTER)
        yield self._optimised(lambda: self._read(Means.OPTIMISED, place, spec, values, _BY_REGISTER, _DECIDED_LATER))

    def _optimised(self, read: Callable[[], MeansReport]) -> MeansReport:
        if not self.kprobes.optimisation:
            reason = "this kernel optimises no kprobes (it has no debug/kprobes-optimization)"
            return MeansReport(Means.OPTIMISED, refusal=reason)
        if self.kprobes.optimisation == "0":
            return MeansReport(Means.OPTIMISED, refusal="debug/kprobes-optimization is 0")
        if self.kprobes.optimisation_refusal:
            return MeansReport(Means.OPTIMISED, refusal=self.kprobes.optimisation_refusal)
        return read()


def function_report(
    function: str,
    judge: MeansJudge,
    kprobes: KprobeFacts,
    prototype: str = "",
    events: Sequence[str] = (),
) -> FunctionReport:
    """Return what can be read of a function's call by each means.

    Args:
        function: its name.
        judge: judge of probes on it.
        kprobes: what is known of kprobes there.
        prototype: its declaration in C; empty: unknown.
        events: events of the kernel, as `group/event`.

    Raises BtfError where the types lie.
    """
    with exact_types():
        collector = _Collector(function, judge, kprobes)
        reports = list(collector.kprobe_reports())
        reports += [
            collector.report(means)
            for means in Means
            if means not in (Means.FTRACE_KPROBE, Means.BREAKPOINT, Means.OPTIMISED, Means.TRACEPOINT)
        ]
        reports += tracepoint_reports(function, collector.signature, judge, events)
        notes = [*kprobes.notes]
        if collector.signature is None:
            notes.append("its signature is not in BTF, or BTF has several of its name: no argument has a name")
        return FunctionReport(
            function,
            prototype,
            judge.facts.title,
            judge.facts.machine,
            tuple(collector.arguments()),
            collector.saved,
            kprobes.settings,
            tuple(reports),
            tuple(notes),
        )
