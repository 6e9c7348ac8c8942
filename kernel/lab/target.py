"""Open a temporary machine as a target: boot it, connect over ssh, end it with the target."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kernel.errors import TargetUnusable
from kernel.lab import cache, guest
from kernel.lab.errors import LabError
from kernel.lab.work import Progress as Step
from kernel.remote.address import Address
from kernel.remote.connect import Progress, open_ssh
from kernel.remote.target import RemoteTarget
from probes.plans.cost_estimate import EMULATED

DEFAULT = "7.2"
"""Series of a plain `lab`."""


def open_lab(spec: str, progress: Progress | None = None, cancel: threading.Event | None = None) -> RemoteTarget:
    """Boot and connect: `lab`, `lab:6.12`, `lab:arm64:6.12`, `lab:riscv64:7.2`, `lab:full`, `lab:/path/of/bzImage`.

    After a comma `nopython` gives a guest with a shell only, `idle` one without the process that reads files. Raises
    `kernel.lab.errors.LabError` and TargetUnusable.
    """
    machine = boot_lab(spec, progress, cancel)
    return connect_owned(machine, spec, progress, cancel)


def _parts(spec: str) -> tuple[str, frozenset[str]]:
    """Return the kernel and the options of a lab's name. Raises TargetUnusable."""
    words, _, options = spec.removeprefix("lab").removeprefix(":").partition(",")
    option_set = frozenset(options.split(",")) - {""}
    if unknown := option_set - {"nopython", "idle"}:
        raise TargetUnusable(f"{spec}: {', '.join(sorted(unknown))} is no option of a lab", "say nopython or idle")
    return words or DEFAULT, option_set


def boot_lab(
    spec: str,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    *,
    append: str = "",
    extra: Sequence[bytes] = (),
) -> guest.Guest:
    """Boot a guest by its name as a target; `append` and `extra` as for `kernel.lab.guest.boot`. Raises as `open_lab`
    does.
    """
    kernel, options = _parts(spec)

    def tell(step: Step) -> None:
        if progress is not None:
            progress(step.text, step.fraction)

    python, idle = "nopython" not in options, "idle" in options
    try:
        return guest.boot(
            kernel,
            python=python,
            progress=tell,
            cancel=cancel,
            workload=not idle,
            append=append,
            extra=extra,
        )
    except OSError as error:  # a full disk, above all
        raise LabError(f"{cache.root()}: {error.strerror}", "PROBEWRIGHT_CACHE names another folder") from error


def connect_owned(
    machine: guest.Guest, spec: str, progress: Progress | None = None, cancel: threading.Event | None = None
) -> RemoteTarget:
    """Connect to a guest that ends with its target, or now if that fails. Raises TargetUnusable."""
    try:
        name = f"{spec} ({machine.kernel.note})" if machine.kernel.note else spec
        python = "nopython" not in _parts(spec)[1]
        return connect(machine, name, progress, python=python, cancel=cancel, owned=True)
    except BaseException:
        machine.close()
        raise


def connect(
    machine: guest.Guest,
    name: str,
    progress: Progress | None = None,
    *,
    python: bool = True,
    cancel: threading.Event | None = None,
    owned: bool = False,
) -> RemoteTarget:
    """Connect to a running guest as a target; `owned`: it ends with the target. Raises TargetUnusable."""
    user, _, host = machine.host.rpartition("@")
    return open_ssh(
        Address(host, user),
        progress,
        name=name,
        options=machine.ssh_options,
        python=python,
        cancel=cancel,
        on_close=machine.close if owned else lambda: None,
        ended=lambda: not machine.alive,
        slowdown=EMULATED,
    )
