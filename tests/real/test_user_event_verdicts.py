"""Verdicts on definitions of user events, compared with the answers of the kernel."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from probes.user_events.kernel_reading import MOST_BYTES, existing_definitions, read_definition, registration_errno
from tests.real.processes import until
from tests.user_event_definitions import fields_text

HERE = Path(__file__).parent
AGENT = HERE.parents[1] / "kernel" / "agent" / "user_events.py"
SEED = int(os.environ.get("PROBEWRIGHT_SEED", "15"))
SESSIONS = 1500
"""Names; each is registered up to three times, with other fields where the first was taken."""


def put(guest: Guest, name: str, text: str) -> None:
    subprocess.run([*guest.ssh_command, f"cat >/tmp/{name}"], input=text.encode(), check=True)


def definitions(seed: int) -> list[list[str]]:
    """Return definitions by chance, in groups of one name."""
    chance = random.Random(seed)
    groups = []
    for number in range(SESSIONS):
        name = f"pw_v{number}"
        first = fields_text(chance)
        again = first if chance.random() < 0.5 else fields_text(chance)
        loose = first.replace("; ", ";") if chance.random() < 0.5 else f"{first};"
        groups.append([f"{name}{fields}" for fields in (first, again, loose)])
    groups += [[f"pw_l{length} {'u32 ' + 'x' * (length - 5 - len(f'pw_l{length}'))}"] for length in range(505, 516)]
    return groups + [[f"pw_odd{odd} u32 a"] for odd in (".b", "-b", "\tb", ",b", "*", "é", ":b", ":", ":BPF_ITER")]


def expected(group: list[str]) -> list[int]:
    """Return the answers that are computed, with the events before them held."""
    held: dict[str, str] = {}
    answers = []
    for text in group:
        name = text.partition(" ")[0]
        there = existing_definitions([f"u:{held[name]}"]) if name in held else {}
        answers.append(registration_errno(text, there.get(name, [])))
        if not answers[-1]:
            held.setdefault(name, read_definition(text).text)
    return answers


@pytest.mark.parametrize("guest", ["full"], indirect=True)
def test_the_verdict_is_the_kernels(guest: Guest) -> None:
    groups = definitions(SEED)
    put(guest, "agent_user_events.py", AGENT.read_text())
    put(guest, "inside.py", (HERE / "user_events_inside.py").read_text())
    lines = "".join(f"{json.dumps(group)}\n" for group in groups)
    command = [*guest.ssh_command, "python3 /tmp/inside.py"]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=500)
    assert done.returncode == 0, done.stderr.decode()
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(groups)
    different = [
        (text, computed, given)
        for group, answer in zip(groups, answers, strict=True)
        for text, computed, given in zip(group, expected(group), answer, strict=True)
        if computed != given
    ]
    assert not different, different[:20]
    kinds = {given for answer in answers for given in answer}
    assert {0, 22, 98} <= kinds  # taken, EINVAL, EADDRINUSE
    assert any(len(text) == MOST_BYTES and not answer[0] for (text, *_), answer in zip(groups, answers, strict=True))
    until(lambda: b"pw_" not in guest.run("cat /sys/kernel/tracing/user_events_status"))
