"""The computed verdict against live kernels: thousands of drawn commands, about half of them broken.

To hunt, with another seed and count:

    PROBEWRIGHT_DIFFERENTIAL=7:20000 make test ARGS="tests/real/test_differential.py -k 7.2"

What is found belongs into tests/pure/test_probes_found.py; each command is one case, once its rule is mended.
"""

from __future__ import annotations

import os

import pytest

from kernel.lab.guest import Guest
from tests.differential import Differential

KERNELS = ["6.1", "6.12", "7.2", "full", "arm64:6.12"]
SEED, COUNT = map(int, os.environ.get("PROBEWRIGHT_DIFFERENTIAL", "1:2000").split(":"))
CHUNK = 2500
"""Commands a batch; each batch has its own seed."""
ALIKE = 0.99
"""Share of commands whose error has the same code at the same column."""


@pytest.mark.timeout(300 + COUNT)
@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
def test_verdict_is_the_kernels(guest: Guest) -> None:
    differential = Differential.of(guest)
    batches = [(SEED + at // CHUNK, min(CHUNK, COUNT - at)) for at in range(0, COUNT, CHUNK)]
    rows = [row for seed, count in batches for row in differential.rows(seed, count)]
    assert len(rows) == COUNT
    refused = sum(row.kernels != "ok" for row in rows)
    assert COUNT * 0.3 < refused < COUNT * 0.8
    wrong = [str(row) for row in rows if not row.judged_alike]
    assert not wrong, "accepted or not:\n" + "\n".join(wrong)
    different = [str(row) for row in rows if not row.alike]
    assert len(different) <= COUNT * (1 - ALIKE), "code or column:\n" + "\n".join(different)
