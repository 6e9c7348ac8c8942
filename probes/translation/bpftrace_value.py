"""Values of bpftrace as arguments of a probe."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

KINDS: Final = {
    **dict.fromkeys(("kprobe", "k"), "kprobe"),
    **dict.fromkeys(("kretprobe", "kr"), "kretprobe"),
    **dict.fromkeys(("fentry", "kfunc", "f"), "fentry"),
    **dict.fromkeys(("fexit", "kretfunc", "fr"), "fexit"),
    **dict.fromkeys(("tracepoint", "t"), "tracepoint"),
    **dict.fromkeys(("uprobe", "u"), "uprobe"),
    **dict.fromkeys(("uretprobe", "ur"), "uretprobe"),
}
"""Kinds of probes that are translated, by the words that bpftrace has for them."""
_X86: Final = ("%di", "%si", "%dx", "%cx", "%r8", "%r9")
_REGISTERS: Final = {"": _X86, "x86_64": _X86, "aarch64": tuple(f"%x{number}" for number in range(8))}
"""Where programs have their arguments, by machine (`uname -m`; names of regs_query_register_offset of its ptrace.c).

System V ABI for x86-64, 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture, 6.4. Empty: not known.
"""
_IN_EACH_EVENT: Final = frozenset({"pid", "tid", "nsecs", "elapsed", "cpu", "probe", "func", "usecs"})
_ARGUMENT: Final = re.compile(r"arg([0-9])")
_CAST: Final = re.compile(r"\(?\(struct \w+ ?\*\) ?arg([0-9])\)?((?:->\w+|\.\w+)++)")
_MEMBER: Final = re.compile(r"args(?:->|\.)(\w++(?:(?:->|\.)\w++)*+)")
_TEXT: Final = re.compile(r"k?u?str\((.*)\)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")


class ClausePlace(NamedTuple):
    """Where a probe sits, as far as values depend on it."""

    kind: str
    """`kprobe`, `kretprobe`, `fentry`, `fexit`, `tracepoint`, `uprobe`, `uretprobe`."""
    machine: str = ""
    """`uname -m`, which says in which registers a program has its arguments; empty: not known."""
    group: str = ""
    """Of a tracepoint: `syscalls`, whose texts lie in memory of the program; those of others are in the event."""

    @property
    def at_exit(self) -> bool:
        """Whether there is a value that was returned."""
        return self.kind in ("kretprobe", "fexit", "uretprobe")


class RecordedField(NamedTuple):
    """A value that is recorded."""

    name: str
    text: str
    """What stands behind `NAME=`; empty: it is in each event."""


class Untranslatable(Exception):
    """There is nothing like it in a probe; the text says what."""


def field(expression: str, place: ClausePlace) -> RecordedField:
    """Return what records a value. Raises Untranslatable."""
    text = expression.strip()
    if text in _IN_EACH_EVENT:
        return RecordedField({"pid": "common_pid", "tid": "common_pid", "cpu": "CPU"}.get(text, ""), "")
    if text == "comm":
        return RecordedField(
            "comm", "$COMM:string" if place.kind == "tracepoint" else "$comm"
        )  # events have fields named comm
    if (inner := _TEXT.fullmatch(text)) is not None:
        return _string(inner[1].split(",")[0].strip(), place)
    if text == "retval" and place.at_exit:
        return RecordedField("ret", "$retval")
    if (number := _ARGUMENT.fullmatch(text)) is not None and place.kind in ("kprobe", "uprobe"):
        at = int(number[1])
        return RecordedField(text, _argument(at, place))
    if (member := _MEMBER.fullmatch(text)) is not None and place.kind in ("fentry", "fexit", "tracepoint"):
        return _member(member[1], place)
    if (cast := _CAST.fullmatch(text)) is not None and place.kind == "kprobe":
        return RecordedField(re.split(r"->|\.", cast[2])[-1], f"$arg{int(cast[1]) + 1}{cast[2]}")
    raise Untranslatable(text)


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    return _NUMBER.fullmatch(text) is not None


def _argument(at: int, place: ClausePlace) -> str:
    if place.kind != "uprobe":
        return f"$arg{at + 1}"
    registers = _REGISTERS.get(place.machine)
    if registers is None:
        raise Untranslatable(f"arg{at}: registers of arguments are known of x86_64 and aarch64, not {place.machine}")
    if at >= len(registers):
        raise Untranslatable(f"arg{at}: it is in no register")
    return registers[at]


def _member(path: str, place: ClausePlace) -> RecordedField:
    name = re.split(r"->|\.", path)[-1]
    if place.kind != "tracepoint":
        return RecordedField(name, path)
    if name != path:
        raise Untranslatable(f"args.{path}")
    return RecordedField(name, f"${path}")


def _string(text: str, place: ClausePlace) -> RecordedField:
    """`str(X)`: the text that a pointer leads to."""
    found = field(text, place)
    if not found.text or text == "comm":
        return found
    if place.kind == "tracepoint":
        return RecordedField(
            found.name, f"+0({found.text}):ustring" if place.group == "syscalls" else f"{found.text}:string"
        )
    if found.text.startswith(("$", "%")) and "->" not in found.text:
        return RecordedField(found.name, f"+0({found.text}):string")
    return RecordedField(found.name, f"{found.text}:string")
