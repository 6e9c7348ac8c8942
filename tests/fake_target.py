"""A kernel made of a dict: tracefs as far as a session uses it, with errors where a test wants them.

It follows the real one where the way back depends on it: an event that is enabled or has a trigger cannot be removed,
an instance that is held, or has a hist trigger with a variable, cannot be removed, nor such a trigger whose variable
another one reads, mkdir fills an instance, opening a far file of a dead line fails.
"""

from __future__ import annotations

import errno
import posixpath
import re
import threading
from collections.abc import Callable, Mapping, Sequence

from events.batch import Batch
from kernel.agent.journal import is_untouched
from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused, KernelError, TargetLost
from kernel.target import AnyRecord, BpfAnswer, BpfPart, Effect, RemoteLink, RingMap, Step, TargetKind
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import likely_file

ROOT = "/sys/kernel/tracing"
HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
INSTANCE_FILES = {
    "tracing_on": b"1\n",
    "trace_clock": b"[local] global counter uptime perf mono mono_raw boot tai\n",
    "trace_options": b"record-cmd\noverwrite\nnoevent-fork\nraw\n",
    "buffer_percent": b"50\n",
    "buffer_size_kb": b"1410\n",
    "set_event_notrace_pid": b"",
    "set_event_pid": b"",
    "error_log": b"",
    "events/header_page": HEADER_PAGE.encode(),
    "per_cpu/cpu0/stats": b"entries: 0\noverrun: 0\ncommit overrun: 0\ndropped events: 0\nread events: 0\n",
}
FACTS = TargetFacts(
    "x86_64",
    "6.12.0-fake",
    tracefs=ROOT,
    features=frozenset({Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS, Feature.FPROBE_EVENTS}),
)
_LINE = re.compile(r"(-|[a-z]\d*):(\w+)/(\w+)")
_VARIABLE = re.compile(rb"[:,](\w+)=common_timestamp\b")
_ALL_EVENTS = re.compile(r"(.*)/events/(\w+/\w+)/(enable|filter|trigger)")


def _is_same_trigger(one: bytes, other: bytes) -> bool:
    """As unregister_trigger() compares, and a histogram's own."""
    return one == other if one.startswith(b"hist") else one.split(b" ")[0].split(b":")[0] == other.split(b":")[0]


def _is_switch(name: str, events: str) -> bool:
    return name.startswith(events) and name.endswith("/enable")


class FakeStream:
    """Gives the batches it was made with, then nothing."""

    def __init__(self, batches: Sequence[Batch] = ()) -> None:
        self.batches = list(batches)
        self.closed = threading.Event()

    def read(self, timeout: float) -> Batch | None:
        if self.batches:
            return self.batches.pop(0)
        self.closed.wait(min(timeout, 0.01))
        return None

    def require_answer(self) -> bool:
        return False

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        raise FileRefused("bpf(2)", errno.ENOSYS)

    def remove_rings(self, number: int) -> None:
        """There are none."""

    def close(self) -> None:
        self.closed.set()


