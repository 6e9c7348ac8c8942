"""Boot and control a temporary machine, reached over SSH."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from kernel.lab import build, cache, initramfs, kernels, keys, needs, userland
from kernel.lab.errors import LabError
from kernel.lab.kernels import KernelImage
from kernel.lab.qemu import MEMORY, Machine
from kernel.lab.work import Progress, Work, wait_until

_BOOT_SECONDS = 600.0  # 5 on an idle machine; a large initrd on a busy one takes 90
_ANSWER_SECONDS = 300.0
COMMAND_SECONDS = 300.0
"""Seconds that a command in a guest may take: one emulated on a busy machine is a hundred times slower."""
_PORT_TRIES = 3
_SHOWN_LINES = 12  # lines of a console in a message


class Guest:
    """A running guest; close it, or use it as a context manager. It ends with this process in any case."""

    def __init__(self, machine: Machine, folder: Path, kernel: KernelImage) -> None:
        self._machine = machine
        self.folder = folder
        """Private folder of the guest: `identity` is our key, `known_hosts` has the guest's."""
        self.kernel = kernel
        self.host = "root@127.0.0.1"
        self.port = machine.port

    @property
    def ssh_options(self) -> list[str]:
        """Options for ssh, sftp or scp (apart from -P): the user's own configuration is neither read nor written."""
        settings = {
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": f'"{self.folder / "known_hosts"}"',
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
        }
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        return ["-F", "/dev/null", "-p", str(self.port), "-i", str(self.folder / "identity"), *options]

    @property
    def ssh_command(self) -> list[str]:
        """Command line for a shell in the guest."""
        return ["ssh", *self.ssh_options, self.host]

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> bytes:
        """Run a shell command in the guest; return its standard output.

        Raises:
            LabError: it failed, took too long, or the guest has ended.
        """
        try:
            result = subprocess.run(
                [*self.ssh_command, command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{command}: took longer than {timeout:.0f} s in the guest") from error
        if result.returncode:
            words = result.stderr.decode(errors="replace").strip() or f"exit status {result.returncode}"
            raise LabError(f"{command}: {words}", "" if self.alive else "the guest has ended; look at its console")
        return result.stdout

    def workload(self, on: bool) -> None:
        """Start or stop the process that reads files, which produces events."""
        self.run(f"workload {'on' if on else 'off'}")

    @property
    def alive(self) -> bool:
        """True while the machine runs."""
        return self._machine.alive

    def console_text(self) -> str:
        """Return all console output of the guest's kernel."""
        return self._machine.console_text()

    def close(self) -> None:
        """End the guest; safe to call twice."""
        self._machine.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def boot(
    kernel: str,
    *,
    python: bool = True,
    progress: Callable[[Progress], None] = lambda _: None,
    cancel: threading.Event | None = None,
    workload: bool = True,
    append: str = "",
    extra: Sequence[Path | bytes] = (),
    memory: int = MEMORY,
    more: Sequence[str] = (),
) -> Guest:
    """Boot a kernel and wait until it can be reached; missing parts are fetched or built first, once.

    Args:
        kernel: a series (`6.12`, `arm64:6.12`, `7.2-rt`), a path of an image, or `full`.
        python: True: with Python in the guest; False: with a shell only.
        progress: called from this thread with each step.
        cancel: set it from another thread to stop.
        workload: True: the process that reads files runs from the start.
        append: more words for the kernel's command line.
        extra: more initramfs archives, or other content behind them in an initrd.
        memory: memory of the guest, in MB.
        more: words at the end of QEMU's command.

    Raises:
        LabError: with a `remedy` for the user.
        LabCancelled: no process of it runs any more.
    """
    work = Work(progress, cancel)
    image, base = prepare(kernel, python=python, work=work)
    if image.note:
        work.say(image.note)
    words = f"{'workload=on' if workload else ''} {append}".strip()
    try:
        return _boot(work, image, base, words, extra, memory, more)
    except _Crashed:
        # Emulation is not perfect: a guest's kernel fails by itself now and then. Retry once, for a crash only.
        work.say(f"Linux {image.release} crashed while it booted; once more")
        return _boot(work, image, base, words, extra, memory, more)


def prepare(kernel: str, *, python: bool, work: Work) -> tuple[KernelImage, Path]:
    """Put the kernel and the initramfs of its programs, which `boot` needs, into the cache. Raises LabError."""
    wanted = kernels.parse(kernel)
    if isinstance(wanted, Path):
        image = kernels.from_path(wanted)
        needs.require(needs.missing(image.arch), kernel)
    elif wanted is None:
        needs.require(needs.missing(kernels.host_arch()), kernel)
        image = build.build_full_kernel(work)
    else:
        needs.require(needs.missing(wanted.arch), kernel)
        image = kernels.from_series(work, wanted)
    return image, userland.image(work, image.arch, python=python)


class _Crashed(LabError):
    """The guest's kernel crashed while it booted."""


def _boot(
    work: Work,
    kernel: KernelImage,
    base: Path,
    append: str,
    extra: Sequence[Path | bytes],
    memory: int,
    more: Sequence[str],
) -> Guest:
    folder = cache.run_folder()
    machine = None
    try:
        guest_keys = keys.make(work, folder)
        personal = userland.personal("lab", guest_keys.authorized, guest_keys.host)
        modules = [kernel.modules] if kernel.modules else []
        initramfs.join([base, *modules, personal, *extra], folder / "initrd")
        for _ in range(_PORT_TRIES):
            work.say(f"booting Linux {kernel.release}".rstrip())
            machine = Machine(folder, kernel, folder / "initrd", append, memory, more)
            if _wait_for_boot(work, machine):
                break
            machine.close()
        else:
            raise LabError("no port of 127.0.0.1 stays free long enough", "try again")
        host = f"[127.0.0.1]:{machine.port} {guest_keys.host_public.decode()}\n"
        (folder / "known_hosts").write_text(host)
        (folder / "initrd").unlink()
        return Guest(machine, folder, kernel)
    except BaseException:
        if machine is not None:
            machine.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _wait_for_boot(work: Work, machine: Machine) -> bool:
    """Wait for the guest; False: start again with another port. Raises LabError."""

    def no_network() -> bool:
        return userland.NO_NETWORK in machine.console_text()

    def settled() -> bool:
        return not machine.alive or userland.READY in machine.console_text()

    def reachable() -> bool:
        return not machine.alive or no_network() or machine.answers()

    if wait_until(work, settled, _BOOT_SECONDS) and wait_until(work, reachable, _ANSWER_SECONDS):
        if machine.is_port_in_use:
            return False
        if machine.alive and not no_network():
            return True
    raise _boot_error(machine, no_network=no_network())


def _boot_error(machine: Machine, *, no_network: bool) -> LabError:
    """Return the error for a guest that did not boot."""
    if no_network:
        remedy = "build it with VIRTIO_PCI and VIRTIO_NET, or have its modules in lib/modules/RELEASE beside boot/"
        return LabError("the kernel has no driver for the lab's network card (virtio)", remedy)
    if machine.crash:
        first = "\n".join(machine.crash.splitlines()[:_SHOWN_LINES])
        return _Crashed(f"the guest's kernel crashed:\n{first}", "try again, or another kernel")
    last = "\n".join(machine.console_text().strip().splitlines()[-_SHOWN_LINES:]) or machine.log_text().strip()
    outcome = "did not come up in time" if machine.alive else "ended while it booted"
    return LabError(f"the guest {outcome}:\n{last}", "try again when the machine is less busy, or try another kernel")
