"""System calls with known arguments, and the functions of the kernel that get them: values that a probe reads."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from events.names.syscalls import call_number
from kernel.lab.guest import Guest

FD = 7777
"""Number that no process here has a file of."""


class KnownCall(NamedTuple):
    """A system call, and a function that serves it."""

    function: str
    call: str
    arguments: tuple[int | str, ...]
    """Numbers, or the names of buffers of the program."""
    params: tuple[int | None, ...]
    """For each parameter of the function the number of the argument that it gets; None: another value."""
    returns: bool = True
    """True if the call returns what the function returns."""


def _same(count: int) -> tuple[int | None, ...]:
    return tuple(range(count))


CALLS = (
    KnownCall("ksys_read", "read", (FD, "one", 4321), _same(3)),
    KnownCall("do_sys_openat2", "openat", (-77, "path", 0, 0), (0, 1, None)),
    KnownCall("do_futex", "futex", ("one", 129, 3, 55, "two", 66), (0, 1, 2, None, 4, 3, 5)),
    KnownCall("__sys_sendto", "sendto", (FD, "one", 44, 64, "two", 16), _same(6)),
    KnownCall("do_fchownat", "fchownat", (-77, "path", 11, 12, 0), _same(5)),
    KnownCall("ksys_write", "write", (FD, "one", 4322), _same(3)),
    KnownCall("ksys_lseek", "lseek", (FD, 5 << 33, 1), _same(3)),
    KnownCall("ksys_pread64", "pread64", (FD, "one", 99, 3 << 34), _same(4)),
    KnownCall("ksys_pwrite64", "pwrite64", (FD, "one", 98, 5 << 34), _same(4)),
    KnownCall("do_fchmodat", "fchmodat", (-77, "path", 0o644), (0, 1, 2, None)),
    KnownCall("do_faccessat", "faccessat", (-77, "path", 4), (0, 1, 2, None)),
    KnownCall("do_readlinkat", "readlinkat", (-77, "path", "one", 63), _same(4)),
    KnownCall("__sys_socket", "socket", (99, 3, 7), _same(3)),
    KnownCall("__sys_socketpair", "socketpair", (99, 3, 7, "one"), _same(4)),
    KnownCall("__sys_bind", "bind", (FD, "one", 16), _same(3)),
    KnownCall("__sys_connect", "connect", (FD, "one", 16), _same(3)),
    KnownCall("__sys_listen", "listen", (FD, 5), _same(2)),
    KnownCall("__sys_recvfrom", "recvfrom", (FD, "one", 44, 64, "two", "three"), _same(6)),
    KnownCall("__sys_setsockopt", "setsockopt", (FD, 1, 2, "one", 4), (0, 1, 2, 3, 4)),
    KnownCall("__sys_getsockopt", "getsockopt", (FD, 1, 2, "one", "two"), _same(5)),
    KnownCall("__sys_shutdown", "shutdown", (FD, 1), _same(2)),
    KnownCall("__sys_accept4", "accept4", (FD, "one", "two", 0), _same(4)),
    KnownCall("ksys_fallocate", "fallocate", (FD, 0, 5 << 32, 6 << 32), _same(4)),
    KnownCall("ksys_fadvise64_64", "fadvise64", (FD, 1 << 33, 2 << 33, 3), _same(4)),
    KnownCall("ksys_readahead", "readahead", (FD, 1 << 33, 3), _same(3)),
    KnownCall("ksys_sync_file_range", "sync_file_range", (FD, 1 << 33, 2 << 33, 0), _same(4)),
    KnownCall("ksys_mmap_pgoff", "mmap", (0, 4096, 1, 2, FD, 8192), (0, 1, 2, 3, 4, None)),
    KnownCall("ksys_shmget", "shmget", (0x1234, 77, 0), _same(3)),
    KnownCall("ksys_msgget", "msgget", (0x1234, 0), _same(2)),
    KnownCall("ksys_semget", "semget", (0x1234, 7, 0), _same(3)),
    KnownCall("do_mlock", "mlock", (0x1000, 4096), (0, 1, None)),
    KnownCall("do_getpgid", "getpgid", (77777,), _same(1)),
    KnownCall("ksys_dup3", "dup3", (FD, 7778, 0), _same(3)),
    KnownCall("do_eventfd", "eventfd2", (5, 0x7000000), _same(2)),
)
SEVEN = "do_futex"
"""Function with seven parameters, the last of which is on the stack on x86-64."""

_PROGRAM = r"""
import base64, ctypes, json, os, sys
calls = json.loads(base64.b64decode(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
kept = {name: ctypes.create_string_buffer(b"/no/such/file" if name == "path" else b"", 64)
        for name in ("one", "two", "three", "path")}
at = {name: ctypes.addressof(buffer) for name, buffer in kept.items()}
results = []
for number, *arguments in calls:
    words = [ctypes.c_long(at.get(one, one) if isinstance(one, str) else one) for one in arguments]
    words += [ctypes.c_long(0)] * (6 - len(words))
    result = libc.syscall(ctypes.c_long(number), *words)
    results.append(result if result >= 0 else -ctypes.get_errno())
with open("/tmp/known", "w") as file:
    json.dump({"pid": os.getpid(), "at": at, "results": results}, file)
"""


class Made(NamedTuple):
    """Calls that a program has made."""

    pid: int
    addresses: dict[str, int]
    results: list[int]

    def value(self, call: KnownCall, number: int) -> int:
        """Argument of a call as the kernel got it."""
        word = call.arguments[number]
        return self.addresses[word] if isinstance(word, str) else word


def command(calls: Sequence[KnownCall], machine: str) -> str:
    """Shell command that makes the calls in the guest, once each."""
    numbers = [[call_number(machine, one.call), *one.arguments] for one in calls]
    assert all(one[0] is not None for one in numbers), numbers
    given = base64.b64encode(json.dumps(numbers).encode()).decode()
    return f"python3 /tmp/known.py {given}"


def put_program(guest: Guest) -> None:
    subprocess.run([*guest.ssh_command, "cat >/tmp/known.py"], input=_PROGRAM.encode(), check=True)


def made(guest: Guest) -> Made:
    """Calls of the last run."""
    found: dict[str, Any] = json.loads(guest.run("cat /tmp/known"))
    return Made(found["pid"], found["at"], found["results"])


TRY = r"""
cd /sys/kernel/tracing
while read -r line; do
  if echo "$line" 2>/dev/null >>dynamic_events; then echo "yes $line"; else echo "no $line"; fi
done
"""


def taken(guest: Guest, lines: Sequence[str]) -> dict[str, bool]:
    """Lines of dynamic events -> whether the kernel takes each; all are gone afterwards."""
    done = subprocess.run(
        [*guest.ssh_command, TRY + "echo >dynamic_events\n"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
    )
    answers = {line: word == "yes" for word, _, line in (one.partition(" ") for one in done.stdout.splitlines())}
    assert len(answers) == len(lines), done.stderr
    return answers


def kprobe_flags(guest: Guest) -> dict[str, str]:
    """Places in kprobes/list -> their flags."""
    text = guest.run("cat /sys/kernel/debug/kprobes/list").decode()
    return dict(re.findall(r"^\S+\s+[kr]\s+(\S+)[ \t]*(.*)$", text, re.MULTILINE))
