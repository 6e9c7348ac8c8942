"""Tell from a section's name what a program of an object attaches to, as libbpf does (section_defs in libbpf.c)."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Final


class ObjectAttach(enum.Enum):
    """Way in which a program is attached; the value is the section's first word as it is shown."""

    KPROBE = "kprobe"
    KRETPROBE = "kretprobe"
    KSYSCALL = "ksyscall"
    KRETSYSCALL = "kretsyscall"
    KPROBE_MULTI = "kprobe.multi"
    KRETPROBE_MULTI = "kretprobe.multi"
    KPROBE_SESSION = "kprobe.session"
    FENTRY = "fentry"
    FEXIT = "fexit"
    TRACEPOINT = "tracepoint"
    RAW_TRACEPOINT = "raw_tracepoint"
    TP_BTF = "tp_btf"

    @property
    def is_on_function(self) -> bool:
        """True if the target is a function of the kernel, by its name."""
        return self in (ObjectAttach.KPROBE, ObjectAttach.KRETPROBE, ObjectAttach.FENTRY, ObjectAttach.FEXIT)


_WORDS: Final = {
    **{one.value: one for one in ObjectAttach},
    "tp": ObjectAttach.TRACEPOINT,
    "raw_tp": ObjectAttach.RAW_TRACEPOINT,
    "raw_tracepoint.w": ObjectAttach.RAW_TRACEPOINT,
    "raw_tp.w": ObjectAttach.RAW_TRACEPOINT,
    "fentry.s": ObjectAttach.FENTRY,
    "fexit.s": ObjectAttach.FEXIT,
}
_OTHERS: Final = {
    "xdp": "packets of a network device",
    "tc": "packets of a network device",
    "tcx": "packets of a network device",
    "classifier": "packets of a network device",
    "action": "packets of a network device",
    "netkit": "packets of a network device",
    "netfilter": "packets of the netfilter",
    "socket": "packets of a socket",
    "lwt_in": "packets of a route",
    "lwt_out": "packets of a route",
    "lwt_xmit": "packets of a route",
    "flow_dissector": "packets",
    "sk_skb": "packets of sockets",
    "sk_msg": "messages of sockets",
    "sk_lookup": "look-ups of sockets",
    "sk_reuseport": "choices among sockets",
    "sockops": "sockets of a cgroup",
    "perf_event": "a perf event, whose kind and rate the object does not tell",
    "uprobe": "a program of user space",
    "uretprobe": "a program of user space",
    "uprobe.multi": "programs of user space",
    "uretprobe.multi": "programs of user space",
    "usdt": "a static probe of a program of user space",
    "lsm": "decisions of security modules",
    "lsm_cgroup": "decisions of security modules",
    "fmod_ret": "return values, which it changes",
    "freplace": "another program, which it replaces",
    "iter": "reads of a file of an iterator",
    "struct_ops": "operations of the kernel, which it replaces",
    "syscall": "nothing: it is run by hand",
    "kprobe.override": "return values, which it changes",
}
_TARGET = re.compile(r"[A-Za-z_.$][\w.$:*?-]*(?:\+(?:0x[0-9a-fA-F]+|\d+))?")


@dataclass(frozen=True, slots=True)
class AttachPlace:
    """Place that a section's name says a program is attached to."""

    kind: ObjectAttach | None
    """None: it is not attached here, see `reason`."""
    target: str = ""
    """Function, pattern of functions, `category/name` of a tracepoint, or its name."""
    reason: str = ""
    """Reason why it is not attached, in a few words; empty: it can be."""
    is_optional: bool = False
    """True if its author let it be left out unless somebody asks for it (`?` before the name)."""


def attach_place(section: str) -> AttachPlace:
    """Return the place of the programs of a section."""
    optional = section.startswith("?")
    word, _, target = section.removeprefix("?").partition("/")
    kind = _WORDS.get(word)
    if kind is None:
        base = word.removesuffix(".s")
        subject = _OTHERS.get(base) or ("the work of a cgroup" if base.startswith("cgroup") else "")
        reason = f"{base}: a program on {subject}" if subject else f"{section}: a kind that is not known here"
        return AttachPlace(None, target, reason, optional)
    if not target:
        return AttachPlace(None, "", f"{word}: the object does not say what it is attached to", optional)
    if kind is ObjectAttach.TRACEPOINT:
        category, _, name = target.partition("/")
        is_valid = re.fullmatch(r"[\w-]+", category) and re.fullmatch(r"[\w-]+", name)
    else:
        is_valid = _TARGET.fullmatch(target)
    return AttachPlace(kind if is_valid else None, target, "" if is_valid else f"{section}: a damaged name", optional)
