"""Guests that need no boot of their own: one boots, its state is saved, and each guest asked for goes on from it.

QEMU's own migration to a file does it; what is asked of its monitor is in QEMU's docs/interop/qemu-qmp-ref (migrate,
query-migrate). One module after the other borrows a guest, as long as each leaves it as it was: an emulated processor
is slow at all that it does for the first time (3 s of CPU until a first probe is armed, 1 from then on).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernel.lab import cache
from kernel.lab.errors import LabError
from kernel.lab.guest import COMMAND_SECONDS, Guest, boot, prepare
from kernel.lab.kernels import KernelImage
from kernel.lab.qemu import Machine
from kernel.lab.work import Work
from tests.real.processes import ended, until

_SECONDS = 120.0
_ANSWERS = 60.0
"""Seconds after which a guest counts as hung."""
_EXPEDITED = "rcupdate.rcu_expedited=1"
"""Words for the kernel: disarming waits for grace periods, a tenth of a second each without it."""
_IMPORTS = "python3 -c 'import ctypes, json, selectors, struct, zlib'"
"""Leaves bytecode for the next start."""
_HOLDS_A_PROGRAM = """python3 - <<'END'
import ctypes, os, struct, subprocess
code = ctypes.create_string_buffer(bytes.fromhex("b700000000000000 9500000000000000"))  # r0 = 0; exit
words = ctypes.create_string_buffer(b"GPL")
socket_filter, sys_bpf, prog_load = 1, 280, 5
attributes = struct.pack("IIQQ", socket_filter, 2, ctypes.addressof(code), ctypes.addressof(words)) + bytes(24)
program = ctypes.CDLL(None).syscall(sys_bpf, prog_load, attributes, len(attributes))
os.set_inheritable(program, True)
nothing = subprocess.DEVNULL
subprocess.Popen(["busybox", "sleep", "infinity"], close_fds=False, stdin=nothing, stdout=nothing, stderr=nothing)
END
"""
"""Keeps a BPF program, and with it the 2 MB for the code of all of them (bpf_prog_pack_alloc, kernel/bpf/core.c).

Without it each one that is loaded alone has them filled anew, which takes an emulated riscv64 5 s. Its name is not
sleep: tests look for processes of that name that the application's shell program left.
"""
_CALMER = "cd /usr/bin; sed -i 's/sleep 0.2;/sleep 0.5;/' workload; grep -q 'sleep 0.5;' workload"
"""At five times a second the workload takes an eighth of a processor of ours, as long as a test looks elsewhere."""
_SLEEPS = "for cpu in $(seq 0 $(($(nproc) - 1))); do taskset -c $cpu sleep 0.01 || exit; done"
"""Ends when the timer of each processor has fired.

