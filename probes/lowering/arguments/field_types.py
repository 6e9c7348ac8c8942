"""Choose the type that best shows an event's field in an event probe (get_event_field in trace_eprobe.c)."""

from __future__ import annotations

from btf.btf import Btf
from btf.kinds import Kind
from probes.facts.lookups import StaticEventField

_INTS = {
    "int": "s32",
    "pid_t": "s32",
    "unsigned int": "u32",
    "uid_t": "u32",
    "gid_t": "u32",
    "umode_t": "u16",
}
"""Fetcharg types by the C types of system call parameters, whose fields are all as wide as a long."""
_TEXT = frozenset(("char", "signed char"))
_WIDTHS = (1, 2, 4, 8)
_SYSCALLS = "syscalls"


def field_type(group: str, field: StaticEventField, bits: int) -> str | None:
    """Return the type for `$field`; None: an event probe can't read the field.

    Args:
        group: the event's group.
        field: the field as its format file declares it.
        bits: width of a long.
    """
    kind = _plain(field.type)
    element = kind.split("[", 1)[0].removeprefix("__data_loc ").removeprefix("__rel_loc ").strip()
    if kind.startswith(("__data_loc ", "__rel_loc ")) or "[" in kind:
        return "string" if element in _TEXT else None
    if kind == "char *":
        return "ustring" if group == _SYSCALLS else "string"
    if field.size not in _WIDTHS or (kind.startswith(("struct ", "union ")) and "*" not in kind):
        return None
    if field.spec in ("pS", "ps", "pF", "pf"):
        return "symbol"
    if "*" in kind:
        return f"x{bits}"
    if group == _SYSCALLS and kind in _INTS:
        return _INTS[kind]
    sign = "x" if field.spec[-1:] in ("x", "X") else "s" if field.signed else "u"
    return f"{sign}{field.size * 8}"


def btf_type(btf: Btf | None, field: StaticEventField) -> int | None:
    """Return the type id of a field whose values have names (enum, bool); None: another type, or not in BTF."""
    kind = _plain(field.type)
    if btf is None or "[" in kind or "*" in kind:
        return None
    if kind == "bool":
        return btf.find("_Bool", Kind.INT)
    if kind.startswith("enum "):
        name = kind.removeprefix("enum ")
        return btf.find(name, Kind.ENUM) or btf.find(name, Kind.ENUM64)
    return None


def _plain(kind: str) -> str:
    return " ".join(kind.replace("const ", "").split())
