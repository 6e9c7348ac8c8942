"""Resolve a parameter's name or `$retval` with a field path: parse_btf_arg and parse_btf_field of trace_probe.c."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from btf.btf import Btf
from btf.layout import PathError, ResolvedPath, find_field, resolve
from btf.types import Ptr
from btf.walk import strip
from probes.facts.dialect import MAX_OPERATIONS
from probes.functions.signature import Signature, member_names, operator_hint
from probes.rules.messages.guesses import guess_name, name_hint, nested_paths_to
from probes.syntax.refused import Refused

if TYPE_CHECKING:
    from probes.rules.fetch_state import Fetch

NAMELESS = "\0"
"""Substitute for an empty name, which no member has: anonymous members must not match."""


def walk(fetch: Fetch, text: str) -> None:
    """Parse a name and its path; sets `fetch.last` to the value's type. Raises Refused."""
    site = fetch.site
    name, arrow, rest = next_field(fetch, text)
    if rest is not None and not arrow:
        raise Refused("NOSUP_DAT_ARG", fetch.offset + len(text) - len(rest), rest)
    value = _return_value(fetch, text, rest) if site.at_exit and name == "$retval" else _parameter(fetch, text, name)
    if value is None:
        return
    signature, type_id = value
    fetch.last = signature.strip(type_id)
    if rest is not None:
        fetch.offset += len(text) - len(rest)
        _path(fetch, signature, fetch.last, rest)


def _return_value(fetch: Fetch, text: str, rest: str | None) -> tuple[Signature, int] | None:
    """Store the return value; return its signature and type, or None where BTF lacks the function."""
    fetch.store("RETVAL")
    signature = fetch.site.signature
    if signature is None:
        if rest is not None:
            raise Refused("NO_BTF_ENTRY", fetch.offset + len(text) - len(rest), rest)
        return None
    fetch.site.queried = True
    if signature.returns == 0:
        raise Refused("NO_RETVAL", fetch.offset, text)
    return signature, signature.returns


def _parameter(fetch: Fetch, text: str, name: str) -> tuple[Signature, int]:
    signature, queried = fetch.site.signature, fetch.site.queried
    if signature is None or not (queried or signature.params):
        raise _no_entry(fetch, text)
    fetch.site.queried = True
    number = signature.number_of(name)
    if number is None:
        raise _no_parameter(fetch, name, signature)
    if fetch.site.at_entry:
        fetch.store("ARG")
    else:
        fetch.keep_entry(str(number + 1))
    return signature, signature.params[number].type_id


def _no_parameter(fetch: Fetch, name: str, signature: Signature) -> Refused:
    """Return the error for a name that no parameter has, with similar names."""
    site = fetch.site
    registers = () if site.no_registers else tuple(site.dialect.registers or ())
    params = tuple(param.name for param in signature.params)
    meant, hint = guess_name(name, signature, registers), name_hint(name, signature)
    if site.tracepoint and meant == ("$retval",):
        meant = ()
    elif meant and "->" in meant[0]:
        hint = f"No argument is called so; a member of one is: {', '.join(meant)}"
    return Refused("NO_BTFARG", fetch.offset, name, names=params, hint=hint, corrections=meant)


def _no_entry(fetch: Fetch, text: str) -> Refused:
    """Return the error for a function that BTF lacks, or that has no parameters."""
    signature = fetch.site.signature
    hint = "" if signature is None or signature.params else f"{signature.name} takes no arguments"
    return Refused("NO_BTF_ENTRY", fetch.offset, text, hint=hint)


def next_field(fetch: Fetch, text: str) -> tuple[str, bool, str | None]:
    """Split at the next `->` or `.` (splitnext_field) into the name, whether an arrow follows, and the rest."""
    match = re.search(r"[.-]", text)
    if match is None:
        return text, False, None
    at = match.start()
    if text[at] == ".":
        return text[:at], False, text[at + 1 :]
    if text[at + 1 : at + 2] != ">":
        raise Refused("BAD_HYPHEN", fetch.offset + at, text[at:])
    return text[:at], True, text[at + 2 :]


