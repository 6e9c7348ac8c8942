"""Files that a person asked for: made anew, for their owner alone, never through a link or into what was there."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from events.export.catalogue import format_named
from events.export.job import writer_of
from events.export.source import ExportSource
from kernel.connection.open_target import shipped_recording
from kernel.preset_files import Presets
from kernel.safe_files.new_file import create, create_or_device, publish, write_atomically
from probes.presets.errors import PresetError
from tests.pure.export_events import format_of, record_of
from tui.__main__ import main
from tui.output.export_file import ExportFile, ExportRefused
from tui.output.probe_exports import save
from tui.output.rotating_files import RotatingFiles, Rotation

HERE = str(shipped_recording())
READS = "f vfs_read%return file->f_pos count $retval"
TOP = Path(__file__).parents[3]
PRESET = 'version = 1\nname = "x"\ntitle = "t"\nprobes = ["f vfs_read"]\n'


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(autouse=True)
def careless_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def look(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


def put_link(path: Path) -> None:
    path.symlink_to(path.parent / "victim")


def put_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "not there")


def put_file(path: Path) -> None:
    path.write_text("kept")


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


IN_THE_WAY = [put_link, put_dangling_link, put_file, put_pipe]


def by_create(path: Path) -> None:
    create(path).close()


def by_create_or_device(path: Path) -> None:
    create_or_device(path).close()


def by_export_file(path: Path) -> None:
    with ExportFile(path) as file:
        file.out.write(b"x")


def by_saving(path: Path) -> None:
    save("text", path)


def by_command(*words: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        if main([str(path) if word == "PATH" else word for word in words]):
            raise OSError("refused")

    return make


MAKERS = {
    "create": by_create,
    "create_or_device": by_create_or_device,
    "export file": by_export_file,
    "dialect": by_saving,
    "whole": lambda path: write_atomically(path, b"x"),
    "record": by_command(
        "record", "f vfs_read%return file->f_pos count $retval", "--count", "1", "-o", "PATH", "-t", HERE
    ),
    "export": by_command(HERE, "--export", "csv", "-o", "PATH"),
    "export to a tool": by_command("export", "p vfs_read", "--as", "sh", "-o", "PATH", "-t", HERE),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("put", IN_THE_WAY)
def test_what_is_in_the_way_stays_as_it_is(tmp_path: Path, maker: str, put: Callable[[Path], None]) -> None:
    (tmp_path / "victim").write_text("kept")
    path = tmp_path / "made.csv"
    put(path)
    there = look(path)
    with pytest.raises((OSError, ExportRefused)):
        MAKERS[maker](path)
    assert look(path) == there
    assert (tmp_path / "victim").read_text() == "kept"
    assert {one.name for one in tmp_path.iterdir()} == {"victim", "made.csv"}


@pytest.mark.parametrize("maker", MAKERS)
def test_nobody_else_reads_it(tmp_path: Path, maker: str) -> None:
    path = tmp_path / "made.csv"
    MAKERS[maker](path)
    assert mode_of(path) & ~0o100 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["made.csv"]


def test_overwriting_puts_a_new_file_in_the_place(tmp_path: Path) -> None:
    """The old one, which others may hold open or have linked elsewhere, is not written into."""
    path, other = tmp_path / "x.csv", tmp_path / "other"
    path.write_text("old")
    path.chmod(0o666)
    os.link(path, other)
    with ExportFile(path, overwrite=True) as file:
        file.out.write(b"new")
    assert (path.read_text(), mode_of(path)) == ("new", 0o600)
    assert other.read_text() == "old"
    (tmp_path / "victim").write_text("kept")
    link = tmp_path / "link.csv"
    put_link(link)
    with ExportFile(link, overwrite=True) as file:
        file.out.write(b"new")
    assert not link.is_symlink() and link.read_text() == "new"
    assert (tmp_path / "victim").read_text() == "kept"


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full"])
def test_a_device_is_not_replaced(path: str) -> None:
    with pytest.raises(ExportRefused, match="no file"):
        ExportFile(Path(path), overwrite=True)
    assert stat.S_ISCHR(Path(path).lstat().st_mode)


def test_a_link_at_the_part_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "x.csv.part").symlink_to(tmp_path / "victim")
    with pytest.raises(ExportRefused, match="is there"):
        ExportFile(tmp_path / "x.csv", overwrite=True)
    assert (tmp_path / "victim").read_text() == "kept"


def test_what_comes_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_args: object, **_more: object) -> None:
        raise PermissionError("a file system without links")

    for linking in (os.link, no_links):
        monkeypatch.setattr(os, "link", linking)
        part, path = tmp_path / "part", tmp_path / "whole"
        part.write_text("new")
        path.write_text("kept")
        with pytest.raises(FileExistsError):
            publish(part, path)
        assert path.read_text() == "kept"
        path.unlink()
        publish(part, path)
        assert (path.read_text(), part.exists()) == ("new", False)
        path.unlink()


def test_a_preset_is_saved_for_its_owner(tmp_path: Path) -> None:
    presets = Presets(user=tmp_path / "user", start=tmp_path)
    path = presets.save("x", PRESET)
    assert mode_of(path) == 0o600
    with pytest.raises(PresetError, match="there already"):
        presets.save("x", PRESET)
    path.unlink()
    (tmp_path / "victim").write_text("kept")
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(PresetError, match="there already"):
        presets.save("x", PRESET)
    presets.save("x", PRESET, replace=True)
    assert not path.is_symlink() and (tmp_path / "victim").read_text() == "kept"


def test_only_regular_files_of_a_row_are_counted_and_removed(tmp_path: Path) -> None:
    def name(number: int, ending: str = "") -> Path:
        return tmp_path / f"probewright-h-20200101T00000{number}Z-1-{number}.jsonl{ending}"

    (tmp_path / "victim").write_text("kept")
    name(1).symlink_to(tmp_path / "victim")
    os.mkfifo(name(2))
    name(3).mkdir()
    name(4).write_text("old")
    os.mkfifo(name(1, ".part"))  # to open it would wait for a writer
    name(2, ".part").symlink_to(tmp_path / "victim")
    name(3, ".part").mkdir()
    name(4, ".part").write_text("left")
    form = format_named("jsonl")
    assert form is not None
    source = ExportSource(formats=(format_of({"n": "u64"}),))
    row = RotatingFiles(form, tmp_path, lambda out: writer_of(form, source, out), "h", Rotation(size=1, keep=2))
    assert not name(4, ".part").exists()
    for n in range(3):
        row.take(record_of({"n": n}))
    row.finish()
    assert row.notes == ("2 older files were removed: --keep 2",)
    others = [name(1), name(2), name(3), name(1, ".part"), name(2, ".part"), name(3, ".part")]
    assert all(os.path.lexists(one) for one in others)
    assert not name(4).exists()
    made = [one for one in tmp_path.glob("*.jsonl") if one not in others]
    assert len(made) == 2 and {mode_of(one) for one in made} == {0o600}
    assert (tmp_path / "victim").read_text() == "kept"


_ALLOWED = {
    "kernel/safe_files/new_file.py": "makes them",
    "kernel/safe_files/private_folder.py": "no file",
    "kernel/agent/journal.py": "in a folder that it has looked at (`open_own`)",
    "kernel/remote/btf_cache.py": "in a cache that nobody else can change",
    "kernel/lab/": "in a cache that nobody else can change (`kernel.lab.cache.root`)",
    "tui/docs/__main__.py": "pages of the sources",
}


def _writes(call: ast.Call) -> bool:
    """Whether a call opens a file to write into it."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("write_text", "write_bytes", "touch", "mkstemp", "NamedTemporaryFile", "copy", "copyfile"):
        return name != "copy" or (
            isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "shutil"
        )
    if name == "open" and any(isinstance(node, ast.Attribute) and node.attr == "O_CREAT" for node in ast.walk(call)):
        return True
    words = [*call.args, *(one.value for one in call.keywords if one.arg == "mode")]
    modes = [one.value for one in words if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return name == "open" and any(mode and set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)


def test_one_module_makes_the_files_of_the_application() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=TOP, capture_output=True, text=True, check=True)
    found = []
    for path in listed.stdout.split():
        if path.partition("/")[0] in ("btf", "events", "probes", "kernel", "widgets", "tui"):
            tree = ast.parse((TOP / path).read_text())
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _writes(node)]
            found += [f"{path}:{call.lineno}" for call in calls if not path.startswith(tuple(_ALLOWED))]
    assert not found, f"files are made by kernel.safe_files.new_file: {found}"


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("open(p, 'w')", True), ("p.open('xb')", True), ("open(p, mode='a')", True), ("p.write_text(t)", True),
        ("os.open(p, os.O_WRONLY | os.O_CREAT)", True), ("shutil.copy(a, b)", True), ("p.write_bytes(b)", True),
        ("open(p)", False), ("p.open('rb')", False), ("os.open(p, os.O_RDONLY)", False), ("value.copy()", False),
        ("host.open(self._opener)", False), ("found_list.open(found, '', at)", False),
    ],
)  # fmt: skip
def test_what_writes_is_seen(code: str, writes: bool) -> None:
    call = ast.parse(code).body[0]
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    assert _writes(call.value) is writes
