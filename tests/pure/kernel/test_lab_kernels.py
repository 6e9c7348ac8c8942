"""Which kernel a word means, and which package stands in where a series is gone."""

from __future__ import annotations

import gzip
import lzma
import shutil
from pathlib import Path

import pytest

from kernel.lab import kconfig, kernels, packages
from kernel.lab.errors import LabError
from kernel.lab.kernels import Series, choose, parse
from kernel.lab.packages import Package
from tests.pure.kernel.test_lab_initramfs import read

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg") is None, reason="compares versions with dpkg")

# As Debian's archive had them in November 2026, thinned out.
ARCHIVE = [
    Package("linux-image-6.1.0-47-cloud-amd64", "6.1.170-3"),
    Package("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1"),
    Package("linux-image-6.1.0-50-rt-amd64", "6.1.176-1"),
    Package("linux-image-6.12.107+deb13-cloud-amd64", "6.12.107-1"),
    Package("linux-image-6.12.107+deb13-cloud-amd64-dbg", "6.12.107-1"),
    Package("linux-image-6.12.107+deb13-amd64", "6.12.107-1"),
    Package("linux-image-6.12.95+deb12-cloud-amd64", "6.12.95-1~bpo12+1"),
    Package("linux-image-7.2.9+deb13-cloud-amd64", "7.2.9-1~bpo13+1"),
    Package("linux-image-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
    Package("linux-binary-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
    Package("linux-binary-unsigned-7.2.13+deb14-cloud-amd64", "7.2.13-1"),
    Package("linux-binary-7.2.13+deb14-rt-amd64", "7.2.13-1"),
    Package("linux-image-7.3-cloud-amd64", "7.3~rc7-1~exp1"),
    Package("linux-binary-7.3-cloud-amd64", "7.3~rc7-1~exp1"),
    Package("linux-image-cloud-amd64", "7.2.13-1"),
]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("arm64:6.12", Series("arm64", (6, 12))),
        ("aarch64:6.12", Series("arm64", (6, 12))),
        ("riscv64:7.2", Series("riscv64", (7, 2), "")),
        ("amd64:v7.2", Series("amd64", (7, 2))),
        ("x86_64:7.2-rt", Series("amd64", (7, 2), "rt")),
        ("amd64:6.1-generic", Series("amd64", (6, 1), "")),
        ("full", None),
    ],
)
def test_words(word: str, meant: Series | None) -> None:
    assert parse(word) == meant
    if meant:
        assert parse(str(meant)) == meant


def test_series_without_architecture_is_of_this_machine() -> None:
    assert parse("6.12") == Series(kernels.host_arch(), (6, 12))


@pytest.mark.parametrize("word", ["7", "7.2.13", "mips:7.2", "latest", "/no/such/vmlinuz", "~nobody/x", ""])
def test_other_words_are_refused_with_a_way_out(word: str) -> None:
    with pytest.raises(LabError) as caught:
        parse(word)
    assert "6.12" in caught.value.remedy


@pytest.mark.parametrize("form", ["{}.1", "6.{}", "arm64:6.{}-rt", "{}", "/{}"])
def test_words_of_any_length_are_refused_in_a_short_line(form: str) -> None:
    for digits in (300, 5_000):
        with pytest.raises(LabError, match=r"no (kernel series|such file)") as caught:
            parse(form.format("1" * digits))
        assert len(str(caught.value)) < 300


@needs_dpkg
def test_nothing_older_stands_in_for_a_series_that_is_not_there_yet() -> None:
    assert choose(Series("amd64", (9, 9)), ARCHIVE) is None


