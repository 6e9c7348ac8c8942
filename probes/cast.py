"""Typecasts: `(STRUCT)FIELD->member` of event probes (handle_typecast in kernel/trace/trace_probe.c, from 7.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btf.btf import Btf
from btf.kinds import Kind
from probes.btf_walk import next_field, walk_members
from probes.site import Refused

if TYPE_CHECKING:
    from probes.fetch import Fetch


def cast(fetch: Fetch, text: str) -> None:
    """Read a typecast; the value's type is in `fetch.last` then. Raises Refused."""
    site = fetch.site
    if site.dialect.typecast:
        raise Refused("BAD_FETCH_ARG", fetch.offset, text)
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


def find_struct(btf: Btf | None, name: str) -> int | None:
    """Find a struct by its bare name, as bpf_find_btf_id does: an empty one finds the first nameless struct."""
    if btf is None:
        return None
    if name:
        return btf.find(name, Kind.STRUCT)
    for type_id in range(1, btf.end_id):
        if btf.kind(type_id) == Kind.STRUCT and not getattr(btf.type(type_id), "name", ""):
            return type_id
    return None
