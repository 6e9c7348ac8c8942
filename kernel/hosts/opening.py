"""Open one of several targets without password prompts, since several would prompt at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import Progress, open_target
from kernel.connection.planner import Planner
from kernel.errors import TargetUnusable
from kernel.remote.address import Address
from kernel.remote.cancellation import CANCELLED, disconnect_on_cancel
from kernel.remote.connect import open_connection
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget

if TYPE_CHECKING:
    from kernel.target import Target


def open_host(spec: str, progress: Progress, cancel: threading.Event) -> Planner:
    """Open a running kernel and read its facts. Raises KernelError."""
    planner = Planner(KernelInfo(_target(spec, progress, cancel)))
    target = planner.info.target
    try:
        with disconnect_on_cancel(cancel, lambda: target.link.lose(CANCELLED) if target.link is not None else None):
            _prepare(spec, planner)
        if cancel.is_set():
            raise TargetUnusable(CANCELLED)
    except BaseException:
        planner.info.close()
        raise
    return planner


def _prepare(spec: str, planner: Planner) -> None:
    """Read the kernel facts that a first probe needs. Raises TargetUnusable if no probe is possible, TargetLost."""
    if not planner.info.target.is_kernel:
        raise TargetUnusable(
            f"{spec}: a recording has no clock to be merged by", f"open it alone: probewright {spec}"
        )
    fatal = [trouble for trouble in planner.info.facts.troubles if trouble.fatal]
    if fatal:
        raise TargetUnusable(f"{spec}: {fatal[0].what}", fatal[0].remedy, planner.info.facts.troubles)
    planner.info.warm()


def _target(spec: str, progress: Progress, cancel: threading.Event) -> Target:
    if spec == "auto":
        raise TargetUnusable("auto: that may be another machine than the one that was meant", "say local")
    if spec.startswith("ssh://"):
        address = Address.parse(spec)

        def again(cancel: threading.Event | None, asking: bool) -> RemoteConnection:  # noqa: ARG001 - as `Reach` is called
            return open_connection(address, cancel=cancel, asking=False)

        return RemoteTarget(
            open_connection(address, progress, cancel=cancel, asking=False), str(address), again=again
        )
    return open_target(spec, progress, cancel)
