"""Makes compare-a.pwr and compare-b.pwr: one program on a real kernel, before and after its file was removed.

python -m tests.data.make_compare
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.trimmed_recording import trim

OUT = Path(__file__).parent
PROBES = ("f vfs_read%both count $retval", "f do_sys_openat2%return $retval", "f hrtimer_nanosleep%both")
WORKLOAD = """
import os, time
file = os.open("/etc/passwd", os.O_RDONLY)
for _ in range(100):
    os.pread(file, SIZE, 0)
    try:
        os.close(os.open("PATH", os.O_RDONLY))
    except FileNotFoundError:
        pass
    time.sleep(SECONDS)
"""
SIDES = {
    "compare-a.pwr": {"SIZE": "512", "PATH": "/etc/passwd", "SECONDS": "0.02"},
    "compare-b.pwr": {"SIZE": "4096", "PATH": "/etc/missing", "SECONDS": "0.06"},
}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, words in SIDES.items():
            program, whole = WORKLOAD, Path(folder, name)
            for word, value in words.items():
                program = program.replace(word, value)
            command = ("record", *PROBES, "-t", "lab:7.2", "-o", str(whole), "--", "python3", "-S", "-c", program)
            subprocess.run([sys.executable, "-m", "tui", *command], check=True)
            trim(whole, OUT / name)
