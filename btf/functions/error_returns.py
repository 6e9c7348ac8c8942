"""Tell in which form a function returns errors, as a register alone does not say whether it holds one."""

from __future__ import annotations

import enum

from btf.btf import Btf
from btf.errors import BtfError
from btf.types import Int, Ptr
from btf.walk import stripped


class ErrorReturn(enum.IntEnum):
    """Form of the errors that a function returns."""

    UNKNOWN = 0
    """BTF lacks the function: any result that looks like an error is one."""
    NONE = 1
    """Result is nothing, a bool, an enum, a structure or a number that is no error."""
    INT = 2
    """A negative number of 32 bits; the upper half of the register is undefined."""
    LONG = 3
    """A negative number of 64 bits, or a pointer that holds one (ERR_PTR)."""


def error_return(btf: Btf | None, function: str) -> ErrorReturn:
    """Return the form of a function's errors.

    Unsigned numbers of 64 bits hold errors, too (IS_ERR_VALUE: `get_unmapped_area`), shorter ones do not.

    Args:
        btf: types of the kernel; None: unknown.
        function: name as in kallsyms, without its module; of a compiler's variant (`do_tcp_getsockopt.isra.0`) the
            original's type counts.
    """
    if btf is None:
        return ErrorReturn.UNKNOWN
    func = btf.function(function) or btf.function(function.partition(".")[0])
    if func is None:
        return ErrorReturn.UNKNOWN
    try:
        kind = stripped(btf, btf.prototype(func).type_id)
    except BtfError:
        return ErrorReturn.UNKNOWN
    if isinstance(kind, Ptr):
        return ErrorReturn.LONG
    if not isinstance(kind, Int) or kind.is_bool:
        return ErrorReturn.NONE
    if kind.size == 8:
        return ErrorReturn.LONG
    return ErrorReturn.INT if kind.size == 4 and kind.is_signed else ErrorReturn.NONE


def may_pass_errors_on(btf: Btf | None, function: str) -> bool:
    """Return whether a function's result may tell its caller of an error inside it: an error, or a bool."""
    if error_return(btf, function) is not ErrorReturn.NONE:
        return True
    func = btf.function(function) if btf is not None else None
    if btf is None or func is None:
        return False
    kind = stripped(btf, btf.prototype(func).type_id)
    return isinstance(kind, Int) and kind.is_bool
