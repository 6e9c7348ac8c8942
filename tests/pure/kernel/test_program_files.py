"""Programs of a target by path and by name: files of folders, functions and static probes, read before found."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from events.names.place_kinds import PlaceKind, kind_of_place, place_label
from kernel.attach.program_files import ProgramFiles
from kernel.errors import FileRefused
from probes.programs.elf_symbols import ProgramError, read_program
from probes.programs.program import Program, SymbolNotPlaced
from tests.pure.probes.test_program import files

FOLDERS = {
    "/": ("bin", "usr"),
    "/usr": ("bin", "lib"),
    "/usr/bin": ("made tool", "pie", "pie-old", "text"),
    "/usr/lib": ("x86_64-linux-gnu",),
    "/usr/lib/x86_64-linux-gnu": ("libstripped.so", "libstripped.so.6", "libstripped.so.6.1", "notes"),
}
FILES = {
    "/usr/bin/pie": files()["pie"],
    "/usr/bin/text": b"#!/bin/sh\n",
    "/usr/lib/x86_64-linux-gnu/libstripped.so": b"GROUP ( libstripped.so.6 )",
    "/usr/lib/x86_64-linux-gnu/libstripped.so.6": files()["stripped"],
}


class Files:
    """A target made of folders; each listing and file that is asked for is counted."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def list(self, path: str) -> Sequence[str]:
        self.asked.append(path)
        if path not in FOLDERS:
            raise FileRefused(path, errno.ENOTDIR)
        return FOLDERS[path]

    def read(self, path: str) -> Program:
        self.asked.append(path)
        try:
            return read_program(FILES[path])
        except (KeyError, ProgramError) as error:
            raise SymbolNotPlaced("unreadable_program", f"no program: {type(error).__name__}") from None


@pytest.fixture
def target() -> Files:
    return Files()


@pytest.fixture
def programs(target: Files) -> ProgramFiles:
    return ProgramFiles(target, "x86_64", target.read)


def found(programs: ProgramFiles, text: str, kind: PlaceKind | None = None) -> list[str]:
    """The places that a text finds once what it needs was read; a search reads nothing."""
    before = programs.search(text, 10)
    assert before is None or not before.names or not programs.is_unknown(text)
    programs.learn(text)
    assert not programs.is_unknown(text)
    answer = programs.search(text, 100, kind)
    return list(answer.names) if answer is not None else ["none"]


def test_a_path_lists_what_is_in_its_folder(programs: ProgramFiles) -> None:
    assert found(programs, "/us") == ["/usr"]
    assert found(programs, "/usr") == ["/usr/bin", "/usr/lib"], "a whole path is what it names"
    assert found(programs, "/usr:") == ["/usr/bin", "/usr/lib"]
    assert found(programs, "/usr/bin/pi") == ["/usr/bin/pie", "/usr/bin/pie-old"]
    assert "/usr/bin/made tool" not in found(programs, "/usr/bin/"), "a specification has no blanks in a path"
    assert found(programs, "/none/x") == []


def test_functions_and_static_probes_of_a_program(programs: ProgramFiles) -> None:
    names = found(programs, "/usr/bin/pie:")
    assert "/usr/bin/pie:work" in names and "/usr/bin/pie:sdt_made:twice" in names
    assert "/usr/bin/pie:elsewhere" not in names and "/usr/bin/pie:twin" not in names, "no probe can be on these"
    assert found(programs, "/usr/bin/pie") == names
    assert {kind_of_place(name) for name in names} == {PlaceKind.SYMBOL, PlaceKind.USDT}
    assert found(programs, "/usr/bin/pie:twi") == ["/usr/bin/pie:sdt_made:twice"]
    assert found(programs, "/usr/bin/pie:made:tw") == ["/usr/bin/pie:sdt_made:twice"]
    assert programs.kinds("/usr/bin/pie:wor") == (PlaceKind.SYMBOL, PlaceKind.USDT)
    only = found(programs, "/usr/bin/pie:", PlaceKind.USDT)
    assert only == [name for name in names if kind_of_place(name) is PlaceKind.USDT]
    assert place_label("/usr/bin/pie:sdt_made:twice") == "made:twice" and place_label("/usr/bin/pie:work") == "work"
    assert programs.arguments_text("/usr/bin/pie:work") == ""


def test_a_name_is_that_of_a_program_or_a_library(programs: ProgramFiles, target: Files) -> None:
    assert found(programs, "pie") == ["/usr/bin/pie"]
    assert found(programs, "libstripped") == ["/usr/lib/x86_64-linux-gnu/libstripped.so.6"], "no text of the linker"
    assert "/usr/lib/x86_64-linux-gnu/libstripped.so.6:work" in found(programs, "libstripped:wor")
    listed = len(target.asked)
    assert found(programs, "notes") == ["none"] and found(programs, "vfs_read") == ["none"]
    assert found(programs, "unknown:work") == ["none"] and len(target.asked) == listed, "all names are known"


def test_a_file_without_places_says_why(programs: ProgramFiles, target: Files) -> None:
    programs.learn("/usr/bin/text:a")
    answer = programs.search("/usr/bin/text:a", 10)
    assert answer is not None and not answer.names and "no program" in answer.note and not answer.unread
    reads = target.asked.count("/usr/bin/text")
    programs.learn("/usr/bin/text:ab")
    assert target.asked.count("/usr/bin/text") == reads, "it is not read at each key"
    programs.forget()
    assert programs.is_unknown("/usr/bin/text:ab"), "it may be one by now"
    programs.learn("/usr/bin/text:ab")
    assert target.asked.count("/usr/bin/text") > reads


@pytest.mark.parametrize("text", ["a b", "f vfs_read", "vfs_*", "[struct file *]", "", ":", "sched/sched_switch"])
def test_other_texts_name_no_program(programs: ProgramFiles, target: Files, text: str) -> None:
    assert programs.search(text, 10) is None and not programs.is_unknown(text) and not target.asked