@needs_dpkg
@pytest.mark.parametrize(
    ("series", "name"),
    [
        (Series("amd64", (6, 1)), "linux-image-6.1.0-50-cloud-amd64"),
        (Series("amd64", (6, 1), "rt"), "linux-image-6.1.0-50-rt-amd64"),
        (Series("amd64", (6, 12)), "linux-image-6.12.107+deb13-cloud-amd64"),
        (Series("amd64", (6, 12), ""), "linux-image-6.12.107+deb13-amd64"),
        (Series("amd64", (7, 2)), "linux-binary-7.2.13+deb14-cloud-amd64"),
        (Series("amd64", (7, 2), "rt"), "linux-binary-7.2.13+deb14-rt-amd64"),
        (Series("amd64", (7, 3)), "linux-binary-7.3-cloud-amd64"),
        (Series("amd64", (6, 6)), "linux-image-6.12.107+deb13-cloud-amd64"),  # gone: the next newer
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_newest_package_of_a_series(series: Series, name: str, order: int) -> None:
    found = choose(series, ARCHIVE[::order])
    assert found is not None
    assert found.package.name == name
    assert found.release == name.removeprefix("linux-image-").removeprefix("linux-binary-")


def test_archive_without_the_architecture() -> None:
    assert choose(Series("arm64", (7, 2)), ARCHIVE) is None


@needs_dpkg
def test_versions_compare_as_debian_does() -> None:
    assert packages.newer("7.3-1", "7.3~rc7-1~exp1")
    assert packages.newer("6.12.107-1", "6.12.95-1~bpo12+1")
    assert not packages.newer("7.2.9-1~bpo13+1", "7.2.9-1")


def test_modules_are_unpacked_and_numbered_in_order_of_loading() -> None:
    packed = kernels.pack_modules(
        {
            "virtio_net.ko.xz": lzma.compress(b"net"),
            "net_failover.ko.gz": gzip.compress(b"over"),
            "failover.ko": b"fail",
            "dummy.ko": b"dummy",
        }
    )
    files = {entry.path: entry.data for entry in read(gzip.decompress(packed)) if entry.path.endswith(".ko")}
    loaded = [data for path, data in sorted(files.items()) if "/lab/" in path]
    assert loaded == [b"fail", b"over", b"net"]
    assert files["usr/lib/modules/extra/dummy.ko"] == b"dummy"


@pytest.fixture
def machine_root(tmp_path: Path) -> Path:
    """boot/bzImage with the header of Documentation/arch/x86/boot.rst, and lib/modules of its release."""
    image = bytearray(0x1000)
    image[0x202:0x206] = b"HdrS"
    image[0x20E:0x210] = (0x400).to_bytes(2, "little")
    words = b"6.99.1-mine (me@here) #1 SMP\0"
    image[0x600 : 0x600 + len(words)] = words
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/bzImage").write_bytes(image)
    (tmp_path / "lib/modules/6.99.1-mine/kernel/drivers/net").mkdir(parents=True)
    (tmp_path / "lib/modules/6.99.1-mine/kernel/drivers/net/virtio_net.ko").write_bytes(b"net")
    return tmp_path


def test_own_image_with_its_modules(machine_root: Path) -> None:
    path = parse(str(machine_root / "boot/bzImage"))
    assert isinstance(path, Path)
    found = kernels.from_path(path)
    assert (found.arch, found.release) == ("amd64", "6.99.1-mine")
    assert isinstance(found.modules, bytes)
    assert [entry.data for entry in read(gzip.decompress(found.modules))][-1] == b"net"


@pytest.mark.parametrize(("magic", "arch"), [(b"ARM\x64", "arm64"), (b"RSC\x05", "riscv64")])
def test_own_image_of_another_architecture(tmp_path: Path, magic: bytes, arch: str) -> None:
    path = tmp_path / "Image-6.99.1"
    path.write_bytes(bytes(0x38) + magic + bytes(0x200))
    found = kernels.from_path(path)
    assert (found.arch, found.release, found.modules) == (arch, "6.99.1", b"")


def test_a_series_is_named_without_the_flavour_that_it_has_by_itself() -> None:
    assert str(Series("riscv64", (7, 2), "")) == "riscv64:7.2"
    assert str(Series("amd64", (7, 2))) == "amd64:7.2"
    assert str(Series("amd64", (7, 2), "")) == "amd64:7.2-generic"


@pytest.mark.parametrize("data", [b"", b"\x7fELF" + bytes(0x300)])
def test_no_image(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "vmlinux").write_bytes(data)
    with pytest.raises(LabError, match="no bzImage"):
        kernels.from_path(tmp_path / "vmlinux")


def test_configuration_says_what_a_source_lacks() -> None:
    config = kconfig.fragment()
    assert kconfig.missing_options(config) == []
    assert kconfig.missing_options(config.replace("CONFIG_USER_EVENTS=y", "# CONFIG_USER_EVENTS is not set")) == [
        "USER_EVENTS"
    ]
