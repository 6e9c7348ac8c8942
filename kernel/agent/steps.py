"""What the agent does to its kernel, and the way back from it. Sent with `agent.py`: Python 3.6, few imports."""

import errno
import os
import time

from kernel.agent.journal import Journal, folders, is_untouched, own_name, whole
from kernel.agent.ring_reader import write_lines

_BUSY_TRIES = 10


class GuardedSteps:
    """Steps, and those back that are guarded; what would outlive this process stands in its journal."""

    def __init__(self) -> None:
        self.guarded: list[tuple[bytes, bytes, bytes, bytes]] = []
        self.journal = Journal(folders(os.geteuid(), os.environ), own_name())
        self.held: list[tuple[bytes, int]] = []

    def perform(self, effect: bytes, path: bytes, data: bytes) -> None:
        """Carry out one step. Raises OSError."""
        if effect == b"mkdir":
            os.mkdir(path)
        elif effect == b"rmdir":
            # What we hold below it would keep it.
            for entry in [entry for entry in self.held if entry[0].startswith(path + b"/")]:
                self.held.remove(entry)
                os.close(entry[1])
            os.rmdir(path)
        elif effect == b"unlink":
            os.unlink(path)
        elif effect in (b"write", b"append"):
            how = os.O_TRUNC if effect == b"write" else os.O_APPEND
            fd = os.open(path, os.O_WRONLY | how | os.O_CLOEXEC)
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
        """Take this step (effect, path, data, what has to stand there) back at the end."""
        effect, path, data, expects = step
        self.guarded.append((effect, path, data, expects))
        self.journal.add(effect, path, data, expects)

    def unguard(self, *step: bytes) -> None:
        """Do not, the newest of its like."""
        for at in range(len(self.guarded) - 1, -1, -1):
            if self.guarded[at] == step:
                del self.guarded[at]
                self.journal.drop(*step)
                break

    def undo(self) -> "list[bytes]":
        """Let go of what is held, then each guarded step, newest first; the failed ones, as `effect path: why`."""
        for _, fd in self.held:
            os.close(fd)
        self.held = []
        failed = []
        while self.guarded:
            step = self.guarded.pop()
            why = self._take_back(step)
            if why:
                failed.append(step[0] + b" " + step[1] + b": " + why)
            else:
                self.journal.drop(*step)
        return failed

    def _take_back(self, step: "tuple[bytes, bytes, bytes, bytes]") -> bytes:
        """Why it could not be; what is gone already, and what is someone else's by now, counts as done."""
        effect, path, data, expects = step
        for left in range(_BUSY_TRIES - 1, -1, -1):
            try:
                if not expects or is_untouched(effect, whole(path), expects):
                    self.perform(effect, path, data)
                return b""
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return b""
                if error.errno != errno.EBUSY or not left:
                    return os.strerror(error.errno or 0).encode()
                time.sleep(0.05)  # someone else's reader is just closing
        return b""
