"""Open kernels that do not run: a recording, or saved facts (BTF, functions, README ... without events).

They can't be changed; data that was not saved is refused as a missing file.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from events.names.kallsyms_table import require_symbol_table
from events.recording.reader import Recording, RecordingError
from foreign.archive import read_tar
from foreign.byte_source import open_bytes
from foreign.files import files_below, read_file
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused, TargetUnusable
from kernel.facts import gather as looking
from kernel.target import BpfAnswer, BpfPart, Step, Stream, Target, TargetKind
from probes.facts.facts import LARGEST_LIST, TargetFacts
from probes.facts.json_values import facts_from_dict
from probes.facts.lookups import likely_file

_LARGEST_FILE = 64 << 20
"""Most bytes of one file of saved facts."""
_LARGEST_TAR = 256 << 20
"""Most bytes of a tar file of saved facts, as stored."""
_MOST_FILES = 20_000


class OfflineTarget:
    """Behaviour of a `Target` without a running kernel."""

    is_kernel = False
    kind = TargetKind.SAVED
    link = None
    owner = ""
    recording: Recording | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def file_error(self, path: str) -> str:
        return likely_file(path)

    def perform(self, step: Step) -> None:
        raise FileRefused(step.path, errno.EROFS)

    def guard(self, undo: Step) -> None:
        """Return without effect, as no step can be performed."""

    def unguard(self, undo: Step) -> None:
        """Return without effect, as no step can be performed."""

    def hold(self, path: str) -> None:
        raise FileRefused(path, errno.EROFS)

    def our_pids(self) -> Sequence[int]:
        return ()

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        raise FileRefused(path, errno.ENOSYS)

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:  # noqa: ARG002
        raise FileRefused("bpf(2)", errno.ENOSYS)

    def close_bpf(self, files: Sequence[int]) -> None:
        """Return without effect, as no file was given."""

    def stream(self, instance: str) -> Stream:
        raise FileRefused(instance, errno.EROFS)

    def close(self) -> None:
        """Return without effect, as no file is open."""


class RecordingTarget(OfflineTarget):
    """Kernel of a recording; its events are replayed by `kernel.recording.replay`."""

    recording: Recording

    def __init__(self, recording: Recording, name: str) -> None:
        super().__init__(name)
        self.recording = recording

    def facts(self) -> TargetFacts:
        return self._facts

    @cached_property
    def _facts(self) -> TargetFacts:
        try:
            blobs = [
                (self.recording.blob("facts", name, LARGEST_LIST) or b"").decode("utf-8", "replace")
                for name in FACT_BLOBS
            ]
            self.recording.require_symbols()  # asked for where nobody tells why there are none
            return facts_from_dict(self.recording.facts, *blobs)
        except (RecordingError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise TargetUnusable(f"{self.name}: the facts of this recording are damaged ({error})") from error

    def btf(self, module: str | None = None) -> bytes:
        return self._found(f"/sys/kernel/btf/{module or 'vmlinux'}", lambda: self.recording.blob("btf", module or ""))

    def read(self, path: str, limit: int = _LARGEST_FILE, offset: int = 0) -> bytes:
        if path == "/proc/kallsyms":
            return self._found(path, lambda: self.recording.kallsyms(self.recording.boot))[offset : offset + limit]
        raise FileRefused(path, errno.ENOENT)

    def list(self, path: str) -> Sequence[str]:
        raise FileRefused(path, errno.ENOENT)

    def _found(self, path: str, read: Callable[[], bytes | None]) -> bytes:
        try:
            data = read()
        except RecordingError as error:
            raise TargetUnusable(str(error)) from error
        if data is None:
            raise FileRefused(path, errno.ENOENT)
        return data


def holds_events(target: Target) -> bool:
    """Return whether a target is a recording of events, not a kernel."""
    recording = target.recording
    return recording is not None and bool(recording.plans or recording.names("format"))


FACT_BLOBS = ("functions", "blacklist", "readme")
"""Large facts, each a blob of kind `facts`, in the order of `facts_from_dict`."""

_PATHS = {
    "/sys/kernel/btf/vmlinux": "vmlinux.btf",
    "/sys/kernel/debug/kprobes/blacklist": "blacklist",
    "/proc/kallsyms": "kallsyms",
    "/proc/kcore": "kcore",
    "/sys/kernel/notes": "notes",
}
_TRACEFS = "/sys/kernel/tracing"
_WAY_OUT = "open a file that `probewright record` wrote, or saved facts"


class SavedFacts(OfflineTarget):
    """A folder or tar file with `vmlinux.btf` and copies of tracefs files (README, ...).

    Other names: `kallsyms`, `kcore`, `notes` (/sys/kernel/notes), `blacklist` (kprobes/blacklist of debugfs), `uname`
    (`uname -a`). The facts are gathered from these files as they would be by root on that machine.
    """

    def __init__(self, name: str, names: Sequence[str], content: Callable[[str], bytes]) -> None:
        super().__init__(name)
        self._names = frozenset(names)
        self._content = content

    def facts(self) -> TargetFacts:
        return self._facts

    @cached_property
    def _facts(self) -> TargetFacts:
        try:
            if "kallsyms" in self._names:  # asked for where nobody tells why there are none
                with contextlib.suppress(OSError):
                    require_symbol_table(self._content("kallsyms"), "kallsyms")
            return looking.gather(self)
        except InputRefusal as error:
            raise TargetUnusable(f"{self.name}: {error}", _WAY_OUT) from None

    def btf(self, module: str | None = None) -> bytes:
        return self.read(f"/sys/kernel/btf/{module or 'vmlinux'}")

    def read(self, path: str, limit: int = _LARGEST_FILE, offset: int = 0) -> bytes:
        synthesized = self._proc.get(path)
        if synthesized is not None:
            return synthesized.encode()[offset : offset + limit]
        name = _PATHS.get(path) or path.removeprefix(f"{_TRACEFS}/").removeprefix("events/header_page/")
        name = {"events/header_page": "header_page"}.get(name, name)
        if name not in self._names:
            raise FileRefused(path, errno.ENOENT)
        return self._content(name)[offset : offset + limit]

    def list(self, path: str) -> Sequence[str]:
        if path == "/sys/kernel/btf":
            return ["vmlinux"] if "vmlinux.btf" in self._names else []
        if path == _TRACEFS:
            # The README names the files that this kernel has.
            lines = self._text("README").splitlines()
            described = {line.split()[0] for line in lines if line.startswith("  ") and "\t\t- " in line}
            return sorted(described | {name.split("/")[0] for name in self._names})
        raise FileRefused(path, errno.ENOENT)

    @cached_property
    def _proc(self) -> Mapping[str, str]:
        words = self._text("uname").split()
        machine = next((word for word in reversed(words) if word != "GNU/Linux"), "")
        return {
            "/proc/self/mounts": f"nodev {_TRACEFS} tracefs rw 0 0\n",
            "/proc/self/status": f"Uid:\t0\t0\t0\t0\nCapEff:\t{(1 << 41) - 1:016x}\n",
            "/proc/sys/kernel/osrelease": words[2] if len(words) > 2 else "",
            "/proc/sys/kernel/version": " ".join(words[3:-2]),
            "/proc/sys/kernel/arch": machine,
        }

    def _text(self, name: str) -> str:
        return self._content(name).decode("utf-8", "replace") if name in self._names else ""


def open_recording(path: Path) -> Target:
    """Open a recording, a folder of saved facts, or a tar file of one.

    Raises:
        TargetUnusable: it can't be read, or a recording was cut short before the data needed to examine its kernel.
    """
    name = str(path)
    if path.is_dir():
        try:
            names = files_below(path, _MOST_FILES)
        except InputRefusal as error:
            raise TargetUnusable(str(error), _WAY_OUT) from None
        return _saved(name, names, lambda file: read_file(path / file, _LARGEST_FILE))
    try:
        if ".tar" in path.suffixes or path.suffix in (".tgz", ".txz"):
            files = read_tar(open_bytes(path, _LARGEST_TAR), name)
            return _saved(name, tuple(files), files.__getitem__)
        recording = Recording.open(path)
        if recording.truncated and not (recording.names("btf") or recording.names("header_page")):
            # The kernel's verdict on a probe can't be computed, and it would look as if it had no functions.
            raise TargetUnusable(f"{name}: the recording is damaged: cut short before its functions and types")
        return RecordingTarget(recording, path.name)
    except (OSError, RecordingError, InputRefusal) as error:
        raise TargetUnusable(str(error), _WAY_OUT) from error


def _saved(name: str, names: Sequence[str], content: Callable[[str], bytes]) -> Target:
    if "vmlinux.btf" not in names and "available_filter_functions" not in names:
        raise TargetUnusable(f"{name}: no saved facts (no vmlinux.btf, no available_filter_functions)", _WAY_OUT)
    return SavedFacts(name, names, content)
