"""Hosts that are dicts: their kernels' clocks run beside ours, their events come when a test says so."""

from __future__ import annotations

import queue
import re
import struct
import threading
import time
from collections.abc import Container
from dataclasses import replace
from typing import Any, NoReturn

from events.batch import Batch, Chunk
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import Progress
from kernel.connection.planner import Planner
from kernel.errors import TargetLost, TargetUnusable
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from probes.command import Armable
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from tests.fake_target import FACTS, FakeStream, FakeTarget, Served

STATS = "/per_cpu/cpu0/stats"


class LiveStream(FakeStream):
    """Gives what the test puts in, when it does; ends when the connection is lost."""

    def __init__(self, target: FakeHost) -> None:
        super().__init__()
        self.queue: queue.Queue[Batch] = queue.Queue()
        self._target = target
        self.taken = 0
        """Passes that were read."""

    def read(self, timeout: float) -> Batch | None:
        try:
            batch = self.queue.get(timeout=min(timeout, 0.01))
        except queue.Empty:
            self._target._alive()
            return None
        self.taken += 1
        return batch


class FakeHost(FakeTarget):
    """Its clock is `behind` nanoseconds behind ours, which is time.time_ns()."""

    def __init__(self, name: str, behind: int = 0, release: str = "6.12.0-fake") -> None:
        super().__init__(facts=replace(FACTS, release=release), name=name, owner="100_" + re.sub(r"\W", "", name))
        self.behind = behind
        self.closed = False
        self.pages = LiveStream(self)

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        data = super().read(path, limit, offset)
        if path.endswith(STATS):
            seconds, rest = divmod(time.time_ns() - self.behind, 10**9)
            data += b"oldest event ts:     0.000000\nnow ts: %5d.%06d\n" % (seconds, rest // 1000)
        return data

    def stream(self, instance: str) -> LiveStream:
        return self.pages

    def close(self) -> None:
        super().close()
        self.closed = True

    def event(self, at: int, name: str = "vfs_read", pid: int = 812, times: int = 1) -> None:
        """An event happens at a time of our clock; a page has room for 300."""
        path = next(path for path in self.files if "/instances/" in path and path.endswith(f"/{name}/format"))
        number = int(self.files[path].split(b"ID: ")[1].split(b"\n")[0])
        data = struct.pack("<IHHi", 2, number, 0, pid) * times
        page = struct.pack("<QQ", at - self.behind, len(data)) + data
        self.pages.queue.put(Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True))


BOOT = "/proc/sys/kernel/random/boot_id"


class OneConnection:
    """One connection to a host, as a dialect: what is behind a later one is out of its reach."""

    def __init__(self, host: ReturningHost) -> None:
        self._host = host
        self._pid = host.pid

    @property
    def loss(self) -> str:
        return self._host.loss if self._pid == self._host.pid else "the connection was lost"

    def close(self) -> None:
        if self._pid == self._host.pid:
            self._host.close()

    def lose(self, why: str) -> None:
        if self._pid == self._host.pid:
            self._host.lose(why)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        return found if not callable(found) or self._pid == self._host.pid else self._ended

    @staticmethod
    def _ended(*_: object, **__: object) -> NoReturn:
        raise TargetLost("the connection was lost")


class ReturningHost(Served, FakeHost):
    """Behind a connection that can be lost, and made anew as soon as nothing is to be refused."""

    def __init__(self, name: str, behind: int = 0, release: str = "6.12.0-fake") -> None:
        super().__init__(name, behind, release)
        self._facts = replace(self._facts, boot_id="one")
        self.files |= {BOOT: b"one\n", "/proc/sys/kernel/version": b"\n"}
        self.files["/proc/sys/kernel/osrelease"] = f"{release}\n".encode()
        self.refuse: Exception | None = None
        """Why nobody gets there."""
        self.tried = 0
        self.last_received = time.monotonic()
        self._be(100)
        self.target = self._open()

    def cut(self, why: Exception | None = None) -> None:
        """The remote host undoes all, unnoticed here; `why`: it can't be reached until that is taken away."""
        self.refuse = why
        self.vanish()
        self.lost = True

    def be_there(self) -> None:
        """Whoever opens it anew finds it, behind another connection: the one that was cut stays so."""
        self.refuse, self.lost = None, False
        self._be(self.pid + 100)
        self.target = self._open()

    def boot(self, behind: int) -> None:
        """It is another boot of the same kernel: its clock began again."""
        self.files[BOOT] = b"two\n"
        self.behind = behind

    def stream(self, instance: str) -> LiveStream:
        self.pages = LiveStream(self)
        return self.pages

    def _again(self, cancel: threading.Event | None, asking: bool) -> RemoteConnection:
        assert not asking, "several would ask at once"
        self.tried += 1
        if self.refuse is not None:
            raise self.refuse
        self.lost = self.closed = False
        self.last_received = time.monotonic()
        self._be(self.pid + 100)
        return RemoteConnection(OneConnection(self), "agent")

    def _open(self) -> RemoteTarget:
        target = RemoteTarget(RemoteConnection(OneConnection(self), "agent"), f"ssh://{self.name}", again=self._again)
        target._facts = self._facts
        return target


class AnyProbe(Planner):
    """Lowers each probe to one line without looking at it; a kernel takes no probe that is named in its release."""

    def lower(self, probe: Armable, group: str, *rest: Container[str]) -> Plan:
        name = probe.subject
        if name in self.info.facts.release:
            raise CannotLower(own_refusal("unknown_function", name, hint=f"{name} is not there"))
        filter_ = probe.filter if isinstance(probe, Probe) else ""
        event = PlannedEvent(group, name, f"f:{group}/{name} {name}", f"-:{group}/{name}", filter=filter_)
        return Plan(probe, (event,))

    def check(self, probe, group="", look=False):
        from probes.check import CheckResult
        from probes.command import parse_armable
        from probes.verdict import Verdict

        probe = parse_armable(probe) if isinstance(probe, str) else probe
        try:
            return CheckResult(Verdict(str(probe)), self.lower(probe, "pw"))
        except CannotLower as error:
            return CheckResult(Verdict(str(probe), error.refusal), None)


class Lan:
    """Opens them by their names, as `kernel.hosts.opening.open_host` does."""

    def __init__(self, *hosts: FakeHost) -> None:
        self.hosts = {host.name: host for host in hosts}
        self.over = threading.Event()
        """Set at the end of the test, for threads that wait for a host."""
        self.held = threading.Event()
        """Set: `slow` answers."""

    def open(self, spec: str, progress: Progress, cancel: threading.Event) -> Planner:
        name = spec.removeprefix("ssh://")
        while name == "slow" and not self.held.is_set():
            progress("connecting", None)
            if cancel.wait(0.01):
                raise TargetUnusable("cancelled")
        if name not in self.hosts:
            raise TargetUnusable(f"{spec}: Connection refused", "check that sshd runs there, and its port")
        host = self.hosts[name]
        return AnyProbe(KernelInfo(host.target if isinstance(host, ReturningHost) else host))


def is_clean(host: FakeHost) -> bool:
    """Nothing of ours is in its kernel."""
    return not host.traces


REMOVE = Effect.RMDIR
__all__ = ["REMOVE", "AnyProbe", "FakeHost", "Lan", "ReturningHost", "Step", "is_clean"]
