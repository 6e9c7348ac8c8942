"""Makes references-7.2.pwr: files of a program on a real kernel, of which a process that lives holds some for good.

python -m tests.data.make_references
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.trimmed_recording import trim

OUT = Path(__file__).parent / "references-7.2.pwr"
PROGRAM = Path(__file__).parent.parent / "real" / "references_inside.py"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pwr"
        words = ("refs", "file", "-t", "lab:7.2", "-o", str(whole), "--", "python3", "-S", "-c", PROGRAM.read_text())
        done = subprocess.run([sys.executable, "-m", "tui", *words], check=False)
        if done.returncode != 1:  # faults are found
            sys.exit(f"status {done.returncode}")
        trim(whole, OUT, 1 << 20)
