"""Runs inside a guest: writes triggers of events and tells what the kernel says.

Not a test by itself: `test_trigger_differential.py` sends it there. Standard input has one JSON object: `synthetic`,
events to make first; `cases`, each with what is written before (file, text), the file and the text. Standard output
has a line for each case: whether what came before was taken, whether the case was, the error's sentence and column.
"""

import json
import os
import sys

TRACING = "/sys/kernel/tracing"
CARET = 11
"""Columns that error_log puts before the caret."""


def write(name: str, text: str, flags: int = os.O_APPEND) -> bool:
    """Whether the kernel took it."""
    try:
        fd = os.open(name, os.O_WRONLY | flags)
    except OSError:
        return False
    try:
        os.write(fd, text.encode())
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def read(name: str) -> str:
    """All of a file."""
    with open(name, errors="replace") as file:
        return file.read()


def last_error() -> list[object] | None:
    """Sentence and column of the last entry of error_log; None: it is empty."""
    lines = read("error_log").splitlines()
    said = [number for number, line in enumerate(lines) if ": error: " in line]
    if not said:
        return None
    caret = next(line for line in lines[said[-1] :] if line.strip() == "^")
    return [lines[said[-1]].rpartition(": error: ")[2].strip(), len(caret) - 1 - CARET]


def clean(files: list[str]) -> None:
    """Take all triggers away; histograms may refer to each other, on one event too."""
    for round_ in range(4):
        left = False
        for name in files:
            lines = read(name).splitlines()
            if lines[0].startswith("#"):
                continue
            left = True
            write(name, "\n", os.O_TRUNC)
            for line in reversed(lines):
                if not line.startswith("hist:"):
                    write(name, "!" + line.partition(" if ")[0].rpartition(":")[0])
                elif round_:
                    write(name, "!" + line.rpartition(" [")[0])
        if not left:
            return
    sys.exit(f"triggers stay: {files}: {[read(name) for name in files]}")


def main() -> None:
    """Answer each case."""
    os.chdir(TRACING)
    work = json.load(sys.stdin)
    for event in work["synthetic"]:
        write("synthetic_events", event)
    for setup, name, text in work["cases"]:
        taken = [write(*pair) for pair in setup]
        write("error_log", "\n", os.O_TRUNC)
        ok = write(name, text)
        print(json.dumps([taken, ok, None if ok else last_error()]), flush=True)
        if ok or any(taken):
            clean(sorted({name, *(file for file, _ in setup)}))


main()