def walk_members(fetch: Fetch, btf: Btf, struct: int, text: str) -> None:
    """Walk the members of the struct that a typecast named; the value is the struct's address."""
    _path(fetch, Signature(btf, "", (), 0), struct, text, in_struct=True)


def _path(fetch: Fetch, signature: Signature, type_id: int, text: str, in_struct: bool = False) -> None:
    """Walk the members behind a pointer; the kernel looks each up before it reads on."""
    hops: list[tuple[str, str]] = []
    starts: list[int] = []
    arrow, broken = True, None
    rest: str | None = text
    while rest is not None:
        starts.append(fetch.offset)
        op = "->" if arrow else "."
        try:
            name, arrow, following = next_field(fetch, rest)
        except Refused as error:
            broken = error
            hops.append((op, ""))
            break
        hops.append((op, name or NAMELESS))
        if following is not None:
            fetch.offset += len(rest) - len(following)
        rest = following
    if in_struct:
        hops[0] = (".", hops[0][1])
    _resolve(fetch, signature, type_id, hops, starts, broken)


def _resolve(
    fetch: Fetch,
    signature: Signature,
    type_id: int,
    hops: list[tuple[str, str]],
    starts: list[int],
    broken: Refused | None,
) -> None:
    """Resolve the steps of a path; `broken` is the syntax error in the last step's text, if any."""
    btf = signature.btf
    valid_hops = hops[:-1] if broken is not None else hops
    try:
        resolved = _resolve_in(btf, type_id, valid_hops) if hops[0][0] == "." else resolve(btf, type_id, valid_hops)
    except PathError as error:
        at = error.hop_index
        _check_room(fetch, hops[: at + 1], starts)
        token = hops[at][1].strip(NAMELESS)
        names: tuple[str, ...] = ()
        meant: tuple[str, ...] = ()
        if error.code == "NO_BTF_FIELD":
            names, meant = member_names(btf, type_id, hops, at), nested_paths_to(btf, type_id, hops, at)
        hint = operator_hint(btf, type_id, hops, at) if hops[0][0] == "->" else ""
        if not token:
            hint = f"The name of a member follows the {hops[at][0]}"
        raise Refused(error.code, starts[at], token, names=names, hint=hint, corrections=meant) from None
    _check_room(fetch, hops, starts)
    if broken is not None:
        if hops[-1][0] == "->" and not signature.is_pointer(resolved.type_id):
            raise Refused("NO_PTR_STRCT", starts[-1], hint=operator_hint(btf, type_id, hops, len(hops) - 1))
        raise broken
    for _ in resolved.derefs:
        fetch.advance()
        fetch.store("DEREF")
    fetch.last = signature.strip(resolved.type_id)
    fetch.bits = (resolved.bit_offset, resolved.bit_size)
    fetch.walked = True


def _check_room(fetch: Fetch, hops: Sequence[tuple[str, str]], starts: Sequence[int]) -> None:
    """Check the number of loads up to the last step; the kernel stores each before it reads on. Raises Refused."""
    arrows = [start for (op, _), start in zip(hops[1:], starts[1:], strict=False) if op == "->"]
    room = MAX_OPERATIONS - len(fetch.ops)
    if len(arrows) > room:
        raise Refused("TOO_MANY_OPS", arrows[room])


def _resolve_in(btf: Btf, struct: int, hops: Sequence[tuple[str, str]]) -> ResolvedPath:
    """Resolve a path that begins inside a struct. Raises PathError."""
    at, derefs, bits, size, agrees = struct, [0], 0, 0, True
    for index, (op, name) in enumerate(hops):
        if op == "->":
            pointer = btf.type(at)
            if not isinstance(pointer, Ptr):
                raise PathError("NO_PTR_STRCT", index)
            at, bits = strip(btf, pointer.type_id), 0
            derefs.append(0)
        member = find_field(btf, at, name, index)
        bits, size, agrees = bits + member.bit_offset, member.bit_size, agrees and member.kernel_agrees
        derefs[-1] = bits // 8
        at = strip(btf, member.type_id)
    return ResolvedPath(at, tuple(derefs), bits % 8, size, agrees)