QEMU 7.2 saves no pending timers of riscv64 (its commit "target/riscv: Save stimer and vstimer in CPU vmstate" does).
A processor without other work never programs one again, and what waits for it, such as rmmod, hangs.
"""
_SLEEPS_SECONDS = 30.0


class SavedGuest(Guest):
    """A guest whose commands share one SSH connection: an emulated processor takes 0.2 s for each handshake."""

    _master: subprocess.Popen[bytes] | None = None
    _hung = ""
    """Message of the command that took too long: each more would take as long, until the run's own limit ends it."""

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> bytes:
        """Run a command as `Guest.run`; none more after one that took too long. Raises LabError."""
        if self._hung:
            raise LabError(f"{command}: not run, as before it {self._hung}")
        try:
            return super().run(command, timeout)
        except LabError as error:
            if timeout >= COMMAND_SECONDS and isinstance(error.__cause__, subprocess.TimeoutExpired):
                self._hung = str(error)
            raise

    @property
    def crash(self) -> str:
        """Return the kernel's words of its accident; empty when it had none."""
        return self._machine.crash

    @property
    def ssh_command(self) -> list[str]:
        """Return the words that run a command over the shared connection; without it they make one of their own."""
        control = self.folder / "c"
        if self._master is not None and self._master.poll() is not None:
            self.hang_up()  # it has ended by itself
        if self._master is None:
            words = ["ssh", "-N", "-M", "-S", str(control), *self.ssh_options, self.host]
            quiet = subprocess.DEVNULL
            self._master = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet)
            until(lambda: control.exists() or ended(self._master.pid))
        return ["ssh", "-S", str(control), *self.ssh_options, self.host]

    def answers(self) -> bool:
        """Whether it runs a command within `_ANSWERS`."""
        try:
            self.run("true", _ANSWERS)
        except LabError:
            return False
        return True

    def hang_up(self) -> None:
        """End the connection; the next command makes another."""
        master, self._master = self._master, None
        if master is not None:
            master.kill()
            master.wait()
            (self.folder / "c").unlink(missing_ok=True)

    def close(self) -> None:
        """End the connection and the guest; safe to call twice."""
        self.hang_up()
        super().close()

    def state(self) -> str:
        """Return settings, files and processes that tests change there, once files of tests are removed.

        Raises LabError.
        """
        return _without_numbers(self.run(_STATE).decode())

    def run_on(self, on: bool) -> None:
        """Let its processors run, or stop them, and QEMU with them.

        An idle guest takes one to two percent of a processor of ours. One whose clock is stopped took 28: timers of
        arm64 are due for ever then, and QEMU 7.2 looks at them 17,000 times a second.
        """
        keeper = self._machine.pid
        qemu = int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text())
        if on:
            os.kill(qemu, signal.SIGCONT)
        with _monitor(self.folder / "monitor") as ask:
            ask("cont" if on else "stop")
        if not on:
            os.kill(qemu, signal.SIGSTOP)


# Each program that this starts takes a guest as long as ten files that one program reads.
_STATE = """\
rm -rf /pw /tmp/*; [ -e /run/workload.pid ] && workload off; rmdir /run/probewright 2>/dev/null
umount /sys/kernel/debug/tracing 2>/dev/null
cd /sys/kernel/tracing
grep '' dynamic_events set_event set_ftrace_filter set_ftrace_notrace set_graph_function set_graph_notrace \
    max_graph_depth tracing_thresh trace_options tracing_on trace_clock current_tracer \
    enabled_functions set_ftrace_pid set_event_pid /proc/modules /proc/mounts /proc/sys/kernel/kptr_restrict \
    /proc/sys/kernel/perf_event_paranoid /proc/sys/kernel/ftrace_enabled 2>/dev/null
ls -A instances / /tmp /run /lib/modules
grep -h -e ^Name: -e ^VmSize: /proc/[0-9]*/status 2>/dev/null || true
"""


def _without_numbers(state: str) -> str:
    """Return a state with the names of its programs, which have a size, in an order that is not of their numbers."""
    others = [line for line in state.splitlines() if not line.startswith(("Name:", "VmSize:"))]
    return "\n".join([*others, *sorted(re.findall(r"^Name:\s*(.*)\nVmSize:", state, re.MULTILINE))])


_MOST_IDLE = 2
_CALMS_DOWN = 5.0
"""Seconds until what a module ended is gone; else its guest is no longer used."""


class SavedGuests:
    """Guests of the lab without workload; their states lie in a folder that the workers of one run share."""

    def __init__(self, root: Path) -> None:
        """Take a folder of `cache.run_folder`."""
        self._root = root
        self._idle: dict[tuple[str, bool], tuple[SavedGuest, str]] = {}
        """By kernel and Python, guests that nobody has borrowed, with their states when they began."""

    @contextlib.contextmanager
    def lent(self, kernel: str, *, python: bool = True) -> Iterator[Guest]:
        """Give a guest that is as if nobody had used it; end it where it isn't so afterwards. Raises LabError."""
        guest, state = self._idle.pop((kernel, python), (None, ""))
        if guest is not None and not guest.alive:
            guest.close()
            guest, state = None, ""
        with contextlib.ExitStack() as ends:
            if guest is not None:
                guest.run_on(True)
            used = ends.enter_context(guest or self.start(kernel, python=python))
            if isinstance(used, SavedGuest):
                state = state or used.state()
            yield used
            spare = (kernel, python) in self._idle  # a module had two
            if isinstance(used, SavedGuest) and not spare and _unchanged(used, state):
                used.run_on(False)
                ends.pop_all()
                self._idle[kernel, python] = used, state
        while len(self._idle) > _MOST_IDLE:
            self._idle.pop(next(iter(self._idle)))[0].close()

    def close(self) -> None:
        """End those that nobody has borrowed."""
        while self._idle:
            self._idle.popitem()[1][0].close()

    def start(self, kernel: str, *, python: bool = True) -> Guest:
        """One more of a kernel that is prepared. Raises LabError."""
        image, _ = prepare(kernel, python=python, work=Work(lambda _: None))
        folder = self._root / f"{kernel}-{python}"
        with cache.locked(Work(lambda _: None), str(folder.relative_to(cache.root()))):
            if not folder.exists():
                folder.mkdir()
                _save(kernel, python, folder)
        state = folder / "state"
        if state.exists() and (guest := _resume(folder, image)):
            return guest
        state.unlink(missing_ok=True)  # this QEMU or machine cannot do it: as without it
        return boot(kernel, python=python, workload=False)


