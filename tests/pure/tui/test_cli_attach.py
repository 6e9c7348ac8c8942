"""What `show`, `list` and `check` say of functions that can't be probed: as text, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernel.connection.open_target import shipped_recording
from tests.small_kernel import SECOND_TWIN, save
from tui.__main__ import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


class Command:
    """Runs commands on the small kernel."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def text(self, *words: str, status: int = 0) -> str:
        assert main([*words, "--target", str(self.folder)]) == status
        return self._capsys.readouterr().out

    def objects(self, *words: str, status: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text(*words, "--json", status=status).splitlines()]


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(folder, capsys)


def test_show_says_why_and_who_calls(command: Command) -> None:
    text = command.text("show", "vfs_write")
    assert text.startswith("ssize_t vfs_write(")
    assert "kinds: none\nnotrace: no tracer's call at its entry" in text
    assert "\ninstead:\n  ksys_write" in text
    assert "calls it     at +0x20\n" in text
    [told] = command.objects("show", "vfs_write")
    assert told["kinds"] == []
    assert told["reasons"][0]["code"] == "notrace"
    assert told["instead"] == [
        {"place": "ksys_write", "how": "calls", "note": "at +0x20", "kinds": ["f", "p", "r"]},
    ]
    assert told["callers"] == {"searched": "the kernel's code", "not_probeable": [], "trouble": None}


def test_show_looks_for_callers_where_it_is_asked_to(command: Command) -> None:
    [plain] = command.objects("show", "vfs_read")
    assert "callers" not in plain
    assert (plain["reasons"], plain["instead"]) == ([], [])
    [asked] = command.objects("show", "vfs_read", "--callers")
    assert asked["callers"]["searched"] == "the kernel's code"
    assert "called through a pointer, or never" in command.text("show", "vfs_read", "--callers")


def test_show_lists_twins(command: Command) -> None:
    [told] = command.objects("show", "twin")
    assert told["kinds"] == ["f"]
    assert [way["how"] for way in told["instead"]] == ["twin", "twin"]
    assert told["instead"][1]["note"] == "between do_readv and vfs_read"
    assert told["instead"][1]["place"] in (f"{SECOND_TWIN:#x}", "_stext+1280")


def test_show_of_a_copy_and_of_what_it_was_made_of(command: Command) -> None:
    [copied] = command.objects("show", "do_sys_open")
    assert [(way["place"], way["how"]) for way in copied["instead"]] == [("do_sys_open.isra.0", "copy")]
    assert copied["reasons"][0]["code"] == "renamed"
    [copy] = command.objects("show", "do_sys_open.isra.0")
    assert copy["reasons"][0]["code"] == "copy"


def test_show_of_nothing(command: Command) -> None:
    assert command.text("show", "nothing_at_all", status=1) == ""


def test_list_says_it_exactly(command: Command) -> None:
    [row] = [row for row in command.objects("list", "vfs_write") if row["name"] == "vfs_write"]
    assert row["kinds"] == []
    assert row["reason"].startswith("no tracer's call at its entry")


def test_check_explains_the_place(command: Command) -> None:
    text = command.text("check", "p vfs_write", status=1)
    assert "No tracer's call at its entry" in text
    assert "did you mean vfs_read?" in command.text("check", "f vfs_raed", status=1)
    assert "did you mean do_sys_open.isra.0?" in command.text("check", "f do_sys_open", status=1)


@pytest.mark.parametrize("letter", ["p", "f", "r"])
def test_no_offer_stands_before_the_text_put_right_that_contradicts_it(
    letter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{letter}:vfs_read count", "--target", str(shipped_recording())]) == 1
    text = capsys.readouterr().out
    assert f"put right: {letter} vfs_read" in text and "did you mean" not in text and "compiler made" not in text


def test_list_says_that_it_found_nothing(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "zzz\x1b", "--target", str(command.folder)]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "probewright: no function has zzz\\x1b in its name\n")
    assert main(["list", "vfs", "--target", str(command.folder)]) == 0
    assert capsys.readouterr().err == ""


def test_check_says_what_the_lines_leave_out(command: Command) -> None:
    for spec, note in (
        ("e nosuch.event $$args", "$$args: the event's fields can't be known here, nor whether it is there"),
        (
            "f vfs_re* $$args",
            "$$args: the functions of a pattern have different arguments; $arg1, $arg2, … record them as numbers",
        ),
    ):
        assert f"\n    note: {note}\n" in command.text("check", spec)
        [told] = command.objects("check", spec)
        assert (told["ok"], note in told["notes"]) == (True, True)
    assert "note:" not in command.text("check", "f vfs_read count")
    assert command.objects("check", "f vfs_read count")[0]["notes"] == []


def test_check_says_that_a_tracepoint_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t sched_exit_t", "--target", str(shipped_recording())]) == 0
    text = capsys.readouterr().out
    assert "note: sched_exit_t: there is no such tracepoint now; the probe waits for a module" in text
    assert "Did you mean sched_exit_tp?" in text
