"""Check a fetcharg by the kernel's rules: name, type, expression and how the value is stored.

traceprobe_parse_probe_arg in kernel/trace/trace_probe.c, in the kernel's order of checks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from probes.facts.dialect import MAX_ARRAY, MAX_ENTRY_LONGS, MAX_EVENT_SIZE, MAX_OPERATIONS
from probes.names import MAX_FIELD_NAME, RESERVED_FIELDS
from probes.rules.fetch import read_fetch
from probes.rules.fetch_state import Fetch
from probes.rules.messages.guesses import guess_type, texts_in
from probes.rules.parsed_event import ParsedArgument
from probes.rules.site import Site
from probes.rules.symbols import check_symbols
from probes.syntax.refused import Refused
from probes.syntax.text import UINT_MAX, ULONG_MAX, is_identifier, kstrtoul, simple_strtoul

_SIZES = {f"{letter}{bits}": bits // 8 for letter in "usx" for bits in (8, 16, 32, 64)}
_STRINGS = ("string", "ustring", "symstr")
_TYPES = (*_SIZES, "char", *_STRINGS, "symbol", "%pd", "%pD")
_MEMORY = ("DEREF", "UDEREF", "IMM", "COMM", "DATA", "TP_ARG")
_SYMSTR = ("REG", "STACK", "RETVAL", "ARG", "DEREF", "TP_ARG")


class FieldType(NamedTuple):
    """Type written after the colon of a fetcharg."""

    text: str | None
    """Type as written, without `[N]`; None: left to BTF."""
    name: str
    """The kernel's type that stores the value."""
    elements: int = 0
    """Number of elements of an array, 0: no array."""
    start: int = 0
    """Column in the body where the type begins; 0: no type is written."""


def check_argument(word: str, number: int, names: list[str], size: int, site: Site) -> ParsedArgument:
    """Check a word as the `number`-th argument (from 0).

    Returns:
        The argument as the kernel stores it. Raises Refused with the column in `word`.
    """
    name, has_name, body = word.partition("=")
    if not has_name:
        body = word
        name = _default_name(word, number, site)
    elif len(name) > MAX_FIELD_NAME:
        raise Refused("ARG_NAME_TOO_LONG", 0, name)
    elif not name:
        raise Refused("NO_ARG_NAME", 0, word)
    if not is_identifier(name):
        raise Refused("BAD_ARG_NAME", 0, name)
    if name in RESERVED_FIELDS or name in names:
        raise Refused("USED_ARG_NAME", 0, name)
    start = len(word) - len(body)
    if len(body) > site.dialect.max_body:
        raise Refused("ARG_TOO_LONG", start, body)
    if not body:
        raise Refused("NO_ARG_BODY", start)
    kind, width, shifts = _check_body(body, start, size, site)
    return ParsedArgument(name, body, kind.name, kind.elements, width, shifts)


def unread_argument(word: str, number: int, site: Site) -> ParsedArgument:
    """Parse the `number`-th argument of an existing event, as far as its text alone tells."""
    name, has_name, body = word.partition("=")
    text, bracket, count = body.partition(":")[2].partition("[")
    elements = kstrtoul(count.rstrip("]")) if bracket else 0
    stored = _stored_type(text, site) if text else None
    name_or_default = name if has_name else _default_name(word, number, site)
    return ParsedArgument(name_or_default, body if has_name else word, stored or "", elements or 0)


def check_entry_data(site: Site) -> None:
    """Check the number of entry arguments that a return probe stores. Raises Refused."""
    limited = site.fprobe and site.at_exit and site.dialect.fprobe_on_graph
    if limited and len(site.entry_args) > MAX_ENTRY_LONGS:
        raise Refused("TOO_MANY_EARGS", 0)


def _default_name(word: str, number: int, site: Site) -> str:
    bare = word.split(":", 1)[0]
    return bare if site.dialect.btf_args and is_identifier(bare) else f"arg{number + 1}"


