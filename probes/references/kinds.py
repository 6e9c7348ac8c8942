"""Table of the kinds of objects with a reference count, and of the functions that change it. Data: a function that a
kernel lacks, or inlines, is left out there.

Written as C code has them: the object is the result of a function that returns one, else its first argument of the
type; behind `=` stands another expression. Of functions with `|` between them one calls the other: the first that the
kernel has is taken.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class ReferenceKind(NamedTuple):
    """Functions that make, take, drop and free objects of a type."""

    name: str
    """Word of letters and digits: `netdev`."""
    type_name: str
    """Type of the object: `struct file`."""
    new: tuple[str, ...] = ()
    """Functions that make an object with one reference."""
    get: tuple[str, ...] = ()
    put: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    """Paths from the object to its count, the first that exists is read; `-1` behind one: it holds a reference less.
    """
    label: str = ""
    """Path from the object to its name, with the type of it; empty: it has none."""
    unseen: str = ""
    """Usual changes that no function shows, as they are inlined."""
    no_puts: str = ""
    """Reason why references of this kind can't be tracked where no `put` exists."""


_COUNTED: Final = (
    ReferenceKind(
        "file",
        "struct file",
        ("alloc_empty_file", "alloc_empty_file_noaccount", "alloc_empty_backing_file"),
        ("fget", "fget_raw", "fget_task", "fget_task_next", "get_file_rcu|get_mm_exe_file", "get_file_active"),
        ("fput", "fput_close", "fput_close_sync", "__fput_sync"),
        ("__fput",),
        ("f_ref.refcnt.counter-1", "f_count.counter"),
        "f_path.dentry->d_name.name:string",
        "dup, fork and mmap take references by get_file, which is inlined",
    ),
    ReferenceKind(
        "dentry",
        "struct dentry",
        ("__d_alloc",),
        (
            "__d_lookup",
            "dget_parent",
            "d_find_alias",
            "d_find_any_alias",
            "path_get=path->dentry",
            "try_to_unlazy%return=nd->path.dentry",
        ),
        ("dput",),
        ("dentry_free",),
        ("d_lockref.count",),
        "d_name.name:string",
        "dget is inlined: what mounts, open files and children hold shows in the counts alone",
    ),
    ReferenceKind(
        "inode",
        "struct inode",
        ("alloc_inode",),
        ("ihold", "igrab", "find_inode", "find_inode_fast"),
        ("iput",),
        ("destroy_inode",),
        ("i_count.counter",),
        "i_ino",
        "__iget is inlined",
    ),
    ReferenceKind(
        "mm",
        "struct mm_struct",
        ("mm_init|mm_alloc",),
        ("get_task_mm",),
        ("mmput", "mmput_async"),
        ("__mmdrop",),
        ("mm_users.counter",),
        "",
        "threads take references by mmget, which is inlined; mmgrab's, of the structure alone, are not counted",
    ),
    ReferenceKind(
        "netdev",
        "struct net_device",
        ("alloc_netdev_mqs",),
        ("dev_get_by_index", "dev_get_by_name", "netdev_get_by_index", "netdev_get_by_name", "dev_hold"),
        ("dev_put",),
        ("free_netdev",),
        label="name:string",
        no_puts="dev_put and netdev_put are inlined, and the count is a sum over CPUs; the kind device has the "
        "references of the device model, also of network devices",
    ),
    ReferenceKind(
        "device",
        "struct device",
        ("device_initialize",),
        ("get_device",),
        ("put_device",),
        (),
        ("kobj.kref.refcount.refs.counter",),
        "kobj.name:string",
        "kobject_get and kobject_put of the embedded object are in lib/, which kernels build without tracing",
    ),
)

KINDS: Final = {kind.name: kind for kind in _COUNTED}
"""Kinds by name."""
