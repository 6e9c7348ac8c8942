"""Runs inside a guest: makes events of known values and tells which of them each filter chooses.

Not a test by itself: `test_filter_differential.py` sends it there. Standard input has one JSON object: `rows`, each a
number and a text; `names`, what the task calls itself; `fields`, arguments of the uprobe; `filters`, each an event
(`CALL` or `RENAME` below) and its filter. Standard output has a line of JSON: the formats and the raw pages of a pass
without filters; then for each filter the numbers of the rows that came, or null where the kernel refused it.
"""

import base64
import ctypes
import json
import os
import re
import sys

TRACING = "/sys/kernel/tracing"
CALL, RENAME = "pwfilter/call", "task/task_rename"
AT_ONCE = 8
PR_SET_NAME = 15
TASK, BEFORE = b"bash", b"first"
"""Names of the task while it calls, and before it takes others."""
LIBC = ctypes.CDLL(None)


def write(name: str, text: str, flags: int = os.O_TRUNC) -> bool:
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


def place() -> str:
    """File and offset of labs(3)."""
    address = ctypes.cast(LIBC.labs, ctypes.c_void_p).value or 0
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, _, offset, _, _, *path = line.split()
            start, end = (int(word, 16) for word in span.split("-"))
            if start <= address < end:
                return f"{path[0]}:0x{address - start + int(offset, 16):x}"
    raise LookupError("labs")


def call(rows: list[list[object]]) -> None:
    """Call labs with a number, a text, the number of the row, eight bytes, and two texts."""
    LIBC.prctl(PR_SET_NAME, TASK, 0, 0, 0)
    for number, (value, text) in enumerate(rows):
        raw = ctypes.create_string_buffer(str(text).encode())
        pair = (ctypes.c_char_p * 2)(raw.value, b"second")
        words = ctypes.create_string_buffer((int(str(value)) & (1 << 64) - 1).to_bytes(8, "little"))
        LIBC.labs(ctypes.c_uint64(int(str(value)) & (1 << 64) - 1), raw, number, words, pair)


def rename(names: list[str]) -> None:
    """Take each name."""
    for name in names:
        LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def make(event: str, work: dict[str, list[list[object]]]) -> None:
    """Make one of each event."""
    if event == CALL:
        call(work["rows"])
    else:
        rename([str(name) for name in work["names"]])


def chosen(folder: str, event: str, names: list[str]) -> list[int]:
    """Numbers of the rows in a trace."""
    with open(f"{folder}/trace", errors="surrogateescape") as trace:
        text = trace.read()
    if event == CALL:
        return [int(number) for number in re.findall(r"\bn=(\d+)", text)]
    return [names.index(name) for name in re.findall(r"newcomm=(.*) oom_score", text)]


def pages(folder: str) -> str:
    """All that was recorded on CPU 0, as base64."""
    found = b""
    fd = os.open(f"{folder}/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while data := os.read(fd, 4096):
            found += data.ljust(4096, b"\0")
    except BlockingIOError:
        pass
    finally:
        os.close(fd)
    return base64.b64encode(found).decode()


def first_pass(folder: str, work: dict[str, list[list[object]]]) -> None:
    """Tell of one pass without filters."""
    told = {}
    for event in (CALL, RENAME):
        LIBC.prctl(PR_SET_NAME, BEFORE, 0, 0, 0)
        write(f"{folder}/events/{event}/enable", "1")
        make(event, work)
        write(f"{folder}/events/{event}/enable", "0")
        with open(f"events/{event}/format") as file:
            told[event] = [file.read(), pages(folder)]
    with open("events/header_page") as file:
        print(json.dumps([told, file.read()]))


def answer(folders: list[str], event: str, filters: list[str], work: dict[str, list[list[object]]]) -> None:
    """Tell what some filters of one event choose, each in an instance of its own."""
    taken = []
    LIBC.prctl(PR_SET_NAME, BEFORE, 0, 0, 0)
    for folder, text in zip(folders, filters, strict=False):
        taken.append(write(f"{folder}/events/{event}/filter", text))
        write(f"{folder}/events/{event}/enable", "1" if taken[-1] else "0")
    make(event, work)
    names = [str(name) for name in work["names"]]
    for folder, ok in zip(folders, taken, strict=False):
        write(f"{folder}/events/{event}/enable", "0")
        print(json.dumps(chosen(folder, event, names) if ok else None), flush=True)
        write(f"{folder}/trace", "")
        write(f"{folder}/events/{event}/filter", "0")


def main() -> None:
    """Answer each filter."""
    os.chdir(TRACING)
    os.sched_setaffinity(0, {0})
    work = json.load(sys.stdin)
    folders = [f"instances/pwfilter{number}" for number in range(AT_ONCE)]
    if not write("dynamic_events", f"p:{CALL} {place()} {' '.join(work['fields'])}", os.O_APPEND):
        with open("error_log") as log:
            sys.exit(f"the probe is refused: {log.read()[-1500:]}")
    try:
        for folder in folders:
            os.mkdir(folder)
            write(f"{folder}/trace_clock", "mono")
        first_pass(folders[0], work)
        for event in (CALL, RENAME):
            mine = [text for one, text in work["filters"] if one == event]
            for at in range(0, len(mine), AT_ONCE):
                answer(folders, event, mine[at : at + AT_ONCE], work)
    finally:
        for folder in folders:
            if os.path.isdir(folder):
                os.rmdir(folder)
        write("dynamic_events", f"-:{CALL}", os.O_APPEND)


main()
