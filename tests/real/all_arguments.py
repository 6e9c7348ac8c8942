"""`$$args` on every function of a booted kernel that BTF knows: what we write, and whether the kernel takes it.

`make all-args ARGS="7.2 6.1"` does it for all of them, in some ten minutes a kernel; `test_all_args.py` for a sample.
What we refuse is tried as well: the kernel has to say the same.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from probes.plans.plan import PlannedEvent
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe

KERNELS = ("6.1", "6.12", "7.2", "arm64:6.12", "full")
GROUP = "pw_all"
STAND_IN = "vfs_read"
REFUSED = "  # refused by us"
"""A comment behind a command."""
WRITER = Path(__file__).with_name("line_writer.py")


@dataclass
class Survey:
    """What became of the functions."""

    functions: int = 0
    """Names in available_filter_functions."""
    lowered: int = 0
    lines: int = 0
    fields: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """By us, by its code: functions."""
    losses: Counter[str] = field(default_factory=Counter)
    """Arguments that were left out, by the reason."""
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Command, and in what the kernel does not agree."""

    @property
    def with_btf(self) -> int:
        return self.lowered + self.refused.total()

    def __str__(self) -> str:
        parts = [
            f"{self.functions} functions, {self.with_btf} with BTF, {self.lowered} lowered to {self.lines} events"
            f" of {self.fields} fields, {len(self.wrong)} wrong"
        ]
        parts += [f"  refused by both: {count} {code}" for code, count in self.refused.most_common()]
        parts += [f"  left out: {count} {reason}" for reason, count in self.losses.most_common()]
        parts += [f"  WRONG {command}: {said}" for command, said in self.wrong[:100]]
        return "\n".join(parts)


def known_names(planner: Planner) -> list[str]:
    """Traceable functions that BTF knows, each name once."""
    names = dict.fromkeys(line.partition(" ")[0] for line in planner.info.facts.functions)
    return [name for name in names if _btf_knows(planner, name)]


def _btf_knows(planner: Planner, name: str) -> bool:
    btf = planner.info.btf_of(planner.info.function(name).module)
    return btf is not None and btf.function(name) is not None


def survey(guest: Guest, planner: Planner, names: list[str], register: int) -> Survey:
    """Lower `$$args` and `$retval` at both ends of each function, and let the kernel judge.

    Args:
        guest: the machine.
        planner: of it.
        names: of functions that BTF knows.
        register: of how many functions the events are made. Of the others the kernel reads the commands, and kprobes
            are put on them without arguments.
    """
    found = Survey(functions=len({line.partition(" ")[0] for line in planner.info.facts.functions}))
    planner.info.symbols.load()
    cases: list[tuple[str, str]] = []
    for number, name in enumerate(names):
        cases += _cases(planner, name, number, number < register, found)
    said = _written(guest, cases)
    for _, command in cases:
        answer = said.get(command, "")
        if bool(answer) != command.endswith(REFUSED):
            found.wrong.append((command, answer or "the kernel takes it"))
    return found


def _cases(planner: Planner, name: str, number: int, register: bool, found: Survey) -> list[tuple[str, str]]:
    """The commands for one function."""
    btf = planner.info.btf_of(planner.info.function(name).module)
    assert btf is not None
    function = btf.function(name)
    assert function is not None
    returned = " $retval" if btf.prototype(function).type_id else ""
    try:
        event = f"a{number}" if register else "read"
        plan = planner.lower(parse_probe(f"f:{GROUP}/{event} {name}%both $$args{returned}"), GROUP)
    except CannotLower as error:
        found.refused[error.refusal.code] += 1
        letter = "p" if error.refusal.code in ("blacklisted", "NON_UNIQ_SYMBOL") else "f"
        return [("register", f"{letter}:{GROUP}/a{number} {name}{REFUSED}")]
    found.lowered += 1
    found.losses.update(loss.partition(": ")[2] for loss in plan.losses)
    found.lines += len(plan.events)
    found.fields += sum(len(event.columns) for event in plan.events)
    return [case for event in plan.events for case in _of_event(event, register)]


def _of_event(event: PlannedEvent, register: bool) -> list[tuple[str, str]]:
    if register:
        return [("register", event.line)]
    head, place, *_ = event.line.split(" ")
    bare = [] if head.startswith("f") else [("register", f"{head.replace('/read', '/place', 1)} {place}")]
    return [("read", event.line), *bare]


def _written(guest: Guest, cases: list[tuple[str, str]]) -> dict[str, str]:
    """Have them written; gives those that were refused with the kernel's words."""
    subprocess.run([*guest.ssh_command, "cat >/tmp/line_writer.py"], input=WRITER.read_bytes(), check=True)
    text = "".join(json.dumps(case) + "\n" for case in cases)
    program = f"python3 /tmp/line_writer.py {GROUP} {STAND_IN}"
    done = subprocess.run([*guest.ssh_command, program], input=text.encode(), stdout=subprocess.PIPE, check=True)
    *answers, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert last == "done", last
    return dict(answers)


def main(kernels: list[str]) -> int:
    wrong = 0
    for kernel in kernels or KERNELS:
        begin = time.monotonic()
        with boot(kernel, workload=False) as guest:
            planner = Planner(KernelInfo(connect(guest, kernel)))
            names = known_names(planner)
            random.Random(kernel).shuffle(names)
            found = survey(guest, planner, names, register=0)
            planner.info.close()
        wrong += len(found.wrong)
        print(f"{kernel}: {found}\n  {time.monotonic() - begin:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
