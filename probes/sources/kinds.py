"""List the kinds of sources: what makes events and is no probe on a function, with the options of each.

Documentation/trace/{osnoise-tracer,timerlat-tracer,hwlat_detector}.rst; bounds are those of the files in
kernel/trace/{trace_osnoise,trace_hwlat}.c. Watchpoints are perf events of the debug registers
(PERF_TYPE_BREAKPOINT in perf_event_open(2)), monitors samples that a thread of ours takes. To measure wakeups the
kernel needs no tracer: two hist triggers do it (Documentation/trace/histogram.rst), where the wakeup tracers keep one
maximum, in a buffer that has no raw pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from probes.sources.option import OptionType, SourceOption

_HOUR: Final = 3_600_000_000
CPUS: Final = SourceOption("cpus", OptionType.CPUS, "CPUs that are measured; without it, those that are set now")
_CAUSES: Final = SourceOption(
    "causes", OptionType.SWITCH, "record each interrupt, softirq and thread that interrupted a measuring thread", "on"
)
_TOLERANCE: Final = SourceOption(
    "tolerance",
    OptionType.DURATION,
    "shortest time that counts (tracing_thresh); without it, that of the kernel",
    least=1,
    most=_HOUR,
)


def _stop(name: str, of: str) -> SourceOption:
    text = f"end recording at {of} of at least this time, with the events before it still there"
    return SourceOption(name, OptionType.DURATION, text, "0us", 1, _HOUR, zero_is_off=True)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """Kind of source."""

    name: str
    """First word of its text."""
    title: str
    """Measured thing in a few words, for lists."""
    question: str
    """Question that it answers."""
    options: tuple[SourceOption, ...]
    tracer: str = ""
    """Name of the tracer; empty: the events are made without one."""
    config: str = ""
    """Configuration option that gives a kernel the tracer, without CONFIG_."""
    since: str = ""
    """First release of Linux with the tracer; for users only, as no decision depends on it."""
    limit: str = ""
    """Option that `--threshold` sets, so that the kernel itself ends recording; empty: the events are compared."""

    is_latency: bool = True
    """True if its events are latencies, with a table by CPU."""
    required: str = ""
    """Option that has no default and without which nothing is recorded; empty: there is none."""
    is_bare: bool = False
    """True if that option may be given without its name, and others as `--every 1s`."""

    def option(self, name: str) -> SourceOption | None:
        """Return the option of a name; None: there is none."""
        return next((option for option in self.options if option.name == name), None)


TIMERLAT: Final = SourceKind(
    "timerlat",
    "latency of timer interrupts and of the threads they wake, for each CPU",
    "Which interrupt or thread delays my task?",
    (
        CPUS,
        SourceOption("period", OptionType.DURATION, "time between two timer interrupts", "1ms", 100, 1_000_000),
        _stop("stop", "a thread latency"),
        _stop("stop_irq", "an interrupt latency"),
        SourceOption(
            "stack",
            OptionType.DURATION,
            "record the stack at the interrupt where the thread's latency is at least this time",
            "0us",
            1,
            _HOUR,
            zero_is_off=True,
        ),
        _CAUSES,
    ),
    "timerlat",
    "TIMERLAT_TRACER",
    "5.14",
    "stop",
)
OSNOISE: Final = SourceKind(
    "osnoise",
    "noise: time that NMIs, interrupts, softirqs and threads take from a busy task, for each CPU",
    "How much of a CPU does the system take from a task, and by what?",
    (
        CPUS,
        SourceOption("period", OptionType.DURATION, "time between the starts of two samples", "1s", 1_000, _HOUR),
        SourceOption("runtime", OptionType.DURATION, "busy time of a sample; at most the period", "1s", 1_000, _HOUR),
        _TOLERANCE,
        _stop("stop", "a single noise"),
        _stop("stop_total", "a sample with noise"),
        _CAUSES,
    ),
    "osnoise",
    "OSNOISE_TRACER",
    "5.14",
    "stop",
)
HWLAT: Final = SourceKind(
    "hwlat",
    "latency caused by the hardware or firmware (SMIs): gaps in the time of a CPU whose interrupts are off",
    "Does the firmware stop my CPUs?",
    (
        CPUS,
        SourceOption("window", OptionType.DURATION, "time between the starts of two samples", "1s", 1_000, _HOUR),
        SourceOption(
            "width", OptionType.DURATION, "time with interrupts off, within each window", "500ms", 1_000, _HOUR
        ),
        SourceOption(
            "mode",
            OptionType.CHOICE,
            "one thread that stays, one that goes round the CPUs, or one on each",
            "round-robin",
            choices=("none", "round-robin", "per-cpu"),
        ),
        _TOLERANCE,
    ),
    "hwlat",
    "HWLAT_TRACER",
    "4.9",
)
WAKEUP: Final = SourceKind(
    "wakeup",
    "time from a task's wakeup until it runs, for each CPU and task",
    "How long do my tasks wait for a CPU?",
    (
        SourceOption(
            "tasks",
            OptionType.CHOICE,
            "all tasks, or those of real time and deadline policies",
            "all",
            choices=("all", "rt"),
        ),
        SourceOption(
            "least", OptionType.DURATION, "record only wakeups that took at least this time", "0us", 0, _HOUR
        ),
    ),
)
WATCHPOINT: Final = SourceKind(
    "watchpoint",
    "accesses to a kernel variable or an address: who wrote it, and the value before and after",
    "Who writes this variable?",
    (
        SourceOption("at", OptionType.MEMORY, "memory that is watched"),
        SourceOption("field", OptionType.FIELD, "field of the structure that begins there, in place of all of it"),
        SourceOption(
            "len",
            OptionType.CHOICE,
            "watched bytes; without it, those of the type, else of the variable",
            choices=("1", "2", "4", "8"),
        ),
        SourceOption(
            "access",
            OptionType.CHOICE,
            "writes, reads and writes, or reads alone, which x86 can't report alone",
            "w",
            choices=("w", "rw", "r"),
        ),
        SourceOption(
            "type",
            OptionType.CHOICE,
            "type by which the value is shown; without it, that of the variable where BTF knows it",
            choices=tuple(f"{sign}{bits}" for sign in "usx" for bits in (8, 16, 32, 64)),
        ),
        SourceOption("stack", OptionType.SWITCH, "record the kernel's stack at each access", "off"),
    ),
    config="HAVE_HW_BREAKPOINT",
    is_latency=False,
    required="at",
)
MONITOR: Final = SourceKind(
    "monitor",
    "samples of a kernel variable, or of a number in a file of /proc or /sys, at a rate",
    "Which value has this variable, beside what my probes see?",
    (
        SourceOption("of", OptionType.NUMBER, "number that is sampled"),
        SourceOption("every", OptionType.DURATION, "time between two samples", "100ms", 1_000, _HOUR),
        SourceOption(
            "type",
            OptionType.CHOICE,
            "type of the number; without it, that of the variable where BTF knows it",
            choices=tuple(f"{sign}{bits}" for sign in "usx" for bits in (8, 16, 32, 64)),
        ),
        SourceOption(
            "per",
            OptionType.CHOICE,
            "of a per-CPU variable the sum of all CPUs, or a sample of each CPU",
            "sum",
            choices=("sum", "cpu"),
        ),
        SourceOption("cpus", OptionType.CPUS, "CPUs whose per-CPU variable counts; without it, all that are there"),
        SourceOption(
            "scale",
            OptionType.CHOICE,
            "factor of a number in a file, which keeps digits behind its point",
            "1",
            choices=("1", "10", "100", "1000", "1000000"),
        ),
    ),
    is_latency=False,
    required="of",
    is_bare=True,
)
KINDS: Final = {kind.name: kind for kind in (TIMERLAT, OSNOISE, HWLAT, WAKEUP, WATCHPOINT, MONITOR)}
