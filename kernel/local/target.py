"""Implement the local target by `os`, bpf(2) and raw ring buffers of the running kernel."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Sequence

from kernel.agent.journal import folders, open_own
from kernel.agent.sampler import SAMPLER
from kernel.agent.user_events import RegisteredEvents, write_event
from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused
from kernel.facts import gather
from kernel.local import files, libc, process_journal
from kernel.local.libbpf_calls import local_calls
from kernel.local.libbpf_facts import with_libbpf
from kernel.local.stream import LocalStream
from kernel.target import BpfAnswer, BpfPart, Effect, Step, TargetKind
from probes.facts.facts import TargetFacts

_ON_EVENTS = (Effect.REGISTER, Effect.RELEASE, Effect.WRITE_EVENT)
"""Effects on events of programs."""


class LocalTarget:
    """The running local kernel; see `kernel.target.Target`."""

    name = "local"
    is_kernel = True
    kind = TargetKind.LOCAL
    link = None
    recording = None

    def __init__(self) -> None:
        self.owner = owner_name(files.read("/proc/self/stat", 4096))
        self._facts: TargetFacts | None = None
        self._held: list[tuple[str, int]] = []
        self._streams: list[LocalStream] = []
        self._bpf = local_calls()
        self._events = RegisteredEvents()
        self.helpers: list[int] = []
        """Processes of ours that run commands."""

    def facts(self) -> TargetFacts:
        if self._facts is None:
            self._facts = with_libbpf(gather.gather(self, _file_system_magic))
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return files.read(f"/sys/kernel/btf/{module or 'vmlinux'}")

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if os.path.dirname(path) in folders(os.geteuid(), os.environ):
            return files.read(path, limit, offset, open_own)
        return files.read(path, limit, offset)

    def file_error(self, path: str) -> str:
        try:
            return "" if stat.S_ISREG(os.stat(path).st_mode) else "NO_REGULAR_FILE"
        except OSError:
            return "FILE_NOT_FOUND"

    def perform(self, step: Step) -> None:
        if step.effect is Effect.RMDIR:
            self._release(step.path)
        if step.effect in _ON_EVENTS:
            self._perform_on_events(step)
        else:
            files.perform(step)

    def _perform_on_events(self, step: Step) -> None:
        """Register, release or write an event of programs. Raises FileRefused."""
        path = os.fsencode(step.path)
        try:
            if step.effect is Effect.REGISTER:
                self._events.register(path, step.data)
            elif step.effect is Effect.RELEASE:
                self._events.release(path, step.data)
            else:
                write_event(path, step.data)
        except OSError as error:
            raise FileRefused(step.path, error.errno or 0) from None

    def list(self, path: str) -> Sequence[str]:
        return files.list_folder(path)

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        return files.folders_below(path)

    def guard(self, undo: Step) -> None:
        process_journal.add_step(undo)

    def unguard(self, undo: Step) -> None:
        process_journal.drop_step(undo)

    def hold(self, path: str) -> None:
        try:
            self._held.append((path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
        except OSError as error:
            raise FileRefused(path, error.errno or 0) from None

    def our_pids(self) -> Sequence[int]:
        """Return all threads of this process: the kernel filters by thread, not by process."""
        return [*sorted(int(name) for name in files.list_folder("/proc/self/task")), *self.helpers]

    def start(self, words: Sequence[str], *passed: int) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own, with pipes, and with files of ours. Raises OSError."""
        pipe = subprocess.PIPE
        return subprocess.Popen(words, stdin=pipe, stdout=pipe, bufsize=0, pass_fds=passed, process_group=0)

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:
        pointers = [(part.offset, part.kind, part.data) for part in parts]
        try:
            result, returned = self._bpf.call(command, attributes, pointers)
        except OSError as error:
            raise FileRefused("bpf(2)", error.errno or 0) from None
        return BpfAnswer(result, tuple(returned))

    def close_bpf(self, files: Sequence[int]) -> None:
        for fd in files:
            self._bpf.close(fd)

    def stream(self, instance: str) -> LocalStream:
        SAMPLER.start()  # before our threads are listed
        stream = LocalStream(instance)
        self._streams = [*(earlier for earlier in self._streams if not earlier.closed), stream]
        return stream

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._bpf.close_all()
        self._events.close()
        self._release("")

    def _release(self, folder: str) -> None:
        """Close the files held below a folder."""
        for entry in [entry for entry in self._held if entry[0].startswith(f"{folder}/")]:
            with contextlib.suppress(ValueError):  # another thread closes it: its number may be another file's by now
                self._held.remove(entry)
                os.close(entry[1])


def _file_system_magic(path: str) -> int | None:
    """Return the magic number of the file system at a path; None: the path does not exist."""
    try:
        return libc.statfs(path).f_type
    except OSError:
        return None