def _check_body(body: str, start: int, size: int, site: Site) -> tuple[FieldType, int, bool]:
    kind = _parse_type(body, start, site)
    fetch = read_fetch(site, start, body.split(":", 1)[0])
    # Up to 6.12, errors after the expression are placed at the type; later kernels are off by the outermost `+N(`.
    # After a field path, kernels up to 7.2 lose the column (a difference of unrelated pointers): the type's own is
    # used then.
    column_lost = fetch.walked and not site.dialect.typecast
    base = fetch.offset if site.dialect.btf_args and not column_lost else start
    if fetch.last is not None:
        if kind.text is None:
            kind = kind._replace(name=_btf_type(fetch, site))
        elif "string" in kind.text:
            _prepare_string(fetch, kind.text, base, site)
    width = (4 if kind.name in _STRINGS else _SIZES.get(kind.name, 1 if kind.name == "char" else 8)) * (
        kind.elements or 1
    )
    if site.dialect.event_size and size + width > MAX_EVENT_SIZE:
        raise Refused("EVENT_TOO_BIG", base, body)
    _check_store(fetch, kind, base)
    if fetch.field is not None and not site.has_field(fetch.field) and fetch.field not in ("comm", "COMM"):
        raise Refused("BAD_ATTACH_ARG", 0, fetch.field, names=tuple(site.fields or ()))
    if fetch.symbols:
        check_symbols(fetch.symbols, site)
    return kind, width, _shifts(fetch, kind)


def _shifts(fetch: Fetch, kind: FieldType) -> bool:
    """Return whether BTF makes the value a bit-field that is not of whole bytes (parse_btf_bitfield)."""
    return kind.text is None and fetch.last is not None and bool(fetch.bits[0] or fetch.bits[1] % 8)


def _parse_type(body: str, start: int, site: Site) -> FieldType:
    """Parse the type of an argument (parse_probe_arg_type)."""
    value, colon, text = body.partition(":")
    at = start + len(value) + 1 if colon else start
    count = 0
    kind: str | None = text if colon else None
    if "[" in text:
        kind, _, rest = text.partition("[")
        count = _array(rest, at + len(kind) + 1)
    offset = len(value) + 1 if colon else 0
    if not site.on_event and (value in ("$comm", "$COMM") or value.startswith('\\"')):
        if count or (kind is not None and kind != "string"):
            code = "NEED_STRING_TYPE" if site.dialect.btf_args else "refused_without_message"
            raise Refused(code, start + offset, kind or "")
        return FieldType(kind, "string", 0, offset)
    name = _stored_type(kind, site)
    if name is None:
        meant = guess_type(kind or "", site.dialect.bits, site.btf, _own_bits(value, start, site))
        raise Refused("BAD_TYPE", start + offset, kind or "", names=_TYPES, corrections=(meant,) if meant else ())
    return FieldType(kind, name, count, offset)


def _own_bits(value: str, start: int, site: Site) -> int:
    """Return the width in bits of a value written without a type; 0: unknown, for it is memory without a type."""
    try:
        fetch = read_fetch(site, start, value)
    except Refused:
        return 0
    if fetch.last is not None:
        kind = site.types.default_type(fetch.last) if site.types is not None else None
        return int(kind[1:]) if kind is not None and not (fetch.bits[0] or fetch.bits[1] % 8) else 0
    return site.dialect.bits if fetch.op in ("REG", "STACK", "RETVAL", "ARG") else 0


def _array(rest: str, at: int) -> int:
    """Parse `N]`, which begins at column `at`."""
    number, bracket, suffix = rest.partition("]")
    if not bracket:
        raise Refused("ARRAY_NO_CLOSE", at + len(rest), rest)
    if suffix:
        raise Refused("BAD_ARRAY_SUFFIX", at + len(number) + 1, suffix)
    count = kstrtoul(number, 0, UINT_MAX)
    if not count:
        raise Refused("BAD_ARRAY_NUM", at, number)
    if count > MAX_ARRAY:
        raise Refused("ARRAY_TOO_BIG", at, number)
    return count


