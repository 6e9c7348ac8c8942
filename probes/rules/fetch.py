"""Parse an expression as the kernel does: parse_probe_arg and its helpers in kernel/trace/trace_probe.c.

The module fetches no values: the result is the list of operations the kernel would store, the BTF type of the value,
and the column where the kernel would put a caret. Errors come in the kernel's order, at the kernel's columns, its
oddities included.
"""

from __future__ import annotations

from probes.rules.btf_walk import walk
from probes.rules.cast import bare_field, cast, cast_field, per_cpu
from probes.rules.fetch_state import Fetch
from probes.rules.site import Site
from probes.rules.variable import variable
from probes.syntax.operand import PER_CPU
from probes.syntax.refused import Refused
from probes.syntax.text import begins_name, kstrtol, kstrtoul


def read_fetch(site: Site, offset: int, text: str) -> Fetch:
    """Return the parse of one expression. Raises Refused."""
    fetch = Fetch(site, offset, read)
    fetch.parse(text)
    return fetch


def read(fetch: Fetch, text: str) -> None:
    """Parse an expression. Raises Refused."""
    first = text[:1]
    if first == "$":
        variable(fetch, text)
    elif first == "%":
        _register(fetch, text)
    elif first == "@":
        _address(fetch, text)
    elif first and first in "+-":
        _dereference(fetch, text)
    elif first == "\\":
        _immediate(fetch, text)
    elif first == "(" and fetch.site.dialect.typecast:
        cast(fetch, text)
    elif first == "(" and fetch.site.dialect.typecast_known:
        cast_field(fetch, text)
    elif fetch.site.dialect.typecast and text.startswith(PER_CPU):
        per_cpu(fetch, text)
    elif fetch.site.dialect.typecast and fetch.site.on_event and begins_name(text):
        bare_field(fetch, text)
    elif fetch.site.dialect.btf_args and begins_name(text):
        if not fetch.site.on_function:
            raise _name_error(fetch, "NOSUP_BTFARG", text)
        walk(fetch, text)
    else:
        raise _name_error(fetch, "BAD_FETCH_ARG", text)


def _name_error(fetch: Fetch, code: str, text: str) -> Refused:
    """Return the error for a name where the kernel looks up none; an event's field only lacks its `$`."""
    if not fetch.site.on_event or not begins_name(text):
        return Refused(code, fetch.offset, text)
    fields = tuple(f"${name}" for name in fetch.site.fields or ())
    return Refused(code, fetch.offset, text, names=fields, hint="A field of the event is written with a $")


def _no_registers_hint(fetch: Fetch) -> str:
    if fetch.site.on_event:
        return "An event has fields, no registers: $FIELD"
    if fetch.site.tracepoint:
        return "A tracepoint has arguments, no registers: name them, or count them, $arg1"
    return "An fprobe has no registers: a kprobe has, p in place of f"


def _register(fetch: Fetch, text: str) -> None:
    if fetch.site.no_registers:
        # Up to 7.2 the kernel logs BAD_VAR first and this error after it: it found no fetch method.
        code = "BAD_VAR" if fetch.site.dialect.typecast else "BAD_FETCH_ARG"
        raise Refused(code, fetch.offset, text, hint=_no_registers_hint(fetch))
    known = fetch.site.dialect.registers
    if not text[1:] or (known is not None and text[1:] not in known):
        names = tuple(f"%{name}" for name in sorted(known or ()))
        raise Refused("BAD_REG_NAME", fetch.offset, text, names=names)
    fetch.store("REG")


def _address(fetch: Fetch, text: str) -> None:
    body, user = text[1:], fetch.site.user
    if body[:1].isascii() and body[:1].isdigit():
        if kstrtoul(body) is None:
            raise Refused("BAD_MEM_ADDR", fetch.offset, text)
        fetch.store("IMM")
    elif body.startswith("+"):
        if not user:
            raise Refused("FILE_ON_KPROBE", fetch.offset, text)
        if kstrtol(body[1:]) is None:
            raise Refused("BAD_FILE_OFFS", fetch.offset, text)
        fetch.store("FOFFS")
    else:
        if user:
            raise Refused("SYM_ON_UPROBE", fetch.offset, text)
        fetch.symbols.append(body)
        fetch.store("SYMBOL")
        fetch.advance()
        fetch.store("IMM")
    fetch.advance()
    fetch.store("DEREF")


def _dereference(fetch: Fetch, text: str) -> None:
    op = "UDEREF" if text[1:2] == "u" else "DEREF"
    body = text[0] + text[2:] if op == "UDEREF" else text
    body = body.removeprefix("+")  # the kernel passes kstrtol() the number without its plus
    number, brace, rest = body.partition("(")
    if not brace:
        raise Refused("DEREF_NEED_BRACE", fetch.offset, text)
    if kstrtol(number) is None:
        raise Refused("BAD_DEREF_OFFS", fetch.offset, text)
    fetch.nest(text)
    fetch.offset += len(number) + 1 + (0 if number.startswith("-") else 1)
    column = fetch.offset
    end = rest.rfind(")")
    if end < 0:
        raise Refused("DEREF_OPEN_BRACE", column + len(rest), text)
    fetch.parse(rest[:end])
    fetch.offset = column
    if fetch.op in ("COMM", "DATA"):
        raise Refused("COMM_CANT_DEREF", column, rest[:end])
    fetch.advance()
    fetch.store(op)
    fetch.last = None
    fetch.walked = False


def _immediate(fetch: Fetch, text: str) -> None:
    body = text[1:]
    if body.startswith('"'):
        string = body[1:]
        if not string.endswith('"') and (string or not fetch.site.dialect.lone_quote):
            raise Refused("IMMSTR_NO_CLOSE", fetch.offset + 2 + len(string), text)
        fetch.store("DATA")
        return
    number: int | None = None
    if body[:1].isascii() and body[:1].isdigit():
        number = kstrtoul(body)
    elif body.startswith("-"):
        number = kstrtol(body)
    elif body.startswith("+"):
        number = kstrtol(body[1:])
    if number is None:
        raise Refused("BAD_IMM", fetch.offset + 1, body)
    fetch.store("IMM")
