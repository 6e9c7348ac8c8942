"""Guess the meaning of words that the kernel lacks: C types, words of other tools, members of nested structs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import PathError, fields, find_field, resolve
from btf.types import Enum, Int, Ptr, Struct
from btf.walk import strip
from foreign.count_text import counted
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
"""Letters for formats that show a value in its own width."""
_SIZED: Final = re.compile(r"(?:__)?(u_?)?int(8|16|32|64)(?:_t)?|(?:__)?([usxi])(8|16|32|64)")
_PRINTED: Final = re.compile(r"%?(hh|h|ll|l|z)?([duxi])")
"""Conversions of printf(3)."""
_BITS: Final = {"hh": 8, "h": 16, None: 32, "ll": 64}
_PRINTED_POINTERS: Final = {"%s": "string", "%pS": "symbol", "%ps": "symbol", "%c": "char"}
_RESULT_WORDS: Final = frozenset({"ret", "retval", "retvalue", "return", "returns", "rc", "rv", "result"})
_ALL_WORDS: Final = frozenset({"arg", "args", "argv", "arguments", "all"})
_IN_EACH_EVENT: Final = frozenset({"pid", "tid"})
_PID: Final = "The task's pid is in every event, and a filter has it as common_pid"
_PATH_OF_NUMBER: Final = re.compile(r"\$arg([0-9]+)((?:->|\.).+)")
_NUMBERED: Final = re.compile(r"arg([0-9]+)", re.ASCII)
_MAX_NESTED: Final = 64
"""Most nested structures that are searched."""


def guess_type(text: str, bits: int, btf: Btf | None = None, own_bits: int = 0) -> str:
    """Return the fetcharg type that a C type or a printf conversion stands for; empty: none.

    Args:
        text: the word written after the colon.
        bits: width of a long.
        btf: types of the kernel, for its typedefs of numbers; None: unknown.
        own_bits: width of the value itself; 0: unknown.
    """
    text = text.removeprefix("const ").replace(" ", "")
    if (kind := _TYPES.get(text) or _PRINTED_POINTERS.get(text)) is not None:
        return kind
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
    """Return the fetcharg type for a kernel typedef of a number: `gfp_t`; empty: no such typedef."""
    typedef = btf.find(name, Kind.TYPEDEF)
    if typedef is None or not isinstance(btf.type(strip(btf, typedef)), Int | Enum):
        return ""
    return default_type(btf, typedef) or ""


def guess_name(name: str, signature: Signature | None, registers: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the certain meanings of a name that no argument has: a variable, a register, a member of an argument.

    Args:
        name: the name without a `$`.
        signature: the function's signature; None: unknown.
        registers: the kernel's names of the registers readable at this place.
    """
    if name.lower() in _RESULT_WORDS:
        return ("$retval",)
    if name in _ALL_WORDS:
        return ("$$args",)
    if (numbered := _NUMBERED.fullmatch(name)) is not None:
        valid = signature is None or 0 < int(numbered[1]) <= len(signature.params)
        return (f"${name}",) if valid else ()
    if name in ("comm", "stack"):
        return (f"${name}",)
    for register in (name.lower(), name[1:].lower() if name[:1] in "reRE" else ""):
        if register and register in registers:
            return (f"%{register}",)
    return _member_of(name, signature) if signature is not None else ()


def guess_argument(text: str, signature: Signature | None) -> tuple[str, tuple[str, ...]]:
    """Return a hint, and the certain meanings, of a `$arg…` without a number: `$args`, `$arg1->x`."""
    path = _PATH_OF_NUMBER.fullmatch(text)
    if path is None:
        return "", guess_name(text.lstrip("$").partition(":")[0], None)
    params = signature.params if signature is not None else ()
    valid = 0 < int(path[1]) <= len(params)
    meant = (f"{params[int(path[1]) - 1].name}{path[2]}",) if valid else ()
    return "$argN is a number without a type; an argument's name has one", meant


