"""Parse format files of events, and the header of a ring-buffer page (Documentation/trace/events.rst, section 2.2).

`events/SYSTEM/EVENT/format` gives the location of each field of a record; `events/header_page` that of a page's time
stamp, length and data.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final, Literal

from events.print_format import PrintFormat, parse_print_fmt

ByteOrder = Literal["little", "big"]


class FormatError(ValueError):
    """Error in a text that is no format file of the kernel."""


class FieldKind(enum.StrEnum):
    """Kind of one element of a field."""

    INT = "int"
    BOOL = "bool"
    CHAR = "char"
    """Character, printed as `'%c'`; a plain number of type char is INT."""
    STRING = "string"
    """String: bytes up to the first NUL."""
    SYMBOL = "symbol"
    """Address that the kernel prints as its symbol (%pS, %ps)."""
    POINTER = "pointer"
    BYTES = "bytes"
    """Structure, or integer wider than 8 bytes."""


class FieldLocation(enum.StrEnum):
    """Location of the data of a field."""

    INLINE = ""
    DATA = "__data_loc"
    """Indirect: the field holds `length << 16 | offset` from the start of the record."""
    REL = "__rel_loc"
    """Indirect as DATA, but the offset counts from the end of the field."""


class ErrorForm(enum.Enum):
    """Form of the errors, -4095 to -1, among the numbers of a field."""

    NONE = "no number is an error"
    OWN_WIDTH = "in the field's width, also without a sign"
    REGISTER = "as OWN_WIDTH, or in the lower 32 bits below zeros, as functions of type int leave a register"


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a record."""

    name: str
    type: str
    """Declared type, without the name: `char[16]`, `__data_loc char[]`, `u64`."""
    offset: int
    """Offset in bytes from the start of the record."""
    size: int
    """Size in bytes; 0: up to the end of the record."""
    signed: bool
    kind: FieldKind
    width: int
    """Size of one element in bytes; for strings 1."""
    count: int | None = None
    """Number of array elements; None: a single value; 0: as many elements as there are bytes for."""
    loc: FieldLocation = FieldLocation.INLINE
    spec: str = ""
    """Conversion in `print fmt`: `Lu`, `Lx`, `s`, `pS`; empty: unknown."""
    fault: int = 0
    """Bit in the event's `FAULTS_FIELD` that is set where a number could not be read; 0: nobody tells."""
    naming: str = field(default="", repr=False)
    """Argument of `print fmt` that names the field's numbers (`events.names.print_names`); empty: none does."""
    errors: ErrorForm = ErrorForm.NONE
    pointers: tuple[str, ...] = ()
    """Fields of the record with the pointers through which the kernel reads this one: where one of them is NULL or an
    error, tracefs stores nothing, and the bytes are of an older record (store_trace_args,
    kernel/trace/trace_probe_tmpl.h)."""

    @property
    def end(self) -> int:
        """Offset after the field."""
        return self.offset + self.size


