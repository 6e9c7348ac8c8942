"""Find out by a second remote shell whether the first one is executing a long command.

A shell prints nothing while a write takes long in the kernel: that would look like a frozen connection. The second
shell is started when an answer is overdue; if the connection is frozen, its output is missing as well.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from collections.abc import Callable

AFTER = 3.0
"""Seconds without a byte of an answer after which the second shell is started."""
_BEAT = 2
"""Seconds between two reports."""
_AT_WORK = b"+"
_PROGRAM = r"""
exec 2>/dev/null
t_state() {
  read -r line <"/proc/$1/stat" && line=${line##*) } && state=${line%% *} && line=${line#* } && parent=${line%% *}
}
t_works() {  # a shell that waits for a command has a child; stopped, neither is at work
  t_state "$1" || return 1
  case $state in R|D) return 0 ;; S) ;; *) return 1 ;; esac
  for d in /proc/[0-9]*; do
    t_state "${d#/proc/}" && [ "$parent" = "$1" ] || continue
    case $state in R|D|S) return 0 ;; esac
  done
  return 1
}
t_tell() {
  trap - PIPE  # a write into a lost connection ends it
  while [ -e "/proc/$1" ]; do
    if t_works "$1"; then printf +; else printf -; fi || exit
    sleep "$2" || exit
  done
  exit
}
"""
"""Program of the second shell; `t_tell PID SECONDS` starts it."""


class SecondShell:
    """Remote shell that reports whether another shell is working (see the module). Never blocks; close it."""

    def __init__(self, start_shell: Callable[[], subprocess.Popen[bytes]], pid: int) -> None:
        """Start a remote shell that watches a process; if it can't be started, it never reports anything.

        Args:
            start_shell: starts a remote shell that reads its script from a pipe.
            pid: process id of the remote shell to watch.
        """
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = start_shell()
            if self._process.stdin is not None:
                os.write(self._process.stdin.fileno(), f"{_PROGRAM}t_tell {pid} {_BEAT}\n".encode())

    def tells_of_work(self) -> bool:
        """Return whether the watched shell was reported at work since the last call. Never waits."""
        source = self._process.stdout if self._process is not None else None
        if source is None or not select.select([source], [], [], 0)[0]:
            return False
        with contextlib.suppress(OSError):
            return _AT_WORK in os.read(source.fileno(), 1 << 12)
        return False

    def close(self) -> None:
        """End the second shell's ssh session; the remote process notices at its next report."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
