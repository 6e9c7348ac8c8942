"""Triggers to try on a kernel: what the grammar allows, put together by chance, and every second one spoiled.

A case is what was written before, the file, and the command.
"""

from __future__ import annotations

import random
from typing import NamedTuple

SYNTHETIC = (
    "wake u64 lat; pid_t pid; int prio",
    "text char comm[16]; char any[]; u32 cpu",
    "deep s64 lat; unsigned long stack[]",
    "one u64 lat",
)
"""Synthetic events that are there for all cases."""
SWITCH, WAKING, MODULE = "sched/sched_switch", "sched/sched_waking", "module/module_load"
ENTER, IRQ = "raw_syscalls/sys_enter", "irq/irq_handler_entry"
FIELDS = {
    SWITCH: ("prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"),
    WAKING: ("comm", "pid", "prio", "target_cpu"),
    MODULE: ("taints", "name"),
    ENTER: ("id", "args"),
    IRQ: ("irq", "name"),
    "synthetic/wake": ("lat", "pid", "prio"),
    "synthetic/text": ("comm", "any", "cpu"),
    "synthetic/deep": ("lat", "stack"),
}
"""Events and their fields."""
TEXT = ("prev_comm", "next_comm", "comm", "name", "any", "args", "stack")
"""Fields that are no numbers."""
EVERYWHERE = (
    "common_pid",
    "common_pid",
    "common_type",
    "common_cpu",
    "common_timestamp",
    "cpu",
    "hitcount",
    "stacktrace",
)
SHOWN = ("hex", "sym", "sym-offset", "execname", "syscall", "log2", "buckets=10", "usecs", "percent", "graph")
PLAIN = ("traceon", "traceoff", "stacktrace", "snapshot")
SWITCHES = ("enable_event", "disable_event", "enable_hist", "disable_hist")
SPOILERS = (
    "",
    ":",
    ",",
    "=",
    "$",
    ".",
    "(",
    ")",
    "-",
    "+",
    "/",
    "*",
    " ",
    "0",
    "x",
    "if",
    "nosuch",
    "$x",
    "::",
    "&&",
)
FILTERS = (
    *["common_pid > 1", "common_pid == 0 || common_pid == 7"] * 3,
    "nosuch > 1",
    "common_pid >",
    "(common_pid > 1",
    "x",
)


class Case(NamedTuple):
    """One try."""

    setup: tuple[tuple[str, str], ...]
    """Files of events and what was written to their triggers before."""
    event: str
    command: str


def path(event: str) -> str:
    """The trigger file of an event, below tracefs."""
    return f"events/{event}/trigger"


