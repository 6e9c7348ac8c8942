"""What is added to a refusal of a place, and who is a relative by type."""

from __future__ import annotations

import pytest

from probes.attaching.attach import attachability
from probes.attaching.catalog import Catalog
from probes.attaching.explain import explain_refusal, refused_function
from probes.attaching.relatives import relatives
from probes.attaching.values import (
    AbsentModule,
    Alternative,
    Attachability,
    Reason,
    ReasonKind,
    Relation,
    SymbolLookups,
)
from probes.check import check, check_plan, check_typed
from probes.probe import ProbeKind, ProbePlace
from probes.verdict import Refusal, Verdict
from tests.probes_data import kernel


@pytest.mark.parametrize(
    ("command", "code", "token", "name"),
    [
        ("p vfs_raed", "BAD_PROBE_ADDR", "vfs_raed", "vfs_raed"),
        ("f:g/e vfs_raed%return x", "BAD_PROBE_ADDR", "vfs_raed", "vfs_raed"),
        ("p ext4:ext4_no+4", "BAD_PROBE_ADDR", "ext4:ext4_no", "ext4_no"),
        ("r10 twin", "NON_UNIQ_SYMBOL", "twin", "twin"),
        ("p vfs_read @nosuch", "BAD_PROBE_ADDR", "nosuch", ""),
        ("p vfs_read x", "NO_BTFARG", "x", ""),
        ("e sched.nosuch", "BAD_PROBE_ADDR", "nosuch", ""),
        ("p", "BAD_PROBE_ADDR", "p", ""),
    ],
)
def test_which_function_a_refusal_is_about(command: str, code: str, token: str, name: str) -> None:
    assert refused_function(Verdict(command, Refusal(code, "", 2, token))) == name
    assert refused_function(Verdict(command)) == ""


def test_the_reason_and_the_names_to_take() -> None:
    refused = Verdict("p helper", Refusal("BAD_PROBE_ADDR", "Invalid", 2, "helper", "general", ("old",)))
    ways = tuple(Alternative(ProbePlace(f"copy.{n}"), Relation.COPY) for n in range(4))
    about = Attachability("helper", reasons=(Reason(ReasonKind.RENAMED, "made a copy"),), alternatives=ways)
    better = explain_refusal(refused, about, ["near"]).error
    assert better is not None
    assert (better.hint, better.nearest) == ("Made a copy", ("copy.0", "copy.1", "copy.2"))
    assert (better.code, better.column, better.message) == ("BAD_PROBE_ADDR", 2, "Invalid")
    unknown = Attachability("helper", reasons=(Reason(ReasonKind.UNKNOWN, "no such", "modprobe x"),))
    better = explain_refusal(refused, unknown, ["near"]).error
    assert better is not None
    assert (better.hint, better.nearest) == ("No such; modprobe x", ("near",))
    notrace = Attachability("helper", reasons=(Reason(ReasonKind.NOTRACE, "notrace"),))
    better = explain_refusal(refused, notrace, ["near"]).error
    assert better is not None
    assert better.nearest == ("old",), "a name like it is no way out for a function that is there"
    assert explain_refusal(refused, Attachability("helper"), []) is refused


@pytest.mark.parametrize("text", ["f vfs_raed", "f vfs_raed count", "f vfs_raed%both count"])
def test_no_such_function_is_said_with_one_like_it(text: str) -> None:
    btf, facts, _ = kernel("7.2")
    catalog = Catalog(btf, facts)
    for verdict in (check_plan(text, btf, facts).verdict, check_typed(text, btf, facts).verdict):
        assert verdict.error is not None
        name = refused_function(verdict)
        assert name == "vfs_raed"
        error = explain_refusal(verdict, catalog.attachability(name), catalog.near(name)).error
        assert error is not None
        assert (error.column, error.token, error.nearest) == (verdict.error.column, "vfs_raed", ("vfs_read",))
        assert error.hint == "No such function on this target"
        assert error.code in ("BAD_PROBE_ADDR", "NO_BTF_ENTRY", "unknown_function")
    known = Verdict("f vfs_read x", Refusal("NO_BTF_ENTRY", "", 11, "x"))
    assert explain_refusal(known, catalog.attachability("vfs_read"), ["y"]) is known


def test_a_verdict_of_a_real_kernel() -> None:
    btf, facts, _ = kernel("7.2")
    verdict = check("p ext4_readdir", btf, facts)
    assert refused_function(verdict) == "ext4_readdir"
    ground = SymbolLookups(absent=lambda _: [AbsentModule("ext4", is_proven=True)])
    error = explain_refusal(verdict, attachability("ext4_readdir", facts, btf, ground), []).error
    assert error is not None
    assert error.hint.endswith("; modprobe ext4")


def test_relatives_take_the_same_structure() -> None:
    btf, facts, _ = kernel("7.2")
    catalog = Catalog(btf, facts)
    found = relatives("vfs_read", btf, lambda name: catalog.attachability(name).kinds)
    assert found
    assert len(found) <= 8
    for way in found:
        function = btf.function(way.place.symbol)
        assert function is not None
        assert "struct file *" in catalog.function(way.place.symbol).prototype
        assert (way.relation, way.note) == (Relation.SAME_TYPE, "takes struct file")
        assert way.kinds == catalog.attachability(way.place.symbol).kinds
    assert "vfs_read" not in [way.place.symbol for way in found]
    assert found[0].place.symbol.startswith("vfs_"), "names most like its own first"
    assert relatives("ibt_save", btf, lambda _: frozenset({ProbeKind.FPROBE})) == (), "takes no structure"
    assert relatives("nobody", btf, lambda _: frozenset({ProbeKind.FPROBE})) == ()
    assert relatives("vfs_read", btf, lambda _: frozenset()) == ()
