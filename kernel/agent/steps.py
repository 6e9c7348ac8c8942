"""Perform the agent's effects on its kernel, and their undo. Sent with `main.py`: Python 3.6, few imports."""

import errno
import os
import time

from kernel.agent.journal import Journal, folders, is_untouched, own_name, read_whole
from kernel.agent.ring_reader import write_lines
from kernel.agent.user_events import RegisteredEvents, write_event

_BUSY_TRIES = 10


class GuardedSteps:
    """Effects, and guarded undo steps; those that would outlive this process are also in its journal."""

    def __init__(self) -> None:
        self.guarded: list[tuple[bytes, bytes, bytes, bytes]] = []
        self.journal = Journal(folders(os.geteuid(), os.environ), own_name())
        self.held: list[tuple[bytes, int]] = []
        self.events = RegisteredEvents()

    def perform(self, effect: bytes, path: bytes, data: bytes) -> None:
        """Carry out one step. Raises OSError."""
        if effect == b"mkdir":
            os.mkdir(path)
        elif effect == b"rmdir":
            # A file held open below the folder would prevent its removal.
            for entry in [entry for entry in self.held if entry[0].startswith(path + b"/")]:
                self.held.remove(entry)
                os.close(entry[1])
            os.rmdir(path)
        elif effect == b"unlink":
            os.unlink(path)
        elif effect == b"register":
            self.events.register(path, data)
        elif effect == b"release":
            self.events.release(path, data)
        elif effect == b"write_event":
            write_event(path, data)
        elif effect in (b"write", b"append"):
            flag = os.O_TRUNC if effect == b"write" else os.O_APPEND
            fd = os.open(path, os.O_WRONLY | flag | os.O_CLOEXEC)
            try:
                write_lines(fd, data)
            finally:
                os.close(fd)
        else:
            raise OSError(errno.ENOSYS, "no such effect")

    def hold(self, path: bytes) -> None:
        """Keep a file open until the end. Raises OSError."""
        self.held.append((path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))

    def guard(self, *step: bytes) -> None:
        """Register an undo step (effect, path, data, expected content) for the end."""
        effect, path, data, expects = step
        self.guarded.append((effect, path, data, expects))
        self.journal.add(effect, path, data, expects)

    def unguard(self, *step: bytes) -> None:
        """Remove the most recently guarded step equal to this one."""
        for at in range(len(self.guarded) - 1, -1, -1):
            if self.guarded[at] == step:
                del self.guarded[at]
                self.journal.drop(*step)
                break

    def undo(self) -> "list[bytes]":
        """Release held files, then undo each guarded step, newest first; return the failed ones, as `effect path:
        why`.
        """
        for _, fd in self.held:
            os.close(fd)
        self.held = []
        failed = []
        while self.guarded:
            step = self.guarded.pop()
            reason = self._undo_step(step)
            if reason:
                failed.append(step[0] + b" " + step[1] + b": " + reason)
            else:
                self.journal.drop(*step)
        return failed

    def _undo_step(self, step: "tuple[bytes, bytes, bytes, bytes]") -> bytes:
        """Return why a step could not be undone; effects that are gone, or changed by someone else, count as
        undone.
        """
        effect, path, data, expects = step
        for tries_left in range(_BUSY_TRIES - 1, -1, -1):
            try:
                if not expects or is_untouched(effect, read_whole(path), expects):
                    self.perform(effect, path, data)
                return b""
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return b""
                if error.errno != errno.EBUSY or not tries_left:
                    return os.strerror(error.errno or 0).encode()
                time.sleep(0.05)  # another reader is just closing its file
        return b""
