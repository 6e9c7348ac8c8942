"""Read the ring buffer that a kernel filled while it booted into a recording, and compare events with what was asked.

Reading disables the events and consumes the buffer; tracing_on stays as it is, as a stopped trace_pipe ends early.
Only what tracefs says decides whether a probe was armed; the kernel's log and error_log give its words.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from events.batch import Batch
from events.clocks.time_of_day import META_KEY, WallClock
from events.format import EventFormat, FormatError, HeaderPage, parse_format
from events.loss_counts import LossCounts
from events.subbuffer import events_in
from kernel.cleanup.undo import UndoList
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.guards.loss_counts import LossCounter
from kernel.pump import Pump
from kernel.session.armed import Armed
from kernel.session.instance import make_instance
from kernel.target import Step, Target
from kernel.tracefs import Instance, Tracefs
from kernel.watch.clocks.readings import local_clock, read_instance_clock
from kernel.watch.recorder import Recorder
from probes.export.boot_request import BootRequest
from probes.plans.plan import Plan, PlannedEvent

_READINGS = 3
_PATIENCE = 30.0
"""Seconds that a remote host from which nothing comes is waited for."""
_STAMP = 8
"""Bytes of the time stamp at the beginning of a sub-buffer."""


class MissingEvent(NamedTuple):
    """Event that a kernel did not arm as asked while it booted."""

    event: str
    fault: str
    """Fault, as tracefs shows it: `not defined`."""
    words: tuple[str, ...] = ()
    """Lines of the kernel about it."""

    def __str__(self) -> str:
        return ": ".join([f"{self.event}: {self.fault}", *self.words[:1]])


class BootReading(NamedTuple):
    """Events of a boot, as read into a recording."""

    path: Path
    events: int
    first: float | None
    """Seconds of the trace clock at the first event; None: there is none."""
    missing: tuple[MissingEvent, ...]
    losses: LossCounts


def read_boot(info: KernelInfo, request: BootRequest, path: Path, log: Sequence[str] = ()) -> BootReading:
    """Read the events of a boot into a new file.

    Args:
        info: kernel that was booted with the request.
        request: probes that it was asked to arm.
        path: new recording.
        log: lines of the kernel's log.

    Raises:
        TargetUnusable: there is no such trace instance.
        OSError: the file can't be written.
        TargetLost: the connection was lost.
    """
    tracefs = Tracefs(info.target, info.facts.tracefs)
    instance = tracefs.instance(request.instance) if request.instance else tracefs
    try:
        _ = instance.read("tracing_on")
        header = HeaderPage.parse(instance.header_page(), info.facts.byteorder)
    except (FileRefused, FormatError) as error:
        raise TargetUnusable(
            f"{info.target.name}: the kernel made no trace instance {request.instance} while it booted ({error})",
            f"its command line needs `{request.command_line.split()[0]}`: see /proc/cmdline there"
            + "".join(f"\n  {line}" for line in complaints(log)),
        ) from None
    with _other_folders(info.target, tracefs) as others:
        found = [_armed(tracefs, instance, plan, header.long_size, others) for plan in request.plans]
    missing = tuple(one for _, faults in found for one in _with_words(faults, tracefs, log))
    for event in (event for plan in request.plans for event in plan.events):
        with contextlib.suppress(FileRefused):  # told as missing
            info.target.perform(switch_off(instance, event))
    recorder = Recorder(path)
    recorder.write_kernel(info)
    recorder.begin(header, tuple(armed for armed, _ in found), meta=_clock_meta(instance))
    recorder.start()
    counter = LossCounter(tracefs, instance)
    pump = Pump(info.target.stream(instance.path))
    try:
        events, first = _drain(pump, header, recorder.pages)
        losses = counter.counts([event for plan in request.plans for event in plan.events], pump)
        recorder.close(tracefs.saved_cmdlines(), losses)
    except BaseException:
        recorder.abandon()
        path.unlink(missing_ok=True)
        raise
    finally:
        pump.close()
    return BootReading(path, events, first, missing, losses)


def _drain(pump: Pump, header: HeaderPage, write: Callable[[Batch], object]) -> tuple[int, float | None]:
    """Write all that is in the buffers; return the number of events, and the time of the first. Raises TargetLost."""
    number, stamps = 0, list[int]()
    pump.start()
    is_over = False
    while not is_over:
        is_over = pump.settle(patience=_PATIENCE)
        for batch in pump.drain():
            write(batch)
            for chunk in batch.chunks:
                number += events_in(chunk, header)
                if not chunk.text and len(chunk.data) >= _STAMP:
                    stamps.append(int.from_bytes(chunk.data[:_STAMP], header.byteorder))
        if pump.error is not None:
            raise pump.error
    return number, min(stamps) / 1e9 if stamps and number else None


def switch_off(instance: Instance, event: PlannedEvent) -> Step:
    """Return the step that disables an event, which may have no folder."""
    return instance.write("set_event", f"!{event.group}:{event.event}", append=True)


@contextlib.contextmanager
def _other_folders(target: Target, tracefs: Tracefs) -> Iterator[Callable[[], Instance]]:
    """Offer a trace instance that is made when it is asked for, with folders of all events.

    The kernel makes the folders of its own events and those of early kprobes at the same time, and may fail at a
    group's (event_subsystem_dir in trace_events.c, tracer_init_tracefs_work_func in trace.c): such an event is
    enabled and recorded, but has no folder. A new instance has it.
    """
    undo, made = UndoList(target), list[Instance]()

    def other() -> Instance:
        if not made:
            made.append(make_instance(target, tracefs, undo))
        return made[0]

    try:
        yield other
    finally:
        undo.run()


def _armed(
    tracefs: Tracefs, instance: Instance, plan: Plan, long_size: int, others: Callable[[], Instance]
) -> tuple[Armed, list[MissingEvent]]:
    """Return a plan with the formats of its events that are there, and the events that are not as planned."""
    defined = {event.path for event in tracefs.dynamic_events()}
    enabled = set(instance.read("set_event").split())
    formats: dict[int, EventFormat] = {}
    faults = []
    for event in plan.events:
        try:
            is_lost = event.line and event.path in defined and not _has_folder(instance, event)
            folders = others() if is_lost and f"{event.group}:{event.event}" in enabled else instance
            parsed = parse_format(folders.read(f"events/{event.path}/format"), event.group, long_size)
            formats[parsed.id] = event.describe(parsed)
        except (FileRefused, FormatError):
            is_defined = not event.line or event.path in defined
            fault = "no folder in this trace instance" if is_defined and event.line else "not defined"
            faults.append(MissingEvent(event.path, fault))
            continue
        if fault := _setting_fault(instance, event):
            faults.append(MissingEvent(event.path, fault))
    return Armed(plan, formats), faults


def _has_folder(instance: Instance, event: PlannedEvent) -> bool:
    try:
        return bool(instance.read(f"events/{event.path}/enable"))
    except FileRefused:
        return False


def _setting_fault(instance: Instance, event: PlannedEvent) -> str:
    """Return the setting of an event that is not as planned; empty: all are. Raises TargetLost."""
    with contextlib.suppress(FileRefused):
        if event.recorded and instance.read(f"events/{event.path}/enable").strip(" \n*") != "1":
            return "not enabled"
        if event.filter and instance.read(f"events/{event.path}/filter").strip() in ("none", ""):
            return f"its filter is not set: {event.filter}"
        if event.triggers:
            triggers = instance.read(f"events/{event.path}/trigger").splitlines()
            if sum(not line.startswith("#") for line in triggers) < len(event.triggers):
                return "a trigger is not set"
    return ""


def _with_words(faults: Sequence[MissingEvent], tracefs: Tracefs, log: Sequence[str]) -> list[MissingEvent]:
    """Return missing events with the kernel's words about them."""
    if not faults:
        return []
    entries = []
    with contextlib.suppress(FileRefused):
        entries = tracefs.error_log()
    told = []
    for fault in faults:
        name = fault.event.rpartition("/")[2]
        words = [f"{entry.location}: {entry.message}: {entry.command}" for entry in entries if name in entry.command]
        words += [line for line in complaints(log) if name in line]
        told.append(fault._replace(words=tuple(dict.fromkeys(words))))
    return told


def complaints(log: Sequence[str]) -> list[str]:
    """Return the lines of a kernel's log by which boot-time tracing says what failed.

    kernel/trace/trace_boot.c, trace_kprobe.c (setup_boot_kprobe_events), trace_events.c (early_enable_events),
    init/main.c (setup_boot_config).
    """
    marks = ("trace_boot: ", "trace_kprobe: ", "Failed to add event", "Failed to enable trace event", "ootconfig")
    return [line for line in log if any(mark in line for mark in marks)]


def _clock_meta(instance: Instance) -> dict[str, Any]:
    wall = WallClock()
    with contextlib.suppress(KernelError):
        wall.measured(read_instance_clock(instance, local_clock(), _READINGS))
    return {META_KEY: wall.pack()} if wall else {}
