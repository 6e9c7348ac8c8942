"""Choose the functions on which the calls inside some roots are traced: those that may return an error."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from btf.btf import Btf
from btf.functions.error_returns import ErrorReturn, error_return
from probes.attaching.spellings import SYSTEM_CALLS
from probes.bpf.exclusions import exclusion_reason
from probes.facts.facts import TargetFacts
from probes.functions.function_index import STUB, index_of

_ENTRIES: Final = (*SYSTEM_CALLS[:4], "__ia32_", "__se_", "__compat_", STUB, "__traceiter_")
"""Beginnings of names of functions that are not called inside others, or record events."""


def traced_functions(
    facts: TargetFacts, btf: Btf | None, roots: Container[str], lone: Iterable[str]
) -> tuple[str, ...]:
    """Return the functions that may return an error, without those that are never probed in bulk.

    Args:
        facts: what the target has.
        btf: types of the kernel; None: unknown.
        roots: functions that begin a trace, which are left out.
        lone: names that one function alone has.
    """
    index = index_of(facts)
    return tuple(
        name
        for name in lone
        if index.count(name) == 1
        and name not in roots
        and not name.startswith(_ENTRIES)
        and not exclusion_reason(name)
        and error_return(btf, name) is not ErrorReturn.NONE
    )
