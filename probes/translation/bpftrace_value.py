"""Translate values of bpftrace to arguments of a probe."""

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
"""Kinds of probes that are translated, by their words in bpftrace."""
_X86: Final = ("%di", "%si", "%dx", "%cx", "%r8", "%r9")
_REGISTERS: Final = {"": _X86, "x86_64": _X86, "aarch64": tuple(f"%x{number}" for number in range(8))}
"""Registers of a program's arguments, by machine (`uname -m`; names of regs_query_register_offset of its ptrace.c).

System V ABI for x86-64, 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture, 6.4. Empty: unknown."""
_COMMON_VALUES: Final = frozenset({"pid", "tid", "nsecs", "elapsed", "cpu", "probe", "func", "usecs"})
_ARGUMENT: Final = re.compile(r"arg([0-9])")
_CAST: Final = re.compile(r"\(?\(struct \w+ ?\*\) ?arg([0-9])\)?((?:->\w+|\.\w+)++)")
_MEMBER: Final = re.compile(r"args(?:->|\.)(\w++(?:(?:->|\.)\w++)*+)")
_TEXT: Final = re.compile(r"k?u?str\((.*)\)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")


class ClausePlace(NamedTuple):
    """Place of a probe, as far as values depend on it."""

    kind: str
    """`kprobe`, `kretprobe`, `fentry`, `fexit`, `tracepoint`, `uprobe`, `uretprobe`."""
    machine: str = ""
    """`uname -m`, which determines the registers of a program's arguments; empty: unknown."""
    group: str = ""
    """Group of a tracepoint; texts of `syscalls` are in the program's memory, texts of other groups in the event."""

    @property
    def at_exit(self) -> bool:
        """True if the probe has a return value."""
        return self.kind in ("kretprobe", "fexit", "uretprobe")


class RecordedField(NamedTuple):
    """Value that a probe records."""

    name: str
    text: str
    """Text after `NAME=`; empty: every event has the value."""


class Untranslatable(Exception):
    """Expression without an equivalent in a probe; the exception's text is the expression."""


def field(expression: str, place: ClausePlace) -> RecordedField:
    """Return the field that records a value. Raises Untranslatable."""
    text = expression.strip()
    if text in _COMMON_VALUES:
        return RecordedField({"pid": "common_pid", "tid": "common_pid", "cpu": "CPU"}.get(text, ""), "")
    if text == "comm":
        return RecordedField(
            "comm", "$COMM:string" if place.kind == "tracepoint" else "$comm"
        )  # events may have a field named comm
    if (string := _TEXT.fullmatch(text)) is not None:
        return _string(string[1].split(",")[0].strip(), place)
    if text == "retval" and place.at_exit:
        return RecordedField("ret", "$retval")
    if (number := _ARGUMENT.fullmatch(text)) is not None and place.kind in ("kprobe", "uprobe"):
        index = int(number[1])
        return RecordedField(text, _argument(index, place))
    if (member := _MEMBER.fullmatch(text)) is not None and place.kind in ("fentry", "fexit", "tracepoint"):
        return _member(member[1], place)
    if (cast := _CAST.fullmatch(text)) is not None and place.kind == "kprobe":
        return RecordedField(re.split(r"->|\.", cast[2])[-1], f"$arg{int(cast[1]) + 1}{cast[2]}")
    raise Untranslatable(text)


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    return _NUMBER.fullmatch(text) is not None


def _argument(index: int, place: ClausePlace) -> str:
    if place.kind != "uprobe":
        return f"$arg{index + 1}"
    registers = _REGISTERS.get(place.machine)
    if registers is None:
        raise Untranslatable(
            f"arg{index}: registers of arguments are known of x86_64 and aarch64, not {place.machine}"
        )
    if index >= len(registers):
        raise Untranslatable(f"arg{index}: it is in no register")
    return registers[index]


def _member(path: str, place: ClausePlace) -> RecordedField:
    name = re.split(r"->|\.", path)[-1]
    if place.kind != "tracepoint":
        return RecordedField(name, path)
    if name != path:
        raise Untranslatable(f"args.{path}")
    return RecordedField(name, f"${path}")


def _string(text: str, place: ClausePlace) -> RecordedField:
    """Translate `str(X)`: the text at a pointer. Raises Untranslatable."""
    value = field(text, place)
    if not value.text or text == "comm":
        return value
    if place.kind == "tracepoint":
        return RecordedField(
            value.name, f"+0({value.text}):ustring" if place.group == "syscalls" else f"{value.text}:string"
        )
    if value.text.startswith(("$", "%")) and "->" not in value.text:
        return RecordedField(value.name, f"+0({value.text}):string")
    return RecordedField(value.name, f"{value.text}:string")
