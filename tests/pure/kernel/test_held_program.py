"""A command that is held until it is let go: its process is known before it does anything, and it ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.agent.command_process import echo_of
from kernel.commands.held_program import HeldProgram, TerminalSize, end_text, shell_status
from kernel.commands.output_lines import MOST_BYTES, LineSplitter, OutputLine
from kernel.commands.row_lines import RowLines
from kernel.errors import CommandNotStarted, TargetUnusable
from kernel.local.target import LocalTarget
from tests.fake_target import FakeTarget
from tests.real.processes import children, ended, until


def run(*words: str, takes_input: bool = False) -> HeldProgram:
    """Return a command that has ended."""
    program = HeldProgram(LocalTarget(), words, takes_input=takes_input)
    program.release()
    assert program.wait(60)
    program.close()
    return program


def output(program: HeldProgram) -> list[tuple[str, bytes]]:
    return [(line.stream, line.data) for line in program.take_output()]


def test_a_program_waits_and_then_runs_in_the_process_that_was_told(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    program = HeldProgram(LocalTarget(), ["sh", "-c", 'echo $$ >"$1"', "sh", str(file)])
    assert Path(f"/proc/{program.pid}").exists()
    assert not file.exists()
    assert not program.has_ended
    program.release()
    assert program.wait(60)
    assert int(file.read_text()) == program.pid
    assert program.exit_code == 0
    program.close()


def test_a_program_that_was_never_let_go_does_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    program = HeldProgram(LocalTarget(), ["touch", str(file)])
    program.close()
    assert program.has_ended
    assert not file.exists()


def test_output_comes_in_order_with_its_stream_and_time() -> None:
    before = time.monotonic_ns()
    program = run("sh", "-c", "echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three; exit 5")
    lines = program.take_output()
    assert [(one.stream, one.data) for one in lines] == [("stdout", b"one"), ("stderr", b"two"), ("stdout", b"three")]
    assert before < lines[0].ts < lines[1].ts < lines[2].ts < time.monotonic_ns()
    assert program.exit_code == 5


def test_a_signal_is_told() -> None:
    assert shell_status(run("sh", "-c", "kill -KILL $$").exit_code or 0) == 137


def test_a_program_has_no_input_unless_it_takes_ours() -> None:
    assert output(run("cat")) == []
    words = "import tests.pure.kernel.test_held_program as t; print(t.output(t.run('cat', takes_input=True)))"
    done = subprocess.run([sys.executable, "-c", words], input=b"ours\n", capture_output=True)
    assert done.stdout == b"[('stdout', b'ours')]\n", done.stderr


def test_a_program_gets_signals_as_they_were_and_no_file_of_ours() -> None:
    program = run("sh", "-c", "ls -l /proc/self/fd | wc -l; grep SigIgn /proc/self/status")
    files, ignored = (line.split() for _, line in output(program))
    assert int(files[0]) == 5  # a line of the sum, 0 to 2, and the folder
    assert not int(ignored[1], 16) & sum(1 << one - 1 for one in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU))


def test_what_cannot_be_executed_is_told_before_anything_runs(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o644)
    for word, reason in (("no-such-command", 2), ("", 2), (str(script), 13), ("/etc", 13)):
        with pytest.raises(CommandNotStarted) as caught:
            HeldProgram(LocalTarget(), [word])
        assert caught.value.errno == reason
    script.chmod(0o755)
    program = run(str(script))
    assert program.failure is not None and program.failure.errno == 2
    script.write_text("echo no interpreter is named; exit 4\n")
    program = run(str(script))
    assert (program.exit_code, output(program)) == (4, [("stdout", b"no interpreter is named")])


def test_a_program_that_stops_goes_on() -> None:
    assert output(run("sh", "-c", "kill -TSTP $$; echo on")) == [("stdout", b"on")]


def test_output_that_nobody_takes_holds_the_program_up() -> None:
    program = HeldProgram(LocalTarget(), ["sh", "-c", "yes | head -c 2000000; echo end >&2"])
    program.release()
    taken, has_ended = 0, False
    try:
        assert not program.wait(1)
        while not has_ended:
            has_ended = program.has_ended  # what is taken after it has ended is the rest
            lines = program.take_output()
            assert sum(len(line.data) + 64 for line in lines) < 16 << 20
            taken += len(lines)
    finally:
        program.close()
    assert taken == 1_000_001


@pytest.mark.parametrize("script", ["sleep 1000", 'trap "" TERM; sleep 1000; sleep 1000'])
def test_a_program_that_runs_on_is_ended(script: str) -> None:
    program = HeldProgram(LocalTarget(), ["sh", "-c", f"({script}) & echo $!; {script}"])
    program.release()
    (line,) = _first_lines(program)
    program.close()
    assert program.has_ended
    for pid in (program.pid, int(line)):
        assert until(partial(ended, pid), 60)


def _first_lines(program: HeldProgram) -> list[bytes]:
    lines: list[bytes] = []

    def take() -> bool:
        lines.extend(one.data for one in program.take_output())
        return bool(lines)

    assert until(take, 60)
    return lines


@pytest.mark.parametrize("victim", ["client", "runner"])
def test_a_program_ends_with_whoever_is_killed(victim: str) -> None:
    words = (
        "import time, tests.pure.kernel.test_held_program as t\n"
        "program = t.HeldProgram(t.LocalTarget(), ['sh', '-c', 'sleep 1000 & echo $!; sleep 1000'])\n"
        "program.release()\n"
        "print(program.pid, int(t._first_lines(program)[0]), flush=True)\ntime.sleep(1000)"
    )
    client = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    pids = [int(word) for word in client.stdout.readline().split()]
    (runner,) = children(client.pid)
    os.kill(client.pid if victim == "client" else runner, signal.SIGKILL)
    gone: Callable[[], bool] = lambda: all(map(ended, [runner, *pids]))  # noqa: E731
    assert until(gone, 60)
    client.kill()
    client.communicate()


TERMINAL = """
import os, pty, sys
words, typed = sys.argv[2:], sys.argv[1].encode().decode("unicode_escape").encode()
pid, terminal = pty.fork()
if not pid:
    import tests.pure.kernel.test_held_program as t
    program = t.HeldProgram(t.LocalTarget(), words, takes_input=True)
    program.release()
    assert t._first_lines(program)
    print("ready", flush=True)
    program.wait(60)
    print("end", program.exit_code, t.output(program), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
    program.close()
    os._exit(0)
told = b""
while b"ready" not in told:
    told += os.read(terminal, 4096)
os.write(terminal, typed)
while b"end" not in told.splitlines()[-1] or not told.endswith(b"\\n"):
    told += os.read(terminal, 4096)
sys.stdout.buffer.write(told)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize(
    "script, typed, told",
    [
        ("echo; read -r word; echo got $word", "hi\\n", "end 0 [('stdout', b'got hi')] True"),
        ("echo; sleep 1000", "\\x03", "end -2 [] True"),
        ("echo; read -r word; echo on", "\\x1a\\n", "end 0 [('stdout', b'on')] True"),
    ],
)
def test_a_terminal_is_the_programs_until_it_ends(script: str, typed: str, told: str) -> None:
    """Keys reach it and not us: also Ctrl+C, and Ctrl+Z, after which it goes on."""
    words = [sys.executable, "-c", TERMINAL, typed, "sh", "-c", script]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert told in done.stdout, done


def test_where_no_program_can_be_started_it_is_said() -> None:
    with pytest.raises(TargetUnusable, match="no program can be started there"):
        HeldProgram(FakeTarget(), ["true"])


def test_a_python_that_says_nothing_is_no_runner() -> None:
    class Mute(FakeTarget):
        def start(self, words: list[str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    with pytest.raises(TargetUnusable, match="no program can be started there") as caught:
        HeldProgram(Mute(), ["true"])
    assert "python3" in caught.value.remedy


@given(st.lists(st.binary(max_size=3 * MOST_BYTES).map(lambda data: data.replace(b"a", b"\n")), max_size=5))
def test_lines_hold_all_bytes_in_any_pieces(parts: list[bytes]) -> None:
    splitter = LineSplitter("stdout")
    found = [line for ts, part in enumerate(parts) for line in splitter.split(ts, part)] + splitter.finish(len(parts))
    assert all(len(line.data) <= MOST_BYTES for line in found)
    assert [line.ts for line in found] == sorted(line.ts for line in found)
    whole = b"".join(line.data + b"\n" * (not line.goes_on) for line in found)
    data = b"".join(parts)
    assert whole == (data if data.endswith(b"\n") or not data else data + b"\n")


def in_terminal(*words: str, size: TerminalSize = TerminalSize(24, 80)) -> HeldProgram:  # noqa: B008 - frozen
    program = HeldProgram(LocalTarget(), words, size=size)
    assert program.has_terminal
    return program


def written(program: HeldProgram, text: bytes) -> bytes:
    """Return the output of a program up to a text."""
    got = bytearray()

    def found() -> bool:
        got.extend(b"".join(line.data for line in program.take_output()))
        return text in got

    until(found)
    return bytes(got)


def test_a_program_in_a_terminal_has_one_and_its_size() -> None:
    program = in_terminal(
        "sh", "-c", "test -t 0 && test -t 2 && stty size; echo $TERM; exit 3", size=TerminalSize(7, 33)
    )
    program.release()
    assert program.wait(60)
    assert b"".join(line.data for line in program.take_output()) == b"7 33\r\nlinux\r\n"
    assert (program.exit_code, end_text(program)) == (3, "sh ended with status 3")
    program.close()


def test_a_program_in_a_terminal_gets_what_is_typed_signals_and_another_size() -> None:
    program = in_terminal(
        "sh", "-c", "trap 'stty size' WINCH; trap 'echo int' INT; while :; do read a; echo got $a; done"
    )
    program.release()
    program.type(b"word\r")
    assert b"got word" in written(program, b"got word")
    program.resize(TerminalSize(11, 44))
    program.type(b"\r")
    assert b"11 44" in written(program, b"11 44")
    program.type(b"\x03")
    assert b"int" in written(program, b"int")
    program.end()
    assert program.has_ended
    program.resize(TerminalSize(5, 5))
    program.type(b"nobody")
    program.close()
    assert end_text(program, was_ended=True) == "sh was ended"


def test_what_a_terminal_writes_for_typed_keys_is_told_apart_from_what_the_command_wrote() -> None:
    program = in_terminal("sh", "-c", "printf 'name: '; read a; stty -echo; echo got $a; read b; echo end $b")
    program.release()
    lines: list[OutputLine] = []

    def has(text: bytes) -> bool:
        lines.extend(program.take_output())
        return text in b"".join(line.data for line in lines)

    until(lambda: has(b"name: "))
    for key in (b"w", b"\x01", b"\r"):
        program.type(key)
        until(lambda: has(echo_of(key[0])))  # noqa: B023
    until(lambda: has(b"got w"))
    program.type(b"secret\r")
    until(lambda: has(b"end secret"))
    assert program.wait(60)
    assert b"".join(line.data for line in lines if line.stream == "echo") == b"w^A\r\n"
    assert b"".join(line.data for line in lines) == b"name: w^A\r\ngot w\x01\r\nend secret\r\n"
    assert [row.data for row in RowLines().take(lines, lines[-1].ts)] == [b"name: ", b"got w", b"end secret"]
    program.close()


def test_jobs_of_a_shell_in_a_terminal_end_with_it() -> None:
    program = in_terminal("sh", "-m", "-c", "sleep 1000 & echo job $!; wait")
    program.release()
    job = int(written(program, b"\r\n").split()[1])
    program.close()
    until(lambda: ended(job))


def test_much_that_is_typed_for_a_program_that_does_not_read_holds_up_nothing() -> None:
    program = in_terminal("sh", "-c", "stty -echo raw; echo ready; exec sleep 1000")
    program.release()
    written(program, b"ready")
    for _ in range(40):
        program.type(bytes(10_000))
    program.end()
    assert program.has_ended
    program.close()
