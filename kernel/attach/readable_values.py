"""Gather what is known of a running kernel on the means to attach to a function; report what each of them reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foreign.refusal import InputRefusal
from kernel.attach.explain import AttachExplainer
from kernel.attach.function_body import BodyReader
from kernel.attach.kcore import Kcore
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.probe_lookups import ProbeLookups
from kernel.errors import FileRefused
from kernel.facts.gather import read_config
from kernel.tracefs import decode
from probes.attaching.values import Attachability, ReasonKind
from probes.code.body import FunctionBody
from probes.facts.program_support import ProgramSupport
from probes.functions.signature import Signature, certain_signature_of
from probes.probe import Probe, ProbeKind, ProbePlace
from probes.readable.collect import KprobeFacts, function_report
from probes.readable.ftrace_call import CALL_BYTES, FIRST_BYTES, end_of_ftrace_call
from probes.readable.judge import MeansJudge
from probes.readable.optimised import optimisation_refusal
from probes.readable.report import FunctionReport, Means
from probes.readable.rows import UNKNOWN

_FTRACE_HANDLER: Final = "kprobe_ftrace_handler"
OPTIMISATION: Final = "debug/kprobes-optimization"
"""Name of the setting by which kprobes are optimised, below /proc/sys."""
_OPTIONS: Final = (
    "HAVE_DYNAMIC_FTRACE_WITH_ARGS",
    "HAVE_DYNAMIC_FTRACE_WITH_FTRACE_REGS",
    "DYNAMIC_FTRACE_WITH_REGS",
    "DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
    "KPROBES_ON_FTRACE",
    "OPTPROBES",
    "FPROBE",
    "KPROBE_EVENTS_ON_NOTRACE",
)
_OFF: Final = ProgramSupport(fentry=False, multi=False, obstacle="it was not tried: this is no running kernel")


class ReadableValueReader:
    """Reader of reports on one target; every call may take a second: for a worker."""

    def __init__(self, info: KernelInfo, explainer: AttachExplainer | None = None) -> None:
        """Take a target; `explainer`: one of the same target, which has looked already."""
        self._info = info
        self._explainer = explainer or AttachExplainer(info)
        self._bodies = BodyReader(info, self._explainer.attachability)
        self._settings: tuple[tuple[str, str], ...] | None = None

    def report(self, name: str) -> FunctionReport:
        """Return what can be read of a function's call. Raises TargetLost, BtfError where types lie."""
        info, judge = self._info, self.judge(name)
        about, prototype = self._explainer.attachability(name), info.function(name).prototype
        return function_report(name, judge, self._kprobe_facts(name, about), prototype, info.environment.events)

    @property
    def machine(self) -> str:
        """Architecture of the target, as `uname -m` says it."""
        return self._info.facts.machine

    def signature(self, name: str) -> Signature | None:
        """Return the signature of a function; None: BTF lacks it, or has several that differ. Raises TargetLost."""
        btf = self.judge(name).btf
        return certain_signature_of(btf, name) if btf is not None else None

    def judge(self, name: str) -> MeansJudge:
        """Return the judge of probes on a function. Raises TargetLost."""
        info, lookups = self._info, ProbeLookups(self._info)
        info.symbols.load()
        self._explainer.attachability(name)  # the catalog knows other names of its code from then on
        on_function = Probe(ProbePlace(name), kind=ProbeKind.KPROBE)
        btf = lookups.types_of(on_function)
        programs = info.program_support if info.target.is_kernel else _OFF
        around = replace(lookups.around(on_function), programs=programs, event=info.environment.nearby.event)
        return MeansJudge(btf, info.facts, around)

    def _kprobe_facts(self, name: str, about: Attachability) -> KprobeFacts:
        symbols = self._info.symbols.current
        on_ftrace = symbols.address_of(_FTRACE_HANDLER) is not None if symbols is not None else None
        obstacles = {}
        if not about.has(ReasonKind.TWINS):  # what is said of them depends on the place, as verdicts do
            kinds = {
                Means.BREAKPOINT: ProbeKind.KPROBE,
                Means.KRETPROBE: ProbeKind.KRETPROBE,
                Means.FPROBE_ENTRY: ProbeKind.FPROBE,
                Means.FPROBE_EXIT: ProbeKind.FPROBE,
            }
            obstacles = {means: about.text for means, kind in kinds.items() if kind not in about.kinds and about.text}
        settings = (*self._config(), (OPTIMISATION, self._optimisation() or "not there"))
        notes = tuple(reason.text for reason in about.reasons)
        end = self.call_end(name) if on_ftrace else None
        refused = jump_refused = ""
        if end is not None and (body := self.body(name)) is not None:
            refused = _refusal_at(body, end)
            jump_refused = optimisation_refusal(body, end)
        return KprobeFacts(on_ftrace, self._optimisation(), end, refused, jump_refused, settings, obstacles, notes)

    def body(self, name: str) -> FunctionBody | None:
        """Return the code of the only function of a name; None: there are several, or it can't be decoded here."""
        try:
            bodies = self._bodies.bodies(name)
        except InputRefusal:
            return None
        return bodies[0] if len(bodies) == 1 else None

    def _config(self) -> tuple[tuple[str, str], ...]:
        if self._settings is None:
            config = read_config(self._info.target, self._info.facts.release)
            self._settings = tuple(
                (f"CONFIG_{name}", config.get(name, "n") if config else UNKNOWN) for name in _OPTIONS
            )
        return self._settings

    def _optimisation(self) -> str:
        """Return `1` where kprobes are optimised, `0` where that is off; empty: the kernel does not do it."""
        try:
            return decode(self._info.target.read(f"/proc/sys/{OPTIMISATION}", 16)).strip()
        except FileRefused:
            return ""

    def call_end(self, name: str) -> int | None:
        """Return the end of ftrace's call in a function, by the kernel's memory; None: unknown."""
        symbols, info = self._info.symbols.current, self._info
        entries = [entry for entry in symbols.named(name) if entry.code] if symbols is not None else []
        if len(entries) != 1 or not info.target.is_kernel:
            return None
        address, machine = entries[0].address, info.facts.machine
        if (begin := info.environment.call_at(address)) is not None:
            return begin + CALL_BYTES if machine == "x86_64" else None
        try:
            return end_of_ftrace_call(Kcore(info.target).read(address, FIRST_BYTES), machine)
        except FileRefused:
            return None


def _refusal_at(body: FunctionBody, offset: int) -> str:
    """Return why the instruction at an offset takes no kprobe; empty: it takes one."""
    refusals = (one.refusal for one in body.parts[0].instructions if one.offset == offset)
    return next(refusals, "no instruction begins there")
