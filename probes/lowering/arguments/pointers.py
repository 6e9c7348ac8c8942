"""Find the pointers through which the kernel reads a value, among the other values that an event records.

Where such a read fails, tracefs stores nothing (kernel/trace/trace_probe_tmpl.h, store_trace_args): a number's bytes
are those of an older record. A recorded pointer that is NULL or an error is proof of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.types import Ptr
from btf.walk import strip
from probes.fetcharg import Cast, CurrentTask, Dereference, Expression, FetchArg, Hop, Register, ReturnValue, Variable
from probes.functions.convention import FunctionConvention
from probes.functions.signature import Signature
from probes.plans.plan import PlanColumn
from probes.syntax.text import kstrtol

_NULL_BYTES: Final = 1 << 16
"""Bytes from NULL on in which nothing is mapped (vm.mmap_min_addr)."""
_MOST_INDEX: Final = _NULL_BYTES // 64
_WHOLE: Final = re.compile("[usx]64")


class ReadValue(NamedTuple):
    """A value of an event, as a person asks for it, and its field."""

    arg: FetchArg
    column: PlanColumn
    from_memory: bool
    """True if the kernel reads memory for it."""


def with_pointers(
    values: Sequence[ReadValue], btf: Btf | None, argument_numbers: Mapping[str, int]
) -> tuple[PlanColumn, ...]:
    """Return the fields of an event with the names of those that hold the pointers through which each is read.

    `argument_numbers`: N of `$argN` by the parameters and registers that hold the same.
    """

    def place(expression: Expression) -> Expression:
        return _with_argument(expression, argument_numbers)

    names = {str(place(one.arg.expression)): one.column.name for one in values if _is_whole_pointer(one, btf)}
    columns = []
    for one in values:
        texts = _pointers(place(one.arg.expression)) if one.from_memory else ()
        columns.append(replace(one.column, pointers=tuple(names[text] for text in texts if text in names)))
    return tuple(columns)


def numbers_of(signature: Signature | None, convention: FunctionConvention) -> dict[str, int]:
    """Return N of `$argN` by the names of the parameters that are in it, and there alone."""
    params = signature.params if signature is not None else ()
    pairs = zip(params, convention.params, strict=False)
    return {param.name: place.slots[0] for param, place in pairs if len(place.slots) == 1 and not place.by_reference}


def _with_argument(expression: Expression, numbers: Mapping[str, int]) -> Expression:
    """Return an expression with `$argN` in the place of a register or a parameter that holds the same.

    A path behind a parameter stays: `file->f_inode` becomes the path behind a variable `$arg1`.
    """
    if isinstance(expression, Dereference | Cast):
        return replace(expression, inner=_with_argument(expression.inner, numbers))
    if isinstance(expression, Variable | Register):
        number = numbers.get(f"%{expression.name}" if isinstance(expression, Register) else expression.name)
        path = expression.path if isinstance(expression, Variable) else ()
        return Variable(f"$arg{number}", path) if number is not None else expression
    return expression


def reads_memory(expression: Expression) -> bool:
    """Return whether the kernel reads memory for an expression, which may fail."""
    return any(True for _ in _pointers(expression))


def _is_whole_pointer(value: ReadValue, btf: Btf | None) -> bool:
    """Return whether a field holds all bits of an address."""
    if value.arg.type is not None and not _WHOLE.fullmatch(value.arg.type):
        return False
    if btf is None or value.column.btf_type is None:
        return not getattr(value.arg.expression, "path", ())
    return isinstance(btf.type(strip(btf, value.column.btf_type)), Ptr)


def _pointers(expression: Expression) -> Iterator[str]:
    """Yield the pointers through which a value is read at small offsets, as expressions."""
    if isinstance(expression, Dereference):
        if 0 <= _offset(expression.offset) < _NULL_BYTES:
            yield str(expression.inner)
        yield from _pointers(expression.inner)
    elif isinstance(expression, Variable | ReturnValue | CurrentTask):
        yield from map(str, (replace(expression, path=part) for part in _read_parts(expression.path)))
    elif isinstance(expression, Cast) and expression.member is None:
        yield from (
            str(replace(expression, path=part) if part else expression.inner) for part in _read_parts(expression.path)
        )
        yield from _pointers(expression.inner)


def _read_parts(path: tuple[Hop, ...]) -> Iterable[tuple[Hop, ...]]:
    return (path[:at] for at, hop in enumerate(path) if hop.op == "->" or (hop.op == "[]" and _is_near(hop.name)))


def _is_near(index: str) -> bool:
    return index.isdecimal() and int(index) < _MOST_INDEX


def _offset(text: str) -> int:
    number = kstrtol(text)
    return -1 if number is None else number
