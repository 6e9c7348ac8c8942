"""Folders for sockets and logs where the environment is another user's, or what it names can be changed by one."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernel.errors import KernelError
from kernel.lab import cache
from kernel.lab.errors import LabError
from kernel.remote import btf_cache
from kernel.safe_files import private_folder as module
from kernel.safe_files.ownership import distrust_reason, is_private
from kernel.safe_files.private_folder import private_folder

OTHER = 54321
"""A uid that is not ours."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """We are no root, as far as the module asks; folders of ours belong to who runs the test."""
    monkeypatch.setattr(module, "_is_root", lambda: False)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def other_owner(path: Path) -> None:
    os.chown(path, OTHER, -1)


def link_away(path: Path) -> None:
    path.rmdir()
    real = path.with_name("real")
    real.mkdir(mode=0o700)
    path.symlink_to(real)


def in_a_folder_of_another(path: Path) -> None:
    os.chown(path.parent, OTHER, -1)


SPOILED: list[Callable[[Path], None]] = [
    other_owner,
    link_away,
    in_a_folder_of_another,
    lambda path: path.chmod(0o755),
    lambda path: path.chmod(0o770),
    lambda path: path.parent.chmod(0o777),
    lambda path: path.rmdir(),
]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, which XDG_RUNTIME_DIR names, in one of its own."""
    above = Path(tempfile.mkdtemp(prefix="b", dir="/tmp"))
    made = above / "r"
    made.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
    monkeypatch.delenv("SUDO_UID", raising=False)
    yield made
    shutil.rmtree(above)


@pytest.mark.usefixtures("somebody")
def test_our_runtime_folder_is_used(base: Path) -> None:
    made = private_folder()
    assert made.parent == base
    assert mode_of(made) == 0o700
    made.rmdir()


@as_root
@pytest.mark.usefixtures("somebody")
@pytest.mark.parametrize("spoil", SPOILED)
def test_one_that_another_can_change_is_not(base: Path, spoil: Callable[[Path], None]) -> None:
    spoil(base)
    made = private_folder()
    assert base not in made.parents
    assert made.parent == Path(tempfile.gettempdir())
    assert is_private(made)
    made.rmdir()
    assert not base.is_dir() or list(base.iterdir()) == [], "nothing was made in it"


@as_root
def test_root_does_not_ask_the_environment(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOTS", str(run := base.parent / "run"))
    made = private_folder()
    assert made.parent == run
    assert (mode_of(run), mode_of(made)) == (0o700, 0o700)
    made.rmdir()


@as_root
@pytest.mark.parametrize("spoil", [*SPOILED[:2], *SPOILED[3:5]])
def test_roots_own_folder_that_is_not_its_own(
    base: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    run = base.parent / "run"
    run.mkdir(mode=0o700)
    spoil(run)
    monkeypatch.setattr(module, "ROOTS", str(run))
    made = private_folder()
    assert run not in made.parents and base not in made.parents
    made.rmdir()


@as_root
@pytest.mark.usefixtures("somebody")
@pytest.mark.parametrize("spoil", [other_owner, link_away, in_a_folder_of_another, lambda path: path.chmod(0o777)])
def test_a_folder_for_temporary_files_that_another_can_change(
    base: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    """`sudo -E` keeps TMPDIR as well."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    spoil(base)
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    made = private_folder()
    if spoil is link_away:  # a link of our own, which nobody can change, is as good as its folder
        assert made.resolve().parent == base.resolve()
    else:
        assert made.parent == Path("/tmp")
    made.rmdir()
    monkeypatch.setattr(module, "_TEMPORARY", str(base))
    if spoil is not link_away:
        with pytest.raises(KernelError, match="no safe folder"):
            private_folder()


@pytest.mark.usefixtures("somebody")
def test_only_folders_of_dead_processes_of_ours_are_removed(base: Path) -> None:
    dead = base / "pw-4194305-abc"
    dead.mkdir(mode=0o700)
    (dead / "m").touch()
    alive = base / f"pw-{os.getpid()}-abc"
    alive.mkdir(mode=0o700)
    victim = base / "victim"
    victim.mkdir(mode=0o700)
    (victim / "kept").touch()
    (base / "pw-4194306-link").symlink_to(victim)
    made = private_folder()
    assert not dead.exists()
    assert alive.is_dir() and (victim / "kept").exists()
    made.rmdir()


@as_root
def test_who_may_change_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    path = tmp_path / "a" / "b" / "c.toml"
    path.parent.mkdir(parents=True)
    path.touch()
    assert distrust_reason(path) == ""
    for one in (path, path.parent, path.parent.parent):
        mode = mode_of(one)
        one.chmod(mode | 0o020)
        assert distrust_reason(path) == f"others may write to {one} (mode {mode | 0o020:04o}): chmod go-w"
        one.chmod(mode)
        os.chown(one, OTHER, -1)
        assert distrust_reason(path) == f"{one} belongs to another user (uid {OTHER})"
        monkeypatch.setenv("SUDO_UID", str(OTHER))
        assert distrust_reason(path) == "", "who called sudo may"
        monkeypatch.delenv("SUDO_UID")
        os.chown(one, 0, -1)
    path.parent.parent.chmod(0o1777)
    assert distrust_reason(path) == "", "in a sticky folder each can remove his own only"
    path.parent.chmod(0o1777)
    assert distrust_reason(path.parent), "and can make new ones"
    path.parent.chmod(0o755)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert distrust_reason(link) == ""
    os.lchown(link, OTHER, -1)
    assert "another user" in distrust_reason(link)
    assert "No such file" in distrust_reason(tmp_path / "none")


@as_root
@pytest.mark.parametrize("spoil", [other_owner, in_a_folder_of_another, lambda path: path.chmod(0o777)])
def test_a_cache_that_another_can_change_is_not_used(
    base: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    """Its kernels would be run, its types believed, its keys opened a guest."""
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(base))
    btf_cache.save("key", b"types")
    assert btf_cache.load("key") == b"types"
    assert is_private(cache.run_folder())
    spoil(base)
    assert btf_cache.load("key") is None
    with pytest.raises(OSError, match="other"):
        btf_cache.save("more", b"types")
    for use in (cache.root, cache.run_folder):
        with pytest.raises(LabError) as caught:
            use()
        assert "PROBEWRIGHT_CACHE" in caught.value.remedy
    base.chmod(0o700)


def test_the_folder_of_running_guests_is_ours_alone(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(base))
    cache.root()
    (base / "elsewhere").mkdir(mode=0o700)
    (base / "run").symlink_to("elsewhere")
    with pytest.raises(LabError, match="no folder of ours alone"):
        cache.run_folder()
