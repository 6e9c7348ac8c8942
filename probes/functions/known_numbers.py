"""Find the names of the numbers that a parameter, a member or a system call's argument has: `O_CREAT`, `SIGKILL`.

A name is looked up by what is declared: the system call and its parameter, the structure and its member, a typedef
(`umode_t`), or a parameter whose name has one meaning for its type in the whole kernel (`int sig`, `int dfd`), which
one as generic as `flags` has not. The values: `events.names.constants`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from btf.btf import Btf
from btf.kinds import MAX_DEPTH, MODIFIERS
from btf.types import Int, Typedef
from btf.walk import stripped

CALL_EVENT = "sys_enter_"
"""Beginning of the names of the events of the group `syscalls` that have the arguments of a call."""


def _by_place(sets: Mapping[str, str]) -> Mapping[str, str]:
    return {place: name for name, places in sets.items() for place in places.split()}


DESCRIPTOR = "descriptor"
"""Naming of a file descriptor, which is named by its file (`events.descriptors.index`), not by a constant."""
DESCRIPTORS = (DESCRIPTOR, "directory")
"""Namings of numbers that are descriptors, or may be."""
_DESCRIPTOR_CALLS = {
    "fd": "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 close lseek fstat "
    "newfstat fcntl ioctl mmap getdents getdents64 fsync fdatasync ftruncate fallocate fadvise64 "
    "readahead flock fchdir fchmod fchown fstatfs syncfs sync_file_range vmsplice epoll_ctl connect "
    "bind listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname "
    "getpeername setsockopt getsockopt fgetxattr fsetxattr flistxattr fremovexattr inotify_add_watch "
    "inotify_rm_watch finit_module execveat",
    "fildes": "dup",
    "oldfd": "dup2 dup3",
    "newfd": "dup2 dup3",
    "out_fd": "sendfile64 sendfile",
    "in_fd": "sendfile64 sendfile",
    "fd_in": "copy_file_range splice",
    "fd_out": "copy_file_range splice",
    "fdin": "tee",
    "fdout": "tee",
    "epfd": "epoll_ctl epoll_wait epoll_pwait epoll_pwait2",
    "ufd": "timerfd_settime timerfd_gettime",
}
"""System calls by their parameter that is a file descriptor."""

_CALLS = _by_place(
    {
        "open": "open.flags openat.flags open_by_handle_at.flags mq_open.oflag pipe2.flags dup3.flags",
        "directory": "fanotify_mark.dfd open_by_handle_at.mountdirfd move_mount.from_dfd move_mount.to_dfd",
        "lookup": "execveat.flags fchmodat2.flags fchownat.flag linkat.flags newfstatat.flag statx.flags "
        "utimensat.flags name_to_handle_at.flag setxattrat.at_flags getxattrat.at_flags listxattrat.at_flags "
        "removexattrat.at_flags file_getattr.at_flags file_setattr.at_flags fstatat64.flag",
        "unlink": "unlinkat.flag unlinkat.flags",
        "access": "access.mode faccessat.mode faccessat2.mode",
        "faccess": "faccessat2.flags faccessat.flags",
        "signal_mask": "rt_sigprocmask.how",
        "family": "socket.family socketpair.family",
        "socket_type": "socket.type socketpair.type accept4.flags",
        "message": "sendto.flags sendmsg.flags sendmmsg.flags recvfrom.flags recvmsg.flags recvmmsg.flags",
        "shutdown": "shutdown.how",
        "protection": "mmap.prot mprotect.prot pkey_mprotect.prot remap_file_pages.prot",
        "map": "mmap.flags",
        "mremap": "mremap.flags",
        "msync": "msync.flags",
        "mlock": "mlockall.flags",
        "advice": "madvise.behavior process_madvise.behavior",
        "file_advice": "fadvise64.advice fadvise64_64.advice",
        "memfd": "memfd_create.flags",
        "clone": "clone.clone_flags",
        "namespace": "unshare.unshare_flags setns.flags",
        "wait": "wait4.options waitid.options",
        "wait_for": "waitid.which",
        "fcntl": "fcntl.cmd fcntl64.cmd",
        "flock": "flock.cmd",
        "futex": "futex.op",
        "epoll_operation": "epoll_ctl.op",
        "epoll": "epoll_create1.flags",
        "eventfd": "eventfd2.flags",
        "timerfd": "timerfd_create.flags",
        "timerfd_set": "timerfd_settime.flags",
        "signalfd": "signalfd4.flags",
        "inotify_fd": "inotify_init1.flags",
        "inotify": "inotify_add_watch.mask",
        "mount": "mount.flags",
        "resource": "getrlimit.resource setrlimit.resource prlimit64.resource prlimit.resource",
        "usage": "getrusage.who",
        "priority": "getpriority.which setpriority.which",
        "clock": "timerfd_create.clockid",
        "timer": "clock_nanosleep.flags timer_settime.flags",
        "interval_timer": "getitimer.which setitimer.which",
        "prctl": "prctl.option",
        "ptrace": "ptrace.request",
        "random": "getrandom.flags",
        "rename": "renameat2.flags",
        "statx": "statx.mask",
        "fallocate": "fallocate.mode",
        "splice": "splice.flags tee.flags vmsplice.flags",
        "close_range": "close_range.flags",
        "set_attribute": "setxattr.flags lsetxattr.flags fsetxattr.flags",
        "perf_open": "perf_event_open.flags",
        "uring_enter": "io_uring_enter.flags",
        "bpf": "bpf.cmd",
        "seccomp": "seccomp.op",
        "reboot": "reboot.cmd",
    }
)
"""Set of constants by system call and parameter."""

_MEMBERS = _by_place(
    {
        "open": "file.f_flags open_flags.open_flag open_how.flags",
        "mode": "open_how.mode",
        "signal": "kernel_siginfo.si_signo siginfo.si_signo ksignal.sig task_struct.exit_signal "
        "task_struct.pdeath_signal kernel_clone_args.exit_signal",
        "clone": "kernel_clone_args.flags",
        "family": "sock_common.skc_family net_proto_family.family proto_ops.family",
        "tcp_state": "sock_common.skc_state",
        "socket_type": "sock.sk_type socket.type",
        "message": "msghdr.msg_flags user_msghdr.msg_flags",
        "protocol": "iphdr.protocol ipv6hdr.nexthdr flowi_common.flowic_proto",
        "policy": "task_struct.policy",
        "wait": "wait_opts.wo_flags",
        "whence": "flock.l_whence",
    }
)
"""Set by structure and member."""

_TYPEDEFS = {
    "umode_t": "mode",
    "mode_t": "mode",
    "__kernel_mode_t": "mode",
    "sa_family_t": "family",
    "__kernel_sa_family_t": "family",
    "clockid_t": "clock",
    "__kernel_clockid_t": "clock",
    "rwf_t": "rwf",
    "__kernel_rwf_t": "rwf",
}
"""Set by type."""

EVENT_TYPEDEFS = {"gfp_t": ("kmem", "kmalloc", "gfp_flags")}
"""Group, event and field whose print format names the numbers of a type, which differ between kernels."""


class _NumberMeaning(NamedTuple):
    name: str
    types: str
    """C types of which a parameter has to be, separated by commas; `unsigned long` as BTF names it."""
    functions: str = ""
    """Regular expression that is found in the name of the function."""


_INT = "int,unsigned int"
_PARAMETERS: Mapping[str, tuple[_NumberMeaning, ...]] = {
    "dfd": (_NumberMeaning("directory", _INT),),
    "olddfd": (_NumberMeaning("directory", "int"),),
    "newdfd": (_NumberMeaning("directory", "int"),),
    "whence": (_NumberMeaning("whence", _INT),),
    "sig": (_NumberMeaning("signal", "int"),),
    "signr": (_NumberMeaning("signal", "int"),),
    "prot": (_NumberMeaning("protection", "long unsigned int"),),
    "reqprot": (_NumberMeaning("protection", "long unsigned int"),),
    "clone_flags": (_NumberMeaning("clone", "long unsigned int,long long unsigned int"),),
    "behavior": (_NumberMeaning("advice", "int"),),
    "family": (_NumberMeaning("family", "int,short unsigned int"),),
    "policy": (_NumberMeaning("policy", "int"),),
    "resource": (_NumberMeaning("resource", "unsigned int"),),
    "open_flag": (_NumberMeaning("open", _INT),),
    "how": (_NumberMeaning("shutdown", "int", "shutdown"),),
    "option": (_NumberMeaning("prctl", "int", "task_prctl"),),
    "options": (_NumberMeaning("wait", "int", "wait"),),
    "request": (_NumberMeaning("ptrace", "long int", "ptrace"),),
    "flags": (
        _NumberMeaning("message", _INT, "(send|recv)m?msg|sendto|recvfrom"),
        _NumberMeaning("mount", "long unsigned int", "^(path|do)_mount$"),
    ),
    "mode": (_NumberMeaning("fallocate", "int", "fallocate"),),
    "type": (_NumberMeaning("socket_type", "int", "socket_(create|post_create)|^__sock_create$|^sock_create"),),
}
"""Sets by the name of a parameter of a function that is no system call."""

_OF_CALL = re.compile(r"(?:__(?:do|se)_(?:compat_)?sys_(?:ia32_)?|__sys_|ksys_|do_sys_|do_|vfs_|filename_)(\w+)")
_VARIANTS = {"mmap_pgoff": "mmap", "mprotect_pkey": "mprotect"}


def call_argument(call: str, parameter: str, types: str = "") -> str:
    """Return the set of constants of a system call's argument; empty: its numbers have no names.

    Args:
        call: `openat`.
        parameter: `flags`.
        types: its type of C, as a format file has it: `umode_t`.
    """
    return (
        _of_call(call, parameter)
        or _TYPEDEFS.get(types.removeprefix("const "), "")
        or _parameter(call, parameter, types)
    )


def event_field(name: str, types: str) -> str:
    """Return the set of constants of a field of an event that is no system call's; empty: its numbers have no names.

    Args:
        name: `sig`.
        types: its type of C, as the format file has it: `int`.
    """
    return _TYPEDEFS.get(types.removeprefix("const "), "") or _parameter("", name, types)


def _of_call(call: str, parameter: str) -> str:
    is_descriptor = call in _DESCRIPTOR_CALLS.get(parameter, "").split()
    return _CALLS.get(f"{call}.{parameter}", "") or (DESCRIPTOR if is_descriptor else "")


def function_parameter(btf: Btf, function: str, parameter: str, type_id: int) -> str:
    """Return the set of constants of a function's parameter; empty: its numbers have no names."""
    if not _is_number(btf, type_id):
        return ""
    call = _OF_CALL.fullmatch(function)
    name = _VARIANTS.get(call[1], call[1]) if call else ""
    return (
        _of_call(name, parameter)
        or typedef(btf, type_id)
        or _parameter(function, parameter, stripped(btf, type_id).name)
    )


