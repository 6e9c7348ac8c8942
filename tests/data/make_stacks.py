"""Makes stacks-7.2.pwr: events of a real kernel with their kernel stacks, with what is needed to read them.

python -m tests.data.make_stacks
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.trimmed_recording import trim

OUT = Path(__file__).parent / "stacks-7.2.pwr"
PROBES = ("f kfree", "f vfs_read%both count $retval", "f vfs_write count")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pwr"
        words = ("record", *PROBES, "--trigger", "stacktrace", "--target", "lab:7.2", "--for", "4s", "--force")
        subprocess.run([sys.executable, "-m", "tui", *words, "-o", str(whole)], check=True)
        trim(whole, OUT)