def _stored_type(text: str | None, site: Site) -> str | None:
    """Return the kernel's type that stores a value (find_fetch_type); None: there is no such type."""
    if text is None:
        return f"x{site.dialect.bits}"
    if text.startswith("b"):
        _, slash, size = text.partition("/")
        bits = kstrtoul(size) if slash else None
        return f"u{bits}" if bits in (8, 16, 32, 64) else None
    if text in ("symbol", "symstr") and site.user and site.dialect.btf_args:
        return None
    if text in _SIZES or text in _STRINGS or text == "symbol":
        return text
    return text if text == "char" and site.dialect.char else None


def _btf_type(fetch: Fetch, site: Site) -> str:
    types = site.types
    if types is None or fetch.last is None:
        return f"x{site.dialect.bits}"
    return types.default_type(fetch.last) or f"x{site.dialect.bits}"


def _prepare_string(fetch: Fetch, text: str, base: int, site: Site) -> None:
    """Dereference a `char *`, and take a `char []` in place (check_prepare_btf_string_fetch)."""
    signature = site.types
    if signature is None or fetch.last is None or signature.is_char_array(fetch.last):
        return
    if not signature.is_char_pointer(fetch.last):
        steps = texts_in(signature.btf, fetch.last)
        hint = f"This is no text, but has some: {' '.join(steps)}" if steps else ""
        raise Refused("BAD_TYPE4STR", base, f":{text}", hint=hint, corrections=steps)
    fetch.advance()
    fetch.ops[-1] = "UDEREF" if text.startswith("u") else "DEREF"


def _check_store(fetch: Fetch, kind: FieldType, base: int) -> None:
    """Check that the value can be stored with its type (finalize_fetch_insn)."""
    at = base + kind.start
    store = "RAW"
    used = len(fetch.ops)
    if kind.name in _STRINGS:
        symstr = kind.name == "symstr"
        if fetch.op not in (_SYMSTR if symstr else _MEMORY):
            raise Refused("BAD_SYMSTRING" if symstr else "BAD_STRING", at, kind.text or "")
        used += symstr or fetch.op in ("IMM", "COMM", "DATA", "TP_ARG") or bool(kind.elements)
        store = "SYMSTR" if symstr else "STRING"
    elif fetch.op in ("DEREF", "UDEREF"):
        store = "MEM" if fetch.op == "DEREF" else "UMEM"
    else:
        used += 1
    if used > MAX_OPERATIONS:
        raise Refused("TOO_MANY_OPS", base)
    if kind.text is not None and kind.text.startswith("b"):
        used += 1
        if not _valid_bitfield(kind.text, fetch.site.dialect.saturates) or used > MAX_OPERATIONS:
            raise Refused("BAD_BITFIELD", at, kind.text)
    elif _shifts(fetch, kind):
        used += 1
    if kind.elements:
        if store not in ("MEM", "STRING"):
            raise Refused("BAD_STRING", at, kind.text or "")
        used += 1
    if used > MAX_OPERATIONS:
        raise Refused("TOO_MANY_OPS", base)


def _valid_bitfield(text: str, saturates: bool) -> bool:
    """Return whether the bits of `bWIDTH@OFFSET/SIZE` fit in its size (__parse_bitfield_probe_arg)."""
    width, rest = simple_strtoul(text[1:], 0, saturates)
    if not width or not rest.startswith("@"):
        return False
    offset, tail = simple_strtoul(rest[1:], 0, saturates)
    if not re.match(r"[0-9]", rest[1:]) or not tail.startswith("/"):
        return False
    size = kstrtoul(tail[1:])
    return size is not None and (width + offset) & ULONG_MAX <= size
