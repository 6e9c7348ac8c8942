"""What the functions of a pattern return: one type where all agree, for the kernel itself looks at none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from btf.btf import Btf
from btf.walk import strip
from probes.fetcharg import FetchArg, ReturnValue
from probes.functions.fetcharg_types import own_type
from probes.functions.signature import certain_signature_of

UNKNOWN = "what BTF does not know"


def typed_results(
    fetchargs: Sequence[FetchArg], pattern: str, names: Sequence[str], btf: Btf | None
) -> tuple[Sequence[FetchArg], tuple[str, ...]]:
    """Return the fetchargs of a pattern, `$retval` with the type that all functions return, and what is to be said.

    Args:
        fetchargs: as they were written.
        pattern: of functions.
        names: of the functions that fit.
        btf: types of the target; None: unknown.
    """
    if btf is None or not any(_is_untyped(arg) for arg in fetchargs):
        return fetchargs, ()
    returned = _returned(btf, names)
    if len(returned) > 1:
        told = f"{pattern}: $retval has no sign, its functions return {' and '.join(returned)}"
        return fetchargs, (f"{told}: $retval:s32 shows errors",)
    kind = next(iter(returned), UNKNOWN)
    if kind == UNKNOWN:
        return fetchargs, ()
    return [replace(arg, type=kind) if _is_untyped(arg) else arg for arg in fetchargs], ()


def _is_untyped(arg: FetchArg) -> bool:
    return arg.type is None and isinstance(arg.expression, ReturnValue) and not arg.expression.path


def _returned(btf: Btf, names: Iterable[str]) -> Sequence[str]:
    """Return the types of what functions return, two at most; those that return nothing are left out."""
    found = dict[str, None]()
    for name in names:
        # A copy by the compiler, `vfs_read.isra.0`, returns what the function does.
        signature = certain_signature_of(btf, name.partition(".")[0])
        if signature is not None and not strip(btf, signature.returns):
            continue
        found[UNKNOWN if signature is None else own_type(btf, signature.returns) or UNKNOWN] = None
        if len(found) > 1:
            break
    return tuple(found)
