"""The computed verdict against live kernels: a thousand drawn commands, about half of them broken.

To hunt, with another seed and count:

    PROBEWRIGHT_DIFFERENTIAL=7:20000 make test ARGS="tests/real/test_differential.py -k 7.2"

What is found belongs into tests/pure/probes/test_differential_findings.py; each command is one case, once its rule is
mended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from events.names.kallsyms import Symbols
from kernel.lab.guest import Guest
from probes.command import has_own_syntax
from tests.differential import Differential
from tests.pure.probes.test_beginner import WRONG
from tests.spec_generator import Command

KERNELS = ["6.1", "6.12", "7.2", "full", "arm64:6.12"]
SEED, COUNT = map(int, os.environ.get("PROBEWRIGHT_DIFFERENTIAL", "1:1000").split(":"))
CHUNK = 2500
"""Commands a batch; each batch has its own seed."""
ALIKE = 0.99
"""Share of commands whose error has the same code at the same column."""


@pytest.fixture(scope="module")
def differential(guest: Guest) -> Iterator[Differential]:
    with Differential.of(guest) as made:
        yield made


@pytest.mark.timeout(600 + COUNT)
@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
def test_verdict_is_the_kernels(differential: Differential) -> None:
    batches = [(SEED + at // CHUNK, min(CHUNK, COUNT - at)) for at in range(0, COUNT, CHUNK)]
    rows = [row for seed, count in batches for row in differential.rows(seed, count)]
    assert len(rows) == COUNT
    refused = sum(row.kernels != "ok" for row in rows)
    assert COUNT * 0.3 < refused < COUNT * 0.8
    wrong = [str(row) for row in rows if not row.judged_alike]
    assert not wrong, "accepted or not:\n" + "\n".join(wrong)
    different = [str(row) for row in rows if not row.alike]
    assert len(different) <= COUNT * (1 - ALIKE), "code or column:\n" + "\n".join(different)


@pytest.mark.parametrize("guest", ["6.1", "7.2"], indirect=True, scope="module")
def test_what_a_beginner_types_is_refused_in_the_kernels_words(differential: Differential) -> None:
    groups = [[Command("dynamic_events", text)] for text, _, _ in WRONG if not has_own_syntax(text)]
    rows = [row for rows in differential.compare(groups) for row in rows]
    assert not [str(row) for row in rows if not row.alike]


@pytest.mark.parametrize("guest", ["6.1", "7.2"], indirect=True, scope="module")
def test_an_offset_counts_from_what_lies_there(differential: Differential) -> None:
    """Beyond a function's end, where others begin: with ENDBR64 and without, traceable or not."""
    symbols = Symbols.parse(differential.kallsyms.encode())
    start = symbols.named("vfs_read")[0].address
    there = [next(symbols.preceding(start + 90_000 * step)).address - start for step in range(1, 41)]
    texts = [f"p vfs_read+{distance + more}" for distance in there for more in (0, 1, 4, 5)]
    texts += [f"r vfs_read+{distance}" for distance in there] + ["p vfs_read+0xffffffff", "r vfs_read+0xffffffff"]
    rows = [row for rows in differential.compare([[Command("dynamic_events", t)] for t in texts]) for row in rows]
    assert {row.kernels.split()[0] for row in rows} > {"ok", "FAIL_REG_PROBE", "BAD_PROBE_ADDR"}
    assert not [str(row) for row in rows if not row.alike]
