"""Files of descriptors against a kernel's tables: each answer is that of the table, or none."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from events.descriptors.tracker import CallEntry, Tracker

AT_FDCWD, CLOEXEC, CLONE_FILES = (1 << 32) - 100, 0o2000000, 0x400
FDS = 5


@dataclass
class Process:
    """Table of a kernel: name and close-on-exec by descriptor."""

    files: dict[int, tuple[str, bool]] = field(default_factory=dict)

    def lowest(self) -> int:
        return next(fd for fd in range(100) if fd not in self.files)


@dataclass(eq=False)
class Going:
    """Call that a task is in."""

    call: str
    arguments: dict[str, int]
    path: str | None = None
    result: int | None = None
    """Set when it took place."""


class Machine:
    """Tasks whose calls take place some time between entry and exit; a tracker sees entries and exits."""

    def __init__(self, rng: random.Random, tracker: Tracker, *, loses: bool = True) -> None:
        self.rng, self.tracker, self.loses = rng, tracker, loses
        self.row = self.names = 0
        first = Process({0: ("before0", False), 1: ("before1", True)})
        self.tasks: dict[int, Process] = {1: first, 2: first, 3: Process({0: ("before2", False)})}
        self.going: dict[int, Going] = {}
        self.next_task = 10
        self.seen = self.named = 0
        self.before_loss: list[Going] = []
        """Calls that began before a loss and may still take place."""

    def step(self) -> None:
        self.row += 1
        task = self.rng.choice(list(self.tasks))
        going = self.going.get(task)
        if self.loses and self.rng.random() < 0.01:
            self.lose()
        elif going is None:
            self.begin(task)
        elif going.result is None:
            self.perform(task, going)
        else:
            del self.going[task]
            self.tracker.leave(self.row, task, going.call, going.result)
        self.before_loss = [one for one in self.before_loss if one in self.going.values()]
        if not self.before_loss:
            self.tracker.tables.settled_from = min(self.tracker.tables.settled_from, self.row)
        self.check()

    def lose(self) -> None:
        """Do some steps that nobody sees."""
        real, self.tracker = self.tracker, Tracker()
        for _ in range(self.rng.randrange(1, 8)):
            task = self.rng.choice(list(self.tasks))
            going = self.going.get(task)
            if going is None:
                self.begin(task)
            elif going.result is None:
                self.perform(task, going)
            else:
                del self.going[task]
        self.tracker = real
        self.tracker.reset(self.row)
        self.before_loss = list(self.going.values())

    def begin(self, task: int) -> None:
        fd, other = self.rng.randrange(FDS), self.rng.randrange(FDS)
        flags = self.rng.choice((0, CLOEXEC))
        call = self.rng.choice(
            ("openat",) * 5
            + ("close", "close", "dup", "dup2", "dup3", "fcntl", "socket") * 2
            + ("close_range", "setfd", "ioctl", "fork", "fork", "clone", "exec", "exit", "none")
        )
        if call in ("fork", "clone"):
            if len(self.tasks) < 8:
                self.going[task] = Going(call, {})
            return
        if call == "exec":
            self.going[task] = Going(call, {})
            return
        if call == "exit":
            if len(self.tasks) > 2:
                del self.tasks[task]
            return
        if call == "none":
            return
        self.names += 1
        path = f"/file{self.names}" if call == "openat" else None
        arguments = {
            "openat": {"dfd": AT_FDCWD, "flags": flags},
            "close": {"fd": fd},
            "dup": {"fildes": fd},
            "dup2": {"oldfd": fd, "newfd": other},
            "dup3": {"oldfd": fd, "newfd": other, "flags": flags},
            "fcntl": {"fd": fd, "cmd": self.rng.choice((0, 1030)), "arg": other},
            "setfd": {"fd": fd, "cmd": 2, "arg": int(bool(flags))},
            "ioctl": {"fd": fd, "cmd": 0x5451 if flags else 0x5450},
            "socket": {"type": 1 | flags},
            "close_range": {"fd": min(fd, other), "max_fd": max(fd, other), "flags": 0},
        }[call]
        call = "fcntl" if call == "setfd" else call
        self.going[task] = Going(call, arguments, path)
        self.tracker.enter(self.row, task, CallEntry(self.row, call, arguments, path, frozenset((1,))))

    def perform(self, task: int, going: Going) -> None:  # noqa: C901 - a case for each call
        """Let a call take place."""
        own, arguments = self.tasks[task], going.arguments
        files = own.files
        fd = arguments.get("fd", -1)
        going.result = -9
        match going.call:
            case "fork" | "clone":
                shared = going.call == "clone"
                child, self.next_task = self.next_task, self.next_task + 1
                self.tasks[child] = own if shared else Process(dict(files))
                del self.going[task]
                self.tracker.new_task(self.row, task, child, CLONE_FILES if shared else 0)
            case "exec":
                self.tasks[task] = Process({one: named for one, named in files.items() if not named[1]})
                del self.going[task]
                self.tracker.execute(self.row, task, task)
            case "openat":
                going.result = own.lowest()
                files[going.result] = (going.path or "", bool(arguments["flags"] & CLOEXEC))
            case "socket":
                going.result = own.lowest()
                files[going.result] = ("socket", bool(arguments["type"] & CLOEXEC))
            case "close":
                going.result = 0 if files.pop(fd, None) else -9
            case "close_range":
                for one in range(arguments["fd"], arguments["max_fd"] + 1):
                    files.pop(one, None)
                going.result = 0
            case "dup" if named := files.get(arguments["fildes"]):
                going.result = own.lowest()
                files[going.result] = (named[0], False)
            case "dup2" | "dup3" if named := files.get(arguments["oldfd"]):
                new, same = arguments["newfd"], arguments["oldfd"] == arguments["newfd"]
                if same and going.call == "dup3":
                    going.result = -22
                    return
                going.result = new
                if not same:
                    files[new] = (named[0], bool(arguments.get("flags", 0) & CLOEXEC))
            case "fcntl" if named := files.get(fd):
                if arguments["cmd"] == 2:
                    files[fd] = (named[0], bool(arguments["arg"]))
                    going.result = 0
                    return
                going.result = next(one for one in range(arguments["arg"], 100) if one not in files)
                files[going.result] = (named[0], arguments["cmd"] == 1030)
            case "ioctl" if named := files.get(fd):
                files[fd] = (named[0], arguments["cmd"] == 0x5451)
                going.result = 0

    def check(self) -> None:
        for task, process in self.tasks.items():
            for fd in range(FDS + 3):
                found = self.tracker.file(task, fd, self.row + 1)
                self.seen += fd in process.files
                if found is not None:
                    self.named += 1
                    assert fd in process.files, (self.row, task, fd, found)
                    assert found.name == process.files[fd][0], (self.row, task, fd, found, process.files[fd])


@settings(max_examples=100)
@given(st.integers(0, 1 << 40))
def test_names_are_those_of_the_kernels_tables_or_none(seed: int) -> None:
    machine = Machine(random.Random(seed), Tracker(follows_exec=True))
    for _ in range(250):
        machine.step()


def test_many_are_named() -> None:
    machine = Machine(random.Random(1), Tracker(follows_exec=True), loses=False)
    for _ in range(2000):
        machine.step()
    assert machine.named > machine.seen // 10
