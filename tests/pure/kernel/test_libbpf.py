"""The ctypes layer, on the machine at hand."""

import os

import pytest

from kernel.local import libbpf, libc
from kernel.local.target import LocalTarget
from probes.facts.json_values import facts_from_dict, facts_to_dict

VMLINUX = "/sys/kernel/btf/vmlinux"
BTF_KIND_INT, BTF_KIND_STRUCT = 1, 4


@pytest.fixture
def library():
    found = libbpf.load()
    if found is None:
        pytest.skip("no libbpf.so.1 here")
    return found


def test_absent_is_a_fact():
    assert libbpf.load("libbpf-that-is-not-there.so.1") is None
    # A library without the symbols of the table is as good as none.
    assert libbpf.load("libc.so.6") is None


def test_version_and_program_types(library):
    assert library.version.startswith("v1")
    types = library.prog_types()
    assert types[2] == "kprobe"
    assert "tracing" in types.values()
    assert library.probe_prog_type(1) in (True, False, None)
    if os.geteuid() == 0 and library.probe_prog_type(1):
        assert library.probe_helper(1, 1) is True  # socket_filter may call map_lookup_elem
        assert library.probe_helper(1, 100_000) is False


def test_btf(library):
    if not os.path.exists(VMLINUX):
        pytest.skip("this kernel has no BTF")
    with library.btf_from_file(VMLINUX) as btf:
        task = btf.find_by_name_kind("task_struct", BTF_KIND_STRUCT)
        number = btf.find_by_name_kind("int", BTF_KIND_INT)
        assert btf.resolve_size(number) == 4
        assert btf.resolve_size(task) > 1000
        assert btf.find_by_name_kind("no_such_struct", BTF_KIND_STRUCT) is None
        assert btf.resolve_size(10**9) is None
        count = btf.type_cnt
    with open(VMLINUX, "rb") as file, library.btf(file.read()) as again:
        assert again.type_cnt == count
    with pytest.raises(ValueError, match="closed"):
        _ = again.type_cnt
    with pytest.raises(OSError, match="Invalid argument"):
        library.btf(bytes(40))


def test_statfs_says_what_is_mounted():
    assert libc.statfs("/proc").f_type == 0x9FA0  # PROC_SUPER_MAGIC
    with pytest.raises(FileNotFoundError):
        libc.statfs("/no/such/folder")


def test_mount_and_umount(tmp_path):
    if os.geteuid():
        with pytest.raises(PermissionError):
            libc.mount("nodev", str(tmp_path), "tmpfs")
        return
    try:
        libc.mount("nodev", str(tmp_path), "tmpfs", data="size=64k")
    except PermissionError:
        pytest.skip("no mounting in this container")
    try:
        assert libc.statfs(str(tmp_path)).f_type == 0x01021994  # TMPFS_MAGIC
    finally:
        libc.umount(str(tmp_path))
    assert libc.statfs(str(tmp_path)).f_type != 0x01021994
    with pytest.raises(OSError, match="No such"):
        libc.mount("nodev", str(tmp_path / "none"), "tmpfs")


def test_facts_of_this_machine_have_what_the_library_found(library):
    facts = LocalTarget().facts()
    assert facts.libbpf == library.version
    assert ("kprobe" in facts.bpf_programs) or not facts.bpf_helpers
    assert facts_from_dict(facts_to_dict(facts)).bpf_helpers == facts.bpf_helpers
    if facts.bpf_helpers:  # in every kernel that has BTF
        assert {"probe_read_kernel", "get_stackid"} <= set(facts.bpf_helpers)
