"""Run QEMU: build its command line for an architecture, and control one running machine."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernel.lab.kernels import KernelImage
from kernel.lab.work import end_process, start_process

PROGRAMS = {"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64", "riscv64": "qemu-system-riscv64"}
# cx16=off: 6.12's SLUB fast path crashes under emulation of cmpxchg16b in one boot of six. One thread for all
# processors: text patching races without. Both measured over a hundred boots.
_MACHINES = {
    "amd64": ("-M", "q35", "-accel", "tcg,thread=single", "-cpu", "max,cx16=off"),
    "arm64": ("-M", "virt", "-accel", "tcg,thread=single", "-cpu", "max,pauth-impdef=on"),
    "riscv64": ("-M", "virt", "-accel", "tcg,thread=single", "-cpu", "rv64"),
}
MEMORY = 1024
"""Memory of a guest, in MB."""
# An emulated processor on a busy machine gets too few ticks for the kernel's timer test, which panics.
_WORDS = {"amd64": "console=ttyS0 no_timer_check", "arm64": "console=ttyAMA0", "riscv64": "console=ttyS0"}
_CRASH = re.compile(
    r"Oops|BUG: |Kernel panic|general protection fault|double fault|Internal error:|Unable to handle kernel"
)


def command_line(
    kernel: KernelImage, initrd: Path, console: Path, port: int, append: str = "", memory: int = MEMORY
) -> list[str]:
    """Return the command line. `port` on 127.0.0.1 is forwarded to the guest's port 22; the guest has no other
    network.
    """
    network = f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
    # panic=-1 with -no-reboot: a guest that panics ends at once.
    words = f"{_WORDS[kernel.arch]} quiet panic=-1 {append}".strip()
    return [
        PROGRAMS[kernel.arch],
        *_MACHINES[kernel.arch],
        *("-smp", "2", "-m", str(memory), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{console}"),
        *("-netdev", network),
        *("-device", "virtio-net-pci,netdev=n,romfile="),
        *("-kernel", str(kernel.image), "-initrd", str(initrd), "-append", words),
    ]


_ANSWER = 2.0
"""Most seconds that one check for an answer takes."""


def free_port() -> int:
    """Return a free port of 127.0.0.1; another process may take it before we do."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Machine:
    """A running QEMU; ends with us."""

    def __init__(
        self,
        folder: Path,
        kernel: KernelImage,
        initrd: Path,
        append: str,
        memory: int = MEMORY,
        more: Sequence[str] = (),
    ) -> None:
        """Start QEMU; the words of `more` are put at the end of the command."""
        self.port = free_port()
        self._connection: socket.socket | None = None
        """Connection to the guest's SSH server that has not been answered yet."""
        self._tries = 1
        """Checks of the next connection before it is replaced."""
        self._tries_left = 0
        self._console = folder / "console"
        self._log = folder / "qemu.log"
        self._console.write_bytes(b"")
        argv = [*command_line(kernel, initrd, self._console, self.port, append, memory), *more]
        with self._log.open("wb") as log:
            self._process = start_process(argv, stdout=subprocess.DEVNULL, stderr=log.fileno(), remove=folder)

    @property
    def alive(self) -> bool:
        """True while QEMU runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the keeper."""
        return self._process.pid

    def console_text(self) -> str:
        """Return all console output of the guest's kernel."""
        try:
            return self._console.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def log_text(self) -> str:
        """Return the messages of QEMU itself."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def is_port_in_use(self) -> bool:
        """True if QEMU ended because another process took our port first."""
        return not self.alive and "host forwarding rule" in self.log_text()

    @property
    def crash(self) -> str:
        """Console output from the kernel's crash on; empty if there was none."""
        text = self.console_text()
        match = _CRASH.search(text)
        return text[text.rfind("\n", 0, match.start()) + 1 :] if match else ""

    def answers(self) -> bool:
        """Return whether the guest's SSH server has sent its banner; QEMU itself accepts every connection.

        A repeated call waits on the open connection, each time twice as long before it makes a new one: each
        additional connection slows a slow guest further.
        """
        try:
            if self._connection is None:
                self._connection = socket.create_connection(("127.0.0.1", self.port), timeout=_ANSWER)
                self._tries_left, self._tries = self._tries, 2 * self._tries
            banner = self._connection.recv(4)
        except TimeoutError:
            self._tries_left -= 1
            if self._tries_left > 0:
                return False
            banner = b""
        except OSError:
            banner = b""
        self._disconnect()
        return banner == b"SSH-"

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """End QEMU, and remove its folder; safe to call twice."""
        self._disconnect()
        end_process(self._process)