@dataclass(frozen=True)
class EventFormat:
    """Format of one kind of event."""

    id: int
    """Number in the records' `common_type`."""
    system: str
    name: str
    fields: tuple[Field, ...]
    """Fields without the common ones."""
    print_fmt: str = ""
    common: tuple[Field, ...] = ()
    source: str = field(default="", repr=False, compare=False)
    """Text of the file."""
    function: Field | None = None
    """Field with the probed function, which is no field of the kernel's; None: see `with_function`."""
    boot: int = field(default=0, compare=False)
    """Number of the boot in which the events were recorded (`events.clocks.boots`): it names their addresses."""

    @property
    def path(self) -> str:
        """Path of the event, `system/name`."""
        return f"{self.system}/{self.name}" if self.system else self.name

    @cached_property
    def printing(self) -> PrintFormat | None:
        """Parsed `print_fmt`; None: it does not start with a string literal."""
        return parse_print_fmt(self.print_fmt)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return tuple(field.name for field in self.fields)

    @property
    def arguments(self) -> tuple[Field, ...]:
        """Fields requested by the user: without `__probe_ip` and similar ones."""
        return tuple(field for field in self.fields if field.name not in PROBE_FIELDS)

    @property
    def texts(self) -> frozenset[str]:
        """Names of the fields that are texts."""
        return frozenset(field.name for field in (*self.common, *self.fields) if field.kind is FieldKind.STRING)

    @cached_property
    def faults(self) -> Field | None:
        """Field with the bits of the numbers that could not be read; None: the event has none."""
        return next((one for one in self.common if one.name == FAULTS_FIELD and one.size == 4), None)

    @property
    def is_probe(self) -> bool:
        """True for an event of a kprobe, fprobe or tracepoint probe."""
        return "__probe_ip" in self.names or "__probe_func" in self.names

    def with_results(self, is_unknown: Mapping[str, bool]) -> EventFormat:
        """Return a format that tells which fields have return values.

        Args:
            is_unknown: True for those of functions of several types, or of types that nobody knows, by field.
        """
        fields = (
            replace(one, errors=_error_form(one, is_unknown=is_unknown[one.name])) if one.name in is_unknown else one
            for one in self.fields
        )
        return replace(self, fields=tuple(fields)) if is_unknown else self

    def with_pointers(self, pointers: Mapping[str, Sequence[str]]) -> EventFormat:
        """Return a format that tells the fields with the pointers through which others are read.

        Args:
            pointers: names of the fields with addresses, by the name of the field that is read through them.
        """
        addresses = {one.name for one in self.fields if _is_address(one)}
        known = {
            one.name: tuple(name for name in dict.fromkeys(pointers[one.name]) if name in addresses)[:_MOST_POINTERS]
            for one in self.fields
            if one.name in pointers
            and one.loc is FieldLocation.INLINE  # of texts their places tell, see `later_texts`
        }
        if self.faults is not None or not any(known.values()):
            return self
        return replace(self, fields=tuple(replace(one, pointers=known.get(one.name, ())) for one in self.fields))

    def with_function(self, name: str) -> EventFormat:
        """Return a format with a field for the probed function, before the others, at the address that a kprobe or
        fprobe records; unchanged where there is none.

        The address is that of the function at a return, and of the probe, at its beginning, else
        (kernel/trace/trace_probe_tmpl.h, kernel/trace/trace_fprobe.c). The kernel's own filters and triggers don't
        know the field.
        """
        places = ("__probe_func", "__probe_ip")
        numbers = {one.name: one for one in self.fields if one.name in places and _is_address(one)}
        address = numbers.get(places[0]) or numbers.get(places[1])
        if address is None or name in self.names:
            return self
        function = replace(address, name=name, kind=FieldKind.SYMBOL, spec=NAME_ONLY)
        return replace(self, fields=(function, *self.fields), function=function)

    def later_texts(self, text: Field) -> tuple[Field, ...]:
        """Return the fields behind a text that begins where one of them does, if it could not be read.

        Where tracefs can't follow the pointers to a text, it has set its place to the rest of the record already,
        where the next text is stored then (store_trace_args, kernel/trace/trace_probe_tmpl.h).
        """
        if text.loc is not FieldLocation.DATA or not _PROBE_HEADS.intersection(self.names):
            return ()
        behind = self.fields[self.fields.index(text) + 1 :]
        return tuple(one for one in behind if one.loc is FieldLocation.DATA and one.kind is FieldKind.STRING)

    @property
    def at_exit(self) -> bool:
        """True for an event of a return probe."""
        return "__probe_func" in self.names


