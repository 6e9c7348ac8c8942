"""What is read from apt's words and out of packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel.lab import needs, packages
from kernel.lab.errors import LabError
from kernel.lab.packages import Mirror, find_mirror
from kernel.lab.work import Work

FETCHED = """\
Debian-Security|http://mirror.test/debian-security/|bookworm-security|oldstable-security|main|Packages
Debian|http://mirror.test/debian/|bookworm-updates|oldstable-updates|main|Packages
Debian|http://mirror.test/debian/|bookworm|oldstable|contrib|Packages
Debian|http://mirror.test/debian/|bookworm|oldstable|main|Translations
Debian|http://mirror.test/debian/|bookworm|oldstable|main|Packages
Somebody|https://apt.test/tools/|stable|stable|main|Packages
"""


def test_mirror_of_a_machine_with_lists() -> None:
    assert find_mirror(FETCHED) == Mirror("http://mirror.test/debian/", "bookworm", "oldstable")


def test_mirror_of_a_machine_that_never_fetched_lists() -> None:
    lines = "$(ORIGIN)|https://apt.test/tools/|stable|$(SUITE)|main|Packages\n$(ORIGIN)|http://m.test/debian/|trixie|$(SUITE)|main|Packages\n"
    assert find_mirror(lines) == Mirror("http://m.test/debian/", "trixie", "")


def test_machine_of_another_kind() -> None:
    assert find_mirror("Ubuntu|http://m.test/ubuntu/|noble|noble|main|Packages\n") is None
    assert find_mirror("") is None


def test_nearest_series() -> None:
    have = [(6, 1), (7, 3), (6, 12)]
    assert packages.nearest(have, (6, 12)) == (6, 12)
    assert packages.nearest(have, (6, 2)) == (6, 12)
    assert packages.nearest(have, (8, 0)) is None
    assert packages.nearest([], (8, 0)) is None


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="reads packages with dpkg-deb")
def test_contents_of_a_package(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("DEBIAN", "lib/modules", "usr/bin", "lib64"):
        (tree / name).mkdir(parents=True)
    control = "Package: sample\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <n@test>\nDescription: sample\n"
    (tree / "DEBIAN/control").write_text(control)
    (tree / "lib/modules/a.ko").write_bytes(b"module")
    (tree / "usr/bin/tool").write_bytes(b"tool")
    (tree / "usr/bin/tool").chmod(0o755)
    (tree / "lib64/ld.so").symlink_to("/lib/ld.so")
    deb = tmp_path / "sample.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", str(tree), str(deb)], check=True, capture_output=True)

    found = {}
    for info, path, file in packages.contents(Work(lambda _: None), deb):
        found[path] = file.read() if file else info.linkname
    assert found["usr/lib/modules/a.ko"] == b"module"  # as if `lib` were merged into `usr` already
    assert found["usr/bin/tool"] == b"tool"
    assert found["usr/lib64/ld.so"] == "/lib/ld.so"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sample.deb", "tree"]


def test_broken_package(tmp_path: Path) -> None:
    (tmp_path / "sample.deb").write_bytes(b"nothing")
    with pytest.raises(LabError, match="dpkg-deb"):
        list(packages.contents(Work(lambda _: None), tmp_path / "sample.deb"))


def test_what_is_missing_and_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabError, match="qemu-system-aarch64") as caught:
        needs.require(needs.missing("arm64"), "arm64:6.12")
    assert caught.value.remedy.startswith("sudo apt-get install ")
    assert {"qemu-system-arm", "openssh-client"} <= set(caught.value.remedy.split())
    assert "qemu-system-x86" in {need.package for need in needs.missing("amd64")}
    monkeypatch.setattr(needs, "_FIRMWARE", tmp_path / "firmware.bin")
    assert {"qemu-system-misc", "opensbi"} <= {need.package for need in needs.missing("riscv64")}
    (tmp_path / "firmware.bin").touch()
    assert "opensbi" not in {need.package for need in needs.missing("riscv64")}
    assert {"flex", "dwarves", "libelf-dev"} <= {need.package for need in needs.missing_to_build()}

    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert needs.command(needs.missing("amd64")).startswith("apt-get install ")


def test_nothing_missing_raises_nothing() -> None:
    needs.require([], "7.2")


def test_no_lab_for_other_architectures() -> None:
    with pytest.raises(LabError, match="no lab for s390x"):
        needs.missing("s390x")
