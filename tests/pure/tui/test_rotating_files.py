"""Events into a row of files: each whole under its name, ended by size, by age and at the end, the oldest removed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from events.export.catalogue import format_named
from events.export.job import writer_of
from events.export.source import ExportSource
from kernel.connection.open_target import shipped_recording
from tests.pure.export_events import format_of, record_of
from tests.pure.full_disk import FullExportFile
from tui.__main__ import main
from tui.output.export_file import ExportRefused
from tui.output.rotating_files import RotatingFiles, Rotation

HERE = str(shipped_recording())


def files(folder: Path, name: str = "jsonl", rotation: Rotation | None = None, host: str = "a/b") -> RotatingFiles:
    form = format_named(name)
    assert form is not None
    source = ExportSource(formats=(format_of({"n": "u64"}),))
    return RotatingFiles(form, folder, lambda out: writer_of(form, source, out), host, rotation or Rotation())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def numbers(folder: Path) -> list[list[int]]:
    found = sorted(folder.iterdir(), key=lambda path: int(path.stem.rpartition("-")[2]))
    return [[json.loads(line)["values"]["n"] for line in path.read_text().splitlines()] for path in found]


def test_a_file_ends_when_it_is_large(tmp_path):
    row = files(tmp_path / "new", rotation=Rotation(size=400))
    for n in range(10):
        row.take(record_of({"n": n}))
        (part,) = [*(tmp_path / "new").glob("*.part")] or [None]
        assert (part is None) is (row._file is None)
    row.finish()
    got = numbers(tmp_path / "new")
    assert [n for part in got for n in part] == [*range(10)]
    assert len(got) > 1 and all(name.startswith("probewright-a_b-2") for name in names(tmp_path / "new"))
    told = row.report()
    assert told.values["files"] == len(got) and told.values["events"] == 10
    assert told.values["bytes"] == sum(path.stat().st_size for path in (tmp_path / "new").iterdir())


def test_a_file_ends_when_it_is_old_also_when_nothing_comes(tmp_path):
    row = files(tmp_path, "parquet", Rotation(age=1000))
    row.idle()
    assert names(tmp_path) == [], "none is begun for nothing"
    row.take(record_of({"n": 1}))
    row.idle()
    assert names(tmp_path)[0].endswith(".part")
    row._due = 0
    row.idle()
    (name,) = names(tmp_path)
    assert pyarrow.parquet.read_table(tmp_path / name).to_pylist()[0]["n"] == 1
    row.take(record_of({"n": 2}))
    row.finish()
    assert len(names(tmp_path)) == 2


def test_the_newest_stay(tmp_path):
    (tmp_path / "probewright-other-20200101T000000Z-1-1.jsonl").write_text("not ours")
    (tmp_path / "probewright-a_b-20200101T000000Z-1-1.jsonl").write_text("ours, old")
    (tmp_path / "probewright-a_b-20200101T000000Z-1-1.csv").write_text("another format")
    row = files(tmp_path, rotation=Rotation(size=1, keep=2))
    for n in range(12):
        row.take(record_of({"n": n}))
    row.finish()
    kept = [name for name in names(tmp_path) if name.startswith("probewright-a_b") and name.endswith(".jsonl")]
    assert len(kept) == 2
    assert {json.loads((tmp_path / name).read_text())["values"]["n"] for name in kept} == {10, 11}
    assert len(names(tmp_path)) == 4
    assert row.notes == ("11 older files were removed: --keep 2",)


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from tests.pure.tui.test_rotating_files import files, record_of\n"
        "row = files(Path(sys.argv[2])); row.take(record_of({'n': 1}))\n"
        "print('there', flush=True); sys.stdin.read()\n"
    )
    top = str(Path(__file__).parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", code, top, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdout.readline() == "there\n"
        files(tmp_path)
        assert len(names(tmp_path)) == 1, "it is written"
        other.kill()
        other.wait()
    assert len(names(tmp_path)) == 1
    files(tmp_path)
    assert names(tmp_path) == []


def test_an_error_leaves_whole_files_only(tmp_path):
    row = files(tmp_path, rotation=Rotation(size=400))
    for n in range(5):
        row.take(record_of({"n": n}))
    row.discard()
    assert numbers(tmp_path) and not list(tmp_path.glob("*.part"))


def test_a_folder_is_needed(tmp_path, capsys):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(ExportRefused, match="is no folder"):
        files(tmp_path / "x")
    assert main([HERE, "--export", f"csv:{tmp_path / 'x'}", "--rotate-size", "1"]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert main([HERE, "--export", "csv:/no/such/folder/"]) == 1
    assert "No such file" in capsys.readouterr().err
    for words in (["--export", "csv"], [], ["--export", "otlp:http://127.0.0.1:1"]):
        assert main(["run", "f vfs_read", "-t", HERE, *words, "--keep", "1"]) == 2
        assert "--keep" in capsys.readouterr().err


def test_run_into_a_folder(tmp_path, capsys):
    words = ["run", "f vfs_read%return file->f_pos count $retval", "--target", HERE]
    assert main([*words, "--json"]) == 0
    wanted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main([*words, "--export", f"parquet:{tmp_path}/", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (path,) = tmp_path.iterdir()
    assert told == {
        "folder": str(tmp_path),
        "format": "parquet",
        "events": len(wanted),
        "files": 1,
        "bytes": path.stat().st_size,
    }
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert [(row["ts"], row["f_pos"], row["ret"]) for row in rows] == [
        (one["ts"], one["values"]["f_pos"], one["values"]["ret"]) for one in wanted
    ]


def test_what_is_left_out_is_summed_up_over_the_files(tmp_path):
    class Noting:
        omitted = 0
        notes: tuple[str, ...] = ("1,200 values are left out: why", "a word without a number")

        def take(self, record):
            pass

        def finish(self):
            pass

    form = format_named("csv")
    assert form is not None
    row = RotatingFiles(form, tmp_path, lambda _: Noting(), "h", Rotation(size=0))
    for _ in range(5):
        row.take(record_of({"n": 1}))
    assert [*row.notes] == ["6,000 values are left out: why", "a word without a number"]
    for n in range(100):
        Noting.notes = (f"1 of the kind {n}",)
        row.take(record_of({"n": 1}))
    assert len(row.notes) <= 21
    assert row.notes[-1] == "82 notes more on what is not in the files"


@pytest.mark.parametrize("name", ["perfetto", "folded"])
def test_calls_are_not_torn_into_two_files(tmp_path, capsys, name):
    assert main([HERE, "--export", f"{name}:{tmp_path}/"]) == 2
    assert f"{name}: a call that begins in one file of a folder and ends in the next" in capsys.readouterr().err
    assert names(tmp_path) == []


def test_the_environment_says_whose_files_they_are(tmp_path, capsys, monkeypatch):
    """As in a container, whose own name is that of a pod."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=p,host.name=node%2D1")
    assert main([HERE, "--export", f"jsonl:{tmp_path}/"]) == 0
    (name,) = names(tmp_path)
    assert name.startswith("probewright-node-1-2")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name")
    assert main([HERE, "--export", f"jsonl:{tmp_path}/"]) == 2


def test_a_full_disk_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tui.output.rotating_files.ExportFile", FullExportFile)
    assert main([HERE, "--export", f"jsonl:{tmp_path}/"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert names(tmp_path) == []


def test_a_part_is_locked_while_it_is_written(tmp_path):
    row = files(tmp_path)
    row.take(record_of({"n": 1}))
    (part,) = tmp_path.glob("*.part")
    with part.open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    row.finish()
    assert f"-{os.getpid()}-1.jsonl" in names(tmp_path)[0]
