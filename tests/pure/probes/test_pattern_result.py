"""What a pattern's functions return has a sign where BTF says that all have it, and one is offered where not."""

from __future__ import annotations

import pytest

from btf.btf import Btf
from btf.walk import strip
from probes.check import check_typed
from probes.corrections.corrections import corrected
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, ProgramSupport
from probes.fetcharg import FetchArg, ReturnValue
from probes.functions.fetcharg_types import own_type
from probes.functions.function_index import index_of
from probes.functions.signature import certain_signature_of
from probes.lowering.arguments.pattern_result import result_fetcharg, typed_results
from probes.lowering.lower import lower
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from probes.verdict import Verdict
from tests.probes_data import KERNELS, environment, kernel

RESULT = FetchArg(ReturnValue())


def by_type(btf: Btf, facts: TargetFacts) -> dict[str, list[str]]:
    """Names of functions by the type of what they return; `void` for nothing."""
    found: dict[str, list[str]] = {}
    for name in index_of(facts).modules:
        signature = certain_signature_of(btf, name)
        if signature is not None:
            kind = own_type(btf, signature.returns) if strip(btf, signature.returns) else "void"
            found.setdefault(str(kind), []).append(name)
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_the_type_is_that_of_all(name: str) -> None:
    btf, facts, _ = kernel(name)
    kinds = by_type(btf, facts)
    assert {"s32", "s64", "void"} <= set(kinds)
    for kind in ("s32", "s64"):
        fetchargs, told = typed_results([RESULT], "*", [*kinds["void"], *kinds[kind]], btf)
        assert (fetchargs[0].type, told) == (kind, ())
        own = FetchArg(ReturnValue(), "ret", "u8")
        assert typed_results([own], "*", kinds[kind], btf) == ([own], ())
    fetchargs, (told_,) = typed_results([RESULT], "*", [kinds["s32"][0], kinds["s64"][0]], btf)
    assert fetchargs[0].type is None
    assert "s32 and s64: $retval:s32" in told_
    fetchargs, told = typed_results([RESULT], "*", [kinds["s32"][0], "no_such_function"], btf)
    assert (fetchargs[0].type, len(told)) == (None, 1)
    assert typed_results([RESULT], "*", kinds["s32"], None) == ([RESULT], ())


@pytest.mark.parametrize("name", KERNELS)
def test_the_result_that_is_ticked_has_a_sign(name: str) -> None:
    btf, facts, _ = kernel(name)
    kinds = by_type(btf, facts)
    errors = FetchArg(ReturnValue(), None, "s32")
    assert result_fetcharg([*kinds["void"], *kinds["s64"]], btf) == RESULT  # which typed_results types
    assert result_fetcharg(kinds["void"], btf) is None
    for names in ([kinds["s32"][0], kinds["s64"][0]], ["no_such_function"], []):
        assert result_fetcharg(names, btf) == errors
    assert result_fetcharg(kinds["s32"], None) == errors


@pytest.mark.parametrize("name", KERNELS)
def test_a_patterns_errors_are_below_zero(name: str) -> None:
    btf, facts, _ = kernel(name)

    def verdict(text: str) -> Verdict:
        return check_typed(text, btf, facts, "", environment(name)).verdict

    plan = check_typed("f vfs_read*%return $retval if ret < -5", btf, facts, "", environment(name)).plan
    assert plan is not None
    assert all("ret=$retval:s64" in line for line in plan.lines)
    mixed = "f vfs_re*%return $retval if ret < -5"
    assert corrected(mixed, verdict(mixed), verdict) == "f vfs_re*%return $retval:s32 if ret < -5"
    narrow = "f vfs_read%return $retval:u32 if ret == -2"
    assert corrected(narrow, verdict(narrow), verdict) == "f vfs_read%return $retval:s32 if ret == -2"


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("text", ["f vfs_*%both file $retval", "f vfs_*%return $retval"])
def test_results_of_several_types_have_the_type_of_none(name: str, text: str) -> None:
    """Values by name are read by the types of one function, the results of all are not."""
    known = kernel(name)
    around = environment(name) if "file" not in text else Environment(programs=ProgramSupport(fentry=False))
    via = Via.BPF if "file" in text else Via.TRACEFS
    plan = lower(parse_probe(text), known.btf, known.facts, "pw", environment=around, via=via)
    (column,) = (one for one in plan.events[-1].columns if one.is_retval)
    assert column.btf_type is None and plan.events[-1].results == {"ret": True}