NAME_ONLY = "ps"
"""Conversion for an address as the name of its symbol, without an offset in it."""
FAULTS_FIELD = "common_faults"
"""Field of 32 bits in records of our own programs (`probes.bpf.record`): bit N is of the field with number N."""
UNMAPPED_BYTES: Final = 4096
"""Size of each of the two pages, the first and the last one of the address space, that NULL and the errors are in
(ZERO_OR_NULL_PTR of include/linux/slab.h, IS_ERR_VALUE of include/linux/err.h)."""
PROBE_FIELDS = frozenset(("__probe_ip", "__probe_func", "__probe_ret_ip"))
_PROBE_HEADS = PROBE_FIELDS | {"__probe_type"}
"""Fields of which each event of a probe has one (kernel/trace/trace_probe.h)."""

_NAME = re.compile(r"^name: *(\S+)", re.MULTILINE)
_ID = re.compile(r"^ID: *(\d{1,9})\s*$", re.MULTILINE)
_FIELD = re.compile(
    r"^[ \t]*field: ?([^;\n]{0,1000});\s*offset:(\d{1,9});\s*size:(\d{1,9});(?:\s*signed:(\d{1,9});)?", re.MULTILINE
)
_PRINT = re.compile(r"^print fmt: (.*)$", re.MULTILINE)
_DECLARED_NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*+$")
_ARRAY_TYPE = re.compile(r"\[([^\]]*)\]")
_NUMBER = re.compile("[1-9][0-9]{0,8}")
_MOST_POINTERS = 16
"""Maximum pointers in a row through which a value is read."""
_MAX_RECORD_BYTES = 1 << 24
_MAX_FORMAT_CHARS = 1 << 20
"""Maximum characters of a format file; the kernel's longest has about 20,000."""
_MOST_FIELDS = 1024
"""Maximum fields of an event; a probe has at most 128 (MAX_TRACE_ARGS)."""

_WIDTHS = {
    **{f"{sign}{bits}": bits // 8 for sign in ("u", "s", "__u", "__s", "x") for bits in (8, 16, 32, 64)},
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("u", "") for bits in (8, 16, 32, 64)},
    "char": 1,
    "signed char": 1,
    "unsigned char": 1,
    "bool": 1,
    "short": 2,
    "unsigned short": 2,
    "int": 4,
    "unsigned int": 4,
    "unsigned": 4,
    "pid_t": 4,
    "gfp_t": 4,
    "long long": 8,
    "unsigned long long": 8,
    "loff_t": 8,
    "sector_t": 8,
    "dma_addr_t": 8,
}
_LONGS = frozenset(("long", "unsigned long", "size_t", "ssize_t", "uintptr_t"))
_CALLS = "funcgraph_"
"""Prefix of the function_graph tracer's events."""
RETVAL: Final = "retval"
"""Field with the return value in the function_graph tracer's exits: a register, in which a 32-bit error is not
sign-extended."""
_CHARS = frozenset(("char", "signed char"))


def _error_form(field: Field, *, is_unknown: bool) -> ErrorForm:
    is_number = field.kind in (FieldKind.INT, FieldKind.POINTER) and field.loc is FieldLocation.INLINE
    if not is_number or field.count is not None or field.width not in (4, 8):
        return ErrorForm.NONE
    return ErrorForm.REGISTER if is_unknown and not field.signed and field.width == 8 else ErrorForm.OWN_WIDTH


