"""Guests that need no boot of their own: one boots, its state is saved, and each guest asked for goes on from it.

Every module still has a guest that nobody used before. QEMU's own migration to a file does it; what is asked of its
monitor is in QEMU's docs/interop/qemu-qmp-ref (migrate, query-migrate).
"""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any, NamedTuple

from kernel.lab import cache
from kernel.lab.guest import Guest, boot
from kernel.lab.kernels import KernelImage
from kernel.lab.qemu import Machine
from tests.real.processes import until

_SECONDS = 30.0


class _State(NamedTuple):
    """Of a guest after its boot."""

    kernel: KernelImage
    folder: Path
    """Its keys as in the folder of a guest, and `state`."""


class SavedGuests:
    """Guests of the lab without workload; the states lie in a folder that goes at the end, and with this process."""

    def __init__(self) -> None:
        self._root = cache.run_folder()
        self._states: dict[tuple[str, bool], _State | None] = {}

    def start(self, kernel: str, *, python: bool = True) -> Guest:
        """One more of a kernel that is prepared. Raises LabError."""
        key = kernel, python
        if key not in self._states:
            self._states[key] = _save(kernel, python, self._root / f"{kernel}-{python}")
        state = self._states[key]
        guest = _resume(state) if state else None
        if guest is None:
            self._states[key] = None  # this QEMU or machine cannot do it: as without it
            return boot(kernel, python=python, workload=False)
        return guest

    def close(self) -> None:
        """Forget them all."""
        shutil.rmtree(self._root, ignore_errors=True)


def _save(kernel: str, python: bool, folder: Path) -> _State | None:
    folder.mkdir()
    monitor = folder / "monitor"
    with boot(kernel, python=python, workload=False, more=["-qmp", f"unix:{monitor},server=on,wait=off"]) as guest:
        for name in ("identity", "known_hosts"):
            shutil.copy(guest.folder / name, folder)
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_SECONDS)
            line.connect(str(monitor))
            done = _migrated(line, folder / "state")
    return _State(guest.kernel, folder) if done else None


def _migrated(line: socket.socket, path: Path) -> bool:
    with line.makefile("rw") as talk:

        def ask(command: str, **arguments: object) -> Any:
            print(json.dumps({"execute": command, "arguments": arguments}), file=talk, flush=True)
            while "return" not in (answer := json.loads(talk.readline())):
                assert "error" not in answer, answer
            return answer["return"]

        talk.readline()  # its greeting
        ask("qmp_capabilities")
        ask("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
        ask("migrate", uri=f"exec:cat >'{path}'")
        status = ""

        def ended() -> bool:
            nonlocal status
            status = ask("query-migrate").get("status", "")
            return status in ("completed", "failed")

        return until(ended, _SECONDS) and status == "completed"


def _resume(state: _State) -> Guest | None:
    folder = cache.run_folder()
    initrd = folder / "initrd"
    initrd.write_bytes(b"")
    more = ["-incoming", f"exec:cat '{state.folder / 'state'}'"]
    machine = Machine(folder, state.kernel, initrd, "", more=more)
    shutil.copy(state.folder / "identity", folder)
    host, _, key = (state.folder / "known_hosts").read_text().partition(" ")
    assert host.startswith("[127.0.0.1]:")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{machine.port} {key}")
    guest = Guest(machine, folder, state.kernel)
    if until(lambda: not machine.alive or machine.answers(), _SECONDS) and machine.alive:
        return guest
    guest.close()
    return None
