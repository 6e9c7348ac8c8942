"""Makes monitors-7.2.pwr: samples of a real kernel's numbers, beside calls of a function.

python -m tests.data.make_monitors
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.trimmed_recording import trim

OUT = Path(__file__).parent / "monitors-7.2.pwr"
PROBES = (
    "monitor of=jiffies_64",
    "monitor of=/proc/meminfo:MemFree every=500ms",
    "monitor of=vm_event_states.event[PGFAULT] every=200ms per=cpu",
    "monitor of=/proc/loadavg every=1s scale=100",
    "monitor of=init_mm.pgd",
    'f vfs_read count if comm == "sh"',
)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pwr"
        words = ("record", *PROBES, "--target", "lab:7.2", "--for", "12s", "--force")
        subprocess.run([sys.executable, "-m", "tui", *words, "-o", str(whole)], check=True)
        trim(whole, OUT)
