"""A command behind `--`: the words it takes, its output in one order of time with events, and the exit status."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernel.commands.output_lines import OutputLine
from kernel.connection.open_target import shipped_recording
from tests.json_reader import read_line
from tui.__main__ import main
from tui.cli.args.parser import parse
from tui.cli.follow.command_run import CommandRun, exit_status, print_between_rows, print_output
from tui.present.event_times import ClockFace


class Program:
    """A command of which a test says what it wrote, and how it ended."""

    words = ("cmd", "word")
    pid = 812

    def __init__(self, exit_code: int | None = 0) -> None:
        self.exit_code, self.failure = exit_code, None
        self.has_ended, self.read_until, self.asked = False, 0, 0
        self.done: list[object] = []
        self.lines: list[OutputLine] = []

    def take_output(self) -> list[OutputLine]:
        taken, self.lines = self.lines, []
        return taken

    def ask_time(self) -> None:
        self.asked += 1

    def release(self) -> None:
        self.done.append("released")

    def send_signal(self, sign: int) -> None:
        self.done.append(sign)

    def wait(self, seconds: float) -> bool:
        return self.has_ended

    def end(self) -> None:
        self.done.append("ended")
        self.has_ended = True


def line(ts: int, data: bytes = b"text") -> OutputLine:
    return OutputLine(ts, "stdout", data)


@pytest.fixture
def shown() -> list[int]:
    return []


def run_of(program: Program, shown: list[int]) -> CommandRun:
    run = CommandRun(program, lambda one: shown.append(one.ts), limits_tasks=True)  # type: ignore[arg-type]
    run.place_beside_rows(lambda one: shown.append(one.ts))
    return run


def test_events_wait_until_no_older_line_can_come(shown: list[int]) -> None:
    program = Program()
    run = run_of(program, shown)
    assert not run.holds_back(5)  # nothing is written before the release
    run.release()
    assert run.holds_back(5) and program.asked == 1
    program.lines, program.read_until = [line(3), line(7)], 7
    assert not run.holds_back(5)
    run.print_before(5)
    assert shown == [3]
    assert run.holds_back(8)
    assert run.waiting() == 1
    run.print_first(1)
    assert shown == [3, 7]
    program.read_until = 1 << 62  # it has ended
    assert not run.holds_back(8)


def test_tables_wait_for_no_line(shown: list[int]) -> None:
    run = CommandRun(Program(), lambda one: shown.append(one.ts), limits_tasks=True)  # type: ignore[arg-type]
    run.release()
    assert not run.holds_back(5)


@pytest.mark.parametrize(
    "code, status, text",
    [(0, 0, ""), (3, 3, "cmd ended with status 3"), (-9, 137, "cmd was ended by SIGKILL"), (None, 125, "connection")],
)
def test_status_of_a_command(code: int | None, status: int, text: str, shown: list[int]) -> None:
    run = run_of(Program(code), shown)
    run.release()
    assert run.status == status
    assert text in run.end_text and bool(text) is bool(run.end_text)


def test_a_command_that_we_end_has_a_status_of_its_own(shown: list[int]) -> None:
    program = Program(-15)
    run = run_of(program, shown)
    run.stop()  # it never ran
    assert program.done == []
    run.release()
    run.stop()
    assert (program.done, run.status) == (["released", "ended"], 124)


def test_failures_of_ours_are_told_from_those_of_the_command() -> None:
    def status(own: int, **kept: Any) -> int:
        return exit_status(SimpleNamespace(program=("x",), command="run", **kept), own)

    assert status(0, command_status=3) == 3
    assert [status(own, command_status=0) for own in (1, 2, 3, 126, 127, 130)] == [125, 125, 125, 126, 127, 130]
    assert exit_status(SimpleNamespace(program=("x",), command="refs"), 1) == 1
    assert exit_status(SimpleNamespace(program=(), command="run"), 3) == 3
    assert exit_status(SimpleNamespace(command="app"), 3) == 3


@pytest.mark.parametrize(
    "words, why",
    [
        ("run -- true", "SPEC"),
        ("run f:x --no-such-option -- true", "no-such-option"),
        ("run f:x -t ssh://a -t ssh://b -- true", "runs on one target"),
        ("run f:x -g web -- true", "runs on one target"),
        ("run f:x --count-only -- true", "calls of all tasks"),
        ("run f:x --hist -- true", "calls of all tasks"),
        ("run f:x --", "say a command"),
        ("record f:x -o x.pwr --count-only -- true", "calls of all tasks"),
    ],
)
def test_usage_errors_have_no_status_of_commands(words: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(words.split())
    assert caught.value.code == 125
    assert why in capsys.readouterr().err


def test_words_behind_two_dashes_are_the_commands() -> None:
    arguments = parse(["run", "f vfs_read", "--json", "--", "ls", "--for", "--", "-p"])
    assert (arguments.specs, arguments.program, arguments.seconds) == (
        ["f vfs_read"],
        ("ls", "--for", "--", "-p"),
        None,
    )
    assert parse(["run", "f vfs_read"]).program == ()


def test_a_recording_runs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "f vfs_read", "-t", str(shipped_recording()), "--", "true"]) == 125
    assert "no command can be run on a recording" in capsys.readouterr().err


def test_lines_are_safe_on_a_terminal_and_whole_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    watch: Any = SimpleNamespace(store=None)
    odd = line(12_304_117_000, b"a\tb \x1b[31mred\xff\r")
    print_between_rows(watch, odd, as_json=False, face=ClockFace.KERNEL)
    print_output(odd)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "12.304117 [out] a       b \\x1b[31mred\\xff\\x0d\na       b \\x1b[31mred\\xff\\x0d\n"
    print_between_rows(watch, odd._replace(goes_on=True), as_json=True, face=ClockFace.KERNEL)
    assert read_line(capsys.readouterr().out) == {
        "ts": 12_304_117_000,
        "stream": "stdout",
        "text": "a\tb \x1b[31mred\\xff\r",
        "goes_on": True,
    }
