"""Write events/names/constants.txt: names of the numbers that system calls take, by architecture, from the headers of
Debian's newest kernel and C library.

    python -m tests.data.make_constants

The numbers are ABI: a kernel may know more of them than an older one, never others by the same name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from events.names.print_names import constant_value
from kernel.lab import packages
from kernel.lab.work import Work

PATH = Path(__file__).parents[2] / "events" / "names" / "constants.txt"
ARCHITECTURES = {"x86_64": "x86", "aarch64": "arm64", "riscv64": "riscv", "s390x": "s390", "i686": "x86"}
"""Folder of the kernel's headers by `uname -m`."""
_OWN = "usr/lib/linux/uapi"
"""Folder of each architecture's own headers."""
_SHARED = (
    "usr/include/asm-generic",
    "usr/include/linux",
    "usr/include/x86_64-linux-gnu/bits",
    "usr/include/x86_64-linux-gnu/sys",
    "usr/include/netinet",
    "usr/include",
)
"""Folders of the others; those of the C library have what the kernel's own have for the kernel alone."""
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Z_]\w*)[ \t]+([^\n]+)", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^{;]*\{([^}]*)\}")
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEEPEST = 10


class Names(NamedTuple):
    """Set of names to be written."""

    name: str
    headers: str
    """Names of the headers, separated by blanks."""
    pattern: str
    """Regular expression that a whole name matches."""
    without: str = "-"
    """Regular expression of names left out."""
    parts: tuple[tuple[str, int], ...] = ()
    """Regular expressions of names of which one is the value of the bits of a mask, with the mask."""
    words: str = ""
    """`flags`: a number is a set of them; `flags octal`: and the rest is shown in octal."""


def _numbers(name: str, headers: str, pattern: str, without: str = "-") -> Names:
    return Names(name, headers, pattern, without)


def _flags(
    name: str, headers: str, pattern: str, without: str = "-", *parts: tuple[str, int], words: str = "flags"
) -> Names:
    return Names(name, headers, pattern, without, parts, words)


