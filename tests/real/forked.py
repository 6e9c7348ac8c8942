"""Commands without their start: each is forked from a process that has imported the application (half a second of CPU)."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
_MODULES = ("events.recording.writer", "kernel.remote.target", "tui.__main__", "tui.cli.main")
_LONGEST = 1 << 20
"""Bytes of a request: the words and the environment."""


@functools.cache
def _server() -> socket.socket:
    """Return the line to the process that forks; it ends with its line, and that with us."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        words = [sys.executable, "-m", "tests.real.forked", str(its.fileno())]
        process = subprocess.Popen(words, cwd=TOP, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def run_forked(
    words: tuple[str, ...], env: dict[str, str] | None, stdin: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run a command to its end; return its status, what it wrote, and what it said.

    Raises subprocess.TimeoutExpired, once the command was killed.
    """
    ours, its = socket.socketpair()
    (its_in, our_in), (our_out, its_out), (our_err, its_err) = os.pipe(), os.pipe(), os.pipe()
    request = json.dumps([words, dict(os.environ if env is None else env)]).encode()
    assert len(request) < _LONGEST
    given = [its.fileno(), its_in, its_out, its_err]
    socket.send_fds(_server(), [request], given)
    its.close()
    for number in given[1:]:
        os.close(number)
    written: dict[int, bytes] = {}
    threads = [threading.Thread(target=_read, args=(number, written)) for number in (our_out, our_err)]
    threads.append(threading.Thread(target=_write, args=(our_in, stdin)))
    for thread in threads:
        thread.start()
    with ours, ours.makefile("r") as told:
        pid = int(told.readline())
        ours.settimeout(seconds)
        try:
            status = int(told.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(words), seconds) from None
        finally:
            for thread in threads:
                thread.join()
    return status, written[our_out], written[our_err]


def _read(number: int, written: dict[int, bytes]) -> None:
    with open(number, "rb") as file:
        written[number] = file.read()


def _write(number: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(number, "wb") as file:
        file.write(data)


def _import_everything() -> None:
    import tui.cli.commands

    for module in pkgutil.iter_modules(tui.cli.commands.__path__, "tui.cli.commands."):
        importlib.import_module(module.name)
    for name in _MODULES:
        importlib.import_module(name)


def _requests(line: socket.socket) -> Iterator[tuple[list[str], dict[str, str], list[int]]]:
    while True:
        request, given, _, _ = socket.recv_fds(line, _LONGEST, 4)
        if not request:
            return
        yield *json.loads(request), given
        for number in given:
            os.close(number)


def _serve(line: socket.socket) -> None:
    """Fork a process for each request, which forks the command, waits for it and tells its number and its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that tell
    for words, env, (told, *standard) in _requests(line):
        if os.fork():
            continue
        line.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if not pid:
            os.close(told)
            _become(words, env, standard)
            return  # the command runs where this module does: what ends it ends the process as usual
        for number in (*standard, 0, 1, 2):
            os.close(number)
        os.write(told, b"%d\n" % pid)
        os.write(told, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    sys.exit()


def _become(words: list[str], env: dict[str, str], standard: list[int]) -> None:
    for number, given in enumerate(standard):
        os.dup2(given, number)
        os.close(given)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - as the process
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = words


if __name__ == "__main__":
    _import_everything()
    gc.freeze()  # else each that is forked copies what its collector touches
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from tui.__main__ import main

    sys.exit(main())
