"""Exit status of the commands where nothing can be done: 1 refused or nothing found, 2 usage, 3 target unusable."""

import errno
import io
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

import kernel.watch.recorder
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetUnusable
from kernel.target import Effect, Step
from kernel.watch.recorder import Recorder
from probes.facts.facts import TargetFacts, Trouble
from tests.fake_target import FACTS, ROOT, FakeTarget
from tui.__main__ import main
from tui.cli.commands import app, clean
from tui.output.probe_exports import save


@pytest.fixture
def on(monkeypatch):
    """Have the command find this target behind any word."""

    def use(target):
        monkeypatch.setattr(clean, "connect", lambda _: KernelInfo(target))

    return use


def test_where_nobody_can_look_nobody_says_that_it_is_clean(on, capsys):
    on(FakeTarget(facts=TargetFacts("x86_64", "6.1", troubles=(Trouble("tracefs is not mounted", "mount it"),))))
    assert main(["clean"]) == 3
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "probewright: fake: tracefs is not mounted\n  mount it\n")


def test_a_kernel_that_is_clean(on, capsys):
    on(FakeTarget(facts=replace(FACTS, readme="tracing mini-HOWTO")))
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "nothing was left behind\n"


@pytest.mark.parametrize("refused", [False, True])
def test_everything_is_cleaned_also_where_nobody_reads_what_is_told(on, monkeypatch, refused):
    def unread(_: object) -> None:
        raise BrokenPipeError

    target = FakeTarget(facts=replace(FACTS, readme="tracing mini-HOWTO"))
    for number in (200, 300):
        target.perform(Step(Effect.MKDIR, f"{ROOT}/instances/probewright-{number}_x"))
    on(target)
    monkeypatch.setattr(clean, "emit", unread)
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # it is closed
    if refused:
        target.held.append(f"{ROOT}/instances/probewright-300_x/tracing_on")
    assert main(["clean", "--json"]) == int(refused)
    assert len(target.traces) == int(refused)


def test_a_script_that_could_not_be_written_whole_is_not_there(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save("#!/bin/sh\n" * 100, tmp_path / "probes.sh")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_into_a_folder_that_is_not_there_is_refused_before_anything_is_armed(tmp_path, capsys):
    assert main(["record", "f vfs_read", "-o", str(tmp_path / "no" / "x.pwr"), "--target", "ssh://no.such.host"]) == 2
    assert f"{tmp_path}/no is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "hint"), [("chek", "did you mean `probewright check`?"), ("zzz", "commands are list, show,")]
)
def test_a_word_that_is_no_target_may_have_been_meant_for_a_command(word, hint):
    with pytest.raises(TargetUnusable, match=f"{word}: neither") as error:
        app._require_target(word)
    assert hint in error.value.remedy
    assert "targets are" in error.value.remedy


def of_a_shell(words: str, redirected: str) -> subprocess.CompletedProcess[str]:
    """A command on the recording, with its streams as a shell was told."""
    line = f'exec "$1" -m tui {words} -t "$2" {redirected}'
    argv = ["sh", "-c", line, "sh", sys.executable, str(shipped_recording())]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("words", ["list vfs_read", "run 'f vfs_read%return count' --json", "graph vfs_write"])
def test_a_disk_that_is_full_is_told(words):
    done = of_a_shell(words, ">/dev/full")
    said = "probewright: standard output: No space left on device; some output was not written\n"
    assert (done.returncode, done.stderr[-len(said) :]) == (1, said)


def test_a_full_disk_of_another_file_is_not_said_to_be_the_output(monkeypatch, capsys):
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(clean, "connect", full)
    assert main(["clean"]) == 3
    said = capsys.readouterr().err
    assert "standard output" not in said and "No space left on device" in said and "Traceback" not in said
    monkeypatch.setenv("PROBEWRIGHT_TRACEBACK", "1")
    with pytest.raises(OSError, match="No space left"):
        main(["clean"])


def test_streams_that_are_closed_lead_nowhere():
    whole = of_a_shell("list vfs_read", "")
    assert (whole.returncode, whole.stderr) == (0, "") and whole.stdout
    assert (done := of_a_shell("list vfs_read", "<&- 2>&-")).returncode == 0
    assert done.stdout == whole.stdout
    assert (done := of_a_shell("list vfs_read", ">&-")).returncode == 0
    assert (done.stdout, done.stderr) == ("", "")
    done = of_a_shell("list no_such_function_is_there", "2>&-")
    assert (done.returncode, done.stdout) == (1, ""), "what is said to people is no line of the list"


def test_a_graph_into_a_folder_that_is_not_there_is_refused_before_anything_is_traced(tmp_path, capsys):
    assert main(["graph", "vfs_read", "-o", str(tmp_path / "no" / "x.pwr"), "--target", "ssh://no.such.host"]) == 2
    assert f"{tmp_path}/no is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["_write_formats", "_write_pages"])
def test_a_graph_that_could_not_be_recorded_is_no_success(tmp_path, capsys, monkeypatch, method):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Recorder, method, full)
    monkeypatch.setattr(kernel.watch.recorder, "_text_symbols", lambda _: b"")  # to pack them takes most of the time
    path = tmp_path / "x.pwr"
    assert main(["graph", "vfs_write", "-o", str(path), "-t", str(shipped_recording())]) == 1
    assert f"probewright: {path}: No space left on device" in capsys.readouterr().err
    assert path.exists() == (method != "_write_formats"), "what could not be begun is in nobody's way"
