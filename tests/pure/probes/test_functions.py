"""What is known of functions and values before a probe is written: catalog, tree, types, conventions, messages."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from probes.attaching.catalog import Catalog
from probes.facts.errors_table import FILTER_MESSAGES, MESSAGES, code_of, message_of
from probes.facts.facts import Feature
from probes.functions.capture_tree import CaptureNode, CaptureTree
from probes.functions.signature import dentry_offsets
from probes.lowering.filters.field_names import first_unknown, names_in
from probes.names import check_name, event_name, identifier, unique_field
from probes.probe import ProbeKind
from probes.syntax.text import kstrtol, kstrtoul, simple_strtoul, split
from tests.probes_data import KERNELS, kernel


def node(tree: CaptureTree, *path: str) -> CaptureNode:
    """Open the tree along labels."""
    found = next(n for n in tree.roots() if n.label == path[0])
    for label in path[1:]:
        found = next(n for n in tree.children(found) if n.label == label)
    return found


class TestCatalog:
    def test_names_are_all_there_is(self) -> None:
        btf, facts, _ = kernel("7.2")
        catalog = Catalog(btf, facts)
        assert list(catalog.names) == sorted(set(catalog.names))
        assert {"vfs_read", "ibt_save"} < set(catalog.names)
        traceable = {line.partition(" ")[0] for line in facts.functions}
        assert set(catalog.names) == traceable | set(btf.functions)

    def test_why_not(self) -> None:
        btf, facts, _ = kernel("7.2")
        functions = (*facts.functions, "twin", "twin [mod]", "uid_eq.isra.0", "only_here [mod]", "untyped")
        catalog = Catalog(btf, replace(facts, functions=functions, blacklist=facts.blacklist | {"vfs_write"}))
        assert catalog.function("vfs_read").kinds == {ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE}
        assert catalog.function("vfs_read").reason == ""
        assert catalog.function("vfs_read").prototype.startswith("ssize_t vfs_read(struct file *file, char *buf,")
        assert catalog.function("twin").kinds == {ProbeKind.FPROBE}
        assert "2 functions" in catalog.function("twin").reason
        assert catalog.function("vfs_write").kinds == {ProbeKind.FPROBE}
        assert "blacklist" in catalog.function("vfs_write").reason
        assert catalog.function("uid_eq").copies == ("uid_eq.isra.0",)
        assert "uid_eq.isra.0" in catalog.function("uid_eq").reason
        assert not catalog.function("uid_eq").kinds
        assert "isra copy of uid_eq" in catalog.function("uid_eq.isra.0").reason
        assert catalog.function("only_here").module == "mod"
        assert catalog.function("only_here").reason == ""
        assert "no BTF" in catalog.function("untyped").reason
        assert catalog.function("nobody").reason == "no such function on this target"
        assert "not traceable" in catalog.function("ibt_save").reason or catalog.function("ibt_save").kinds

    def test_kernel_without_tracers(self) -> None:
        btf, facts, _ = kernel("7.2")
        bare = Catalog(btf, replace(facts, features=frozenset()))
        assert not bare.function("vfs_read").kinds
        assert "no tracer" in bare.function("vfs_read").reason
        old = Catalog(btf, replace(facts, features=facts.features - {Feature.FPROBE_EVENTS}))
        assert old.function("vfs_read").kinds == {ProbeKind.KPROBE, ProbeKind.KRETPROBE}

    def test_without_types(self) -> None:
        _, facts, _ = kernel("7.2")
        catalog = Catalog(None, facts)
        assert catalog.function("vfs_read").prototype == ""
        assert catalog.function("vfs_read").kinds
        assert len(catalog) == len({line.partition(" ")[0] for line in facts.functions})


class TestTree:
    def test_first_level(self) -> None:
        btf, facts, _ = kernel("7.2")
        roots = CaptureTree(btf, "vfs_read", facts.machine).roots()
        assert [(n.label, str(n.fetcharg), n.kernel_type, n.expandable) for n in roots] == [
            ("file", "file:%pD", "%pD", True),
            ("buf", "buf:string", "string", False),
            ("count", "count", "u64", False),
            ("pos", "pos", "x64", True),
            ("$retval", "$retval", "s64", False),
            ("$comm", "$comm", "string", False),
            ("$stack", "$stack", "x64", False),
        ]
        assert [n.label for n in roots if n.at_exit] == ["$retval"]
        assert not [n for n in CaptureTree(btf, "kfree", facts.machine).roots() if n.at_exit]

    def test_fields_behind_pointers(self) -> None:
        btf, facts, _ = kernel("6.12")
        tree = CaptureTree(btf, "vfs_read", facts.machine)
        pos = node(tree, "file", "->f_pos")
        assert (str(pos.fetcharg), pos.c_type, pos.kernel_type, pos.offset) == ("file->f_pos", "loff_t", "s64", 112)
        inside = node(tree, "file", "->f_path", ".dentry")
        assert (str(inside.fetcharg), inside.offset) == ("file->f_path.dentry:%pd", 72)
        path = node(tree, "file", "->f_path")
        assert path.fetcharg is None
        assert "open it" in path.reason
        assert str(node(tree, "pos", "[0]").fetcharg) == "pos[0]"
        assert node(tree, "pos", "[0]").kernel_type == "s64"

    def test_bits_arrays_and_text(self) -> None:
        btf, facts, _ = kernel("6.12")
        tree = CaptureTree(btf, "wake_up_new_task", facts.machine)
        bit = node(tree, "p", "->in_execve")
        assert (bit.kernel_type, str(bit.fetcharg)) == ("b1", "p->in_execve")
        assert str(node(tree, "p", "->comm").fetcharg) == "p->comm:string"
        assert not node(tree, "p", "->comm").expandable
        assert str(node(tree, "p", "->usage").fetcharg) == "p->usage:s32"
        numbers = node(tree, "p", "->thread_pid", "->numbers")
        assert numbers.fetcharg is None
        assert (
            str(node(tree, "p", "->thread_pid", "->numbers", "[0]", ".nr").fetcharg) == "p->thread_pid->numbers[0].nr"
        )

    def test_struct_by_value(self) -> None:
        btf, facts, _ = kernel("7.2")
        tree = CaptureTree(btf, "ZSTD_checkCParams", facts.machine)
        whole = node(tree, "cParams")
        assert whole.fetcharg is None
        assert whole.expandable
        assert str(node(tree, "cParams", ".chainLog").fetcharg) == "cParams.chainLog"

    def test_without_types_there_is_little(self) -> None:
        labels = [n.label for n in CaptureTree(None, "vfs_read", "x86_64").roots()]
        assert labels == ["$retval", "$comm", "$stack"]

    @pytest.mark.parametrize("name", KERNELS)
    def test_each_node_can_be_captured_or_says_why(self, name: str) -> None:
        btf, facts, _ = kernel(name)
        rng = random.Random(name)
        seen = 0
        for function in [f for f in btf.functions if f][:200]:
            tree = CaptureTree(btf, function, facts.machine)
            level = list(tree.roots())
            for _ in range(3):
                seen += len(level)
                for one in level:
                    assert (one.fetcharg is None) == bool(one.reason), one
                    assert bool(one.kernel_type) == (one.fetcharg is not None), one
                opened = [one for one in level if one.expandable]
                if not opened:
                    break
                level = list(tree.children(rng.choice(opened)))
                assert level
        assert seen > 1000


class TestMessages:
    def test_both_ways(self) -> None:
        assert len(MESSAGES) > 85
        for code, message in {**MESSAGES, **FILTER_MESSAGES}.items():
            assert code_of(message) == code
            assert message_of(code) == message

    def test_drift(self) -> None:
        assert code_of("Invalid $-valiable specified") == "BAD_VAR"
        assert code_of("File offset is not available for kernel probes") == "FILE_ON_KPROBE"
        assert code_of("  this field is not found ") == "NO_BTF_FIELD"
        assert code_of("No matching dynamic event type") == "NO_MATCHING_TYPE"
        assert code_of("Something new") == "UNKNOWN"
        assert message_of("missing_capability") == ""

    def test_all_that_kernels_said_is_known(self) -> None:
        said = {message for name in KERNELS for case in kernel(name).cases for message, _ in case.log}
        assert len(said) > 40
        assert {m for m in said if code_of(m) == "UNKNOWN"} == set()
        assert json.dumps(sorted(said))


class TestFilters:
    def test_names(self) -> None:
        text = '(count > 4096 || comm ~ "ret < 1*") && !(ret & 0x10) && CPU == 1 && f.function == vfs_read && x==-1'
        assert [name.text for name in names_in(text)] == ["count", "comm", "ret", "CPU", "f", "x"]
        assert first_unknown(text, ["count", "ret", "f", "x"]) is None
        stranger = first_unknown(text, ["count", "f", "x"])
        assert stranger is not None
        assert (stranger.text, text[stranger.column :][:7]) == ("ret", "ret & 0")

    def test_values_are_no_names(self) -> None:
        assert [name.text for name in names_in("state == RUNNING")] == ["state"]
        assert names_in("") == ()


class TestText:
    def test_numbers_are_the_kernels(self) -> None:
        assert [kstrtoul(t) for t in ("10", "0x10", "010", "+1", "-1", "0x", "1x", "", "08")] == [
            10,
            16,
            8,
            1,
            None,
            None,
            None,
            None,
            None,
        ]
        assert kstrtoul(str(1 << 64)) is None
        assert [kstrtol(t) for t in ("-8", "-0x8", "--8", str(1 << 63), f"-{1 << 63}")] == [
            -8,
            -8,
            None,
            None,
            -(1 << 63),
        ]
        assert simple_strtoul("12:u8", 10) == (12, ":u8")
        assert simple_strtoul("x") == (0, "x")

    def test_words(self) -> None:
        assert [(w.text, w.start) for w in split(" p  vfs_read\tx=%di # y")] == [
            ("p", 1),
            ("vfs_read", 4),
            ("x=%di", 13),
        ]

    def test_names(self) -> None:
        assert check_name("grp/ev") is None
        assert check_name("grp.ev") is None
        assert check_name("grp/") is None
        assert check_name("/ev") == ("NO_GROUP_NAME", 0)
        assert check_name("g/1") == ("BAD_EVENT_NAME", 2)
        assert check_name("") == ("NO_EVENT_NAME", 0)
        assert identifier("foo.isra.0") == "foo_isra_0"
        assert len(event_name("x" * 99, "__exit")) == 63
        taken: set[str] = set()
        for _ in range(12):
            name = unique_field("common_pid" * 5, taken)
            assert len(name) <= 32
            assert name not in taken
            taken.add(name)
        assert unique_field("common_pid", ()) == "common_pid_"

    @pytest.mark.parametrize(("name", "offsets"), [("6.1", (40, 24)), ("6.12", (40, 72)), ("7.2", (40, 72))])
    def test_where_a_files_name_is(self, name: str, offsets: tuple[int, int]) -> None:
        assert dentry_offsets(kernel(name).btf) == offsets
        assert dentry_offsets(None)[0] == 40