_MMAN = "mman.h mman-common.h"
_SIGNAL = (r"SIG[A-Z]+[12]?", r"SIG(RTMIN|RTMAX|STKSZ|UNUSED)")
_SOCKET = "socket.h socket_type.h"
_FUTEX = "WAIT|WAKE|FD|REQUEUE|CMP_REQUEUE|WAKE_OP|(UN|TRY)?LOCK_PI|LOCK_PI2|(WAIT|WAKE)_BITSET|(WAIT|CMP)_REQUEUE_PI"
SETS = (
    _flags("open", "fcntl.h", r"O_\w+", "O_(NDELAY|ACCMODE)", (r"O_(RDONLY|WRONLY|RDWR)", 3)),
    _flags("mode", "stat.h", r"S_(IF\w+|IS[UGV]\w+)", "S_IFMT", (r"S_IF\w+", 0o170000), words="flags octal"),
    _numbers("directory", "fcntl.h", "AT_FDCWD"),
    _flags(
        "lookup",
        "fcntl.h",
        r"AT_(SYMLINK_\w+|NO_AUTOMOUNT|EMPTY_PATH|RECURSIVE|STATX_\w+)",
        r"AT_STATX_SYNC_\w+",
        (r"AT_STATX_\w+", 0x6000),
    ),
    _flags("unlink", "fcntl.h", "AT_REMOVEDIR"),
    _flags("faccess", "fcntl.h", "AT_(SYMLINK_NOFOLLOW|EACCESS|EMPTY_PATH)"),
    _numbers("signal", "signal.h", *_SIGNAL),
    _numbers("signal_mask", "signal-defs.h", "SIG_(BLOCK|UNBLOCK|SETMASK)"),
    _numbers("family", "socket.h", r"AF_\w+", "AF_(MAX|LOCAL|FILE|ROUTE)"),
    _flags("socket_type", _SOCKET, r"SOCK_\w+", r"SOCK_(BUF|SND|RCV|TXREHASH)\w*", (r"SOCK_(?!CLO|NON)\w+", 0xF)),
    _flags("message", "socket.h", r"MSG_\w+"),
    _numbers("shutdown", "socket.h", r"SHUT_\w+"),
    _numbers("protocol", "in.h", r"IPPROTO_\w+", r"IPPROTO_(MAX|HOPOPTS|ROUTING|FRAGMENT|NONE|DSTOPTS|MH)"),
    _numbers(
        "tcp_state",
        "tcp.h",
        "TCP_(ESTABLISHED|SYN_SENT|SYN_RECV|FIN_WAIT[12]|TIME_WAIT|CLOSE|CLOSE_WAIT|LAST_ACK|LISTEN|CLOSING)",
    ),
    _flags("protection", _MMAN, r"PROT_\w+"),
    _flags(
        "map",
        _MMAN,
        r"MAP_\w+",
        r"MAP_(TYPE|FILE|HUGE_\w+)",
        (r"MAP_(SHARED|PRIVATE|SHARED_VALIDATE|DROPPABLE)", 0xF),
    ),
    _flags("mremap", "mman.h", r"MREMAP_\w+"),
    _flags("msync", "mman-common.h", "MS_(ASYNC|INVALIDATE|SYNC)"),
    _flags("mlock", "mman.h", r"MCL_\w+"),
    _numbers("advice", _MMAN, r"MADV_\w+"),
    _numbers("file_advice", "fadvise.h", r"POSIX_FADV_\w+"),
    _flags("memfd", "memfd.h", r"MFD_\w+", r"MFD_HUGE_\w+"),
    _flags("clone", "sched.h signal.h", r"CLONE_\w+", rf"CLONE_(ARGS_\w+|NEWTIME)|{_SIGNAL[1]}", (_SIGNAL[0], 0xFF)),
    _flags("namespace", "sched.h", r"CLONE_(NEW\w+|FILES|FS|SYSVSEM|THREAD|SIGHAND|VM)"),
    _flags("wait", "wait.h", r"W[A-Z]+|__W[A-Z]+", "WUNTRACED|WCOREFLAG"),
    _numbers("wait_for", "wait.h", r"P_\w+"),
    _numbers("whence", "fs.h", r"SEEK_\w+", "SEEK_MAX"),
    _numbers("fcntl", "fcntl.h", r"F_(DUP|GET|SET|OFD|NOTIFY|ADD|CANCEL|CREATED)\w*", r"F_\w+64"),
    _flags("flock", "fcntl.h", "LOCK_(SH|EX|UN|NB)"),
    _flags("futex", "futex.h", "FUTEX_(PRIVATE_FLAG|CLOCK_REALTIME)", "-", (rf"FUTEX_({_FUTEX})", 0x7F)),
    _numbers("epoll_operation", "eventpoll.h", r"EPOLL_CTL_\w+"),
    _flags(
        "mount", "mount.h", r"MS_\w+", r"MS_(MGC_\w+|RMT_MASK|ACTIVE|BORN|NOUSER|VERBOSE|NOREMOTELOCK|SUBMOUNT|NOSEC)"
    ),
    _numbers("resource", "resource.h", r"RLIMIT_\w+", "RLIMIT_(OFILE|NLIMITS)"),
    _numbers("usage", "resource.h", r"RUSAGE_\w+", "RUSAGE_LWP"),
    _numbers("priority", "resource.h", r"PRIO_(PROCESS|PGRP|USER)"),
    _numbers("clock", "time.h", r"CLOCK_\w+", r"CLOCK_AUX\w*"),
    _flags("timer", "time.h", "TIMER_ABSTIME"),
    _numbers("interval_timer", "time.h", r"ITIMER_\w+"),
    _numbers(
        "prctl",
        "prctl.h",
        r"PR_(SET|GET)_\w+|PR_(CAPBSET|CAP|SCHED|MCE)_(READ|DROP|AMBIENT|CORE|KILL)",
        r"PR_SET_(MM|VMA)_\w+|PR_SET_PTRACER_ANY",
    ),
    _numbers(
        "ptrace",
        "ptrace.h ptrace-abi.h",
        r"PTRACE_\w+",
        r"PTRACE_(O|EVENT|EVENTMSG|SYSCALL_INFO|PEEKSIGINFO|GETFDPIC|CFI)_\w+|PTRACE_GETFDPIC",
    ),
    _numbers("policy", "sched.h", r"SCHED_\w+", r"SCHED_((FLAG|RESET|GETATTR|ATTR)_\w+|OTHER)"),
    _flags("random", "random.h", r"GRND_\w+"),
    _flags("rename", "fs.h", r"RENAME_\w+"),
    _flags("statx", "stat.h", r"STATX_\w+", r"STATX_(ATTR_\w+|_\w+|ALL)"),
    _flags("rwf", "fs.h", r"RWF_\w+", "RWF_SUPPORTED"),
    _flags("access", "unistd.h", "[RWXF]_OK"),
    _flags("eventfd", "eventfd.h", r"EFD_\w+", r"EFD_\w+_FLAGS\w*"),
    _flags("timerfd", "timerfd.h", r"TFD_\w+", r"TFD_\w+_FLAGS\w*|TFD_TIMER_\w+"),
    _flags("timerfd_set", "timerfd.h", r"TFD_TIMER_\w+"),
    _flags("signalfd", "signalfd.h", r"SFD_\w+"),
    _flags("epoll", "eventpoll.h", "EPOLL_CLOEXEC"),
    _flags("inotify_fd", "inotify.h", "IN_(CLOEXEC|NONBLOCK)"),
    _flags("fallocate", "falloc.h", r"FALLOC_FL_\w+"),
    _flags("splice", "fcntl-linux.h", r"SPLICE_F_\w+"),
    _flags("close_range", "close_range.h", r"CLOSE_RANGE_\w+"),
    _flags("inotify", "inotify.h", r"IN_\w+", "IN_(CLOSE|MOVE|ALL_EVENTS|NONBLOCK|CLOEXEC)"),
    _flags("set_attribute", "xattr.h", "XATTR_(CREATE|REPLACE)"),
    _flags("perf_open", "perf_event.h", r"PERF_FLAG_\w+"),
    _flags("uring_enter", "io_uring.h", r"IORING_ENTER_\w+"),
    _numbers(
        "bpf",
        "bpf.h",
        r"BPF_(MAP|PROG|OBJ|RAW|BTF|LINK|TASK|ENABLE|ITER|TOKEN)_\w+",
        r"BPF_(MAP|PROG|LINK)_TYPE_\w+|BPF_OBJ_NAME_LEN",
    ),
    _numbers("seccomp", "seccomp.h", r"SECCOMP_(SET|GET)_\w+"),
    _numbers("reboot", "reboot.h", r"LINUX_REBOOT_CMD_\w+"),
)
"""In the order in which they are looked up: of several names of a number the first is shown."""


