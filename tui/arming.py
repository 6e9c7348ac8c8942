"""What a worker does to the kernel for the application: values in, a message out; no widget is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel.errors import KernelError, ProbeRefused
from kernel.session import Armed
from kernel.watch import Watch
from probes.command import Armable
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.messages import Disarmed, ProbeArmed, ProbeRejected, Recorded


def arm(watching: Watch, probe: Armable) -> ProbeArmed | ProbeRejected:
    """Arm a probe; waits for the kernel."""
    try:
        armed = watching.arm(probe)
    except CannotLower as error:
        return ProbeRejected(probe, Verdict(str(probe), error.refusal), str(error))
    except ProbeRefused as error:
        return ProbeRejected(probe, error.verdict, str(error), error.remedy)
    except KernelError as error:
        return ProbeRejected(probe, None, str(error), error.remedy)
    return ProbeArmed(probe, armed.plan.losses)


def disarm(watching: Watch, probes: Sequence[Armed]) -> Disarmed:
    """Take probes away; waits for the kernel."""
    failures: list[str] = []
    for armed in probes:
        try:
            failures += [str(failure.error) for failure in watching.disarm(armed)]
        except KernelError as error:
            failures.append(str(error))
    return Disarmed(tuple(failures))


def record(watching: Watch, path: Path) -> Recorded:
    """Write events to a recording from now on."""
    try:
        watching.record_to(path)
    except (OSError, KernelError) as error:
        return Recorded(f"not recorded: {error}", failed=True)
    return Recorded(f"recording to {path}")


def stop_recording(watching: Watch) -> Recorded:
    """Finish the recording; asks the kernel for the last names and counts."""
    try:
        path = watching.stop_recording()
    except OSError as error:
        return Recorded(f"the recording has no end: {error.strerror}", failed=True)
    return Recorded(f"written: {path}" if path else "nothing was recorded")
