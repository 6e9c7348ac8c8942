"""Runs inside a guest: writes commands to dynamic_events and tells which the kernel refuses.

Not a test by itself: `all_arguments.py` sends it there. Standard input has a pair as JSON on each line: how, command.

    register    the event is made, or gets one more probe, and is taken away again a few hundred later.
    read        the event is there already with another argument: the kernel reads all of the command, finds that, and
                registers nothing, which takes a third of the time and of an fprobe a hundredth.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator

TRACING = "/sys/kernel/tracing"
TOGETHER = 400
ALL_READ = "Argument type or name is different from existing probe"
STAND_INS = {
    "f": (r"f:{}/read__entry {} pw_other=\1:u8", r"f:{}/read__exit {}%return pw_other=\1:u8"),
    "p": (r"p:{}/read__entry {} pw_other=\1:u8", r"r:{}/read__exit {} pw_other=\1:u8"),
}


def write(command: str) -> str:
    """Gives what the kernel says against it; empty: it took it."""
    fd = os.open(f"{TRACING}/dynamic_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, command.encode() + b"\n")
    except OSError as error:
        with open(f"{TRACING}/error_log") as log:
            said = [line for line in log if " error: " in line]
        return said[-1].partition(" error: ")[2].strip() if said else os.strerror(error.errno)
    finally:
        os.close(fd)
    return ""


def clear(group: str) -> None:
    """All events of the group; others stay, which the lab may need."""
    with open(f"{TRACING}/dynamic_events") as file:
        made = f":{group}/" in file.read()
    assert not made or not (said := write(f"-:{group}/")), said


def refused(group: str, cases: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Commands that are refused, with what the kernel says."""
    made = 0
    for how, command in cases:
        said = write(command)
        if how == "read":
            said = {ALL_READ: "", "": "it was not compared with the event that is there"}.get(said, said)
        elif not said:
            made += 1
        if said:
            yield command, said
        if made == TOGETHER:
            clear(group)
            made = 0


def hurry() -> None:
    """Not to wait 15 ms for each kprobe that is taken away."""
    with contextlib.suppress(OSError), open("/sys/kernel/rcu_expedited", "w") as file:
        file.write("1")


def main(group: str, stand_in: str) -> None:
    hurry()
    cases = [json.loads(line) for line in sys.stdin]
    registered = [case for case in cases if case[0] == "register"]
    for command, said in refused(group, registered):
        print(json.dumps([command, said]), flush=True)
    clear(group)
    read = [case for case in cases if case[0] == "read"]
    if read:
        for command in STAND_INS["f" if read[0][1].startswith("f") else "p"]:
            assert not write(command.format(group, stand_in)), command
        for command, said in refused(group, read):
            print(json.dumps([command, said]), flush=True)
        clear(group)
    print(json.dumps("done"))


if __name__ == "__main__":
    main(*sys.argv[1:])