def parse_format(text: str, system: str = "", long_size: int = 8) -> EventFormat:
    """Parse a `format` file.

    Args:
        text: content of the file.
        system: folder of the event, which the file does not contain.
        long_size: bytes of a long in that kernel.

    Raises:
        FormatError: no name, no id, or an impossible field.
    """
    name, number = _NAME.search(text), _ID.search(text)
    if not name or not number or len(text) > _MAX_FORMAT_CHARS:
        raise FormatError("a format file needs `name:` and `ID:`")
    print_match = _PRINT.search(text)
    print_fmt = print_match.group(1) if print_match else ""
    parsed = parse_print_fmt(print_fmt)
    specs = parsed.specs() if parsed else {}
    namings = parsed.namings() if parsed else {}
    fields = [_field(match, specs, long_size) for match in islice(_FIELD.finditer(text), _MOST_FIELDS + 1)]
    if len(fields) > _MOST_FIELDS:
        raise FormatError(f"{name.group(1)}: more than {_MOST_FIELDS:,} fields")
    if namings:
        fields = [replace(one, naming=namings.get(one.name, "")) for one in fields]
    common = tuple(field for field in fields if field.name.startswith("common_"))
    own = tuple(field for field in fields if not field.name.startswith("common_"))
    if len({field.name for field in own}) != len(own):
        raise FormatError(f"{name.group(1)}: two fields have one name")
    if system == "ftrace" and name.group(1).startswith(_CALLS):
        own = tuple(replace(one, errors=ErrorForm.REGISTER) if one.name == RETVAL else one for one in own)
    if any(field.name == FAULTS_FIELD for field in common):
        own = tuple(
            replace(one, fault=1 << number if number < _SHARED_BIT and one.kind is not FieldKind.STRING else 0)
            for number, one in enumerate(own)
        )
    return EventFormat(int(number.group(1)), system, name.group(1), own, print_fmt, common, text)


def _is_address(field: Field) -> bool:
    """Return whether a field is one number of the size of an address: a recording may say anything else."""
    whole = field.kind in (FieldKind.INT, FieldKind.POINTER) and field.loc is FieldLocation.INLINE
    return whole and field.count is None and field.size == field.width in (4, 8)


def is_unmapped(pointer: object, size: int) -> bool:
    """Return whether a pointer of so many bytes is NULL or an error; False where it is missing."""
    return isinstance(pointer, int) and (pointer + UNMAPPED_BYTES) % (1 << 8 * size) < 2 * UNMAPPED_BYTES


_SHARED_BIT = 31
"""Number of the bit that all further fields share, which says nothing of one of them."""
_STRING_TYPES = ("char[]", "const char[]")


