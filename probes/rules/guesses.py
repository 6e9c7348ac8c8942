"""What is meant by a word that the kernel has not: C's types, words of other tools, members that are deeper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from btf.btf import Btf
from btf.layout import PathError, fields, find_field, resolve
from btf.types import Ptr, Struct
from btf.walk import strip
from probes.signature import Signature

_TYPES: Final = {
    "bool": "u8",
    "byte": "u8",
    "char*": "string",
    "short": "s16",
    "int": "s32",
    "unsigned": "u32",
    "uint": "u32",
    "pid_t": "s32",
    "loff_t": "s64",
    "hex": "x64",
    "ptr": "x64",
    "pointer": "x64",
    "void*": "x64",
    "str": "string",
    "text": "string",
    "ustr": "ustring",
    "sym": "symbol",
    "func": "symbol",
    "ksym": "symbol",
}
_LONGS: Final = {"long": "s", "ulong": "u", "size_t": "u", "ssize_t": "s"}
_SIZED: Final = re.compile(r"(?:__)?(u?)int(8|16|32|64)(?:_t)?|(?:__)?([usx])(8|16|32|64)")
_PRINTED: Final = re.compile(r"%?(hh|h|ll|l|z)?([duxi])")
"""Of printf(3)."""
_BITS: Final = {"hh": 8, "h": 16, None: 32}
_POINTED: Final = {"%p": "x64", "%s": "string", "%pS": "symbol", "%ps": "symbol", "%c": "char"}
_RETURNED: Final = frozenset({"ret", "retval", "retvalue", "return", "returns", "rc", "rv", "result"})
_EVERY: Final = frozenset({"arg", "args", "argv", "arguments", "all"})
_IN_EACH_EVENT: Final = frozenset({"pid", "tid"})
_PID: Final = "The task's pid is in every event, and a filter has it as common_pid"
_PATH_OF_NUMBER: Final = re.compile(r"\$arg([0-9]+)((?:->|\.).+)")
_NUMBERED: Final = re.compile(r"arg[0-9]+")
_MOST_NESTED: Final = 64
"""Structures inside of one that are looked into."""


def type_meant(text: str, bits: int) -> str:
    """Give the type that a C type, or a letter of printf, stands for; empty: none.

    Args:
        text: what was written behind the colon.
        bits: of a long.
    """
    text = text.removeprefix("const ").replace(" ", "")
    if (found := _TYPES.get(text) or _POINTED.get(text)) is not None:
        return found
    if text in _LONGS:
        return f"{_LONGS[text]}{bits}"
    if (sized := _SIZED.fullmatch(text)) is not None:
        return f"{sized[3]}{sized[4]}" if sized[3] else f"{sized[1] or 's'}{sized[2]}"
    if (printed := _PRINTED.fullmatch(text)) is not None and len(text) > 1:
        letter = "s" if printed[2] in "di" else printed[2]
        return f"{letter}{_BITS.get(printed[1], bits)}"
    return ""


def name_meant(name: str, signature: Signature | None, registers: Sequence[str] = ()) -> tuple[str, ...]:
    """Give what is surely meant by a name that no argument has: a variable, a register, a member of an argument.

    Args:
        name: without a `$`.
        signature: of the function; None: not known.
        registers: that can be had at this place, by the kernel's names.
    """
    if name.lower() in _RETURNED:
        return ("$retval",)
    if name in _EVERY:
        return ("$$args",)
    if name in ("comm", "stack") or _NUMBERED.fullmatch(name):
        return (f"${name}",)
    for register in (name.lower(), name[1:].lower() if name[:1] in "reRE" else ""):
        if register and register in registers:
            return (f"%{register}",)
    return _member_of(name, signature) if signature is not None else ()


def argument_meant(text: str, signature: Signature | None) -> tuple[str, tuple[str, ...]]:
    """Give a hint, and what is meant, by a `$arg…` that is no number: `$args`, `$arg1->x`."""
    path = _PATH_OF_NUMBER.fullmatch(text)
    if path is None:
        return "", name_meant(text.lstrip("$").partition(":")[0], None)
    params = signature.params if signature is not None else ()
    known = 0 < int(path[1]) <= len(params)
    meant = (f"{params[int(path[1]) - 1].name}{path[2]}",) if known else ()
    return "$argN is a number without a type; an argument's name has one", meant


def name_hint(name: str) -> str:
    """Say what there is to know of a name that no argument has; empty: nothing."""
    return _PID if name in _IN_EACH_EVENT else ""


def _member_of(name: str, signature: Signature) -> tuple[str, ...]:
    """Arguments that point to a structure with a member of this name."""
    found = []
    for param in signature.params:
        struct = struct_behind(signature.btf, param.type_id)
        if param.name and struct is not None and _has(signature.btf, struct, name):
            found.append(f"{param.name}->{name}")
    return tuple(found)


def struct_behind(btf: Btf, type_id: int) -> Struct | None:
    """Give the structure that a type points to, or is; None: neither."""
    kind = btf.type(strip(btf, type_id))
    if isinstance(kind, Ptr):
        kind = btf.type(strip(btf, kind.type_id))
    return kind if isinstance(kind, Struct) else None


def _has(btf: Btf, struct: Struct, name: str) -> bool:
    try:
        find_field(btf, struct.id, name)
    except PathError:
        return False
    return True


def ways_to(btf: Btf, type_id: int, hops: Sequence[tuple[str, str]], index: int) -> tuple[str, ...]:
    """Give the ways to the member that the `index`-th step of a path names, in structures farther inside."""
    try:
        at = resolve(btf, type_id, hops[:index]).type_id if index else type_id
    except PathError:
        return ()
    struct = struct_behind(btf, at)
    return deeper(btf, struct, hops[index][1]) if struct is not None else ()


def deeper(btf: Btf, struct: Struct, name: str) -> tuple[str, ...]:
    """Give the ways to a member that is in a structure inside of this one, `d_name.name` for `name`.

    So is what a macro of the kernel leads to, where the names end alike: `__sk_common.skc_state` for `sk_state`.
    """
    _, _, ending = name.partition("_")
    exact, alike = [], []
    inner = [one for one in fields(btf, struct.id) if isinstance(btf.type(strip(btf, one.type_id)), Struct)]
    for one in inner[:_MOST_NESTED]:
        for member in fields(btf, strip(btf, one.type_id)):
            if member.name == name:
                exact.append(f"{one.name}.{member.name}")
            elif ending and member.name.partition("_")[2] == ending:
                alike.append(f"{one.name}.{member.name}")
    return tuple(exact or alike[:1])


def texts_in(btf: Btf, type_id: int) -> tuple[str, ...]:
    """Give the steps from a value that is no text to what is: members that are, or the type that shows its name."""
    struct = struct_behind(btf, type_id)
    if struct is None:
        return ()
    pointer = isinstance(btf.type(strip(btf, type_id)), Ptr)
    named = {"dentry": ":%pd", "file": ":%pD"}.get(struct.name, "")
    step = "->" if pointer else "."
    types = Signature(btf, "", (), 0)
    members = [
        f"{step}{one.name}:string"
        for one in fields(btf, struct.id)
        if types.is_char_array(one.type_id) or (types.is_pointer(one.type_id) and types.is_char_pointer(one.type_id))
    ]
    return (*((named,) if named and pointer else ()), *members[:3])
