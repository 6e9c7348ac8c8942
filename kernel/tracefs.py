"""tracefs through a target: where its files are, how they are read, and the steps that change them.

Nothing here writes: a method that changes something gives the `Step`, and the session decides (and knows the undo).
Documentation/trace/{ftrace,events,kprobetrace}.rst; formats of the files: kernel/trace/trace.c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foreign.text import encoded, whole_number
from kernel.errors import FileRefused
from kernel.target import Effect, Step, Target

_LOG_HEAD = re.compile(r"^\[ *\d+\.\d+\] (?>(.*?): error: )(.*)$", re.MULTILINE)
_LOG_COMMAND = "  Command: "
_DYNAMIC = re.compile(r"^([a-z])\d*:([^/\s]+)/(\S++) ?(.*)$")
_PROFILE = re.compile(r"\s*+(\S++)\s++(\d{1,20})\s++(\d{1,20})\s*+$", re.ASCII)


class LogEntry(NamedTuple):
    """One entry of error_log."""

    location: str
    """Who complains: `trace_fprobe`, `hist:sched:sched_switch`, `event filter parse error`."""
    message: str
    command: str
    column: int | None
    """Of the caret in `command`, from 0; None where it stands outside (Linux 7.2 and older: stray 16 bits)."""


class DynamicEvent(NamedTuple):
    """One line of dynamic_events."""

    kind: str
    """`p`, `r`, `f`, `t`, `e`, `s`, `u`."""
    group: str
    event: str
    place: str
    """First word behind the name: symbol, `path:offset`, `group.event`."""

    @property
    def path(self) -> str:
        return f"{self.group}/{self.event}"


class CpuStats(NamedTuple):
    """per_cpu/cpuN/stats, as far as something counts."""

    entries: int
    overrun: int
    """Events that were overwritten before anyone read them."""
    dropped: int
    """Events that found no room (buffer not in overwrite mode) or lost their commit."""
    read: int


class Profile(NamedTuple):
    """Hits and misses of one kprobe or kretprobe event."""

    hits: int
    missed: int


class Instance:
    """One trace instance: a folder with a buffer, options and event switches of its own."""

    def __init__(self, target: Target, path: str) -> None:
        self._target = target
        self.path = path

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def read(self, name: str) -> str:
        """Text of one of its files. Raises FileRefused."""
        return decode(self._target.read(self.file(name)))

    def write(self, name: str, text: str, *, append: bool = False) -> Step:
        """The step that writes one of its files."""
        return Step(Effect.APPEND if append else Effect.WRITE, self.file(name), encode(text))

    def enable(self, event: str, on: bool) -> Step:
        """Switch `group/event` on or off, in this instance only."""
        return self.write(f"events/{event}/enable", "1" if on else "0")

    def filter(self, event: str, text: str) -> Step:
        """Set the filter of `group/event`; `0` takes it away."""
        return self.write(f"events/{event}/filter", text)

    def trigger(self, event: str, text: str) -> Step:
        """Add a trigger; with `!` before it, take that one away. O_TRUNC would take all hist triggers away."""
        return self.write(f"events/{event}/trigger", text, append=True)

    def options(self) -> frozenset[str]:
        """Names in trace_options, `no` before those that are off."""
        return frozenset(self.read("trace_options").split())

    def header_page(self) -> str:
        """Layout of a sub-buffer, as events/header_page says it."""
        return self.read("events/header_page")

    def text(self) -> str:
        """What is in the buffer as the kernel prints it; not consumed. Never ends where our reading makes events."""
        return self.read("trace")

    def error_log(self) -> list[LogEntry]:
        """Oldest first; the kernel keeps eight."""
        return parse_error_log(self.read("error_log"))

    def stats(self) -> dict[int, CpuStats]:
        """By CPU number; CPUs that have no buffer (never online) are left out."""
        found: dict[int, CpuStats] = {}
        for name in self._target.list(self.file("per_cpu")):
            number = whole_number(name[3:]) if name.startswith("cpu") else None
            if number is not None:
                try:
                    found[number] = parse_stats(self.read(f"per_cpu/{name}/stats"))
                except FileRefused:
                    continue
        return found


class Tracefs(Instance):
    """The root of tracefs: itself an instance, and home of what is global."""

    def instance(self, name: str) -> Instance:
        return Instance(self._target, self.file(f"instances/{name}"))

    def instances(self) -> Sequence[str]:
        """Names of all instances; empty where none can be listed."""
        try:
            return self._target.list(self.file("instances"))
        except FileRefused:
            return ()

    def dynamic_events(self) -> list[DynamicEvent]:
        """All of them, everybody's, in the order of the file (oldest first)."""
        return parse_dynamic_events(self.read("dynamic_events"))

    def define(self, line: str) -> Step:
        """Add a line to dynamic_events; a line `-:group/event` takes that event away."""
        return self.write("dynamic_events", line + "\n", append=True)

    def saved_cmdlines(self) -> dict[int, str]:
        """Names that the kernel remembers: pid -> comm."""
        names: dict[int, str] = {}
        for line in self.read("saved_cmdlines").splitlines():
            pid, _, comm = line.partition(" ")
            if (number := whole_number(pid)) is not None:
                names[number] = comm
        return names

    def kprobe_profile(self) -> dict[str, Profile]:
        """Hits and misses by `group/event`; kprobes and kretprobes only (no kernel counts those of an fprobe)."""
        return match_profile(self.read("kprobe_profile"), self.dynamic_events())