def _field(match: re.Match[str], specs: dict[str, str], long_size: int) -> Field:
    declared, dims = _without_dimensions(match.group(1).strip())
    name_match = _DECLARED_NAME.search(declared)
    if not name_match:
        raise FormatError(f"no field: {match.group(1)[:80]!r}")
    ctype, name = declared[: name_match.start()].strip(), name_match[0]
    offset, size = int(match.group(2)), int(match.group(3))
    if offset + size > _MAX_RECORD_BYTES:
        raise FormatError(f"field {name} ends at byte {offset + size}")
    base, loc = ctype, FieldLocation.INLINE
    for candidate in (FieldLocation.DATA, FieldLocation.REL):
        if ctype.startswith(candidate.value):
            base, loc = ctype[len(candidate.value) :].strip(), candidate
    if loc is FieldLocation.DATA and size == 8 and base in _STRING_TYPES:
        size = 4  # synthetic events use the first 4 bytes of a slot of 8 (trace_events_synth.c)
    element = base.split("[", 1)[0].removeprefix("const ").strip()
    bounds = _ARRAY_TYPE.findall(base + dims)
    several = element in _CHARS and len(bounds) > 1  # array of strings
    if loc is not FieldLocation.INLINE and (size % 4 or not size or (size > 4 and not several)):
        raise FormatError(f"{name}: a location has 4 bytes, not {size}")
    # Events of programs say of all that lies elsewhere that it is signed (trace_events_user.c, `type[0] != 'u'`).
    signed, spec = match.group(4) == "1" and not (loc and element.startswith("u")), specs.get(name, "")
    width = _width(element, size, bounds, loc, long_size)
    if dims and len(bounds) == 1:
        dims = _true_dimension(dims, size // width if loc is FieldLocation.INLINE and width else 0)
    kind, count = _shape(element, size, bounds, loc, width, spec)
    return Field(name, ctype + dims, offset, size, signed, kind, width, count, loc, spec)


def _without_dimensions(text: str) -> tuple[str, str]:
    """Split `char name[2] [4]` into `char name` and `[2][4]`."""
    dims = ""
    while text.endswith("]") and (begin := text.rfind("[")) >= 0:
        dims = "".join(text[begin:].split()) + dims
        text = text[:begin].rstrip()
    return text, dims


def _true_dimension(dims: str, count: int) -> str:
    """Return `[N]` with the number of elements that there are, where it has another; 0: nobody knows how many.

    The kernel prints any number for an array of a program's event: nobody sets the field that it prints (`len` of
    struct ftrace_event_field; trace_events_user.c, seen in 7.2).
    """
    number = dims[1:-1]
    return dims if not number.isdecimal() or int(number) == count else f"[{count or ''}]"


def _width(element: str, size: int, bounds: list[str], loc: FieldLocation, long_size: int) -> int:
    """Return the bytes of one element."""
    type_width = long_size if "*" in element or element in _LONGS else _WIDTHS.get(element, 0)
    if not bounds:
        return size
    if type_width:
        return type_width
    number = bounds[-1]
    if loc is FieldLocation.INLINE and _NUMBER.fullmatch(number) and size % int(number) == 0:
        return size // int(number)
    return 1


def _shape(
    element: str, size: int, bounds: list[str], loc: FieldLocation, width: int, spec: str
) -> tuple[FieldKind, int | None]:
    """Return the kind of an element, and the number of elements."""
    kind = _kind(element, width, spec)
    if loc is not FieldLocation.INLINE:
        if element not in _CHARS:
            return kind, 0
        # A probe's `name:string[2]` is `__data_loc char[][2] name`: two locations of 4 bytes each.
        return FieldKind.STRING, size // 4 if len(bounds) > 1 else None
    if not bounds:
        return kind, None
    # The kernel prints no count for a probe's array of chars either (`char c[]; size:4`): there `%c` distinguishes
    # it.
    if element in _CHARS and spec != "c":
        return FieldKind.STRING, None
    return kind, size // width if width else 0


def _kind(element: str, width: int, spec: str) -> FieldKind:
    if width not in (1, 2, 4, 8) or element.startswith(("struct ", "union ")):
        return FieldKind.BYTES
    if spec in ("pS", "ps", "pF", "pf", "pB"):
        return FieldKind.SYMBOL
    if element == "bool" and width == 1:
        return FieldKind.BOOL
    if element in _CHARS and spec == "c":
        return FieldKind.CHAR
    return FieldKind.POINTER if "*" in element else FieldKind.INT


@dataclass(frozen=True, slots=True)
class HeaderPage:
    """Layout of a sub-buffer, from `events/header_page`. Offsets and sizes in bytes."""

    byteorder: ByteOrder = "little"
    commit_size: int = 8
    """Bytes of local_t, equal to those of a long."""
    data_offset: int = 16
    data_size: int = 4080
    source: str = field(default="", repr=False, compare=False)
    """Text of the file; empty if the layout was not read."""

    @property
    def page_size(self) -> int:
        """Bytes of one sub-buffer."""
        return self.data_offset + self.data_size

    @property
    def long_size(self) -> int:
        """Bytes of a long in that kernel."""
        return self.commit_size

    @classmethod
    def parse(cls, text: str, byteorder: str = "little") -> HeaderPage:
        """Parse the file, where `overwrite` may be an int or a char.

        Raises:
            FormatError: time stamp, commit or data is missing, or not where all kernels have it.
        """
        found = {}
        for match in _FIELD.finditer(text):
            name = match.group(1).split()[-1:]
            found["".join(name)] = (int(match.group(2)), int(match.group(3)))
        commit, data = found.get("commit", (0, 0)), found.get("data", (0, 0))
        fits = found.get("timestamp") == (0, 8) and commit in ((8, 4), (8, 8)) and data[0] == 8 + commit[1]
        if not fits or data[1] % 4 or not 0 < data[1] <= _MAX_RECORD_BYTES - 16:
            raise FormatError("this header_page is none that is known")
        return cls("big" if byteorder == "big" else "little", commit[1], data[0], data[1], text)