class Headers(NamedTuple):
    """Text of each constant of an architecture, and the constants of each header, in their order."""

    texts: Mapping[str, str]
    by_header: Mapping[str, tuple[str, ...]]

    def value(self, name: str, depth: int = 0) -> int | None:
        """Return the value of a constant, by those that its text names; None: it has none."""
        text = self.texts.get(name)
        if text is None or depth > _DEEPEST:
            return None
        return constant_value(text, lambda other: self.value(other, depth + 1))


def fetched() -> tuple[str, dict[str, str]]:
    """The packages' versions, and the headers by their paths."""
    work = Work(lambda progress: print(progress.text))
    apt = packages.Apt(work, "amd64")
    apt.update()
    versions, found = [], {}
    for package in ("linux-libc-dev", "libc6-dev"):
        newest = functools.reduce(
            lambda one, other: other if packages.newer(other.version, one.version) else one, apt.versions([package])
        )
        versions.append(f"{package} {newest.version}")
        debs = apt.fetch([newest], versions[-1])
        members = (member for deb in debs for member in packages.contents(work, deb))
        found.update(
            {m.path: m.file.read().decode("utf-8", "replace") for m in members if m.file and _is_read(m.path)}
        )
        packages.remove(debs)
    return ", ".join(versions), found


def _is_read(path: str) -> bool:
    folder = str(PurePosixPath(path).parent)
    return path.endswith(".h") and (folder in _SHARED or folder.startswith(f"{_OWN}/"))


