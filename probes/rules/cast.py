"""Parse typecasts, `$current` and per-CPU variables (kernel/trace/trace_probe.c).

Event probes cast a field, `(STRUCT)FIELD->member`, from 7.1 (handle_typecast); 7.3 casts any expression in any kernel
probe, `(STRUCT,MEMBER)(EXPRESSION)->member`, and reads `this_cpu_ptr()`, `this_cpu_read()` and `$current`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import PathError, find_field
from probes.rules.btf_walk import NAMELESS, next_field, walk_members
from probes.syntax.operand import operand_of
from probes.syntax.refused import Refused

if TYPE_CHECKING:
    from probes.rules.fetch_state import Fetch


def cast_field(fetch: Fetch, text: str) -> None:
    """Parse a typecast where only event probes take them; sets `fetch.last` to its type. Raises Refused."""
    site = fetch.site
    if not site.on_event:
        raise Refused("TYPECAST_NOT_EVENT", fetch.offset, text)
    name, brace, operand = text[1:].partition(")")
    if not brace:
        raise Refused("DEREF_OPEN_BRACE", fetch.offset + len(text), text)
    struct = find_struct(site.btf, name)
    if site.btf is None or struct is None:
        raise Refused("NO_PTR_STRCT", fetch.offset + 1, name)
    fetch.offset += len(text) - len(operand)
    field, arrow, rest = next_field(fetch, operand)
    if rest is not None and not arrow:
        raise Refused("NOSUP_DAT_ARG", fetch.offset + len(operand) - len(rest), rest)
    if not site.has_field(field):
        raise Refused("BAD_ATTACH_ARG", fetch.offset, field, names=tuple(site.fields or ()))
    fetch.store("TP_ARG")
    fetch.last = struct
    if rest is not None:
        fetch.offset += len(operand) - len(rest)
        walk_members(fetch, site.btf, struct, rest)


def cast(fetch: Fetch, text: str) -> None:
    """Parse a typecast of any expression. Raises Refused."""
    site, start = fetch.site, fetch.offset
    if not (site.on_function or site.on_event):
        raise Refused("NOSUP_BTFARG", start, text)
    fetch.nest(text)
    wanted, brace, rest = text[1:].partition(")")
    if not brace:
        raise Refused("DEREF_OPEN_BRACE", start + len(text), text)
    at = start + len(text) - len(rest)
    inner, end = operand_of(rest, at)
    if not rest.startswith("->", end):
        raise Refused("TYPECAST_REQ_FIELD", at + end, rest[end:])
    fetch.offset = at + (1 if rest.startswith("(") else 0)
    fetch.parse(inner)
    name, comma, member = wanted.partition(",")
    struct = find_struct(site.btf, name)
    if site.btf is None or struct is None:
        raise Refused("NO_PTR_STRCT", start + 1, name)
    if comma:
        _check_member(site.btf, struct, member, start + 1 + len(name) + 1)
    fetch.offset = at + end + 2
    walk_members(fetch, site.btf, struct, rest[end + 2 :])


def _check_member(btf: Btf, struct: int, path: str, at: int) -> None:
    """Check the path, at column `at`, of the member that the pointer points to. Raises Refused."""
    bits, owner, column = 0, struct, at
    rest: str | None = path
    while rest is not None:
        separator = re.search(r"[.-]", rest)
        end = separator.start() if separator is not None else len(rest)
        if rest[end : end + 1] == "-" and rest[end + 1 : end + 2] != ">":
            raise Refused("BAD_HYPHEN", column + end, rest[end:])
        try:
            member = find_field(btf, owner, rest[:end] or NAMELESS)
        except PathError as error:
            raise Refused(error.code, column, rest[:end]) from None
        if rest[end : end + 1] == "-":
            raise Refused("TYPECAST_BAD_ARROW", column + end, path)
        bits, owner = bits + member.bit_offset, member.type_id
        rest, column = (rest[end + 1 :] if end < len(rest) else None), column + end + 1
    if bits % 8:
        raise Refused("TYPECAST_NOT_ALIGNED", at, path)


def per_cpu(fetch: Fetch, text: str) -> None:
    """Parse `this_cpu_ptr(EXPRESSION)` or `this_cpu_read(EXPRESSION)`. Raises Refused."""
    if fetch.site.user or fetch.site.on_event:
        raise Refused("NOSUP_PERCPU", fetch.offset, text)
    fetch.nest(text)
    word, _, rest = text.partition("(")
    fetch.offset = here = fetch.offset + len(word) + 1
    end = rest.rfind(")")
    if end < 0:
        raise Refused("DEREF_OPEN_BRACE", here + len(rest), text)
    fetch.parse(rest[:end])
    fetch.offset = here
    if fetch.op in ("COMM", "DATA"):
        raise Refused("COMM_CANT_DEREF", here, rest[:end])
    fetch.advance()
    fetch.store("DEREF" if word == "this_cpu_read" else "PERCPU")
    fetch.last = None
    fetch.walked = False


def bare_field(fetch: Fetch, text: str) -> None:
    """Parse an event's field written without `$` (7.3). Raises Refused."""
    if not fetch.site.has_field(text):
        raise Refused("NO_EVENT_FIELD", fetch.offset, text, names=tuple(fetch.site.fields or ()))
    fetch.store("TP_ARG")


def current(fetch: Fetch, text: str) -> None:
    """Parse `$current`, the running task, with a path to a member. Raises Refused."""
    site = fetch.site
    if site.on_event:
        raise Refused("BAD_VAR", fetch.offset, text)
    _, _, rest = next_field(fetch, text)
    if rest is None:
        fetch.store("CURRENT")
        return
    struct = find_struct(site.btf, "task_struct")
    if site.btf is None or struct is None:
        raise Refused("NOSUP_BTFARG", fetch.offset, text)
    fetch.store("CURRENT")
    fetch.offset += len(text) - len(rest)
    walk_members(fetch, site.btf, struct, rest)


def find_struct(btf: Btf | None, name: str) -> int | None:
    """Return a struct by its bare name, as bpf_find_btf_id does: an empty name finds the first nameless struct."""
    if btf is None:
        return None
    if name:
        return btf.find(name, Kind.STRUCT)
    for type_id in range(1, btf.end_id):
        if btf.kind(type_id) == Kind.STRUCT and not getattr(btf.type(type_id), "name", ""):
            return type_id
    return None