class FakeTarget:
    """See the module; `files` may be filled and looked at freely.

    Attributes:
        before: called with each step before it is carried out; raises what the test wants to happen.
        after: the same, when the step has been carried out and the answer is on its way.
    """

    is_kernel = True
    kind = TargetKind.LOCAL
    link: RemoteLink | None = None
    recording = None

    def __init__(
        self,
        files: dict[str, bytes] | None = None,
        facts: TargetFacts = FACTS,
        owner: str = "100_abc",
        name: str = "fake",
    ) -> None:
        self.name = name
        self.owner = owner
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = set()
        self.guarded: list[Step] = []
        self.held: list[str] = []
        self.registered: list[bytes] = []
        self.steps: list[Step] = []
        self.lost = False
        self.before: Callable[[Step], None] = lambda step: None
        self.after: Callable[[Step], None] = lambda step: None
        self._facts = facts
        self._next_id = 1500
        if facts.tracefs:
            self._fill(facts.tracefs)
            self.folders.add(f"{ROOT}/instances")
            self.files[f"{ROOT}/dynamic_events"] = b""
            self.files[f"{ROOT}/saved_cmdlines"] = b"812 cat\n7 two words\n"
        self.files |= files or {}

    def facts(self) -> TargetFacts:
        return self._facts

    def btf(self, module: str | None = None) -> bytes:
        return self.read(f"/sys/kernel/btf/{module or 'vmlinux'}")

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        self._alive()
        if path not in self.files and path.endswith("/set_event"):
            return self._in_use(path.removesuffix("/set_event"))[offset : offset + limit]
        if path not in self.files:
            raise FileRefused(path, errno.ENOENT)
        return self.files[path][offset : offset + limit]

    def list(self, path: str) -> Sequence[str]:
        self._alive()
        inside = path.rstrip("/") + "/"
        names = {
            name[len(inside) :].split("/")[0] for name in {*self.files, *self.folders} if name.startswith(inside)
        }
        if not names and path not in self.folders:
            raise FileRefused(path, errno.ENOENT)
        return sorted(names)

    def file_error(self, path: str) -> str:
        return likely_file(path)

    def perform(self, step: Step) -> None:
        self._alive()
        self.before(step)
        self._perform(step)
        self.steps.append(step)
        self.after(step)

    def guard(self, undo: Step) -> None:
        self._alive()
        self.guarded.append(undo)

    def unguard(self, undo: Step) -> None:
        self._alive()
        if undo in self.guarded:
            del self.guarded[len(self.guarded) - 1 - self.guarded[::-1].index(undo)]

    def hold(self, path: str) -> None:
        self.read(path)
        self.held.append(path)

    def our_pids(self) -> Sequence[int]:
        return (100, 101)

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        raise FileRefused(path, errno.ENOSYS)

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart] = ()) -> BpfAnswer:
        raise FileRefused("bpf(2)", errno.ENOSYS)

    def close_bpf(self, files: Sequence[int]) -> None:
        """None was given."""

    def stream(self, instance: str) -> FakeStream:
        self.list(instance)
        return FakeStream()

    def close(self) -> None:
        self.held.clear()

    def vanish(self) -> Sequence[str]:
        """The near side is gone: what is guarded is undone by the remote host, newest first; what failed."""
        self.held.clear()
        failed = []
        while self.guarded:
            step = self.guarded.pop()
            try:
                if not step.expects or is_untouched(step.effect.value.encode(), self.files[step.path], step.expects):
                    self._perform(step)
            except KernelError as error:
                if not (isinstance(error, FileRefused) and error.errno == errno.ENOENT):
                    failed.append(f"{step}: {error}")
        return failed

    @property
    def traces(self) -> Sequence[str]:
        """Everything a session could leave behind: instances, and lines of dynamic_events."""
        instances = [folder for folder in self.folders if posixpath.dirname(folder) == f"{ROOT}/instances"]
        return instances + self.files[f"{ROOT}/dynamic_events"].decode().splitlines()

    def _alive(self) -> None:
        if self.lost:
            raise TargetLost("the connection was lost")

    def _perform(self, step: Step) -> None:
        path = step.path
        if step.effect is Effect.MKDIR:
            if path in self.folders:
                raise FileRefused(path, errno.EEXIST)
            self._fill(path)
        elif step.effect is Effect.RMDIR:
            self._rmdir(path)
        elif step.effect in (Effect.REGISTER, Effect.RELEASE):
            self._user_event(step)
        elif step.effect is Effect.UNLINK and path in self.files:
            del self.files[path]
        elif path.endswith("/events/enable"):
            self.files |= {name: step.data for name in self.files if _is_switch(name, path.removesuffix("enable"))}
        elif path not in self.files:
            raise FileRefused(path, errno.ENOENT)
        elif path == f"{ROOT}/dynamic_events":
            for line in step.data.decode().splitlines():
                self._dynamic(path, line)
        elif path.endswith("/trigger"):
            if step.effect is Effect.WRITE:
                self._clear(path)
            if step.data:
                self._trigger(path, step.data)
        elif step.effect is Effect.APPEND:
            self.files[path] += step.data
        else:
            self.files[path] = step.data

    def _fill(self, path: str) -> None:
        self.folders.add(path)
        self.files |= {f"{path}/{name}": data for name, data in INSTANCE_FILES.items()}
        for line in self.files.get(f"{ROOT}/dynamic_events", b"").decode().splitlines():
            if match := _LINE.match(line):
                self._event(path, f"{match[2]}/{match[3]}")

    def _rmdir(self, path: str) -> None:
        if path not in self.folders:
            raise FileRefused(path, errno.ENOENT)
        own = f"probewright-{self.owner}"
        if posixpath.basename(path).startswith(own):
            self.held = [held for held in self.held if not held.startswith(f"{path}/")]
        variables = any(_VARIABLE.search(one) for one in self._triggers(path).values())
        if variables or any(held.startswith(f"{path}/") for held in self.held):
            raise FileRefused(path, errno.EBUSY)
        self.folders.discard(path)
        self.files = {name: data for name, data in self.files.items() if not name.startswith(f"{path}/")}

    def _dynamic(self, path: str, line: str) -> None:
        line = re.sub(r"^s:(?!\w+/)", "s:synthetic/", line)
        match = _LINE.match(line)
        if match is None or "nosuch" in line:
            raise self._refusal(line)
        event = f"{match[2]}/{match[3]}"
        lines = self.files[path].decode().splitlines()
        mine = [known for known in lines if re.match(rf"[a-z]\d*:{event}( |$)", known)]
        if match[1] == "-":
            # With words behind the name only the probe that was made with them goes.
            words = line.split(" ", 1)[1:]
            gone = [known for known in mine if not words or known.split(" ", 1)[1] == words[0]]
            if not gone:
                raise FileRefused(path, errno.ENOENT)
            if len(gone) == len(mine):
                if self._busy(event):
                    raise FileRefused(path, errno.EBUSY)
                self.files = {name: data for name, data in self.files.items() if f"/events/{event}/" not in name}
            lines = [known for known in lines if known not in gone]
        else:
            if line in mine or any(known[0] != line[0] for known in mine):
                raise FileRefused(path, errno.EEXIST)
            lines.append(line)
            for place in [ROOT, *(f for f in self.folders if posixpath.dirname(f) == f"{ROOT}/instances")]:
                if not mine:
                    self._event(place, event)
        self.files[path] = "".join(f"{known}\n" for known in lines).encode()

    def _user_event(self, step: Step) -> None:
        """Register or release an event of programs; it goes with the last registration."""
        line, path = f"u:{step.data.decode()}", f"{ROOT}/dynamic_events"
        name = line[2:].split(" ")[0]
        lines = self.files[path].decode().splitlines()
        if step.effect is Effect.RELEASE:
            if step.data in self.registered:
                self.registered.remove(step.data)
            lines = [one for one in lines if one != line or step.data in self.registered]
        else:
            if any(one.split(" ")[0] == f"u:{name}" and one != line for one in lines):
                raise FileRefused(step.path, errno.EADDRINUSE)
            self.registered.append(step.data)
            if line not in lines:
                lines.append(line)
                for place in [ROOT, *(f for f in self.folders if posixpath.dirname(f) == f"{ROOT}/instances")]:
                    self._event(place, f"user_events/{name}")
        self.files[path] = "".join(f"{known}\n" for known in lines).encode()

    def _refusal(self, line: str) -> FileRefused:
        log = f"{ROOT}/error_log"
        column = len(line.split("nosuch")[0])
        head = "[    1.000000] trace_fprobe: error: This field is not found."
        self.files[log] += f"{head}\n  Command: {line}\n{' ' * (11 + column)}^\n".encode()
        return FileRefused(f"{ROOT}/dynamic_events", errno.EINVAL)

    def _event(self, place: str, event: str) -> None:
        self._next_id += 1
        folder = f"{place}/events/{event}"
        fields = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        name = event.split("/")[1]
        self.files[f"{folder}/format"] = (
            f'name: {name}\nID: {self._next_id}\nformat:\n{fields}\nprint fmt: ""\n'.encode()
        )
        self.files |= {f"{folder}/enable": b"0", f"{folder}/filter": b"none", f"{folder}/trigger": b""}

    def _trigger(self, path: str, data: bytes) -> None:
        if data.startswith(b"hist:") and b":clear" in data.partition(b" if ")[0]:
            return  # it is about one that is there
        triggers = self.files[path].split(b"\n") if self.files[path] else []
        if data.startswith(b"!"):
            there = next((one for one in triggers if _is_same_trigger(one, data[1:])), None)
            if there is None:
                raise FileRefused(path, errno.ENOENT)
            triggers.remove(there)
        elif data.startswith(b"stacktrace") and any(one.startswith(b"stacktrace") for one in triggers):
            raise FileRefused(path, errno.EEXIST)
        else:
            triggers.append(data)
        self.files[path] = b"\n".join(triggers)

    def _clear(self, path: str) -> None:
        """As hist_unreg_all(): nothing of an event whose variables those of another one read."""
        own = {found[1] for found in _VARIABLE.finditer(self.files[path])}
        others = b"\n".join(
            text for name, text in self._triggers(path[: path.index("/events/")]).items() if name != path
        )
        if not any(b"$" + name in others for name in own):
            kept = [one for one in self.files[path].split(b"\n") if not one.startswith(b"hist")]
            self.files[path] = b"\n".join(kept)

    def _triggers(self, place: str) -> dict[str, bytes]:
        inside = f"{place}/events/"
        return {
            name: text for name, text in self.files.items() if name.startswith(inside) and name.endswith("/trigger")
        }

    def _in_use(self, place: str) -> bytes:
        """Content of set_event: a trigger switches its event on, softly."""
        found = {
            name.removeprefix(f"{place}/events/").rpartition("/")[0].replace("/", ":")
            for name, data in self.files.items()
            if name.startswith(f"{place}/events/")
            and ((name.endswith("/enable") and data == b"1") or (name.endswith("/trigger") and data))
        }
        return "".join(f"{name}\n" for name in sorted(found)).encode()

    def _busy(self, event: str) -> bool:
        """Whether it is enabled, or has a trigger, in any instance."""
        return any(
            (match := _ALL_EVENTS.fullmatch(name))
            and match[2] == event
            and ((match[3] == "enable" and data == b"1") or (match[3] == "trigger" and bool(data)))
            for name, data in self.files.items()
        )


class Served:
    """What a dialect answers besides what a target does; mixed into a fake target, it stands for both."""

    unanswered: float | None = None
    lost = False
    ends = float("inf")
    """When the command is to end, by time.monotonic()."""

    @property
    def loss(self) -> str:
        return "the connection was lost" if self.lost else ""

    def lose(self, why: str) -> None:
        self.lost = True

    def set_deadline(self, ends: float) -> None:
        self.ends = ends

    def _be(self, pid: int) -> None:
        """Be served by a process of that number from now on."""
        self.pid = pid
        self.files[f"/proc/{pid}/stat"] = b"%d (python3) S 1" % pid + b" 0" * 17 + b" 4711 0\n"
        self.owner = owner_name(self.files[f"/proc/{pid}/stat"])

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        return {}

    def links(self, path: str) -> Sequence[str]:
        raise FileRefused(path, 2)

    def stream_pids(self) -> Sequence[int]:
        return ()
