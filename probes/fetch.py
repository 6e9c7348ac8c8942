"""What the kernel makes of one expression: parse_probe_arg and its helpers in kernel/trace/trace_probe.c, as a value.

Nothing is fetched here: the result is the list of operations the kernel would store, the BTF type of the value, and
the column it would put a caret at. Errors come in the kernel's order, at the kernel's columns, its oddities included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from btf.btf import Btf
from btf.layout import PathError, resolve
from probes.dialect import MAX_OPERATIONS, Dialect
from probes.signature import Signature, member_names
from probes.text import kstrtol, kstrtoul

_NAMELESS = "\0"
"""In place of an empty name, which no member has; anonymous members must not match."""
_NESTED_LIMIT = 8
"""Casts and dereferences in one argument, where the kernel counts them (7.3)."""


class Refused(Exception):  # noqa: N818 - the kernel's answer
    """The kernel's error at a column within the current word."""

    def __init__(
        self, code: str, offset: int, token: str = "", index: int | None = None, names: tuple[str, ...] = ()
    ) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.token = token
        self.index = index
        """Word the error is at, where it isn't the current one."""
        self.names = names
        """Names that would do instead of the token."""


@dataclass
class Site:
    """Where the probe sits, as far as its arguments care."""

    dialect: Dialect
    btf: Btf | None
    signature: Signature | None
    """What BTF knows of the function; None: nothing."""
    at_entry: bool = False
    """At a function's first instruction."""
    at_exit: bool = False
    fprobe: bool = False
    user: bool = False
    """In a user-space program."""
    entry_args: list[str] = field(default_factory=list)
    """Entry arguments kept for the exit, each once."""

    @property
    def on_function(self) -> bool:
        """Whether arguments can be had at all."""
        return self.at_entry or self.at_exit


