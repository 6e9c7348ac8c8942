"""The computed verdict on triggers beside the answers of live kernels: commands by chance, half of them spoiled.

To hunt further: `COUNT` and `SEED` below; each difference is shown with what was written before.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from btf.btf import Btf
from events.format import parse_format
from kernel.facts.gather import readme_features
from kernel.lab.guest import Guest
from probes.facts.errors_table import code_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from probes.kernel_verdict import kernel_verdict
from tests.trigger_generator import FIELDS, SYNTHETIC, Case, Generator, path

KERNELS = ["6.1", "6.12", "7.2"]
COUNT = 320
SEED = 7
AGREED = 0.99
"""Share of the refusals whose error and column must be the kernel's."""
TRACING = "/sys/kernel/tracing"
WRITER = Path(__file__).with_name("trigger_writer.py").read_text()


def _answers(guest: Guest, cases: list[Case]) -> list[tuple[list[bool], bool, tuple[str, int] | None]]:
    """What the kernel says: of what came before, of the case, and its last error."""
    rows = [([(path(e), text) for e, text in case.setup], path(case.event), case.command) for case in cases]
    sent = json.dumps({"synthetic": SYNTHETIC, "cases": rows})
    program = f"import io, sys; sys.stdin = io.StringIO({sent!r}); exec({WRITER!r})"
    done = subprocess.run([*guest.ssh_command, "python3 -"], input=program.encode(), capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(cases), done.stderr.decode()[-2000:]
    answers = []
    for line in lines:
        taken, ok, error = json.loads(line)
        answers.append((taken, ok, tuple(error) if error else None))
    return answers


def _known(guest: Guest) -> tuple[Btf, TargetFacts, Environment]:
    btf = Btf.load(guest.run("cat /sys/kernel/btf/vmlinux"))
    readme = guest.run(f"cat {TRACING}/README").decode()
    features = readme_features(readme) | {Feature.DYNAMIC_EVENTS, Feature.KPROBE_EVENTS}
    facts = TargetFacts("x86_64", "", features=frozenset(features), readme=readme, cpus=2)
    names = set(guest.run(f"cat {TRACING}/available_events").decode().split())
    wanted = [event for event in FIELDS if not event.startswith("synthetic/")]
    texts = guest.run("; ".join(f"cat {TRACING}/events/{event}/format; echo ===" for event in wanted)).decode()
    fields = {}
    for event, text in zip(wanted, texts.split("===\n"), strict=False):
        found = parse_format(text, event.partition("/")[0]).fields
        fields[event.replace("/", ":")] = tuple(StaticEventField(f.name, f.type, f.size, f.signed) for f in found)

    def fields_of(group: str, name: str) -> tuple[StaticEventField, ...] | None:
        return fields.get(f"{group}:{name}", ()) if f"{group}:{name}" in names else None

    return btf, facts, Environment(fields_of)


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_triggers_by_chance_are_answered_like_the_kernel(guest: Guest) -> None:
    btf, facts, environment = _known(guest)
    cases = Generator(SEED).cases(COUNT)
    wrong: list[str] = []
    carets: list[str] = []
    refused = 0
    for case, (taken, ok, error) in zip(cases, _answers(guest, cases), strict=True):
        there = [f"s:{event}" for event in SYNTHETIC]
        there += [f"{path(e)}|{text}" for (e, text), good in zip(case.setup, taken, strict=True) if good]
        verdict = kernel_verdict(case.command, btf, facts, there, path(case.event), environment)
        refused += not ok
        said = "ok" if ok else f"{code_of(error[0])} {error[1]}" if error else "refused"
        ours = "ok" if verdict.error is None else f"{verdict.error.code} {verdict.error.column}"
        ours = "refused" if verdict.error is not None and verdict.error.column is None else ours
        line = f"{case.event}: {case.command}\n  after {case.setup}\n  kernel: {said}\n  ours: {ours}"
        if ok != verdict.ok:
            wrong.append(line)
        elif said != ours:
            carets.append(line)
    assert COUNT * 0.25 < refused < COUNT * 0.85
    assert not wrong, "\n".join(wrong)
    assert len(carets) <= refused * (1 - AGREED), "\n".join(carets)
