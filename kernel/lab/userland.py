"""Make the userland of a guest: busybox, dropbear and optionally Python, from Debian packages of its architecture."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from kernel.lab import cache, initramfs, packages
from kernel.lab.initramfs import ArchiveEntry
from kernel.lab.work import Work

_LAYOUT = 2  # part of the cache's key: raise it when the packed content changes

# Packages that are fetched as dependencies and not used here.
_UNUSED_PACKAGES = re.compile(
    r"dpkg|tar|gcc-.*|perl-base|debconf|readline-common|media-types|tzdata|libssl3.*|libdb.*|python3-minimal"
)
# Parts of the standard library that no agent needs; with them the image is half as big again.
_UNUSED_MODULES = re.compile(
    r"usr/lib/python3[^/]*/(test|idlelib|lib2to3|ensurepip|distutils|tkinter|turtledemo|pydoc_data|config-|venv|unittest|sqlite3)"
)
_PROGRAMS = {"usr/bin/busybox", "usr/sbin/dropbear"}

_FOLDERS = (
    "dev",
    "proc",
    "sys",
    "tmp",
    "run",
    "root",
    "etc",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "var/log",
)

# Messages of INIT on the console.
READY = "probewright: ready"
NO_NETWORK = "probewright: no network"

INIT = """\
#!/usr/bin/busybox sh
/usr/bin/busybox --install -s /usr/bin
export PATH=/usr/bin:/usr/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
hostname -F /etc/hostname
for module in /lib/modules/lab/*.ko; do [ -e "$module" ] && insmod "$module"; done
if ! grep -q . /proc/modules && echo f:lab/keep vfs_rmdir%return >>/sys/kernel/tracing/dynamic_events; then
  # A kernel without modules must not free its last trampoline (kernel.guards.trampoline_guard).
  keep=/sys/kernel/tracing/instances/lab
  mkdir $keep && echo 4 >$keep/buffer_size_kb && echo 1 >$keep/events/lab/keep/enable
fi
# Off on riscv64 until somebody asks for it, and then programs of BPF that read memory are refused.
echo 1 2>/dev/null >/proc/sys/net/core/bpf_jit_enable
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up || echo probewright: no network
grep -qw workload=on /proc/cmdline && workload on
echo probewright: ready
exec busybox init
"""

_INITTAB = """\
::respawn:/usr/sbin/dropbear -F -s -p 22 -P /run/dropbear.pid -r /etc/dropbear/key
::ctrlaltdel:/usr/bin/reboot
"""

# Source of events: files opened, read and closed, processes started, five times a second.
_WORKLOAD = """\
#!/bin/sh
# workload on|off|state: a process that reads files, so that there are events to see
file=/run/workload.pid
running() { [ -e $file ] && kill -0 "$(cat $file)" 2>/dev/null; }
case "$1" in
on) running || { setsid /usr/bin/workload loop </dev/null >/dev/null 2>&1 & echo $! >$file; } ;;
off) running && kill "$(cat $file)"; rm -f $file ;;
loop) # by path: busybox's shell runs a bare name inside itself
    while :; do /usr/bin/cat /proc/version; /usr/bin/head -c 4096 /proc/kallsyms >/tmp/workload; sleep 0.2; done ;;
*) if running; then echo on; else echo off; fi ;;
esac
"""


def personal(hostname: str, authorized_key: bytes, host_key: bytes) -> bytes:
    """Return the small initramfs that differs from guest to guest.

    Args:
        hostname: the guest's name.
        authorized_key: a line of `authorized_keys`.
        host_key: dropbear's private key file.
    """
    file, link, folder = initramfs.file, initramfs.symlink, initramfs.directory
    return initramfs.packed(
        [
            *(folder(name) for name in _FOLDERS),
            folder("root", 0o700),
            folder("root/.ssh", 0o700),
            folder("tmp", 0o1777),
            *(link(name, f"usr/{name}") for name in ("bin", "sbin", "lib", "lib64")),
            ArchiveEntry("dev/console", stat.S_IFCHR | 0o600, rdev=(5, 1)),
            ArchiveEntry("dev/null", stat.S_IFCHR | 0o666, rdev=(1, 3)),
            file("init", INIT.encode(), 0o755),
            file("usr/bin/workload", _WORKLOAD.encode(), 0o755),
            file("etc/inittab", _INITTAB.encode()),
            file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"),
            file("etc/group", b"root:x:0:\n"),
            file("etc/shells", b"/bin/sh\n"),
            file("etc/hostname", hostname.encode() + b"\n"),
            file("etc/dropbear/key", host_key, 0o600),
            file("root/.ssh/authorized_keys", authorized_key, 0o600),
        ]
    )


def image(work: Work, arch: str, *, python: bool) -> Path:
    """Return the initramfs of all guests of an architecture, from the cache or made of packages. Raises LabError."""
    name = f"guests/{arch}-{'python' if python else 'plain'}-{_LAYOUT}"
    path = cache.root() / f"{name}.cpio"
    if not path.exists():
        with cache.locked(work, name):
            if not path.exists():
                _make(work, arch, python, path)
    return path


def _make(work: Work, arch: str, python: bool, path: Path) -> None:
    apt = packages.Apt(work, arch)
    with cache.locked(work, f"apt/{arch}"):
        apt.update()
        wanted = _choose(apt, python)
        debs = apt.fetch(wanted, f"the guest's programs for {arch}")
        entries: list[ArchiveEntry] = []
        for number, deb in enumerate(debs):
            work.say(f"unpacking {deb.name}", number / len(debs))
            entries += _pick(packages.contents(work, deb))
        python_binary = next((e.path for e in entries if re.fullmatch(r"usr/bin/python3\.\d+", e.path)), None)
        if python_binary:
            entries.append(initramfs.symlink("usr/bin/python3", python_binary.rpartition("/")[2]))
        with cache.publish_file(path) as scratch:
            # Not compressed: QEMU copies 30 MB faster than an emulated processor unpacks 12.
            scratch.write_bytes(initramfs.archive(entries))
        packages.remove(debs)


def _choose(apt: packages.Apt, python: bool) -> list[packages.Package]:
    wanted = ["busybox-static", "dropbear-bin"]
    if not python:
        return [package for package in apt.closure(wanted) if not _UNUSED_PACKAGES.fullmatch(package.name)]
    names = [package.name for package in apt.closure(["python3-minimal"])]
    minimal = next(name for name in names if re.fullmatch(r"python3\.\d+-minimal", name))
    stdlib = f"lib{minimal.removesuffix('-minimal')}-stdlib"
    # ctypes needs libffi, recordings liblzma, agents with programs of their own libbpf; other libraries of the
    # standard library (databases, Kerberos, curses) are left out.
    linked = [name for name in apt.depends(stdlib) if name.startswith(("libffi", "liblzma"))]
    selected = apt.closure([*wanted, minimal, "libbpf1", *linked])
    library = [package for package in apt.closure([stdlib]) if package.name == stdlib]
    return [package for package in selected + library if not _UNUSED_PACKAGES.fullmatch(package.name)]


def _pick(members: Iterable[packages.PackageFile]) -> Iterator[ArchiveEntry]:
    """Yield the files of a package that the guest needs: programs, shared libraries, the standard library."""
    for info, path, file in members:
        wanted = (
            path in _PROGRAMS
            or re.fullmatch(r"usr/bin/python3\.\d+", path)
            or re.match(r"usr/lib(64)?/([^/]+/)?(?>[^/]+?\.so)[^/]*$", path)
            or (re.match(r"usr/lib/python3", path) and not _UNUSED_MODULES.match(path))
        )
        if not wanted:
            continue
        if file is not None:
            yield initramfs.file(path, file.read(), info.mode & 0o777)
        elif info.issym():
            yield initramfs.symlink(path, info.linkname)
