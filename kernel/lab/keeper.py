"""Run one program and end it when its requester is gone. A script of its own: `python -I -S`.

    keeper.py FOLDER PROGRAM ARGUMENT...

Standard input is a pipe whose other end the application holds: it closes when the application ends, even by `kill
-9`. Then the program's whole group is killed and FOLDER (may be empty) removed. PR_SET_PDEATHSIG alone would not
suffice: it fires when the *thread* that started the program ends, and the application starts its guests from worker
threads. Here, with one thread, it is right, and covers the death of the keeper itself.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h


def _exec_program(argv: list[str], parent: int) -> None:
    """Run the program in the child, to be killed with the keeper. Does not return."""
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            # Every descriptor but our own pipe: the program must not keep the keeper's input open, nor read it.
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def main(folder: str, argv: list[str]) -> int:
    """Run the program; return its exit status, or 128 + the signal that ended it."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _exec_program(argv, parent)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(os.pidfd_open(child), select.POLLIN)
    requester_gone = any(fd == 0 for fd, _ in poll.poll())
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if requester_gone and folder:
        shutil.rmtree(folder, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
