"""`show --code` prints a function's instructions, as text and as JSON, or says why it can't."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kernel.connection.open_target import shipped_recording
from tests.pure.btf.test_inlined import FILES
from tests.pure.btf.test_inlined import folder as lines_folder
from tests.pure.btf.test_variables import variables_folder
from tests.small_kernel import save, save_with_lines
from tui.__main__ import main

__all__ = ["lines_folder", "variables_folder"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


def test_instructions_with_their_targets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--code", "ksys_write", "-t", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ksys_write: 37 bytes, 33 instructions, 33 take a kprobe")
    assert lines[1] == "no way out: it does not return"
    assert "ksys_write:" in lines
    assert [line for line in lines if "callq" in line] == ["  +0x20  callq vfs_write"]


def test_json_has_the_places_and_reasons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--code", "vfs_write", "--json", "-t", str(folder)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["function"], told["module"], told["machine"]) == ("vfs_write", None, "x86_64")
    assert told["refusal"].startswith("no tracer's call at its entry")
    [part] = told["parts"]
    assert part["symbol"] == "vfs_write"
    assert part["instructions"][1] == {
        "offset": 1,
        "place": "vfs_write+0x1",
        "bytes": "90",
        "mnemonic": "nop",
        "operands": "",
        "kind": "other",
        "target": None,
        "target_name": None,
        "kprobe": False,
        "refusal": told["refusal"],
        "source": None,
        "inlined": [],
    }


@pytest.mark.parametrize("name", FILES)
def test_source_lines_stand_above_their_instructions(
    lines_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder, vmlinux = save_with_lines(tmp_path, lines_folder / name), lines_folder / name
    words = ["show", "--code", "first", "-t", str(folder)]
    assert main([*words, "--vmlinux", str(vmlinux)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if ".c:" in line] == ["  a.c:4 (inlined: helper)", "  a.c:6"]
    assert lines.index("  a.c:4 (inlined: helper)") + 1 == next(n for n, line in enumerate(lines) if "+0x0" in line)
    assert main([*words, "--json", "--vmlinux", str(vmlinux)]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = told["parts"][0]["instructions"]
    assert {(one["source"], *one["inlined"]) for one in rows} == {("a.c:4", "helper"), ("a.c:6",)}
    assert main(words) == 0
    assert ".c:" not in capsys.readouterr().out, "there is none where distributions put it"
    (folder / "notes").write_bytes((folder / "notes").read_bytes()[:-1] + b"?")
    assert main([*words, "--vmlinux", str(vmlinux)]) == 0
    assert ".c:" not in capsys.readouterr().out, "it is of another build"


def test_variables_at_an_instruction(
    variables_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vmlinux = variables_folder / "gcc-5.elf"
    folder = save_with_lines(tmp_path, vmlinux)
    words = ["show", "-t", str(folder), "--vmlinux", str(vmlinux), "--code"]
    assert main([*words, "many+0x0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["many: addl %esi, %edi", "variables.c:72", "  a    int            a=%di:s32"]
    assert "  h    unsigned char  h=+0x10(%sp):u8" in lines
    assert any(line.startswith("  all  long int       not readable: below the stack pointer") for line in lines)
    assert main([*words, "by_value+30", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["function"], told["place"], told["source"]) == ("by_value", "by_value+0x1e", "variables.c:17")
    assert {"name": "port", "c_type": "short unsigned int", "inlined": []}.items() <= told["variables"][1].items()
    assert any(one["inlined"] == ["scaled"] for one in told["variables"])
    for place, said in (
        ("many+0x3", "no instruction begins there; those around it are many+0x2 and many+0x6"),
        ("many+first", "the offset of an instruction is a number, such as 0x1c"),
        ("nothing+0x3", "neither a function nor a type of this kernel"),
    ):
        assert main([*words, place]) == 1
        assert said in capsys.readouterr().err
    assert main(["show", "--code", "many+0x0", "-t", str(folder)]) == 1
    assert (
        "debug information of the very same build tells it, which is not on this machine" in capsys.readouterr().err
    )


def test_lines_of_source_are_places(
    lines_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    vmlinux = lines_folder / "dwarf-5.elf"
    target = ["-t", str(save_with_lines(tmp_path, vmlinux))]
    named = [*target, "--vmlinux", str(vmlinux)]
    assert main(["show", "a.c:4", *named]) == 0
    assert capsys.readouterr().out.splitlines() == ["a.c:4 begins at:", "  p _stext", "  p first", "  p second+0x10"]
    assert main(["show", "a.c:4", "--json", *named]) == 0
    assert json.loads(capsys.readouterr().out) == {"source": "a.c:4", "places": ["_stext", "first", "second+0x10"]}
    for line, said in (
        ("a.c:400", "no code is of this line; the nearest that have some: 8"),
        ("none.c:4", "no code is of such a file"),
    ):
        assert main(["show", line, *named]) == 1
        assert said in capsys.readouterr().err
    assert main(["check", "p a.c:4", *target]) == 2
    assert "debug information of the very same build" in capsys.readouterr().err
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", (str(vmlinux),))
    assert main(["check", "p:g/e a.c:4 %di", "p first+0x4", *target]) == 0
    told = capsys.readouterr()
    assert "a.c:4 begins at: p:g/e _stext %di, p:g/e_2 first %di, p:g/e_3 second+0x10 %di" in told.err
    assert [line for line in told.out.splitlines() if line.startswith("ok")] == [
        "ok  p:g/e _stext %di",
        "ok  p:g/e_2 first %di",
        "ok  p:g/e_3 second+0x10 %di",
        "ok  p first+0x4",
    ]
    assert main(["export", "--as", "sh", "p a.c:6", *target]) == 0
    assert "# p first\n" in capsys.readouterr().out


def test_each_twin_is_an_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--code", "twin", "--json", "-t", str(folder)]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["function"] for one in told] == ["twin", "twin"]
    assert len({one["parts"][0]["instructions"][0]["place"] for one in told}) == 2


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("vfs_wread", "", "neither a function nor a type of this kernel; did you mean vfs_read?"),
        ("vfs_read", str(shipped_recording()), "is not kept in recordings: open the machine itself"),
    ],
)
def test_what_has_no_code_is_said(folder: Path, capsys, name: str, target: str, reason: str) -> None:
    assert main(["show", "--code", name, "-t", target or str(folder)]) == 1
    assert reason in capsys.readouterr().err


def test_facts_without_code_and_a_missing_decoder(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(tmp_path)
    monkeypatch.setitem(sys.modules, "capstone", None)
    assert main(["show", "--code", "vfs_read", "-t", str(folder)]) == 1
    assert "pip install 'capstone>=5.0.6' (the extra `code` of probewright)" in capsys.readouterr().err
    monkeypatch.undo()
    (folder / "kcore").unlink()
    assert main(["show", "--code", "vfs_read", "-t", str(folder)]) == 1
    assert "is not among these saved facts: they have no file kcore" in capsys.readouterr().err
