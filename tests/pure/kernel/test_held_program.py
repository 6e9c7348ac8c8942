"""A program that is held until it is let go: its process is known before it does anything."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from kernel.commands.held_program import HeldProgram
from kernel.errors import TargetUnusable
from kernel.local.target import LocalTarget
from tests.fake_target import FakeTarget


def test_a_program_waits_and_then_runs_in_the_process_that_was_told(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    program = HeldProgram(LocalTarget(), ["sh", "-c", 'echo $$ >"$1"', "sh", str(file)])
    assert Path(f"/proc/{program.pid}").exists()
    assert not file.exists()
    assert not program.has_ended
    program.release()
    while not program.has_ended:
        time.sleep(0.01)
    assert int(file.read_text()) == program.pid
    program.close()


def test_a_program_that_was_never_let_go_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    program = HeldProgram(LocalTarget(), ["touch", str(file)])
    program.close()
    assert program.has_ended
    assert not file.exists()


def test_a_program_that_runs_on_is_ended() -> None:
    program = HeldProgram(LocalTarget(), ["sleep", "1000"])
    program.release()
    program.close()
    assert program.has_ended
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)


def test_where_no_program_can_be_started_it_is_said() -> None:
    with pytest.raises(TargetUnusable, match="no program can be started there"):
        HeldProgram(FakeTarget(), ["true"])


def test_a_shell_that_says_nothing_is_no_program() -> None:
    class Mute(FakeTarget):
        def start(self, words: list[str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    with pytest.raises(TargetUnusable, match="no program can be started there"):
        HeldProgram(Mute(), ["true"])
