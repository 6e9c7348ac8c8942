"""Files of descriptors: as the programs themselves read them from /proc/self/fd, each before it reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real.command import address, run, ssh_to

PROGRAM = """
import os, threading
size = 7000
folder = f"/tmp/descriptors_{os.getpid()}"
os.mkdir(folder)
for name in "abcd":
    with open(f"{folder}/{name}", "w") as file:
        file.write("text\\n")
def read(fd):
    global size
    size += 1
    print("read", size, fd, os.readlink(f"/proc/self/fd/{fd}"), flush=True)
    os.read(fd, size)
one = os.open(f"{folder}/a", os.O_RDONLY)
read(one)
two = os.dup(one)
os.close(one)
read(two)
one = os.open(f"{folder}/b", os.O_RDONLY)
read(one)
os.dup2(two, one)
read(one)
os.close_range(one, one + 1) if hasattr(os, "close_range") else os.closerange(one, one + 2)
inside = os.open(folder, os.O_RDONLY)
read(os.open("c", os.O_RDONLY, dir_fd=inside))
last = os.open(f"{folder}/d", os.O_RDONLY)
if not os.fork():
    read(last)
    os.close(last)
    last = os.open(f"{folder}/a", os.O_RDONLY)
    size += 100
    read(last)
    os._exit(0)
os.wait()
size += 1000
thread = threading.Thread(target=read, args=(last,))
thread.start()
thread.join()
os.dup2(last, 0)
os.execv("/bin/sh", ["sh", "-c", "read line; echo exec $(readlink /proc/self/fd/0) $line"])
"""
SPECS = (
    "on sched/sched_process_exec",
    "on task/task_newtask",
    "on raw_syscalls/sys_exit",
    "on raw_syscalls/sys_enter",
    "on syscalls/sys_enter_read",
)
OPENS = {
    "on syscalls/sys_enter_openat": "7.2",
    "e syscalls.sys_enter_openat filename=+0($filename):ustring $dfd $flags": "6.12",
    "f do_sys_openat2%both dfd filename:ustring how->flags $retval": "7.2",
}


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_reads_are_chosen_by_their_file(guest: Guest, tmp_path: Path) -> None:
    subprocess.run([*guest.ssh_command, "cat >/tmp/descriptors.py"], input=PROGRAM.encode(), check=True)
    words = ("run", next(iter(OPENS)), *SPECS, "--target", address(guest), "--json")
    chosen = ("--filter", "fd ~ */descriptors_*/[bd]", "--", "python3", "-S", "/tmp/descriptors.py")
    done = run(*words, *chosen, env=ssh_to(guest, tmp_path))
    lines = [one["text"].split() for one in done.objects if one.get("stream") == "stdout"]
    said = [int(line[1]) for line in lines if line[0] == "read" and line[3][-2:] in ("/b", "/d")]
    reads = [one["values"]["count"] for one in done.objects if one.get("event") == "syscalls/sys_enter_read"]
    assert len(said) == 3 and [size for size in reads if size > 7000] == said, done
    assert {one.get("event") for one in done.objects if "values" in one} == {"syscalls/sys_enter_read"}, done


@pytest.mark.parametrize(("guest", "opens"), [(kernel, spec) for spec, kernel in OPENS.items()], indirect=["guest"])
def test_reads_have_the_file_that_the_program_reads(guest: Guest, opens: str, tmp_path: Path) -> None:
    subprocess.run([*guest.ssh_command, "cat >/tmp/descriptors.py"], input=PROGRAM.encode(), check=True)
    words = ("run", opens, *SPECS, "--target", address(guest), "--json", "--", "python3", "-S", "/tmp/descriptors.py")
    done = run(*words, env=ssh_to(guest, tmp_path))
    assert done.status == 0, [one["text"] for one in done.objects if "stream" in one]
    lines = [one["text"].split() for one in done.objects if one.get("stream") == "stdout"]
    said = [line for line in lines if line[0] == "read"]
    assert len(said) == 8, done
    reads = [one for one in done.objects if one.get("event") == "syscalls/sys_enter_read"]
    for _, size, fd, path in said:
        found = [one for one in reads if one["values"]["count"] == int(size)]
        assert [(one["values"]["fd"], one["text"]["fd"]) for one in found] == [(int(fd), f"{fd}<{path}>")], done
    after = [one["text"]["fd"] for one in reads if one["comm"] == "sh" and one["values"]["fd"] == 0]
    assert after and all(text.startswith("0</tmp/descriptors_") and text.endswith("/d>") for text in after), done
