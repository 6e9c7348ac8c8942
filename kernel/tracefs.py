"""Access tracefs through a target: paths of its files, parsers, and the steps that change them.

Writes no file: a method that changes something returns the `Step`, and the session performs it (and registers its
undo). Documentation/trace/{ftrace,events,kprobetrace}.rst; formats of the files: kernel/trace/trace.c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foreign.text import encode_text, whole_number
from kernel.errors import FileRefused
from kernel.target import Effect, Step, Target

_LOG_HEAD = re.compile(r"^\[ *\d+\.\d+\] (?>(.*?): error: )(.*)$", re.MULTILINE)
_LOG_COMMAND = "  Command: "
_DYNAMIC = re.compile(r"^([a-z])\d*:([^/\s]+)/(\S++) ?(.*)$")
USER_EVENTS = "user_events_data"
"""File through which programs register events and write them."""
_PROFILE = re.compile(r"\s*+(\S++)\s++(\d{1,20})\s++(\d{1,20})\s*+$", re.ASCII)


class LogEntry(NamedTuple):
    """Entry of error_log."""

    location: str
    """Source of the error: `trace_fprobe`, `hist:sched:sched_switch`, `event filter parse error`."""
    message: str
    command: str
    column: int | None
    """Column of the caret in `command`, from 0; None if outside (Linux 7.2 and older: stray 16 bits)."""


class DynamicEvent(NamedTuple):
    """Line of dynamic_events."""

    kind: str
    """Kind letter: `p`, `r`, `f`, `t`, `e`, `s`, `u`."""
    group: str
    event: str
    place: str
    """First word behind the name: symbol, `path:offset`, `group.event`."""

    @property
    def path(self) -> str:
        return f"{self.group}/{self.event}"


class CpuStats(NamedTuple):
    """Counts of per_cpu/cpuN/stats that are used."""

    entries: int
    overrun: int
    """Events that were overwritten before they were read."""
    dropped: int
    """Events that found no room (buffer not in overwrite mode) or lost their commit."""
    read: int


class Profile(NamedTuple):
    """Hits and misses of one kprobe or kretprobe event."""

    hits: int
    missed: int


class Instance:
    """A trace instance: a folder with a buffer, options and event switches of its own."""

    def __init__(self, target: Target, path: str) -> None:
        self.target = target
        self.path = path

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def read(self, name: str) -> str:
        """Return the text of one of its files. Raises FileRefused."""
        return decode(self.target.read(self.file(name)))

    def write(self, name: str, text: str, *, append: bool = False) -> Step:
        """Return the step that writes one of its files."""
        return Step(Effect.APPEND if append else Effect.WRITE, self.file(name), encode(text))

    def enable(self, event: str, on: bool) -> Step:
        """Return the step that enables or disables `group/event`, in this instance only."""
        return self.write(f"events/{event}/enable", "1" if on else "0")

    def filter(self, event: str, text: str) -> Step:
        """Return the step that sets the filter of `group/event`; `0` removes it."""
        return self.write(f"events/{event}/filter", text)

    def trigger(self, event: str, text: str) -> Step:
        """Return the step that adds a trigger; with `!` before it, removes it. O_TRUNC would remove all hist
        triggers.
        """
        return self.write(f"events/{event}/trigger", text, append=True)

    def options(self) -> frozenset[str]:
        """Return the names in trace_options, with `no` before those that are off."""
        return frozenset(self.read("trace_options").split())

    def header_page(self) -> str:
        """Return the layout of a sub-buffer, from events/header_page."""
        return self.read("events/header_page")

    def text(self) -> str:
        """Return the buffer as printed by the kernel; not consumed. Never ends if our reading itself produces
        events.
        """
        return self.read("trace")

    def error_log(self) -> list[LogEntry]:
        """Return the entries, oldest first; the kernel keeps eight."""
        return parse_error_log(self.read("error_log"))

    def stats(self) -> dict[int, CpuStats]:
        """Return counts by CPU number; CPUs that have no buffer (never online) are left out."""
        stats: dict[int, CpuStats] = {}
        for name in self.target.list(self.file("per_cpu")):
            number = whole_number(name[3:]) if name.startswith("cpu") else None
            if number is not None:
                try:
                    stats[number] = parse_stats(self.read(f"per_cpu/{name}/stats"))
                except FileRefused:
                    continue
        return stats


class Tracefs(Instance):
    """Root of tracefs: itself an instance, with the global files."""

    def instance(self, name: str) -> Instance:
        return Instance(self.target, self.file(f"instances/{name}"))

    def instances(self) -> Sequence[str]:
        """Return the names of all instances; empty if they can't be listed."""
        try:
            return self.target.list(self.file("instances"))
        except FileRefused:
            return ()

    def dynamic_events(self) -> list[DynamicEvent]:
        """Return all dynamic events, of every owner, in the order of the file (oldest first)."""
        return parse_dynamic_events(self.read("dynamic_events"))

    def define(self, line: str) -> Step:
        """Return the step that adds a line to dynamic_events; a line `-:group/event` removes that event."""
        return self.write("dynamic_events", line + "\n", append=True)

    def register(self, definition: str) -> Step:
        """Return the step that registers an event of programs until its release (`kernel.agent.user_events`)."""
        return Step(Effect.REGISTER, self.file(USER_EVENTS), encode(definition))

    def release(self, definition: str) -> Step:
        """Return the step that ends such a registration: the kernel removes an event that nobody else holds."""
        return Step(Effect.RELEASE, self.file(USER_EVENTS), encode(definition))

    def saved_cmdlines(self) -> dict[int, str]:
        """Return the task names that the kernel remembers: pid -> comm."""
        names: dict[int, str] = {}
        for line in self.read("saved_cmdlines").splitlines():
            pid, _, comm = line.partition(" ")
            if (number := whole_number(pid)) is not None:
                names[number] = comm
        return names

    def kprobe_profile(self) -> dict[str, Profile]:
        """Return hits and misses by `group/event`; kprobes and kretprobes only (no kernel counts those of an
        fprobe).
        """
        return match_profile(self.read("kprobe_profile"), self.dynamic_events())


