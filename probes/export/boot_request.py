"""Describe probes that a kernel arms while it boots: text for its bootconfig or command line, and plans."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from probes.export import bootconfig, kernel_cmdline
from probes.export.dialect import CannotExport
from probes.export.export import dialect_named, export
from probes.facts.facts import TargetFacts
from probes.plans.instance_groups import with_group
from probes.plans.plan import Plan

DEFAULT_BUFFER_KB = 4096
CLOCK = "global"
"""Trace clock: that of the kernel's log, near zero at power on, ordered across CPUs; mono counts in ticks of a timer
until a clock source is chosen. Where none is named the kernel may choose
another late in the boot, which empties the buffer (tracing_set_default_clock, kernel/trace/trace.c).
"""
_KEEP_OLDEST = "nooverwrite"
"""Trace option by which a full buffer takes no more events: the beginning of the boot stays."""
_EXPANDED = "ftrace=nop"
"""Word that gives the kernel's own buffer its full size from the beginning: events of `kprobe_event=` alone are
recorded in the two pages that it has before somebody uses it (trace_set_ring_buffer_expanded, kernel/trace/trace.c).
"""


class BootWay(enum.StrEnum):
    """Means by which a kernel is told of probes before it runs; each is the name of an export dialect."""

    BOOTCONFIG = "bootconfig"
    CMDLINE = "cmdline"


@dataclass(frozen=True, slots=True)
class BootRequest:
    """Probes that a kernel arms while it boots."""

    way: BootWay
    text: str
    """Content of the bootconfig, or words for the command line, ending with a newline."""
    plans: tuple[Plan, ...]
    """Plans with the groups that their events have after the boot."""
    notes: tuple[str, ...] = ()

    @property
    def instance(self) -> str:
        """Name of the trace instance with the events; empty: the kernel's own buffer."""
        return bootconfig.INSTANCE if self.way is BootWay.BOOTCONFIG else ""

    @property
    def command_line(self) -> str:
        """Words for the kernel's command line."""
        return "bootconfig" if self.way is BootWay.BOOTCONFIG else self.text.strip()


def available_ways(config: Mapping[str, str], symbols: Collection[str]) -> tuple[BootWay, ...]:
    """Return the means that a kernel has, the better first.

    Args:
        config: its .config; empty: unknown.
        symbols: names of its symbols among `WITNESSES`.
    """
    has_boot_config = config.get("BOOTTIME_TRACING") == "y" or "trace_boot_init" in symbols
    has_events = config.get("KPROBE_EVENTS") == "y" or "trace_kprobe_create" in symbols
    found = ((BootWay.BOOTCONFIG, has_boot_config), (BootWay.CMDLINE, has_events))
    return tuple(way for way, is_there in found if is_there)


WITNESSES = ("trace_boot_init", "trace_kprobe_create")
"""Functions of kernel/trace/trace_boot.c and trace_kprobe.c, which a kernel without the feature has not."""


def request(
    way: BootWay,
    plans: Sequence[Plan],
    facts: TargetFacts,
    group: str,
    buffer_kb: int = DEFAULT_BUFFER_KB,
) -> BootRequest:
    """Return the text and the plans of probes. Raises CannotExport with every reason.

    Args:
        way: means that the kernel has.
        plans: plans lowered for the dialect of that name.
        facts: facts of the kernel.
        group: group of the plans' events.
        buffer_kb: KiB of the ring buffer of each CPU.
    """
    _require_built_in(plans)
    specs = [str(plan.probe) for plan in plans]
    if way is BootWay.BOOTCONFIG:
        settings = (f"trace_clock = {CLOCK}", f"buffer_size = {buffer_kb}K", f"options = {_KEEP_OLDEST}")
        export(dialect_named(way), plans, facts)  # what holds for each export holds here
        made = bootconfig.write(plans, facts, settings, specs)
        return BootRequest(
            way, made.text, tuple(with_group(plan, group, bootconfig.GROUP) for plan in plans), made.notes
        )
    made = export(dialect_named(way), plans, facts)
    words_of_buffer = (
        _EXPANDED,
        f"trace_clock={CLOCK}",
        f"trace_buf_size={buffer_kb}K",
        f"trace_options={_KEEP_OLDEST}",
    )
    words = " ".join([made.text.strip(), *words_of_buffer])
    if len(words) > kernel_cmdline.LONGEST:
        raise CannotExport(f"{len(words)} characters are too many: a command line has {kernel_cmdline.LONGEST}")
    notes = tuple(note for note in made.notes if note != kernel_cmdline.SMALL_BUFFER)
    return BootRequest(way, words + "\n", tuple(plans), notes)


def module_reason(name: str, module: str) -> str:
    """Return why a function of a module can't be probed from the boot on."""
    return f"{name}: {module} is a module, and modules are loaded after the probes are armed"


def _require_built_in(plans: Sequence[Plan]) -> None:
    """Raise CannotExport where a probe is in a module: types and symbols of modules are not there so early."""
    reasons = []
    for event in (event for plan in plans for event in plan.events):
        words = event.line.split(" ")
        module = words[1].partition(":")[0] if len(words) > 1 and ":" in words[1] else ""
        if module:
            reasons.append(module_reason(event.event, module))
    if reasons:
        raise CannotExport(*dict.fromkeys(reasons))
