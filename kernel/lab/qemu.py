"""QEMU: its command line for an architecture, and one running machine."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernel.lab.kernels import KernelImage
from kernel.lab.work import end_kept, start_kept

PROGRAMS = {"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}
# cx16=off: 6.12's SLUB fast path crashes under emulation of cmpxchg16b in one boot of six. One thread for all
# processors: text patching races without. Both measured over a hundred boots.
_MACHINES = {
    "amd64": ("-M", "q35", "-accel", "tcg,thread=single", "-cpu", "max,cx16=off"),
    "arm64": ("-M", "virt", "-accel", "tcg,thread=single", "-cpu", "max,pauth-impdef=on"),
}
MEMORY = 1024
"""Of a guest, in MB."""
# An emulated processor that waits for a busy one gets too few ticks for the kernel's test of its timer, which panics.
_WORDS = {"amd64": "console=ttyS0 no_timer_check", "arm64": "console=ttyAMA0"}
_CRASH = re.compile(
    r"Oops|BUG: |Kernel panic|general protection fault|double fault|Internal error:|Unable to handle kernel"
)


def command_line(
    kernel: KernelImage, initrd: Path, console: Path, port: int, append: str = "", memory: int = MEMORY
) -> list[str]:
    """The whole command. `port` on 127.0.0.1 leads to the guest's port 22; the guest reaches nothing."""
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
"""Seconds that one look for an answer takes at most."""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has now; somebody may take it before we do."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Machine:
    """One running QEMU; ends with us."""

    def __init__(
        self,
        folder: Path,
        kernel: KernelImage,
        initrd: Path,
        append: str,
        memory: int = MEMORY,
        more: Sequence[str] = (),
    ) -> None:
        """Start it; `more` words stand at the end of the command."""
        self.port = free_port()
        self._asked: socket.socket | None = None
        """Connection to the guest's SSH server that has not been answered yet."""
        self._tries = 1
        """Times that the next connection is asked."""
        self._tries_left = 0
        self._console = folder / "console"
        self._log = folder / "qemu.log"
        self._console.write_bytes(b"")
        argv = [*command_line(kernel, initrd, self._console, self.port, append, memory), *more]
        with self._log.open("wb") as log:
            self._process = start_kept(argv, stdout=subprocess.DEVNULL, stderr=log.fileno(), remove=folder)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The keeper's process."""
        return self._process.pid

    def console_text(self) -> str:
        """All that the guest's kernel said."""
        try:
            return self._console.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def log_text(self) -> str:
        """What QEMU itself said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def port_taken(self) -> bool:
        """Whether it ended because somebody took our port first."""
        return not self.alive and "host forwarding rule" in self.log_text()

    @property
    def crash(self) -> str:
        """What the guest's kernel said from its accident on; empty when it had none."""
        text = self.console_text()
        found = _CRASH.search(text)
        return text[text.rfind("\n", 0, found.start()) + 1 :] if found else ""

    def answers(self) -> bool:
        """Whether the guest's SSH server speaks; QEMU itself takes every connection, so its banner is waited for.

        Asked again, it waits on the connection that it has, each time twice as long for a new one: where the guest is
        slow, every connection more makes it slower.
        """
        try:
            if self._asked is None:
                self._asked = socket.create_connection(("127.0.0.1", self.port), timeout=_ANSWER)
                self._tries_left, self._tries = self._tries, 2 * self._tries
            found = self._asked.recv(4)
        except TimeoutError:
            self._tries_left -= 1
            if self._tries_left > 0:
                return False
            found = b""
        except OSError:
            found = b""
        self._hang_up()
        return found == b"SSH-"

    def _hang_up(self) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.close()

    def close(self) -> None:
        """End it, and the folder with it; safe to call twice."""
        self._hang_up()
        end_kept(self._process)
