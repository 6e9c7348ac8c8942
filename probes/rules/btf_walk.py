"""A parameter's name or `$retval` with the path behind it: parse_btf_arg and parse_btf_field of trace_probe.c."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from btf.btf import Btf
from btf.layout import PathError, Resolved, find_field, resolve
from btf.types import Ptr
from btf.walk import strip
from probes.facts.dialect import MAX_OPERATIONS
from probes.functions.signature import Signature, member_names, operator_hint
from probes.rules.messages.guesses import name_hint, name_meant, ways_to
from probes.syntax.refused import Refused

if TYPE_CHECKING:
    from probes.rules.fetch_state import Fetch

NAMELESS = "\0"
"""In place of an empty name, which no member has; anonymous members must not match."""


def walk(fetch: Fetch, text: str) -> None:
    """Read a name and its path; the value's type is in `fetch.last` then. Raises Refused."""
    site = fetch.site
    name, arrow, rest = next_field(fetch, text)
    if rest is not None and not arrow:
        raise Refused("NOSUP_DAT_ARG", fetch.offset + len(text) - len(rest), rest)
    found = _returned(fetch, text, rest) if site.at_exit and name == "$retval" else _parameter(fetch, text, name)
    if found is None:
        return
    signature, type_id = found
    fetch.last = signature.strip(type_id)
    if rest is not None:
        fetch.offset += len(text) - len(rest)
        _path(fetch, signature, fetch.last, rest)


def _returned(fetch: Fetch, text: str, rest: str | None) -> tuple[Signature, int] | None:
    """Take what is returned; None where BTF says nothing of it."""
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
    signature, known = fetch.site.signature, fetch.site.queried
    if signature is None or not (known or signature.params):
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
    """A name that no parameter has, with what may be meant by it."""
    site = fetch.site
    registers = () if site.no_registers else tuple(site.dialect.registers or ())
    params = tuple(param.name for param in signature.params)
    meant, hint = name_meant(name, signature, registers), name_hint(name, signature)
    if site.tracepoint and meant == ("$retval",):
        meant = ()
    elif meant and "->" in meant[0]:
        hint = f"No argument is called so; a member of one is: {', '.join(meant)}"
    return Refused("NO_BTFARG", fetch.offset, name, names=params, hint=hint, meant=meant)


def _no_entry(fetch: Fetch, text: str) -> Refused:
    """Without BTF of the function, or one that takes nothing."""
    signature = fetch.site.signature
    hint = "" if signature is None or signature.params else f"{signature.name} takes no arguments"
    return Refused("NO_BTF_ENTRY", fetch.offset, text, hint=hint)


def next_field(fetch: Fetch, text: str) -> tuple[str, bool, str | None]:
    """Split at the next `->` or `.` (splitnext_field): the name, whether an arrow follows, and what is behind."""
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
    """Walk the members of the struct a typecast named, whose address the value is."""
    _path(fetch, Signature(btf, "", (), 0), struct, text, in_struct=True)


def _path(fetch: Fetch, signature: Signature, type_id: int, text: str, in_struct: bool = False) -> None:
    """Walk the members behind a pointer; the kernel looks for each before it reads on."""
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
    """Follow the steps; `broken` is what is wrong with the text of the last one."""
    btf = signature.btf
    good = hops[:-1] if broken is not None else hops
    try:
        found = _resolve_in(btf, type_id, good) if hops[0][0] == "." else resolve(btf, type_id, good)
    except PathError as error:
        at = error.hop_index
        _check_room(fetch, hops[: at + 1], starts)
        token = hops[at][1].strip(NAMELESS)
        names: tuple[str, ...] = ()
        meant: tuple[str, ...] = ()
        if error.code == "NO_BTF_FIELD":
            names, meant = member_names(btf, type_id, hops, at), ways_to(btf, type_id, hops, at)
        hint = operator_hint(btf, type_id, hops, at) if hops[0][0] == "->" else ""
        if not token:
            hint = f"The name of a member follows the {hops[at][0]}"
        raise Refused(error.code, starts[at], token, names=names, hint=hint, meant=meant) from None
    _check_room(fetch, hops, starts)
    if broken is not None:
        if hops[-1][0] == "->" and not signature.is_pointer(found.type_id):
            raise Refused("NO_PTR_STRCT", starts[-1], hint=operator_hint(btf, type_id, hops, len(hops) - 1))
        raise broken
    for _ in found.derefs:
        fetch.advance()
        fetch.store("DEREF")
    fetch.last = signature.strip(found.type_id)
    fetch.bits = (found.bit_offset, found.bit_size)
    fetch.walked = True


def _check_room(fetch: Fetch, hops: Sequence[tuple[str, str]], starts: Sequence[int]) -> None:
    """Check the loads up to the last step; the kernel stores each before it looks for the next. Raises Refused."""
    arrows = [start for (op, _), start in zip(hops[1:], starts[1:], strict=False) if op == "->"]
    room = MAX_OPERATIONS - len(fetch.ops)
    if len(arrows) > room:
        raise Refused("TOO_MANY_OPS", arrows[room])


def _resolve_in(btf: Btf, struct: int, hops: Sequence[tuple[str, str]]) -> Resolved:
    """Follow a path that begins inside a struct. Raises PathError."""
    at, derefs, bits, size, agrees = struct, [0], 0, 0, True
    for index, (op, name) in enumerate(hops):
        if op == "->":
            pointer = btf.type(at)
            if not isinstance(pointer, Ptr):
                raise PathError("NO_PTR_STRCT", index)
            at, bits = strip(btf, pointer.type_id), 0
            derefs.append(0)
        found = find_field(btf, at, name, index)
        bits, size, agrees = bits + found.bit_offset, found.bit_size, agrees and found.kernel_agrees
        derefs[-1] = bits // 8
        at = strip(btf, found.type_id)
    return Resolved(at, tuple(derefs), bits % 8, size, agrees)
