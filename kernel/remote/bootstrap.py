"""Turn a fresh shell on the remote host into the agent or a root shell, by its user, rights and programs.

All of this uses one session that runs `exec sh`, a command that every login shell understands; the script of that
shell is sent through its standard input. A shell may read its script ahead, so each step waits for its answer.
"""

from __future__ import annotations

import importlib.util
import marshal
import re
import secrets
import select
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from kernel.agent.ring_reader import write_all
from kernel.errors import KernelError, TargetLost, TargetUnusable
from kernel.remote.address import Address
from kernel.remote.cancellation import CANCELLED, disconnect_on_cancel
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.shell_dialect import ShellDialect
from probes.attaching.values import ReasonKind
from probes.facts.facts import Trouble

_NOISE = 1 << 17
_PATIENCE = 60.0
"""Seconds without a byte, before the agent or root shell runs, after which the connection is lost."""
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
"""Exit statuses of a python3 that can't be the agent: a module is missing, or python3 can't be started."""
_CODE = " code"
"""Behind the token of a Python that reads our bytecode."""
_BOOT = (
    "import sys,os,select,struct,_signal; sys.version_info<(3,6) and sys.exit(1); "
    "exec('try: import zlib\\nexcept ImportError: zlib=None'); "
    "same=zlib and getattr(sys.modules.get('_frozen_importlib_external'),'MAGIC_NUMBER',b'').hex()=={magic!r}; "
    "sys.stdout.write({token!r}+({code!r} if same else '')+chr(10)); sys.stdout.flush(); "
    "sent=sys.stdin.buffer.read({packed} if same else {plain}); "
    "exec(__import__('marshal').loads(zlib.decompress(sent)) if same else sent)"
)
"""A Python of our version gets the agent compiled: compiling takes it longer than starting."""

_AGENT_PARTS = (
    *(
        "frames",
        "long_read",
        "bpf_calls",
        "number_readers",
        "sampler",
        "object_rings",
        "ring_reader",
        "journal",
        "user_events",
    ),
    *("steps", "main"),
)
"""Modules of the agent, each behind those that it needs."""


def agent_source(names: Sequence[str] = _AGENT_PARTS) -> bytes:
    """Return the agent as one file: its modules, from codec to server, without imports of each other."""
    parts = []
    for name in names:
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
    """Start the agent in the shell behind `process`; return False if its Python can't. Raises TargetLost;
    TargetUnusable if cancelled.

    Args:
        process: the shell; reads its script from a pipe.
        start: returns the shell's command line for a Python program.
        unfit: text which that command line prints if Python can't be the agent; the shell still runs then.
        cancel: set by another thread to give up.
    """
    source = agent_source()
    packed = zlib.compress(marshal.dumps(compile(source, "<string>", "exec", dont_inherit=True, optimize=0)))
    token, magic = secrets.token_hex(16), importlib.util.MAGIC_NUMBER.hex()
    program = _BOOT.format(token=token, magic=magic, code=_CODE, packed=len(packed), plain=len(source))
    _send(process, start(program).encode() + b"\n")
    takes_source, takes_code = f"{token}\n".encode(), f"{token}{_CODE}\n".encode()
    received = read_until(process, (takes_source, takes_code, *([unfit.encode() + b"\n"] if unfit else [])), cancel)
    if not received.endswith((takes_source, takes_code)):
        return False
    _send(process, packed if received.endswith(takes_code) else source)
    return True


def read_until(
    process: subprocess.Popen[bytes],
    ends: bytes | tuple[bytes, ...],
    cancel: threading.Event | None = None,
    may_be_asked: Callable[[], bool] = lambda: False,
) -> bytes:
    """Return what the remote host prints up to and including `end`, or one of several ends.

    Raises TargetLost, also after `_PATIENCE` seconds without a byte, not counting the time in which `may_be_asked`
    says that somebody may be typing a password; TargetUnusable if cancelled.
    """
    if process.stdout is None:
        raise ValueError("the process needs pipes")
    received, last = b"", time.monotonic()
    while not received.endswith(ends):
        if cancel is not None and cancel.is_set():
            raise TargetUnusable(CANCELLED)
        if not select.select([process.stdout], [], [], 0.2)[0]:
            if may_be_asked():
                last = time.monotonic()
            if time.monotonic() > last + _PATIENCE:
                raise TargetLost(f"the remote host sent nothing for {_PATIENCE:.0f} s")
            continue
        last = time.monotonic()
        part = process.stdout.read(1 << 16)
        if not part:
            raise TargetLost("the connection was lost before the remote host was ready")
        received += part
        if len(received) > _NOISE:
            raise TargetLost("unexpected reply from the remote host: the login prints without end")
    return received