def name_hint(name: str, signature: Signature | None = None) -> str:
    """Return a hint on a name that no argument has; empty: none."""
    if signature is not None and _NUMBERED.fullmatch(name) and not guess_name(name, signature):
        return arguments_hint(tuple(param.name for param in signature.params))
    return _PID if name in _IN_EACH_EVENT else ""


def arguments_hint(names: Sequence[str]) -> str:
    """Return a sentence with the number of a function's arguments, and their names."""
    return f"The function takes {counted(len(names), 'argument')}: {', '.join(filter(None, names))}"


def _member_of(name: str, signature: Signature) -> tuple[str, ...]:
    """Return the paths `argument->name` for arguments that point to a structure with a member of this name."""
    paths = []
    for param in signature.params:
        struct = struct_behind(signature.btf, param.type_id)
        if param.name and struct is not None and _has_member(signature.btf, struct, name):
            paths.append(f"{param.name}->{name}")
    return tuple(paths)


def struct_behind(btf: Btf, type_id: int) -> Struct | None:
    """Return the structure that a type is or points to; None: neither."""
    kind = btf.type(strip(btf, type_id))
    if isinstance(kind, Ptr):
        kind = btf.type(strip(btf, kind.type_id))
    return kind if isinstance(kind, Struct) else None


def _has_member(btf: Btf, struct: Struct, name: str) -> bool:
    try:
        find_field(btf, struct.id, name)
    except PathError:
        return False
    return True


def nested_paths_to(btf: Btf, type_id: int, hops: Sequence[tuple[str, str]], index: int) -> tuple[str, ...]:
    """Return the paths, through nested structures, to the member that the `index`-th step of a path names."""
    try:
        containing = resolve(btf, type_id, hops[:index]).type_id if index else type_id
    except PathError:
        return ()
    struct = struct_behind(btf, containing)
    return nested_paths(btf, struct, hops[index][1]) if struct is not None else ()


def nested_paths(btf: Btf, struct: Struct, name: str) -> tuple[str, ...]:
    """Return the paths to a member of a structure nested in this one: `d_name.name` for `name`.

    Members reached by kernel macros are found by equal endings: `__sk_common.skc_state` for `sk_state`.
    """
    _, _, ending = name.partition("_")
    exact, alike = [], []
    inner = [outer for outer in fields(btf, struct.id) if isinstance(btf.type(strip(btf, outer.type_id)), Struct)]
    for outer in inner[:_MAX_NESTED]:
        for member in fields(btf, strip(btf, outer.type_id)):
            if member.name == name:
                exact.append(f"{outer.name}.{member.name}")
            elif ending and member.name.partition("_")[2] == ending:
                alike.append(f"{outer.name}.{member.name}")
    return tuple(exact or alike[:1])


def texts_in(btf: Btf, type_id: int) -> tuple[str, ...]:
    """Return the steps from a value that is no text to text: members, or the type that shows its name."""
    struct = struct_behind(btf, type_id)
    if struct is None:
        return ()
    pointer = isinstance(btf.type(strip(btf, type_id)), Ptr)
    step, name_type = "->" if pointer else ".", _name_type(btf, type_id)
    types, members = Signature(btf, "", (), 0), []
    for member in fields(btf, struct.id):
        in_union = any(isinstance(kind := btf.type(inner), Struct) and kind.is_union for inner in member.anonymous)
        is_pointer_to_text = types.is_pointer(member.type_id) and types.is_char_pointer(member.type_id)
        if (is_pointer_to_text or types.is_char_array(member.type_id)) and not (in_union or struct.is_union):
            members.append(f"{step}{member.name}:string")
        elif struct.name == "path" and (kind_of_member := _name_type(btf, member.type_id)):
            members.append(f"{step}{member.name}{kind_of_member}")
    return (*((name_type,) if name_type else ()), *members[:3])


def _name_type(btf: Btf, type_id: int) -> str:
    """Return the type that shows the name of a pointer's target; empty: none."""
    kind = btf.type(strip(btf, type_id))
    target = btf.type(strip(btf, kind.type_id)) if isinstance(kind, Ptr) else None
    return {"dentry": ":%pd", "file": ":%pD"}.get(target.name, "") if isinstance(target, Struct) else ""
