"""From a fresh shell on the far side to what serves us: find out what is there, and start the agent or root's shell.

Everything goes through one session that runs `exec sh`, a word that every login shell understands; what that shell is
to do comes through its standard input. A shell may read its script ahead, so at each step we wait for its answer.
"""

from __future__ import annotations

import importlib.util
import re
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kernel.agent.ring_reader import write_all
from kernel.errors import KernelError, TargetLost, TargetUnusable
from kernel.remote.address import Address
from kernel.remote.giving_up import CANCELLED, cut_when
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.shell_dialect import ShellDialect
from probes.attaching.values import Why
from probes.facts.facts import Trouble

_NOISE = 1 << 17
_PATIENCE = 60.0
"""Seconds without a byte, before it serves us, after which a far side is lost."""
_HELLO = r"""
LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
exec 2>/dev/null
u=$(id -u); v=
if [ "$u" != 0 ]; then
  if w=$(sudo -n sh -c : 2>&1 </dev/null); then v='sudo -n'
  elif x=$(doas -n sh -c : 2>&1 </dev/null); then v='doas -n'
  fi
fi
p=; command -v python3 >/dev/null && p=yes
"""
_SAY = 'printf \'\\n%s\\n%s\\n%s\\n%s\\n%s %s\\n%s\\n\' {token} "$u" "$v" "$p" "$(hostname)" "$w" {token}\n'
_UNFIT = "1|2|126|127"
"""Exit statuses of a python3 that can't be the agent: what it needs is not there, or it is not to be started."""
_BOOT = (
    "import sys,os,select,struct,_signal; sys.version_info<(3,6) and sys.exit(1); "
    "sys.stdout.write({token!r}+chr(10)); sys.stdout.flush(); exec(sys.stdin.buffer.read({size}))"
)


def agent_source() -> bytes:
    """The agent as one file: codec, reader, journal, effects and agent, without their imports of each other."""
    parts = []
    for name in ("frames", "ring_reader", "journal", "steps", "main"):
        spec = importlib.util.find_spec(f"kernel.agent.{name}")
        if spec is None or spec.origin is None:
            raise KernelError("the application's own files are not complete", "install it again")
        parts.append(
            re.sub(r"(?m)^from kernel\.agent\.\w+ import (?:\([^)]*\)|.*)$", "", Path(spec.origin).read_text())
        )
    return "\n".join(parts).encode()


def boot_agent(
    process: subprocess.Popen[bytes],
    start: Callable[[str], str],
    unfit: str = "",
    cancel: threading.Event | None = None,
) -> bool:
    """Make the shell behind `process` an agent. Raises TargetLost; TargetUnusable when cancelled.

    Args:
        process: reads its script from a pipe.
        start: makes the shell's line from a Python program.
        unfit: what that line prints where Python can't be the agent; the shell is there then, and False is given.
        cancel: set it from another thread to give up.
    """
    source = agent_source()
    token = secrets.token_hex(16)
    _send(process, start(_BOOT.format(token=token, size=len(source))).encode() + b"\n")
    heard = hear(process, (token.encode() + b"\n", *([unfit.encode() + b"\n"] if unfit else [])), cancel)
    if not heard.endswith(token.encode() + b"\n"):
        return False
    _send(process, source)
    return True


def hear(
    process: subprocess.Popen[bytes],
    end: bytes | tuple[bytes, ...],
    cancel: threading.Event | None = None,
    may_be_asked: Callable[[], bool] = lambda: False,
) -> bytes:
    """Return what a far side says up to and with `end`, or one of them.

    Raises TargetLost, also after `_PATIENCE` without a byte, in which nobody had to type a password as long as
    `may_be_asked`; TargetUnusable when cancelled.
    """
    if process.stdout is None:
        raise ValueError("the process needs pipes")
    heard, last = b"", time.monotonic()
    while not heard.endswith(end):
        if cancel is not None and cancel.is_set():
            raise TargetUnusable(CANCELLED)
        if not select.select([process.stdout], [], [], 0.2)[0]:
            if may_be_asked():
                last = time.monotonic()
            if time.monotonic() > last + _PATIENCE:
                raise TargetLost(f"the far side said nothing for {_PATIENCE:.0f} s")
            continue
        last = time.monotonic()
        part = process.stdout.read(1 << 16)
        if not part:
            raise TargetLost("the line was cut before the far side was ready")
        heard += part
        if len(heard) > _NOISE:
            raise TargetLost("the far side sent what makes no sense: a login that does not stop to talk")
    return heard


