"""Find the common return type of a pattern's functions: the kernel itself looks at none of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from btf.btf import Btf
from btf.walk import strip
from probes.fetcharg import FetchArg, ReturnValue
from probes.functions.fetcharg_types import own_type
from probes.functions.signature import certain_signature_of

UNKNOWN = "what BTF does not know"
ERROR_TYPE = "s32"
"""Type in which an error is below zero, whether a function returns 32 or 64 bits: the lower half of both has it."""


def result_fetcharg(names: Sequence[str], btf: Btf | None) -> FetchArg | None:
    """Return the fetcharg that shows the results of several functions with their sign; None: all return nothing.

    It has a type only where `typed_results` finds none.
    """
    types = _return_types(btf, names) if btf is not None and names else (UNKNOWN,)
    if not types:
        return None
    return FetchArg(ReturnValue(), None, ERROR_TYPE if len(types) > 1 or types[0] == UNKNOWN else None)


def typed_results(
    fetchargs: Sequence[FetchArg], pattern: str, names: Sequence[str], btf: Btf | None
) -> tuple[Sequence[FetchArg], tuple[str, ...]]:
    """Return the fetchargs of a pattern, with `$retval` typed where all functions return the same type, and notes.

    Args:
        fetchargs: the fetchargs as written.
        pattern: the pattern of function names.
        names: functions that match the pattern.
        btf: types of the target; None: unknown.
    """
    if btf is None or not any(_is_untyped(arg) for arg in fetchargs):
        return fetchargs, ()
    types = _return_types(btf, names)
    if len(types) > 1:
        note = f"{pattern}: $retval has no sign, its functions return {' and '.join(types)}"
        return fetchargs, (f"{note}: $retval:{ERROR_TYPE} shows errors",)
    kind = next(iter(types), UNKNOWN)
    if kind == UNKNOWN:
        return fetchargs, ()
    return [replace(arg, type=kind) if _is_untyped(arg) else arg for arg in fetchargs], ()


def _is_untyped(arg: FetchArg) -> bool:
    return arg.type is None and isinstance(arg.expression, ReturnValue) and not arg.expression.path


def _return_types(btf: Btf, names: Iterable[str]) -> Sequence[str]:
    """Return the return types of functions, two at most; void functions are left out."""
    types = dict[str, None]()
    for name in names:
        # A compiler's clone, `vfs_read.isra.0`, returns what the function does.
        signature = certain_signature_of(btf, name.partition(".")[0])
        if signature is not None and not strip(btf, signature.returns):
            continue
        types[UNKNOWN if signature is None else own_type(btf, signature.returns) or UNKNOWN] = None
        if len(types) > 1:
            break
    return tuple(types)
