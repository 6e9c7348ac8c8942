"""The computed verdict beside a live kernel's answers: writes a batch of commands in a guest, asks ours, compares.

`tests/real/test_differential.py` says how to hunt with it.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from events.names.kallsyms import Symbols
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.symbols.symbol_addresses import symbol_environment
from probes.facts.errors_table import code_of
from probes.facts.lookups import Environment
from probes.functions.function_index import index_of
from probes.kernel_verdict import kernel_verdict
from probes.syntax.text import split
from tests.spec_generator import Command, Generator
from tests.spec_material import count_symbols, gather

_TIMEOUT = 900
_INSIDE = r"""
import errno, json, os, re, stat, sys
os.chdir("/sys/kernel/tracing")

def write(name, text, flags=os.O_APPEND):
    fd = os.open(name, os.O_WRONLY | flags)
    try:
        os.write(fd, text.encode())
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
    return 0

def read(name):
    with open(name, errors="replace") as file:
        return file.read()

def listing():
    # `lab/keep` is the lab's own (kernel/lab/userland.py), and stays.
    lines = [line for line in read("dynamic_events").splitlines() if not line.startswith("#")]
    return [line for line in lines if not line.startswith("f:lab/keep ")]

def clean():
    for _ in range(9):
        if not (left := listing()):
            return
        for line in left:
            if line.startswith("e"):
                write("dynamic_events", "-" + line.split()[0][1:] + "\n")
        try:
            write("dynamic_events", "\n", os.O_TRUNC)
        except OSError:  # EBUSY: something is on, the lab's own probe at least
            for line in reversed(left):
                write("dynamic_events", re.sub("^[a-z][0-9]*", "-", line.split()[0]) + "\n")
    sys.exit("events stay: %s" % left)

def kind(path):
    try:
        return "" if stat.S_ISREG(os.stat(path).st_mode) else "NO_REGULAR_FILE"
    except OSError:
        return "FILE_NOT_FOUND"

for group in json.load(sys.stdin):
    rows, dirty = [], False
    for name, text in group:
        write("error_log", "\n", os.O_TRUNC)
        row = {"errno": write(name, text + "\n")}
        if row["errno"]:
            if log := read("error_log"):
                head, command, caret = log.rstrip("\n").split("\n")[-3:]
                row["log"] = [head.partition(": error: ")[2].strip(), len(caret) - 12, command[11:]]
        elif not name.endswith("filter"):
            dirty = True
        if len(group) > 1:
            row["listing"] = listing()
        if name.endswith("filter"):
            write(name, "0\n")
        words = text.split()
        if len(words) > 1 and "/" in words[1]:
            path = words[1].rpartition(":")[0]
            row["file"] = [path, kind(path), os.path.realpath(path)]
        rows.append(row)
    if dirty:
        clean()
    print(json.dumps(rows))
"""
"""What runs in the guest: a line of JSON for each group."""
_AFTER_PATH = frozenset("BAD_TYPE4STR BAD_BITFIELD BAD_STRING BAD_SYMSTRING TOO_MANY_OPS EVENT_TOO_BIG".split())  # noqa: SIM905
"""Errors whose column is lost behind a field path, up to 7.2: the difference of two unrelated pointers."""


class Row(NamedTuple):
    """A command with both answers: `ok`, `refused` (without a word), or the error's code and column."""

    command: Command
    before: tuple[str, ...]
    """Commands that were accepted before, in the same group."""
    kernels: str
    ours: str
    listed: str
    """Ours, told of earlier events by the lines of dynamic_events."""

    @property
    def judged_alike(self) -> bool:
        """Both accept it, or both refuse it."""
        return len({self.kernels == "ok", self.ours == "ok", self.listed == "ok"}) == 1

    @property
    def alike(self) -> bool:
        """The same code at the same column; at any column where the kernel's own means nothing."""
        return self.judged_alike and all(self._same(ours) for ours in (self.ours, self.listed))

    def _same(self, ours: str) -> bool:
        if ours == self.kernels:
            return True
        code = self.kernels.partition(" ")[0]
        lost = code in _AFTER_PATH and "->" in self.command.text
        return lost and code == ours.partition(" ")[0]

    def __str__(self) -> str:
        other = f" (by its lines: {self.listed})" if self.listed != self.ours else ""
        before = "".join(f"\n      after {text}" for text in self.before)
        interface = "" if self.command.interface == "dynamic_events" else f"{self.command.interface}: "
        return f"{interface}{self.command.text}\n      kernel {self.kernels}, ours {self.ours}{other}{before}"


