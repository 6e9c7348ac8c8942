"""What is meant by a word that the kernel has not: C's types, words of other tools, members that are deeper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import PathError, fields, find_field, resolve
from btf.types import Enum, Int, Ptr, Struct
from btf.walk import strip
from probes.functions.fetcharg_types import default_type
from probes.functions.signature import Signature

_TYPES: Final = {
    "bool": "u8",
    "byte": "u8",
    "char*": "string",
    "short": "s16",
    "int": "s32",
    "uint": "u32",
    "uchar": "u8",
    "ushort": "u16",
    "pid_t": "s32",
    "loff_t": "s64",
    "str": "string",
    "text": "string",
    "ustr": "ustring",
    "sym": "symbol",
    "func": "symbol",
    "ksym": "symbol",
}
_LONGS: Final = {
    "long": "s",
    "ulong": "u",
    "size_t": "u",
    "ssize_t": "s",
    "ptr": "x",
    "pointer": "x",
    "void*": "x",
    "%p": "x",
}
_LETTERS: Final = {"hex": "x", "x": "x", "u": "u", "s": "s"}
"""How the value is shown, in its own width."""
_SIZED: Final = re.compile(r"(?:__)?(u_?)?int(8|16|32|64)(?:_t)?|(?:__)?([usxi])(8|16|32|64)")
_PRINTED: Final = re.compile(r"%?(hh|h|ll|l|z)?([duxi])")
"""Of printf(3)."""
_BITS: Final = {"hh": 8, "h": 16, None: 32, "ll": 64}
_POINTED: Final = {"%s": "string", "%pS": "symbol", "%ps": "symbol", "%c": "char"}
_RETURNED: Final = frozenset({"ret", "retval", "retvalue", "return", "returns", "rc", "rv", "result"})
_EVERY: Final = frozenset({"arg", "args", "argv", "arguments", "all"})
_IN_EACH_EVENT: Final = frozenset({"pid", "tid"})
_PID: Final = "The task's pid is in every event, and a filter has it as common_pid"
_PATH_OF_NUMBER: Final = re.compile(r"\$arg([0-9]+)((?:->|\.).+)")
_NUMBERED: Final = re.compile(r"arg([0-9]+)", re.ASCII)
_MOST_NESTED: Final = 64
"""Structures inside of one that are looked into."""


def type_meant(text: str, bits: int, btf: Btf | None = None, own_bits: int = 0) -> str:
    """Give the type that a C type, or a letter of printf, stands for; empty: none.

    Args:
        text: what was written behind the colon.
        bits: of a long.
        btf: types of the kernel, whose names for numbers are known; None: they are not.
        own_bits: of the value itself; 0: not known.
    """
    text = text.removeprefix("const ").replace(" ", "")
    if (found := _TYPES.get(text) or _POINTED.get(text)) is not None:
        return found
    if text in _LONGS:
        return f"{_LONGS[text]}{bits}"
    if (sized := _SIZED.fullmatch(text)) is not None:
        letter = (sized[3] or (sized[1] or "s")[0]).replace("i", "s")
        return f"{letter}{sized[4] or sized[2]}"
    if text in _LETTERS:
        return f"{_LETTERS[text]}{own_bits}" if own_bits else ""
    if (printed := _PRINTED.fullmatch(text)) is not None and len(text) > 1:
        letter = "s" if printed[2] in "di" else printed[2]
        return f"{letter}{_BITS.get(printed[1], bits)}"
    return _typedef(text, btf) if btf is not None and text.isidentifier() else ""


def _typedef(name: str, btf: Btf) -> str:
    """The type that shows a number which the kernel has a name for: `gfp_t`; empty: there is none, or it is none."""
    found = btf.find(name, Kind.TYPEDEF)
    if found is None or not isinstance(btf.type(strip(btf, found)), Int | Enum):
        return ""
    return default_type(btf, found) or ""


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
    if (numbered := _NUMBERED.fullmatch(name)) is not None:
        known = signature is None or 0 < int(numbered[1]) <= len(signature.params)
        return (f"${name}",) if known else ()
    if name in ("comm", "stack"):
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


def name_hint(name: str, signature: Signature | None = None) -> str:
    """Say what there is to know of a name that no argument has; empty: nothing."""
    if signature is not None and _NUMBERED.fullmatch(name) and not name_meant(name, signature):
        return takes(tuple(param.name for param in signature.params))
    return _PID if name in _IN_EACH_EVENT else ""


def takes(names: Sequence[str]) -> str:
    """Say how many arguments a function takes, and their names."""
    count = f"{len(names)} argument{'s' * (len(names) > 1)}"
    return f"The function takes {count}: {', '.join(filter(None, names))}"


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
    step, named = "->" if pointer else ".", _named(btf, type_id)
    types, members = Signature(btf, "", (), 0), []
    for one in fields(btf, struct.id):
        in_union = any(isinstance(kind := btf.type(inner), Struct) and kind.is_union for inner in one.anonymous)
        pointed = types.is_pointer(one.type_id) and types.is_char_pointer(one.type_id)
        if (pointed or types.is_char_array(one.type_id)) and not (in_union or struct.is_union):
            members.append(f"{step}{one.name}:string")
        elif struct.name == "path" and (kind_of_member := _named(btf, one.type_id)):
            members.append(f"{step}{one.name}{kind_of_member}")
    return (*((named,) if named else ()), *members[:3])


def _named(btf: Btf, type_id: int) -> str:
    """The type that shows the name of what a pointer leads to; empty: there is none."""
    kind = btf.type(strip(btf, type_id))
    target = btf.type(strip(btf, kind.type_id)) if isinstance(kind, Ptr) else None
    return {"dentry": ":%pd", "file": ":%pD"}.get(target.name, "") if isinstance(target, Struct) else ""
