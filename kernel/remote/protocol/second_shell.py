"""A second shell on the far side, which tells whether the first one is at work on a command that takes long.

A shell says nothing while the kernel takes its time for a write: without a witness that would look as a frozen line.
The witness is started where an answer stays away; of a line that is frozen it is not heard either.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from collections.abc import Callable

AFTER = 3.0
"""Seconds without a byte of an answer after which a witness is wanted."""
_BEAT = 2
"""Seconds between its words."""
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
  trap - PIPE  # a word into a line that is gone ends it
  while [ -e "/proc/$1" ]; do
    if t_works "$1"; then printf +; else printf -; fi || exit
    sleep "$2" || exit
  done
  exit
}
"""
"""What the shell is given; `t_tell PID SECONDS` starts it."""


class SecondShell:
    """See the module. Waits for nothing; close it."""

    def __init__(self, another: Callable[[], subprocess.Popen[bytes]], pid: int) -> None:
        """Start a shell over there that watches a process; where that can't be, it never says a word.

        Args:
            another: starts a shell there that reads its script from a pipe.
            pid: number of the shell over there that works.
        """
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = another()
            if self._process.stdin is not None:
                os.write(self._process.stdin.fileno(), f"{_PROGRAM}t_tell {pid} {_BEAT}\n".encode())

    def tells_of_work(self) -> bool:
        """Return whether it has said, since it was asked last, that the shell is at work. Never waits."""
        source = self._process.stdout if self._process is not None else None
        if source is None or not select.select([source], [], [], 0)[0]:
            return False
        with contextlib.suppress(OSError):
            return _AT_WORK in os.read(source.fileno(), 1 << 12)
        return False

    def close(self) -> None:
        """End it; it notices at its next word."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