@dataclass
class Differential:
    """One guest."""

    guest: Guest
    planner: Planner
    environment: Environment
    kallsyms: str
    available: Sequence[str]
    """Events, as available_events has them."""

    @classmethod
    @contextlib.contextmanager
    def of(cls, guest: Guest) -> Iterator[Differential]:
        """Look at a guest, over a line that is closed at the end."""
        guest.run("mkdir -p /sys/kernel/debug; mount -t debugfs nodev /sys/kernel/debug 2>/dev/null || true")
        with contextlib.closing(connect(guest, "guest")) as target:
            planner = Planner(KernelInfo(target))
            kallsyms = target.read("/proc/kallsyms").decode()
            landing = symbol_environment(Symbols.parse(kallsyms.encode())).landing
            asked = replace(planner.info.environment.environment, symbol=count_symbols(kallsyms), landing=landing)
            available = target.read(f"{planner.info.facts.tracefs}/available_events").decode().split()
            yield cls(guest, planner, asked, kallsyms, available)

    def rows(self, seed: int, count: int) -> list[Row]:
        """Both answers to `count` commands."""
        facts, btf, event = self.planner.info.facts, self.planner.info.btf, self.environment.event
        assert btf is not None
        assert event is not None
        loaded = index_of(facts).loaded
        modules = {name: found for name in loaded if (found := self.planner.info.btf_of(name)) is not None}
        material = gather(btf, facts, self.kallsyms, event, self.available, modules, seed)
        groups = list(Generator(material, seed).groups(count))
        return [row for rows in self.compare(groups) for row in rows]

    def compare(self, groups: Sequence[Sequence[Command]]) -> list[list[Row]]:
        """Both answers to given commands."""
        done = subprocess.run(
            [*self.guest.ssh_command, f"cat >/tmp/inside.py <<'END'\n{_INSIDE}\nEND\nexec python3 /tmp/inside.py"],
            input=json.dumps(groups).encode(),
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode() + self.guest.console_text()[-2000:]
        answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
        return [self._group(group, rows) for group, rows in zip(groups, answers, strict=True)]

    def _group(self, group: Sequence[Command], answers: Sequence[dict[str, Any]]) -> list[Row]:
        rows: list[Row] = []
        before: tuple[str, ...] = ()
        listing: Sequence[str] = ()
        files: dict[str, list[str]] = {}
        for command, answer in zip(group, answers, strict=True):
            files |= {path: rest for path, *rest in [answer["file"]]} if "file" in answer else {}
            environment = self._with_files(files)
            ours = self._answer(command, before, environment)
            listed = self._answer(command, listing, environment) if before or listing else ours
            rows.append(Row(command, before, _said(answer), ours, listed))
            listing = answer.get("listing", ())
            if (
                command.text.startswith(("-", "!"))
                or command.interface == "synthetic_events"
                or self._module(command)
            ):
                before = tuple(listing)  # a deletion that fails may have taken some away
            elif not answer["errno"] and not command.interface.endswith("filter"):
                before = (*before, command.text)
        return rows

    def _with_files(self, files: Mapping[str, Sequence[str]]) -> Environment:
        """The environment that knows these paths: what is wrong with each, and what it comes to."""
        return replace(
            self.environment,
            file_error=lambda path: files[path][0] if path in files else "",
            real_path=lambda path: files[path][1] if path in files else path,
        )

    def _answer(self, command: Command, existing: Sequence[str], environment: Environment) -> str:
        error = kernel_verdict(
            command.text,
            self.planner.info.btf_of(self._module(command)),
            self.planner.info.facts,
            existing,
            command.interface,
            environment,
        ).error
        if error is None:
            return "ok"
        return "refused" if error.code.islower() else f"{error.code} {error.column}"

    def _module(self, command: Command) -> str:
        """The module of the function that a command names; empty: none."""
        words = [word.text for word in split(command.text)]
        symbol = re.split(r"[%+]", words[1], maxsplit=1)[0].rpartition(":")[2] if len(words) > 1 else ""
        return self.planner.info.function(symbol).module


def _said(answer: dict[str, Any]) -> str:
    if not answer["errno"]:
        return "ok"
    if "log" not in answer:
        return "refused"
    return f"{code_of(answer['log'][0])} {answer['log'][1]}"