def encode(text: str) -> bytes:
    return encoded(text)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def parse_error_log(text: str) -> list[LogEntry]:
    """Read error_log: a head line, `  Command: ...` (a filter may hold newlines), and the caret below."""
    heads = list(_LOG_HEAD.finditer(text))
    entries: list[LogEntry] = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        body = text[head.end() : end].strip("\n").split("\n")
        caret = body.pop() if body[-1].strip() == "^" else ""
        command = "\n".join(body).removeprefix(_LOG_COMMAND)
        column = len(caret) - 1 - len(_LOG_COMMAND)
        # One past the last word is meant; farther out is the uninitialised caret of Linux 7.2 and older.
        inside = bool(caret) and 0 <= column <= len(command) + 1
        entries.append(LogEntry(head[1], head[2], command, column if inside else None))
    return entries


def parse_dynamic_events(text: str) -> list[DynamicEvent]:
    """Read dynamic_events; lines without a group (user events, comments of Linux 7.3) are left out."""
    found = (_DYNAMIC.match(line) for line in text.splitlines())
    return [DynamicEvent(m[1], m[2], m[3], m[4].split(" ", 1)[0]) for m in found if m]


def parse_stats(text: str) -> CpuStats:
    """Read per_cpu/cpuN/stats."""
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)

    def number(name: str) -> int:
        return whole_number(values.get(name, "0").strip()) or 0

    lost = number("dropped events") + number("commit overrun")
    return CpuStats(number("entries"), number("overrun"), lost, number("read events"))


def match_profile(profile: str, events: Sequence[DynamicEvent]) -> dict[str, Profile]:
    """Give kprobe_profile's lines their groups, which it does not print.

    Both files list the same probes in the same order (trace_kprobe.c, probes_profile_seq_show); several probes of
    one event are added up. Where they do not fit, because someone changed the list in between, names that occur in
    more than one group are left out.
    """
    rows = [(m[1], int(m[2]), int(m[3])) for m in map(_PROFILE.match, profile.splitlines()) if m]
    probes = [event for event in events if event.kind in "pr" and "/" not in event.place]
    if [row[0] for row in rows] == [event.event for event in probes]:
        paths = [event.path for event in probes]
    else:
        paths = _by_name([row[0] for row in rows], probes)
    found: dict[str, Profile] = {}
    for path, (_, hits, missed) in zip(paths, rows, strict=True):
        if path:
            before = found.get(path, Profile(0, 0))
            found[path] = Profile(before.hits + hits, before.missed + missed)
    return found


def _by_name(names: Sequence[str], probes: Sequence[DynamicEvent]) -> list[str]:
    paths: Mapping[str, str] = {event.event: event.path for event in probes}
    groups = Counter(event for _, event in {(event.group, event.event) for event in probes})
    return [paths[name] if groups[name] == 1 else "" for name in names]
