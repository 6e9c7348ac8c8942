"""Lower probes of a target for its own boot; no screen: the command and the application share it."""

from __future__ import annotations

from collections.abc import Sequence

from foreign.count_text import counted
from kernel.boot.read_back import BootReading
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import TargetUnusable
from kernel.facts.gather import read_config
from probes.command import Armable, is_function
from probes.export.boot_request import (
    DEFAULT_BUFFER_KB,
    WITNESSES,
    BootRequest,
    BootWay,
    available_ways,
    module_reason,
    request,
)
from probes.export.dialect import CannotExport, gather
from probes.export.export import dialect_named
from probes.probe import Probe
from tui.output.probe_exports import GROUP, plans_for

NO_WAY = "its kernel arms no probes while it boots"


def ways_of(info: KernelInfo) -> tuple[BootWay, ...]:
    """Return the means by which a kernel is told of probes before it runs, the better first. Raises TargetLost."""
    symbols = info.symbols.current
    there = {name for name in WITNESSES if symbols is not None and symbols.named(name)}
    return available_ways(read_config(info.target, info.facts.release), there)


def boot_request(
    planner: Planner,
    probes: Sequence[Armable],
    way: BootWay | None = None,
    buffer_kb: int = DEFAULT_BUFFER_KB,
) -> BootRequest:
    """Return the text for the next boot of a planner's kernel, and the plans of its events.

    Args:
        planner: planner of the kernel.
        probes: probes on that kernel.
        way: means to use; None: the first by which these probes can be said.
        buffer_kb: KiB of the ring buffer of each CPU.

    Raises:
        CannotExport: the kernel can't arm one of them while it boots; with every reason.
        CannotLower: the kernel rejects a probe at any time.
        TargetUnusable: the kernel has no such means.
        KernelError: the target can't be asked.
    """
    ways = ways_of(planner.info)
    if not ways:
        raise TargetUnusable(
            f"{planner.info.target.name}: {NO_WAY}", "it needs CONFIG_BOOTTIME_TRACING, or CONFIG_KPROBE_EVENTS"
        )
    if way is not None and way not in ways:
        needed = "CONFIG_BOOTTIME_TRACING" if way is BootWay.BOOTCONFIG else "CONFIG_KPROBE_EVENTS"
        raise TargetUnusable(
            f"{planner.info.target.name}: its kernel has no {way}", f"{needed} is off; it has {', '.join(ways)}"
        )
    _require_built_in(planner.info, probes)
    first: CannotExport | None = None
    for each in (way,) if way is not None else ways:
        try:
            plans = plans_for(planner, probes, dialect_named(each))
            return request(each, plans, planner.info.facts, GROUP, buffer_kb)
        except CannotExport as error:
            first = first or CannotExport(*(f"{each}: {reason}" for reason in error.reasons))
    assert first is not None  # noqa: S101 - some means was tried
    raise first


def _require_built_in(info: KernelInfo, probes: Sequence[Armable]) -> None:
    """Raise CannotExport with the functions that are in modules, by the kernel's list of functions."""
    names = [probe.place.symbol for probe in probes if isinstance(probe, Probe) and is_function(probe)]
    modules = {name: info.function(name).module for name in names if name}
    gather([module_reason(name, module) for name, module in modules.items() if module])


def reading_text(reading: BootReading) -> str:
    """Return what was recorded of a boot, and what was not, in a line for each."""
    since = f" from {reading.first:.6f} s after power on" if reading.first is not None else ""
    lines = [f"{counted(reading.events, 'event')}{since}"]
    if reading.losses.lost:
        lines.append(f"{counted(reading.losses.lost, 'later event')} found no room in the buffer")
    lines += [f"not armed at boot: {one}" for one in reading.missing]
    return "\n".join(lines)