class Fetch:
    """The parse of one expression; `ops`, `offset` and `last` are what the kernel's context holds after it."""

    def __init__(self, site: Site, offset: int) -> None:
        self.site = site
        self.offset = offset
        """Column the kernel would put a caret at, within the word."""
        self.ops: list[str] = [""]
        self.last: int | None = None
        """BTF type id of the value, modifiers left out; None: not known to BTF."""
        self.bits = (0, 0)
        """Bit offset and size of a bit-field, size 0 where it is none."""
        self.walked = False
        """Whether a field path came last: up to 7.2 the kernel's column is lost then."""
        self._depth = 0

    @property
    def op(self) -> str:
        """The operation that was stored last."""
        return self.ops[-1]

    def advance(self) -> None:
        """Go to the next operation, like `++code == end`."""
        if len(self.ops) >= MAX_OPERATIONS:
            raise Refused("TOO_MANY_OPS", self.offset)
        self.ops.append("")

    def parse(self, text: str) -> None:
        """Read an expression. Raises Refused."""
        first = text[:1]
        if first == "$":
            self._variable(text)
        elif first == "%":
            self._register(text)
        elif first == "@":
            self._address(text)
        elif first and first in "+-":
            self._dereference(text)
        elif first == "\\":
            self._immediate(text)
        elif first == "(" and self.site.dialect.typecast_known and not self.site.dialect.typecast:
            raise Refused("TYPECAST_NOT_EVENT", self.offset, text)
        elif self.site.dialect.btf_args and first.isascii() and (first.isalpha() or first == "_"):
            if not self.site.on_function:
                raise Refused("NOSUP_BTFARG", self.offset, text)
            self._btf_argument(text)
        else:
            raise Refused("BAD_FETCH_ARG", self.offset, text)

    def _set(self, op: str) -> None:
        self.ops[-1] = op

    def _register(self, text: str) -> None:
        if self.site.fprobe:
            # The kernel logs BAD_VAR first and then this: no fetch method was found.
            raise Refused("BAD_FETCH_ARG", self.offset, text)
        known = self.site.dialect.registers
        if not text[1:] or (known is not None and text[1:] not in known):
            raise Refused("BAD_REG_NAME", self.offset, text)
        self._set("REG")

    def _variable(self, text: str) -> None:
        name, site = text[1:], self.site
        if self._is_retval(name):
            if not site.at_exit:
                raise Refused("RETVAL_ON_PROBE", self.offset, text)
            if site.user or not site.dialect.btf_args:
                self._set("RETVAL")
            else:
                self._btf_argument(text)
        elif name.startswith("stack"):
            self._stack(text, name[5:])
        elif name in ("comm", "COMM"):
            self._set("COMM")
        elif name.startswith("arg") and (site.at_entry or site.dialect.btf_args):
            self._argument(text, name[3:])
        else:
            raise Refused("BAD_VAR", self.offset, text)

    def _is_retval(self, name: str) -> bool:
        """Older kernels want the bare word; newer ones take what begins with it and look further."""
        return name.startswith("retval") if self.site.dialect.btf_args else name == "retval"

    def _stack(self, text: str, number: str) -> None:
        if not number:
            self._set("STACKP")
            return
        value = kstrtoul(number, 10) if number[0].isascii() and number[0].isdigit() else None
        if value is None:
            raise Refused("BAD_VAR", self.offset, text)
        if value > self.site.dialect.stack_longs and not self.site.user:
            raise Refused("BAD_STACK_NUM", self.offset, text)
        self._set("STACK")

    def _argument(self, text: str, number: str) -> None:
        value = kstrtoul(number, 10)
        if value is None:
            raise Refused("BAD_VAR", self.offset, text)
        if not 0 < value <= self.site.dialect.stack_longs:
            raise Refused("BAD_ARG_NUM", self.offset, text)
        if self.site.at_entry:
            self._set("ARG")
        elif self.site.at_exit and self.site.dialect.entry_at_exit:
            self._keep_entry(str(value))
        else:
            raise Refused("NOFENTRY_ARGS" if self.site.dialect.btf_args else "BAD_VAR", self.offset, text)

    def _keep_entry(self, number: str) -> None:
        self._set("EDATA")
        if number not in self.site.entry_args:
            self.site.entry_args.append(number)

    def _address(self, text: str) -> None:
        body, user = text[1:], self.site.user
        if body[:1].isascii() and body[:1].isdigit():
            if kstrtoul(body) is None:
                raise Refused("BAD_MEM_ADDR", self.offset, text)
            self._set("IMM")
        elif body.startswith("+"):
            if not user:
                raise Refused("FILE_ON_KPROBE", self.offset, text)
            if kstrtol(body[1:]) is None:
                raise Refused("BAD_FILE_OFFS", self.offset, text)
            self._set("FOFFS")
        else:
            if user:
                raise Refused("SYM_ON_UPROBE", self.offset, text)
            self._set("SYMBOL")
            self.advance()
            self._set("IMM")
        self.advance()
        self._set("DEREF")

    def _dereference(self, text: str) -> None:
        op = "UDEREF" if text[1:2] == "u" else "DEREF"
        body = text[0] + text[2:] if op == "UDEREF" else text
        body = body.removeprefix("+")  # kstrtol() is given the number without it
        number, brace, rest = body.partition("(")
        if not brace:
            raise Refused("DEREF_NEED_BRACE", self.offset, text)
        if kstrtol(number) is None:
            raise Refused("BAD_DEREF_OFFS", self.offset, text)
        self._depth += 1
        if self.site.dialect.typecast and self._depth > _NESTED_LIMIT:
            raise Refused("TOO_MANY_NESTED", self.offset, text)
        self.offset += len(number) + 1 + (0 if number.startswith("-") else 1)
        here = self.offset
        end = rest.rfind(")")
        if end < 0:
            raise Refused("DEREF_OPEN_BRACE", here + len(rest), text)
        self.parse(rest[:end])
        self.offset = here
        if self.op in ("COMM", "DATA"):
            raise Refused("COMM_CANT_DEREF", here, rest[:end])
        self.advance()
        self._set(op)
        self.last = None
        self.walked = False

    def _immediate(self, text: str) -> None:
        body = text[1:]
        if body.startswith('"'):
            string = body[1:]
            if not string.endswith('"'):
                raise Refused("IMMSTR_NO_CLOSE", self.offset + 2 + len(string), text)
            self._set("DATA")
            return
        number: int | None = None
        if body[:1].isascii() and body[:1].isdigit():
            number = kstrtoul(body)
        elif body.startswith("-"):
            number = kstrtol(body)
        elif body.startswith("+"):
            number = kstrtol(body[1:])
        if number is None:
            raise Refused("BAD_IMM", self.offset + 1, body)
        self._set("IMM")

    def _btf_argument(self, text: str) -> None:
        """Read a parameter's name or `$retval` with the path behind it (parse_btf_arg)."""
        site = self.site
        name, arrow, rest = self._next_field(text)
        if rest is not None and not arrow:
            raise Refused("NOSUP_DAT_ARG", self.offset + len(text) - len(rest), rest)
        signature = site.signature
        if site.at_exit and name == "$retval":
            self._set("RETVAL")
            if signature is None:
                if rest is not None:
                    raise Refused("NO_BTF_ENTRY", self.offset + len(text) - len(rest), rest)
                return
            if signature.returns == 0:
                raise Refused("NO_RETVAL", self.offset, text)
            type_id = signature.returns
        else:
            if signature is None or not signature.params:
                raise Refused("NO_BTF_ENTRY", self.offset, text)
            number = signature.number_of(name)
            if number is None:
                raise Refused("NO_BTFARG", self.offset, name, names=tuple(p.name for p in signature.params))
            type_id = signature.params[number].type_id
            if site.at_entry:
                self._set("ARG")
            else:
                self._keep_entry(str(number + 1))
        assert site.btf is not None and signature is not None  # noqa: S101 - a signature comes from BTF
        self.last = signature.strip(type_id)
        if rest is not None:
            self.offset += len(text) - len(rest)
            self._path(self.last, rest)

    def _next_field(self, text: str) -> tuple[str, bool, str | None]:
        """Split at the next `->` or `.` (split_next_field)."""
        match = re.search(r"[.-]", text)
        if match is None:
            return text, False, None
        at = match.start()
        if text[at] == ".":
            return text[:at], False, text[at + 1 :]
        if text[at + 1 : at + 2] != ">":
            raise Refused("BAD_HYPHEN", self.offset + at, text[at:])
        return text[:at], True, text[at + 2 :]

    def _path(self, type_id: int, text: str) -> None:
        """Walk the members behind a pointer (parse_btf_field)."""
        hops: list[tuple[str, str]] = []
        starts: list[int] = []
        arrow, rest, broken = True, text, None
        while rest is not None:
            starts.append(self.offset)
            op = "->" if arrow else "."
            try:
                name, arrow, following = self._next_field(rest)
            except Refused as error:
                broken = error
                hops.append((op, ""))
                break
            hops.append((op, name or _NAMELESS))
            if following is not None:
                self.offset += len(rest) - len(following)
            rest = following  # type: ignore[assignment]
        self._resolve(type_id, hops, starts, broken)

    def _resolve(self, type_id: int, hops: list[tuple[str, str]], starts: list[int], broken: Refused | None) -> None:
        btf = self.site.btf
        assert btf is not None  # noqa: S101 - a signature comes from BTF
        good = hops[:-1] if broken is not None else hops
        try:
            found = resolve(btf, type_id, good) if good else None
        except PathError as error:
            names = member_names(btf, type_id, hops, error.hop_index) if error.code == "NO_BTF_FIELD" else ()
            token = hops[error.hop_index][1].strip(_NAMELESS)
            raise Refused(error.code, starts[error.hop_index], token, names=names) from None
        if broken is not None:
            if hops[-1][0] == "->" and not self.site_points(found.type_id if found else type_id):
                raise Refused("NO_PTR_STRCT", starts[-1])
            raise broken
        if found is None:
            return
        for _ in found.derefs:
            self.advance()
            self._set("DEREF")
        assert self.site.signature is not None  # noqa: S101
        self.last = self.site.signature.strip(found.type_id)
        self.bits = (found.bit_offset, found.bit_size)
        self.walked = True

    def site_points(self, type_id: int) -> bool:
        """Whether a type is a pointer, typedefs and qualifiers left out."""
        return self.site.signature is not None and self.site.signature.is_pointer(type_id)
