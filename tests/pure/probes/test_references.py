"""Probes on functions that take and drop references, by the types of a real kernel."""

from __future__ import annotations

import pytest

from events.references.reference import Role, parse_event_name
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from probes.check import check_plan
from probes.references.choice import ChosenProbes, NoReferences, chosen_probes
from probes.references.kinds import KINDS


@pytest.fixture(scope="module")
def info():
    shipped = KernelInfo(open_target(str(shipped_recording())))
    yield shipped
    shipped.close()


def chosen(info: KernelInfo, word: str) -> ChosenProbes:
    return chosen_probes(word, info.btf, info.facts)


@pytest.mark.parametrize(
    "word", [*sorted(KINDS.keys() - {"netdev"}), "bpf_map", "module", "fget+fget_raw,fput,__fput"]
)
def test_a_kernel_takes_every_probe_of_a_kind(info, word):
    found = chosen(info, word)
    for spec, (role, function) in zip(found.probes.specs, found.probes.functions, strict=True):
        assert check_plan(spec, info.btf, info.facts).verdict.ok, spec
        event = parse_event_name(spec.split()[0].removeprefix("f:"))
        assert event is not None and (event.kind, event.role) == (found.kind.name, role)
        assert spec.split()[1].removesuffix("%return") == function
    assert found.probes.of(Role.PUT) and found.notes
    assert found.probes.count_path or found.kind.name == "bpfprog"


def test_the_object_and_its_count_are_read_where_they_are_known(info):
    specs = chosen(info, "file").probes.specs
    assert any(spec.startswith("f:file_get__fget fget%return object=$retval after") for spec in specs)
    assert any(spec.startswith("f:file_put__fput fput object=file before") for spec in specs)
    module = " ".join(chosen(info, "module").probes.specs)
    assert "try_module_get%return object=module after=module->refcnt.counter" in module
    assert "ok=$retval if ok != 0" in module


def test_pairs_are_found_by_name_and_type(info):
    found = chosen(info, "struct bpf_map").probes
    assert (found.of(Role.GET), found.of(Role.PUT)) == (("bpf_map_inc",), ("bpf_map_put",))
    assert chosen(info, "struct file").kind is KINDS["file"]


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("netdev", "no function that puts"),
        ("pid", "no function that gets"),
        ("nothing_at_all", "no such kind"),
        ("fget,kobject_put", "can't be traced"),
        ("fget,nothing_at_all", "BTF knows no structure"),
        ("fget,fput,", "two or three parts"),
        ("a,b,c,d", "two or three parts"),
    ],
)
def test_what_cannot_be_tracked_says_why(info, word, why):
    with pytest.raises(NoReferences, match=why):
        chosen(info, word)


def test_a_get_that_allocates_makes_the_object(info):
    found = chosen(info, "alloc_empty_file+fget,fput").probes
    assert (found.of(Role.NEW), found.of(Role.GET)) == (("alloc_empty_file",), ("fget",))


def test_without_types_nothing_is_tracked(info):
    with pytest.raises(NoReferences, match="no BTF"):
        chosen_probes("file", None, info.facts)
