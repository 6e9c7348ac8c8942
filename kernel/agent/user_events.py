"""Register events of programs by ioctl(2) on user_events_data, and write them; a part of the agent's source.

A registration is held by the file through which it was made (user_events_ref_add in
kernel/trace/trace_events_user.c), until that is closed, also by the end of this process. The bit that the kernel sets
for a program while somebody listens would end with the thread that asked for it: it is given back at once.
"""

# This file is Python 3.6. ctypes and fcntl are imported at the first use: they would double the agent's start time.
import errno
import os
import struct

_OTHER_NUMBERS = os.uname().machine.startswith(("alpha", "mips", "parisc", "ppc", "sparc"))
"""True for architectures with an encoding of their own (their asm/ioctl.h)."""
_POINTER = struct.calcsize("P")
_REGISTER = (6 << 29 if _OTHER_NUMBERS else 3 << 30) | _POINTER << 16 | ord("*") << 8 | 0  # DIAG_IOCSREG
_UNREGISTER = (4 << 29 if _OTHER_NUMBERS else 1 << 30) | _POINTER << 16 | ord("*") << 8 | 2  # DIAG_IOCSUNREG
_REGISTRATION = struct.Struct("=IBBHQQI")
"""struct user_reg: size, bit, bytes of the word with the bit, flags, address of the word, of the text, index."""
_REMOVAL = struct.Struct("=IBBHQ")
"""struct user_unreg: size, bit, two reserved numbers, address of the word."""


class RegisteredEvents:
    """Events of programs that this process holds registered, each by an open file."""

    def __init__(self) -> None:
        self._files: list[tuple[bytes, bytes, int]] = []

    def register(self, path: bytes, definition: bytes) -> None:
        """Register an event until it is released. Raises OSError: EADDRINUSE for one with other fields."""
        fd, _ = self.open(path, definition)
        self._files.append((path, definition, fd))

    def release(self, path: bytes, definition: bytes) -> None:
        """Release the newest registration of an event; the kernel removes an event that nobody holds."""
        for entry in reversed(self._files):
            if entry[:2] == (path, definition):
                self._files.remove(entry)
                os.close(entry[2])
                break

    def close(self) -> None:
        """Release all registrations."""
        while self._files:
            os.close(self._files.pop()[2])

    @staticmethod
    def open(path: bytes, definition: bytes) -> "tuple[int, int]":
        """Return an open file that holds an event registered, and the event's number in it. Raises OSError."""
        import ctypes
        import fcntl

        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            word, text = ctypes.c_uint32(), ctypes.create_string_buffer(definition)
            address = ctypes.addressof(word)
            asked = bytearray(_REGISTRATION.pack(_REGISTRATION.size, 0, 4, 0, address, ctypes.addressof(text), 0))
            fcntl.ioctl(fd, _REGISTER, asked)
            fcntl.ioctl(fd, _UNREGISTER, _REMOVAL.pack(_REMOVAL.size, 0, 0, 0, address))
            return fd, _REGISTRATION.unpack(asked)[-1]
        except BaseException:
            os.close(fd)
            raise


def write_event(path: bytes, data: bytes) -> None:
    """Write one event: `data` has its definition, a NUL, and the bytes of its fields.

    Raises OSError: EBADF where nobody listens, EFAULT for texts beyond the end.
    """
    definition, _, payload = data.partition(b"\0")
    fd, index = RegisteredEvents.open(path, definition)
    try:
        if os.write(fd, struct.pack("=I", index) + payload) <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
    finally:
        os.close(fd)