def encode(text: str) -> bytes:
    return encode_text(text)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def parse_error_log(text: str) -> list[LogEntry]:
    """Parse error_log: a head line, `  Command: ...` (a filter may hold newlines), and the caret below."""
    heads = list(_LOG_HEAD.finditer(text))
    entries: list[LogEntry] = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        body = text[head.end() : end].strip("\n").split("\n")
        caret = body.pop() if body[-1].strip() == "^" else ""
        command = "\n".join(body).removeprefix(_LOG_COMMAND)
        column = len(caret) - 1 - len(_LOG_COMMAND)
        # One past the last word is valid; farther out is the uninitialised caret of Linux 7.2 and older.
        inside = bool(caret) and 0 <= column <= len(command) + 1
        entries.append(LogEntry(head[1], head[2], command, column if inside else None))
    return entries


def parse_dynamic_events(text: str) -> list[DynamicEvent]:
    """Parse dynamic_events; lines without a group (user events, comments of Linux 7.3) are left out."""
    matches = (_DYNAMIC.match(line) for line in text.splitlines())
    return [DynamicEvent(m[1], m[2], m[3], m[4].split(" ", 1)[0]) for m in matches if m]


def parse_stats(text: str) -> CpuStats:
    """Parse per_cpu/cpuN/stats."""
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)

    def number(name: str) -> int:
        return whole_number(values.get(name, "0").strip()) or 0

    lost = number("dropped events") + number("commit overrun")
    return CpuStats(number("entries"), number("overrun"), lost, number("read events"))


def match_profile(profile: str, events: Sequence[DynamicEvent]) -> dict[str, Profile]:
    """Return the counts of kprobe_profile by `group/event`; the file does not print the groups.

    Both files list the same probes in the same order (trace_kprobe.c, probes_profile_seq_show); several probes of one
    event are added up. If they do not match, because someone changed the list in between, names that occur in more
    than one group are left out.
    """
    rows = [(m[1], int(m[2]), int(m[3])) for m in map(_PROFILE.match, profile.splitlines()) if m]
    probes = [event for event in events if event.kind in "pr" and "/" not in event.place]
    if [row[0] for row in rows] == [event.event for event in probes]:
        paths = [event.path for event in probes]
    else:
        paths = _by_name([row[0] for row in rows], probes)
    profiles: dict[str, Profile] = {}
    for path, (_, hits, missed) in zip(paths, rows, strict=True):
        if path:
            previous = profiles.get(path, Profile(0, 0))
            profiles[path] = Profile(previous.hits + hits, previous.missed + missed)
    return profiles


def _by_name(names: Sequence[str], probes: Sequence[DynamicEvent]) -> list[str]:
    paths: Mapping[str, str] = {event.event: event.path for event in probes}
    groups = Counter(event for _, event in {(event.group, event.event) for event in probes})
    return [paths[name] if groups[name] == 1 else "" for name in names]