class Generator:
    """Makes cases by chance; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def cases(self, count: int) -> list[Case]:
        """Every second one is spoiled in one place."""
        made = []
        for number in range(count):
            case = self._case()
            made.append(self._spoiled(case) if number % 2 else case)
        return made

    def _maybe(self, chance: float) -> bool:
        return self._random.random() < chance

    def _pick(self, choices: tuple[str, ...]) -> str:
        return self._random.choice(choices)

    def _case(self) -> Case:
        event = self._pick(tuple(FIELDS))
        if self._maybe(0.12):
            return Case((), event, self._plain())
        if self._maybe(0.3):
            return self._pair()
        setup = ((event, self._hist(event)),) if self._maybe(0.2) else ()
        command = self._hist(event)
        if setup and self._maybe(0.4):
            command = setup[0][1].partition(" if ")[0] + self._pick(("", ":pause", ":cont", ":clear", " if x"))
            command = f"!{command}" if self._maybe(0.3) else command
        return Case(setup, event, command)

    def _plain(self) -> str:
        if self._maybe(0.5):
            target = self._pick(("sched:sched_switch", "sched:sched_waking", "kmem:kmalloc", "sched:nosuch", "sched"))
            command = f"{self._pick(SWITCHES)}:{target}"
        else:
            command = self._pick(PLAIN)
        command += self._pick(("", "", "", ":1", ":1", ":0x10", ":x", ":", ":5:6"))
        bang = "!" if self._maybe(0.2) else ""
        return bang + command + (f" if {self._pick(FILTERS)}" if self._maybe(0.4) else "")

    def _field(self, event: str, chance: float = 0.35) -> str:
        name = self._pick(FIELDS[event] if self._maybe(0.8) else EVERYWHERE)
        shown = SHOWN[:3] if self._maybe(0.6) else SHOWN
        # Linux 6.12 takes the address of a stack that isn't there from `stacktrace.hex` as a key, and dies of it.
        return f"{name}.{self._pick(shown)}" if name != "stacktrace" and self._maybe(chance) else name

    def _expression(self, event: str, names: tuple[str, ...] = ()) -> str:
        atoms = [self._atom(event, names) for _ in range(self._random.choice((1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5)))]
        if len(atoms) > 1 and self._maybe(0.9):
            atoms = [atom if atom.partition(".")[0] not in TEXT else "common_pid" for atom in atoms]
        text = atoms[0] + "".join(self._pick(("+", "-", "*", "/")) + atom for atom in atoms[1:])
        return f"-({text})" if self._maybe(0.07) else text

    def _atom(self, event: str, names: tuple[str, ...]) -> str:
        if names and self._maybe(0.4):
            return f"${self._pick(names)}"
        return self._pick(("1", "0", "0x20", "10", "7")) if self._maybe(0.25) else self._field(event, 0.2)

    def _hist(self, event: str, extra: str = "") -> str:
        keys = ",".join(self._key(event) for _ in range(self._random.choice((1, 1, 1, 1, 2, 2, 3, 3, 4))))
        parts = [f"{self._pick(('keys', 'keys', 'key'))}={keys}"]
        names: tuple[str, ...] = ()
        if self._maybe(0.4):
            values = ",".join(self._expression(event) for _ in range(self._random.choice((1, 1, 2, 2, 3))))
            parts.append(f"{self._pick(('vals', 'values', 'val'))}={values}")
        for name in self._random.sample(("x", "y", "ts", "z"), self._random.choice((0, 0, 1, 1, 2, 3))):
            used = (*names, "other") if self._maybe(0.1) else names
            parts.append(f"{name}={self._expression(event, used)}")
            names = (*names, name)
        if self._maybe(0.3):
            plain = tuple(key.partition(".")[0] for key in keys.split(","))
            sort = self._pick((*plain, *plain, "hitcount", self._field(event)))
            parts.append(f"sort={sort}{self._pick(('', '.descending', '.ascending', '.up', ',hitcount'))}")
        if self._maybe(0.12):
            parts.append(f"size={self._pick(('256', '128', '65', '0x800', '0400', '512', '64', 'x'))}")
        if self._maybe(0.2):
            parts.append(
                self._pick(("pause", "cont", "clear", "nohitcount", "name=shared", "clock=mono", "pause", "foo"))
            )
        if names and self._maybe(0.4):
            parts.append(self._watch(event, names))
        parts += [extra] if extra else []
        if self._maybe(0.15):
            self._random.shuffle(parts)
        return "hist:" + ":".join(parts) + (f" if {self._pick(FILTERS)}" if self._maybe(0.2) else "")

    def _key(self, event: str) -> str:
        return self._expression(event) if self._maybe(0.15) else self._field(event)

    def _watch(self, event: str, names: tuple[str, ...]) -> str:
        subject = self._pick((f"${self._pick(names)}", f"${self._pick(names)}", self._pick(names), "$nosuch"))
        fields = ",".join(self._pick(FIELDS[event]) for _ in range(self._random.choice((1, 2, 3))))
        action = self._pick(
            (f"save({fields})", f"save({fields})", "snapshot()", f"trace(one,{subject})", f"one({subject})")
        )
        return f"{self._pick(('onmax', 'onchange'))}({subject}).{action}"

    def _pair(self) -> Case:
        """A variable on one event, and its use on another."""
        key, other = (
            self._pick(("pid", "prio", "pid,prio")),
            self._pick(("next_pid", "next_prio", "next_pid,prev_prio")),
        )
        value = self._pick(
            ("common_timestamp.usecs",) * 3 + ("common_timestamp", "prio", "comm", "common_stacktrace", "5")
        )
        first = f"hist:keys={key}:t0={value}{self._pick(('', '', ' if prio > 1'))}"
        used = self._pick(
            ("common_timestamp.usecs-$t0",) * 3
            + ("common_timestamp-$t0", "$t0", "next_prio+$t0", "sched.sched_waking.$t0")
        )
        params = self._pick(
            (
                "wake,$lat,next_pid,next_prio",
                "wake,$lat,next_pid,next_prio",
                "wake,$lat,pid,next_prio",
                "wake,$lat,next_pid",
                "wake,$lat,next_pid,prio",
                "wake,$lat,sched.sched_waking.pid,prev_prio",
                "text,next_comm,prev_comm,target_cpu",
                "deep,$lat,$t0",
                "one,$t0",
                "one,$lat",
                "one,$lat,$lat",
                "one,nosuch",
                "nosuch,$lat",
                "one,a.b",
            )
        )
        name, _, rest = params.partition(",")
        call = f"trace({params})" if self._maybe(0.7) else f"{name}({rest})"
        handler = self._pick(
            ("onmatch(sched.sched_waking)",) * 9 + ("onmax($lat)", "onmatch(sched.nosuch)", "onmatch(sched)")
        )
        action = f"{handler}.{call}" if self._maybe(0.8) else ""
        command = f"hist:keys={other}:lat={used}" + (f":{action}" if action else "")
        return Case(((WAKING, first),), SWITCH, command)

    def _spoiled(self, case: Case) -> Case:
        text = case.command
        at = self._random.randrange(len(text))
        end = min(at + self._random.choice((0, 0, 1, 1, 2, 4)), len(text))
        return case._replace(command=text[:at] + self._pick(SPOILERS) + text[end:])