def headers_of(files: Mapping[str, str], folder: str) -> Headers:
    """Read the constants of an architecture, whose own headers replace the shared ones."""
    own = f"{_OWN}/{folder}/"
    paths = [path for path in files if not path.startswith(_OWN) or path.startswith(own)]
    texts, by_header = dict[str, str](), dict[str, tuple[str, ...]]()
    for path in sorted(paths, key=lambda path: (path.startswith(own), *map(path.startswith, _SHARED), path)):
        found = dict(_constants(_COMMENT.sub(" ", files[path])))
        texts |= found
        name = PurePosixPath(path).name
        by_header[name] = (*by_header.get(name, ()), *found)
    return Headers(texts, by_header)


def _constants(text: str) -> Iterator[tuple[str, str]]:
    for enum in _ENUM.findall(text):
        before = "-1"
        for one in _DIRECTIVE.sub("", enum).split(","):
            name, _, value = one.partition("=")
            if re.fullmatch(r"[A-Z_]\w*", name.strip()):
                before = value.strip() or f"({before}) + 1"
                yield name.strip(), before
    yield from ((name, value.strip()) for name, value in _MACRO.findall(text) if name != value.strip())


def lines(names: Names, machines: Mapping[str, Headers]) -> list[str]:
    """Return the lines of a set: name, value, and where they are others the mask, and values by architecture."""
    wanted = re.compile("|".join((names.pattern, *(pattern for pattern, _ in names.parts))))
    found: list[tuple[int, int, str]] = []
    every = dict.fromkeys(
        name
        for one in machines.values()
        for header in names.headers.split()
        for name in one.by_header.get(header, ())
    )
    for name in every:
        if not wanted.fullmatch(name) or re.fullmatch(names.without, name):
            continue
        mask = next((mask for pattern, mask in names.parts if re.fullmatch(pattern, name)), 0)
        values = {machine: one.value(name) for machine, one in machines.items()}
        numbers = [value for value in values.values() if value is not None]
        if not numbers:
            continue
        usual = max(numbers, key=numbers.count)
        others = [f"{m}={'-' if value is None else hex(value)}" for m, value in values.items() if value != usual]
        text = " ".join((name, _shown(usual, names), *([f"mask={hex(mask)}"] if mask else ()), *others))
        found.append((not mask, 0 if mask or not names.words else -usual.bit_count(), text))
    return [text for *_, text in sorted(found, key=lambda one: one[:2])]


def _shown(value: int, names: Names) -> str:
    return hex(value) if names.words else str(value)


def main() -> None:
    version, files = fetched()
    machines = {machine: headers_of(files, folder) for machine, folder in ARCHITECTURES.items()}
    text = [
        f"# Made by tests/data/make_constants.py from {version}. Values that others have, by `uname -m`; - is none.",
        " ".join(ARCHITECTURES),
    ]
    for names in SETS:
        text += [f"[{names.name}] {names.words}".rstrip(), *lines(names, machines)]
    PATH.write_text("\n".join(text) + "\n")
    print(version, len(SETS), "sets", len(text) - 2 - len(SETS), "names")


if __name__ == "__main__":
    main()
