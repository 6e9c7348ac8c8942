"""System calls that make, copy or close file descriptors, with the parameters that tell which ones."""

from __future__ import annotations

from typing import Final

PARAMETERS: Final = {
    name: tuple(parameters.split())
    for name, parameters in {
        "open": "filename flags mode",
        "openat": "dfd filename flags mode",
        "openat2": "dfd filename how usize",
        "creat": "pathname mode",
        "socket": "family type protocol",
        "accept": "fd upeer_sockaddr upeer_addrlen",
        "accept4": "fd upeer_sockaddr upeer_addrlen flags",
        "eventfd": "count",
        "eventfd2": "count flags",
        "epoll_create": "size",
        "epoll_create1": "flags",
        "timerfd_create": "clockid flags",
        "inotify_init": "",
        "inotify_init1": "flags",
        "dup": "fildes",
        "dup2": "oldfd newfd",
        "dup3": "oldfd newfd flags",
        "fcntl": "fd cmd arg",
        "ioctl": "fd cmd arg",
        "close": "fd",
        "close_range": "fd max_fd flags",
        "unshare": "unshare_flags",
        "io_uring_setup": "entries params",
        "io_uring_enter": "fd to_submit min_complete flags argp argsz",
    }.items()
}
"""Parameters by system call, in their order, as the kernel's events name them."""
PATHS: Final = {"open": "filename", "openat": "filename", "openat2": "filename", "creat": "pathname"}
"""Parameter with the path by system call that opens a file."""
KINDS: Final = {
    "socket": "socket",
    "accept": "socket",
    "accept4": "socket",
    "eventfd": "eventfd",
    "eventfd2": "eventfd",
    "epoll_create": "epoll",
    "epoll_create1": "epoll",
    "timerfd_create": "timerfd",
    "inotify_init": "inotify",
    "inotify_init1": "inotify",
}
"""Name of a descriptor that is no file, by the system call that makes it."""
CLOSE_ON_EXEC: Final = {
    **dict.fromkeys(("open", "openat", "accept4", "eventfd2", "epoll_create1", "inotify_init1", "dup3"), "flags"),
    "timerfd_create": "flags",
    "socket": "type",
}
"""Parameter by system call in which O_CLOEXEC says that a program that is started does not get the descriptor."""
ALWAYS_KEPT: Final = ("creat", "accept", "eventfd", "epoll_create", "inotify_init", "dup", "dup2")
"""System calls whose descriptors every program gets that the task becomes."""

CLOSING: Final = ("close", "close_range", "dup2", "dup3", "unshare", "io_uring_setup", "io_uring_enter")
"""System calls that all must be recorded: one that is not could have given a number to another file."""
CHANGING_EXEC: Final = ("fcntl", "ioctl")
"""System calls that change whether a descriptor stays when a program is started."""
NEW_TASK: Final = "task/task_newtask"
"""Event of each new task, with the flags of clone that say whether it shares descriptors."""
EXEC: Final = "sched/sched_process_exec"

O_CLOEXEC: Final = 0o2000000
O_TMPFILE: Final = 0o20000000
"""Bit of O_TMPFILE without that of O_DIRECTORY: the file has no name, the path is that of a folder."""
AT_FDCWD: Final = -100
CLONE_FILES: Final = 0x400
CLOSE_RANGE_UNSHARE: Final = 2
F_DUPFD: Final = 0
F_SETFD: Final = 2
F_DUPFD_CLOEXEC: Final = 1030
FIONCLEX: Final = 0x5450
FIOCLEX: Final = 0x5451
