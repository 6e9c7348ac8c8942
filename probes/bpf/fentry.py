"""Tell why a function can have no program of its own at its entry or exit (fentry, fexit).

The kernel's own reasons: btf_distill_func_proto in kernel/bpf/btf.c, bpf_check_attach_target in verifier.c there.
"""

from __future__ import annotations

from typing import Final

from btf.btf import Btf
from btf.types import Struct
from btf.walk import size_of
from probes.bpf.context import LARGEST_PARAMETER, MOST_PARAMETERS
from probes.bpf.exclusions import fentry_exclusion
from probes.bpf.program import TargetFunction
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, symbol_count
from probes.functions.function_index import index_of
from probes.functions.signature import Signature, certain_signature_of

MOST_FUNCTIONS: Final = 20
"""Functions of a probe that get a program each: to take one away takes some kernels a tenth of a second."""
NO_FENTRY: Final = "this kernel attaches no fentry programs"


def fentry_refusal(
    function: str, btf: Btf | None, facts: TargetFacts, environment: Environment, *, at_exit: bool
) -> str:
    """Return why a function can have no program at its entry, or none at its exit; empty: it can, as far as known.

    Args:
        function: its name.
        btf: types of the kernel, or of the function's module on top of them; None: unknown.
        facts: what the target can do.
        environment: what the kernel attaches, and its symbols.
        at_exit: a program at the exit is wanted.
    """
    support = environment.programs
    if not support.fentry:
        return support.obstacle or NO_FENTRY
    if reason := fentry_exclusion(function, facts.blacklist, at_exit=at_exit):
        return reason
    if function in support.refused:
        return support.refused[function]
    if (count := max(index_of(facts).count(function), symbol_count(function, environment))) != 1:
        return f"{count} functions have this name" if count else "it is not traceable"
    signature = certain_signature_of(btf, function) if btf is not None else None
    if signature is None or target_of(signature, facts) is None:
        return "BTF does not have it, or several of that name that differ"
    return _signature_refusal(signature)


def target_of(signature: Signature, facts: TargetFacts) -> TargetFunction | None:
    """Return the function of a signature as a program is attached to it; None: its BTF is not that of its module."""
    found = signature.btf.function(signature.name)
    module = index_of(facts).modules.get(signature.name, "")
    if found is None or bool(module) != (signature.btf.base is not None and found.id >= signature.btf.start_id):
        return None
    return TargetFunction(found.id, module)


def _signature_refusal(signature: Signature) -> str:
    """Return why the kernel refuses a function for its parameters or for what it returns; empty: it does not."""
    btf, params = signature.btf, signature.params
    if params and not (params[-1].name or params[-1].type_id):
        return "it takes any number of arguments"
    if len(params) > MOST_PARAMETERS:
        return f"it has more than {MOST_PARAMETERS} parameters"
    if any(not 0 < size_of(btf, param.type_id) <= LARGEST_PARAMETER for param in params):
        return f"it takes a structure of more than {LARGEST_PARAMETER} bytes"
    if isinstance(btf.type(signature.strip(signature.returns)), Struct):
        return "it returns a structure"
    return ""
