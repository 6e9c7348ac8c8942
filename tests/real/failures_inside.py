"""Calls that fail in known places; runs in a guest, as `python3 - MACHINE` or by `-c` with the source.

Each is made by its number, so that no library does anything else; what was returned is printed.
"""

import ctypes
import errno
import os
import signal
import sys

NUMBERS = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "lseek": 8,
        "kill": 62,
        "wait4": 61,
        "uname": 63,
        "fsync": 74,
        "mount": 165,
        "sethostname": 170,
        "openat": 257,
        "mkdirat": 258,
        "newfstatat": 262,
        "unlinkat": 263,
        "linkat": 265,
        "symlinkat": 266,
        "timerfd_create": 283,
        "renameat2": 316,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "lseek": 62,
        "kill": 129,
        "wait4": 260,
        "uname": 160,
        "fsync": 82,
        "mount": 40,
        "sethostname": 161,
        "openat": 56,
        "mkdirat": 34,
        "newfstatat": 79,
        "unlinkat": 35,
        "linkat": 37,
        "symlinkat": 36,
        "timerfd_create": 85,
        "renameat2": 276,
    },
}
HERE, REMOVE_FOLDER = -100, 0x200
CREATE, WRITE, NONBLOCK = os.O_CREAT | os.O_RDWR, os.O_WRONLY, os.O_NONBLOCK
LIBC = ctypes.CDLL(None, use_errno=True)
PATHS = "/tmp/failing"


def call(name, *arguments):
    """Make a system call; return its result, or the negative error."""
    number = ctypes.c_long(NUMBERS[os.uname().machine][name])
    words = [ctypes.c_char_p(one.encode()) if isinstance(one, str) else ctypes.c_long(one) for one in arguments]
    result = LIBC.syscall(number, *words)
    return result if result >= 0 else -ctypes.get_errno()


def prepare():
    """Make the files that the calls need, on a small file system of their own."""
    os.makedirs(PATHS)
    for name, options in (("full", "size=64k"), ("sealed", "size=64k")):
        os.mkdir(f"{PATHS}/{name}")
        assert call("mount", "none", f"{PATHS}/{name}", "tmpfs", 0, options) == 0
    assert call("mount", "none", f"{PATHS}/sealed", "tmpfs", 1 | 32, "size=64k") == 0  # MS_RDONLY | MS_REMOUNT
    os.makedirs(f"{PATHS}/full/inhabited/inner")
    with open(f"{PATHS}/plain", "w"):
        pass
    with open(f"{PATHS}/secret", "w"):
        os.chmod(f"{PATHS}/secret", 0o600)
    os.symlink(f"{PATHS}/loop", f"{PATHS}/loop")
    os.mkfifo(f"{PATHS}/fifo")


def without_rights(*wanted):
    """Make a call as a user without capabilities, in a process of its own; return its result."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        os.write(writes, b"%d" % call(*wanted))
        os._exit(0)
    os.waitpid(child, 0)
    return int(os.read(reads, 16))


def failures():
    """Make all calls; yield the name of each, and what it returned."""
    empty, _kept = os.pipe()
    os.set_blocking(empty, False)
    reader, widow = os.pipe()
    os.close(reader)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    yield "ENOENT", call("openat", HERE, "/nonexistent/file", 0)
    yield "EACCES", without_rights("openat", HERE, f"{PATHS}/secret", 0)
    yield "EPERM", without_rights("sethostname", "x", 1)
    yield "EINVAL", call("timerfd_create", 99, 0)
    full = os.open(f"{PATHS}/full/file", CREATE)
    data = ctypes.create_string_buffer(1 << 17)
    os.write(full, data)
    yield "ENOSPC", call("write", full, ctypes.addressof(data), 4096)
    yield "EBADF", call("fsync", 999)
    yield "EEXIST", call("mkdirat", HERE, f"{PATHS}/full", 0o700)
    yield "ENOTDIR", call("openat", HERE, f"{PATHS}/plain/file", 0)
    yield "EISDIR", call("openat", HERE, PATHS, WRITE)
    yield "ELOOP", call("newfstatat", HERE, f"{PATHS}/loop", ctypes.addressof(data), 0)
    yield "ENAMETOOLONG", call("unlinkat", HERE, "x" * 5000, 0)
    yield "EFAULT", call("uname", 1)
    yield "ESRCH", call("kill", (1 << 22) + 1, 0)
    yield "ECHILD", call("wait4", -1, 0, 0, 0)
    yield "EXDEV", call("linkat", HERE, f"{PATHS}/plain", HERE, f"{PATHS}/full/plain", 0)
    yield "ENOTEMPTY", call("unlinkat", HERE, f"{PATHS}/full/inhabited", REMOVE_FOLDER)
    yield "ENXIO", call("openat", HERE, f"{PATHS}/fifo", WRITE | NONBLOCK)
    yield "ENODEV", call("mount", "none", PATHS, "nosuchfs", 0, 0)
    yield "EAGAIN", call("read", empty, ctypes.addressof(data), 1)
    yield "EPIPE", call("write", widow, ctypes.addressof(data), 1)
    yield "EROFS", call("mkdirat", HERE, f"{PATHS}/sealed/new", 0o700)


def main():
    prepare()
    for name, result in failures():
        print(name, errno.errorcode.get(-result, str(result)), flush=True)


if __name__ == "__main__":
    main()
    sys.exit()