def _send(process: subprocess.Popen[bytes], data: bytes) -> None:
    if process.stdin is None:
        raise ValueError("the process needs pipes")
    try:
        write_all(process.stdin.fileno(), data)
    except (OSError, ValueError):
        raise TargetLost("the connection was lost before the remote host was ready") from None


class ShellOpener(Protocol):
    """A connection with a fresh remote shell, and more sessions on it."""

    @property
    def process(self) -> subprocess.Popen[bytes]: ...
    @property
    def may_ask(self) -> bool:
        """True while ssh may be prompting for a password, which may take any time to type."""

    def session(self, command: str) -> subprocess.Popen[bytes]: ...


class Greeting:
    """User id, rights and programs that the remote shell reported."""

    def __init__(self, text: bytes) -> None:
        uid, self.via, python, words, *_ = [*text.decode("utf-8", "replace").split("\n", 3), "", "", "", ""]
        self.root = uid == "0"
        self.python = python == "yes"
        self.host, _, self.why = words.partition(" ")
        if self.via not in ("", "sudo -n", "doas -n") or not uid.isdigit():
            raise TargetLost("unexpected reply from the remote host in place of its user id and rights")

    def troubles(self, address: Address) -> tuple[Trouble, ...]:
        """Return the explanation of missing rights."""
        if self.root or self.via:
            return ()
        reason = " ".join(self.why.split())[:200] or "sudo and doas are not there"
        user = address.user or "USER"
        rule = f"{user} ALL=(root) NOPASSWD: ALL"
        remedy = f"connect as root, or let that user become root without a password (visudo there): {rule}"
        problem = f"not root on {address.host}, and no way to become it: {reason}"
        return (Trouble(problem, remedy, code=ReasonKind.PRIVILEGES),)


def read_greeting(opener: ShellOpener, cancel: threading.Event | None = None) -> Greeting:
    """Ask the shell for its user, rights and programs. Raises TargetLost; TargetUnusable if cancelled."""
    token = secrets.token_hex(16)
    _send(opener.process, (_HELLO + _SAY.format(token=token)).encode())
    marker = f"\n{token}\n".encode()
    received = b""
    while received.count(marker) < 2:
        received += read_until(opener.process, marker, cancel, lambda: opener.may_ask)
    return Greeting(received.split(marker)[1])


def start_dialect(
    opener: ShellOpener, greeting: Greeting, *, python: bool = True, cancel: threading.Event | None = None
) -> AgentDialect | ShellDialect:
    """Start the agent, or else a root shell, in the shell of `opener`. Raises TargetLost; TargetUnusable if
    cancelled.
    """
    with disconnect_on_cancel(cancel, opener.process.kill):
        return _begin(opener, greeting, python=python, cancel=cancel)


def _begin(
    opener: ShellOpener, greeting: Greeting, *, python: bool, cancel: threading.Event | None
) -> AgentDialect | ShellDialect:
    if python and greeting.python:
        # Trying Python first would take as long as starting it: the shell stays its parent, for where Python fails.
        unfit = secrets.token_hex(16)
        exit_check = f"case $? in {_UNFIT}) printf '\\n%s\\n' {unfit};; *) exit;; esac"
        start = lambda program: f'{greeting.via} python3 -I -S -c "{program}"; {exit_check}'  # noqa: E731
        if boot_agent(opener.process, start, unfit, cancel):
            return AgentDialect(opener.process)
    if not greeting.via:
        return ShellDialect(opener.process, lambda: opener.session("exec sh"))
    token = secrets.token_hex(16)
    _send(opener.process, f"exec {greeting.via} sh -c 'echo {token}; exec sh'\n".encode())
    read_until(opener.process, token.encode() + b"\n", cancel)
    return ShellDialect(opener.process, lambda: opener.session(f"exec {greeting.via} sh"))
