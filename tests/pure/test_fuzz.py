"""Some of what `make fuzz` does."""

from __future__ import annotations

import random
import subprocess
import sys

from hypothesis import settings

INPUTS = 400


def test_damaged_inputs_end_as_documented(tmp_path):
    seed = 1 if settings().derandomize else random.SystemRandom().randrange(1 << 31)
    words = ["--inputs", str(INPUTS), "--seed", str(seed), "--jobs", "1", "--folder", str(tmp_path / "failures")]
    done = subprocess.run([sys.executable, "-m", "tests.fuzz", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert f"all               {INPUTS}  in" in done.stdout
