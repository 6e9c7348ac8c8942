"""On a real kernel: functions and static probes of programs are found by name and path, ticked, armed and seen.

Programs of a guest are busybox, which has its own copy of libc inside: probes on the library's functions see Python.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernel.lab.guest import Guest
from tests.real.command import address, run, screen_on, ssh_to
from tests.real.test_ssh_guest import is_clean, left
from tests.real.test_terminal import READY
from tests.real.tmux import Tmux

SIZE = 1234567
ALLOCATE = f"python3 -c 'bytearray({SIZE})'"
COLLECT = "python3 -c 'import gc; gc.collect(1)'"


def libc_of(guest: Guest) -> str:
    return guest.run("echo /usr/lib/*-linux-gnu/libc.so.6").decode().strip()


def end(terminal: Tmux) -> None:
    terminal.press("C-q")
    terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
    if "[ended " not in terminal.screen():
        terminal.press("Enter")
    assert terminal.status() == 0


def test_places_of_programs_are_listed(guest_72: Guest, tmp_path: Path) -> None:
    env, there, path = ssh_to(guest_72, tmp_path), address(guest_72), libc_of(guest_72)
    found = run("list", "libc:malloc", "--json", "-t", there, env=env).objects
    assert found[0] == {"name": f"{path}:malloc", "place": "symbol", "module": None, "kinds": ["u"], "reason": None}
    assert run("list", f"{path}:malloc", "--json", "-t", there, env=env).objects == found
    (static,) = run("list", "python3:gc__start", "--kind", "usdt", "--json", "-t", there, env=env).objects
    assert static["name"] == "/usr/bin/python3:sdt_python:gc__start" and static["arguments"] == ["s32"]
    names = [one["name"] for one in run("list", "busybox", "--json", "-t", there, env=env).objects]
    assert names == ["/usr/bin/busybox"]
    assert run("list", "libc:no_such_function_at_all", "-t", there, env=env).status != 0


def test_an_argument_of_a_static_probe_is_the_value_that_the_program_gave(guest_72: Guest, tmp_path: Path) -> None:
    """The generation that the collector was asked for, by the number of the probe's argument."""
    env = ssh_to(guest_72, tmp_path)
    spec = "p /usr/bin/python3:sdt_python:gc__start $arg1"
    done = run("run", spec, "--json", "-t", address(guest_72), "--", "sh", "-c", COLLECT, env=env)
    values = [one["values"]["arg1"] for one in done.objects if "values" in one]
    assert 1 in values and set(values) <= {0, 1, 2}, done.out
    assert is_clean(guest_72), left(guest_72)


def test_a_function_of_a_library_is_picked_by_its_name_and_armed(guest_72: Guest, tmp_path: Path) -> None:
    path = libc_of(guest_72)
    with Tmux(screen_on(guest_72, tmp_path), 120, 36) as terminal:
        terminal.wait(READY.search)
        terminal.press(*"libc")
        terminal.wait(lambda screen: re.search(r"▌libc\.so\.6 ", screen))
        terminal.press("Enter")
        terminal.wait(lambda screen: "libc.so.6: " in screen and "▌" in screen)
        terminal.press(*"malloc")
        terminal.wait(lambda screen: re.search(r"▌malloc +u", screen))
        terminal.press("Enter")
        terminal.wait(lambda screen: "[ ] arg1" in screen)
        terminal.press("1")
        terminal.wait(lambda screen: f"p {path}:malloc $arg1" in screen and "✓ this kernel" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "armed 1 " in screen and "[events]" in screen)
        guest_72.run("cat /proc/version")  # static: it calls no function of the library
        guest_72.run(ALLOCATE)
        terminal.press("f", *f"arg1 == {SIZE + 1}", "Enter")
        terminal.wait(lambda screen: re.search(rf"libc_malloc__entry.* {SIZE + 1:#x}", screen))
        end(terminal)
    assert is_clean(guest_72), left(guest_72)


def test_a_static_probe_is_picked_by_its_path_and_armed(guest_72: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest_72, tmp_path), 80, 24) as terminal:
        terminal.wait(READY.search)
        terminal.press(*"/usr/bin/pytho")
        terminal.wait(lambda screen: "▌python3 " in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: re.search(r"▌Py\w+…? +u ", screen))
        terminal.press("C-n", "C-n")
        terminal.wait(lambda screen: "usdts alone" in screen and "python:gc__start" in screen)
        terminal.press(*"gc__st")
        terminal.wait(lambda screen: "▌python:gc__start" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "[ ] arg1" in screen)
        terminal.press("1")
        terminal.wait(lambda screen: "sdt_python:gc__start $arg1" in screen and "✓ this kernel" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "armed 1 " in screen and "[events]" in screen)
        guest_72.run(COLLECT)
        terminal.wait(lambda screen: re.search(r"python3_gc__start +1\b", screen))
        end(terminal)
    assert is_clean(guest_72), left(guest_72)
