"""Standard error in a service: what systemd's journal makes of it, and that nothing changes elsewhere."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from tui.cli.console.journal import JournalLines, Level, at_priority, is_journal

HERE = str(shipped_recording())
TOP = Path(__file__).parents[3]
READS = "f vfs_read%return file->f_pos count $retval"


class Service:
    """A process as systemd starts it: no terminal, a session of its own, standard error a socket of the journal."""

    def __init__(self, *words: str, journal: bool = True, code: str = "") -> None:
        self.near, far = socket.socketpair()
        about = os.fstat(far.fileno())
        stream = {"JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"} if journal else {}
        program = ["-c", code] if code else ["-m", "tui"]
        self.process = subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=TOP,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/nonexistent", **stream},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=far.fileno(),
            start_new_session=True,
            bufsize=0,  # else a line that is read takes more with it, which `end` would not see
        )
        far.close()
        self.said = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while data := self.near.recv(4096):
            self.said += data

    def end(self) -> tuple[int, bytes, list[str]]:
        """Exit status, standard output, lines of standard error."""
        out, _ = self.process.communicate(timeout=120)
        self._reader.join(60)
        self.near.close()
        return self.process.returncode, out, self.said.decode().splitlines()


def test_an_error_has_its_priority_and_its_remedy_too():
    status, out, lines = Service("run", "f no_such_function_at_all", "-t", HERE).end()
    assert (status, out) == (1, b"")
    assert len(lines) > 1 and all(line.startswith("<3>") for line in lines)
    assert "no_such_function_at_all" in "".join(lines)
    status, _, lines = Service("run", "f vfs_read", "-t", "/no/such/thing").end()
    assert status == 3 and all(line.startswith("<3>") for line in lines) and len(lines) > 1


def test_what_is_only_told_is_information():
    status, out, lines = Service("run", READS, "-t", HERE, "--export", "csv:/dev/null/x").end()
    assert status == 2 and lines[-1].startswith("<3>probewright: /dev/null is no folder")
    status, out, lines = Service("run", READS, "-t", HERE, "--json").end()
    assert status == 0 and all(json.loads(line)["event"] for line in out.splitlines())
    assert all(line.startswith("<6>") for line in lines)


def test_losses_are_warnings():
    words = ("run", READS, "-t", HERE, "--export", "otlp:http://127.0.0.1:9/")  # discard: nobody is there
    code = (
        "import sys, tui.output.otlp_sink as sink\n"
        "make = sink.OtlpSink.__init__\n"
        "make.__defaults__ = (*make.__defaults__[:1], sink.OtlpBounds(finish=0.2),"
        " sink.OtlpSink.__init__.__defaults__[2])\n"
        "from tui.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    status, _, lines = Service(*words, code=code).end()
    assert status == 1
    assert {line[:3] for line in lines} == {"<4>", "<6>"}
    assert any(re.match(r"<4>probewright: \d+ events dropped: not sent in time", line) for line in lines)


def test_an_exception_that_nobody_caught_is_an_error_too():
    code = (
        "from tui.__main__ import main\ntry: main(['--version'])\nexcept SystemExit: pass\nraise ValueError('\\x1b')"
    )
    status, _, lines = Service(code=code).end()
    assert status == 1
    assert lines[0] == "<3>Traceback (most recent call last):" and lines[-1] == "<3>ValueError: \\x1b"


def test_elsewhere_nothing_changes():
    status, _, lines = Service("run", "f vfs_read", "-t", "/no/such/thing", journal=False).end()
    assert status == 3 and lines[0].startswith("probewright: ")


def test_a_stream_that_was_redirected_is_not_the_journal(tmp_path):
    with (tmp_path / "file").open("w+") as file:
        about = os.fstat(file.fileno())
        assert is_journal(file, {"JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"})
        for other in ("", "x", f"{about.st_dev}:{about.st_ino + 1}", f"{about.st_dev}", ":"):
            assert not is_journal(file, {"JOURNAL_STREAM": other})
        assert not is_journal(file, {})
    assert not is_journal(file, {"JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"}), "it is closed"
    assert not is_journal(io.StringIO(), {"JOURNAL_STREAM": "1:2"})


@given(st.lists(st.text() | st.sampled_from(["\n", "\r\x1b[K5%", "<0>x\n", "a\nb"]), max_size=8))
@example(["\r"])
def test_every_line_has_one_priority_and_no_control_character(parts):
    class Kept(io.StringIO):
        def close(self) -> None:
            self.all = self.getvalue()

    out = Kept()
    lines = JournalLines(out)
    with at_priority(Level.WARNING):
        for part in parts:
            assert lines.write(part) == len(part)
        lines.close()
    told = out.all
    assert told == "" or told.endswith("\n")
    for line in told.split("\n")[:-1]:
        assert line.startswith("<4>") and line.isprintable() and line[3:].strip()
    wanted = [line for line in "".join(parts).split("\n") if line.strip()]
    assert len(told.split("\n")) - 1 == len(wanted)


def test_two_threads_do_not_share_a_line():
    out = io.StringIO()
    lines = JournalLines(out)
    lines.write("one ")
    other = threading.Thread(target=lambda: (lines.write("two "), lines.write("lines\n")))
    other.start()
    other.join()
    lines.write("line\n")
    assert out.getvalue() == "<6>two lines\n<6>one line\n"


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_service_ends_well(sign):
    """`run --json` without a terminal, on a kernel that goes on: every line is whole and the status is 0."""
    code = "import sys\nfrom tests.pure.tui.test_systemd_journal import serve\nserve()\n"
    service = Service(code=code)
    assert service.process.stdout is not None
    first = service.process.stdout.readline()
    assert json.loads(first)["event"].endswith("vfs_read")
    service.process.send_signal(sign)
    status, out, lines = service.end()
    assert status == 0, lines
    assert all(json.loads(line)["pid"] == 812 for line in out.splitlines())
    assert lines == ["<4>probewright: nothing is left: True"]


def serve() -> None:
    """`run SPEC --json` on a target that sends an event now and then."""
    import tui.cli.commands.run as command
    from tests.pure.kernel.test_watch import Anything, Target, id_of
    from tui.__main__ import main

    target = Target()

    def arm(watch, *rest):
        events = armed(watch, *rest)
        number = id_of(watch.armed.probes[0])

        def feed() -> None:
            for ts in range(1000, 1_000_000):
                if ended.wait(0.01):
                    return
                target.event(ts, number)

        threading.Thread(target=feed, daemon=True).start()
        return events

    ended = threading.Event()
    armed = command.arm
    command.arm = arm
    command.connect = lambda *words, **more: KernelInfo(target)
    command.Planner = Anything
    command.probes_of = lambda specs, planner: [probe_of(spec) for spec in specs]
    status = main(["run", "f vfs_read", "--json"])
    ended.set()
    with at_priority(Level.WARNING):
        print(f"probewright: nothing is left: {not target.traces}", file=sys.stderr)
    sys.exit(status)


def probe_of(spec: str):
    from tests.pure.kernel.test_watch import probe

    return probe(spec.split()[1])
