"""Paths of cgroups by id, from the folders of a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kernel.agent import bpf_calls
from kernel.errors import FileRefused
from kernel.local.files import folders_below
from kernel.watch.tasks.cgroup_names import cgroup_names
from tests.fake_target import FakeTarget


class _Host(FakeTarget):
    """Machine with a hierarchy of cgroups in a folder of this one."""

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        return folders_below(path)


def test_a_cgroup_has_the_path_of_the_folder_with_its_inode(tmp_path: Path) -> None:
    web = tmp_path / "pod one" / "web"
    web.mkdir(parents=True)
    (tmp_path / "pod one" / "cgroup.procs").write_text("1")
    mounts = f"proc /proc proc rw 0 0\ncgroup2 {tmp_path} cgroup2 rw 0 0\n"
    target = _Host({"/proc/mounts": mounts.encode()})
    ids = (1, web.stat().st_ino, web.parent.stat().st_ino, 2**63)
    assert cgroup_names(target, ids) == {1: "/", ids[1]: "/pod one/web", ids[2]: "/pod one"}


def test_without_a_hierarchy_the_root_alone_has_a_path() -> None:
    assert cgroup_names(_Host({"/proc/mounts": b"proc /proc proc rw 0 0\n"}), (1, 77)) == {1: "/"}
    assert cgroup_names(FakeTarget({}), (77,)) == {}


def test_folders_are_bounded_and_those_that_cannot_be_read_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}" / "below").mkdir(parents=True)
    assert len(folders_below(str(tmp_path))) == 60
    monkeypatch.setattr(bpf_calls, "FOLDER_BYTES", 300)
    assert 0 < len(folders_below(str(tmp_path))) < 15
    with pytest.raises(FileRefused):
        folders_below(str(tmp_path / "none"))