def _unchanged(guest: SavedGuest, state: str) -> bool:
    """Return whether it is as it was; its connection ends, which would die while it stands still."""
    try:
        return guest.alive and not guest.crash and until(lambda: guest.state() == state, _CALMS_DOWN)
    except LabError:
        return False
    finally:
        guest.hang_up()


def _save(kernel: str, python: bool, folder: Path) -> None:
    """Leave its keys as in the folder of a guest there, and `state`, where this QEMU and machine can do that."""
    monitor, made = folder / "monitor", folder / "made"
    with boot(kernel, python=python, workload=False, append=_EXPEDITED, more=_served(monitor)) as guest:
        if python:
            guest.run(_IMPORTS)
        if python and guest.kernel.arch == "riscv64":
            guest.run(_HOLDS_A_PROGRAM)
        guest.run(_CALMER)
        for name in ("identity", "known_hosts"):
            shutil.copy(guest.folder / name, folder)
        with _monitor(monitor) as ask:
            if _migrated(ask, made):
                made.rename(folder / "state")


def _served(monitor: Path) -> list[str]:
    """Return QEMU's words that open its monitor at a path."""
    return ["-qmp", f"unix:{monitor},server=on,wait=off"]


@contextlib.contextmanager
def _monitor(path: Path) -> Iterator[Callable[..., Any]]:
    """Give what asks a QEMU: a command and its arguments; it returns the answer."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_SECONDS)
        line.connect(str(path))
        with line.makefile("rw") as talk:

            def ask(command: str, **arguments: object) -> Any:
                print(json.dumps({"execute": command, "arguments": arguments}), file=talk, flush=True)
                while "return" not in (answer := json.loads(talk.readline())):
                    assert "error" not in answer, answer
                return answer["return"]

            talk.readline()  # its greeting
            ask("qmp_capabilities")
            yield ask


def _migrated(ask: Callable[..., Any], path: Path) -> bool:
    ask("migrate-set-parameters", **{"max-bandwidth": 1 << 33})
    ask("migrate", uri=f"exec:cat >'{path}'")
    status = ""

    def ended() -> bool:
        nonlocal status
        status = ask("query-migrate").get("status", "")
        return status in ("completed", "failed")

    return until(ended, _SECONDS) and status == "completed"


def _resume(saved: Path, image: KernelImage) -> Guest | None:
    folder = cache.run_folder()
    initrd = folder / "initrd"
    initrd.write_bytes(b"")
    more = [*_served(folder / "monitor"), "-incoming", f"exec:cat '{saved / 'state'}'"]
    machine = Machine(folder, image, initrd, "", more=more)
    shutil.copy(saved / "identity", folder)
    host, _, key = (saved / "known_hosts").read_text().partition(" ")
    assert host.startswith("[127.0.0.1]:")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{machine.port} {key}")
    guest = SavedGuest(machine, folder, image)
    with contextlib.suppress(LabError):
        if until(lambda: not machine.alive or machine.answers(), _SECONDS) and machine.alive:
            guest.run(_SLEEPS, _SLEEPS_SECONDS)
            return guest
    guest.close()
    return None