def _send(process: subprocess.Popen[bytes], data: bytes) -> None:
    if process.stdin is None:
        raise ValueError("the process needs pipes")
    try:
        write_all(process.stdin.fileno(), data)
    except (OSError, ValueError):
        raise TargetLost("the line was cut before the far side was ready") from None


class Door(Protocol):
    """A line to a fresh shell over there, and more of them."""

    @property
    def process(self) -> subprocess.Popen[bytes]: ...
    @property
    def may_ask(self) -> bool:
        """Whether somebody may be asked for a password now, who has all the time to type it."""

    def session(self, command: str) -> subprocess.Popen[bytes]: ...


class Hello:
    """What the far side said of itself."""

    def __init__(self, text: bytes) -> None:
        uid, self.via, python, words, *_ = [*text.decode("utf-8", "replace").split("\n", 3), "", "", "", ""]
        self.root = uid == "0"
        self.python = python == "yes"
        self.host, _, self.why = words.partition(" ")
        if self.via not in ("", "sudo -n", "doas -n") or not uid.isdigit():
            raise TargetLost("the far side sent what makes no sense instead of its user and rights")

    def troubles(self, address: Address) -> tuple[Trouble, ...]:
        """Explains missing rights."""
        if self.root or self.via:
            return ()
        why = " ".join(self.why.split())[:200] or "sudo and doas are not there"
        user = address.user or "USER"
        rule = f"{user} ALL=(root) NOPASSWD: ALL"
        remedy = f"connect as root, or let that user become root without a password (visudo there): {rule}"
        what = f"not root on {address.host}, and no way to become it: {why}"
        return (Trouble(what, remedy, code=Why.PRIVILEGES),)


def greet(door: Door, cancel: threading.Event | None = None) -> Hello:
    """Ask the shell behind the door who it is and what is there. Raises TargetLost, TargetUnusable when cancelled."""
    token = secrets.token_hex(16)
    _send(door.process, (_HELLO + _SAY.format(token=token)).encode())
    mark = f"\n{token}\n".encode()
    heard = b""
    while heard.count(mark) < 2:
        heard += hear(door.process, mark, cancel, lambda: door.may_ask)
    return Hello(heard.split(mark)[1])


def begin(
    door: Door, hello: Hello, *, python: bool = True, cancel: threading.Event | None = None
) -> AgentDialect | ShellDialect:
    """Turn that shell into the agent, or into root's shell. Raises TargetLost; TargetUnusable when cancelled."""
    with cut_when(cancel, door.process.kill):
        return _begin(door, hello, python=python, cancel=cancel)


def _begin(door: Door, hello: Hello, *, python: bool, cancel: threading.Event | None) -> AgentDialect | ShellDialect:
    if python and hello.python:
        # To try Python first takes as long as to start it: the shell stays behind it, for where it does not work.
        no = secrets.token_hex(16)
        after = f"case $? in {_UNFIT}) printf '\\n%s\\n' {no};; *) exit;; esac"
        start = lambda program: f'{hello.via} python3 -I -S -c "{program}"; {after}'  # noqa: E731
        if boot_agent(door.process, start, no, cancel):
            return AgentDialect(door.process)
    if not hello.via:
        return ShellDialect(door.process, lambda: door.session("exec sh"))
    token = secrets.token_hex(16)
    _send(door.process, f"exec {hello.via} sh -c 'echo {token}; exec sh'\n".encode())
    hear(door.process, token.encode() + b"\n", cancel)
    return ShellDialect(door.process, lambda: door.session(f"exec {hello.via} sh"))