def member(btf: Btf, struct: str, name: str, type_id: int) -> str:
    """Return the set of constants of a member of a structure; empty: its numbers have no names."""
    return (_MEMBERS.get(f"{struct}.{name}", "") or typedef(btf, type_id)) if _is_number(btf, type_id) else ""


def typedef(btf: Btf, type_id: int) -> str:
    """Return the set of constants of a type by its typedefs; empty: its numbers have no names."""
    return next((_TYPEDEFS[name] for name in typedef_names(btf, type_id) if name in _TYPEDEFS), "")


def typedef_names(btf: Btf, type_id: int) -> Iterator[str]:
    """Yield the names of a type's typedefs, the outermost first."""
    at = type_id
    for _ in range(MAX_DEPTH):
        if btf.kind(at) not in MODIFIERS:
            return
        found = btf.type(at)
        if isinstance(found, Typedef):
            yield found.name
        at = getattr(found, "type_id", 0)


def _is_number(btf: Btf, type_id: int) -> bool:
    found = stripped(btf, type_id) if type_id else None
    return isinstance(found, Int) and not found.is_bool


_WRITTEN = {
    "unsigned long": "long unsigned int",
    "long": "long int",
    "unsigned": "unsigned int",
    "u64": "long long unsigned int",
}
"""Names of types in BTF by those in format files."""


def _parameter(function: str, parameter: str, types: str) -> str:
    types = _WRITTEN.get(types, types)
    for one in _PARAMETERS.get(parameter, ()):
        if types in one.types.split(",") and re.search(one.functions, function):
            return one.name
    return ""
