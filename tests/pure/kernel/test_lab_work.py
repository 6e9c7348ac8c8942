"""Programs that end with us, locks, folders that appear whole, keys, and QEMU's command line."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernel.lab import cache, guest, keys, qemu
from kernel.lab.errors import LabCancelled, LabError
from kernel.lab.kernels import KernelImage
from kernel.lab.target import open_lab
from kernel.lab.work import Progress, Work, end_process, start_process, wait_until
from tests.pure.remote_hosts import runs

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def work() -> Work:
    return Work(lambda _: None)


def ends(pid: int, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while runs(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_output_of_a_program(work: Work, tmp_path: Path) -> None:
    assert work.run(["cat", "/proc/self/comm"]) == b"cat\n"
    assert work.run(["pwd"], cwd=tmp_path).decode().strip() == str(tmp_path)
    assert work.run(["sh", "-c", "echo $LC_ALL $MORE; cat"], env={"MORE": "x"}) == b"C x\n"  # its input is empty


def test_failing_program_gives_its_words(work: Work) -> None:
    with pytest.raises(LabError, match="sh: sorry") as caught:
        work.run(["sh", "-c", "echo sorry >&2; exit 3"], remedy="do better")
    assert caught.value.remedy == "do better"
    assert work.run(["sh", "-c", "echo out; exit 3"], check=False) == b"out\n"
    with pytest.raises(LabError, match="No such file"):
        work.run(["/does/not/exist"])


def test_tick_while_a_program_runs(work: Work, tmp_path: Path) -> None:
    seen: list[bytes] = []
    output = tmp_path / "log"

    def tick() -> None:
        seen.append(output.read_bytes())
        if b"one\n" in seen:
            (tmp_path / "go on").touch()

    work.run(
        ["sh", "-c", "echo one; until [ -e 'go on' ]; do sleep 0.1; done; echo two"],
        cwd=tmp_path,
        output=output,
        tick=tick,
    )
    assert b"one\n" in seen
    assert output.read_bytes() == b"one\ntwo\n"


def test_cancel_ends_a_program_and_what_it_started(tmp_path: Path) -> None:
    cancel = threading.Event()
    steps: list[Progress] = []
    work = Work(steps.append, cancel)
    work.say("half", 0.5)
    told = tmp_path / "pid"

    def once_it_runs() -> None:
        if told.exists() and told.read_text().endswith("\n"):
            cancel.set()

    with pytest.raises(LabCancelled):
        work.run(["sh", "-c", f"sleep 100 & echo $! >{told}; wait"], tick=once_it_runs)
    assert ends(int(told.read_text()))
    with pytest.raises(LabCancelled):
        work.say("more")
    assert steps == [Progress("half", 0.5)]


def test_wait_until(work: Work) -> None:
    answers = iter([False, False, True])
    assert wait_until(work, lambda: next(answers), 60)
    assert not wait_until(work, lambda: False, 0.1)


SCRIPT = """
import subprocess, sys, threading, time
from pathlib import Path
from kernel.lab.work import start_process
def start():
    kept = start_process(["sh", "-c", "echo $$; sleep 100"], stdout=1, stderr=2, remove=Path(sys.argv[1]))
    print("keeper", kept.pid, flush=True)
    globals()["kept"] = kept
thread = threading.Thread(target=start)
thread.start()
thread.join()
time.sleep(100)
"""


@pytest.mark.parametrize("victim", ["application", "keeper"])
def test_kept_program_ends_with_us(victim: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    argv = [sys.executable, "-c", SCRIPT, str(folder)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as application:
        assert application.stdout is not None
        words = (application.stdout.readline() + application.stdout.readline()).decode().split()
        keeper = int(words[words.index("keeper") + 1])
        [program] = [int(word) for word in words if word.isdigit() and int(word) != keeper]
        # The thread that started it is over, and it lives on.
        time.sleep(0.2)
        assert runs(program)
        os.kill(application.pid if victim == "application" else keeper, signal.SIGKILL)
        assert ends(program)
        application.kill()
    assert ends(keeper)
    assert folder.exists() == (victim == "keeper")


def test_kept_program_that_ends_by_itself_keeps_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    kept = start_process(
        ["sh", "-c", "kill -9 $$"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, remove=folder
    )
    assert kept.wait(60) == 128 + signal.SIGKILL
    end_process(kept)
    end_process(kept)
    assert folder.exists()


def test_published_folder_appears_whole_or_not(own_cache: Path) -> None:
    place = own_cache / "kernels" / "one"
    with pytest.raises(OSError), cache.publish(place) as scratch:
        (scratch / "half").touch()
        raise OSError
    assert list((own_cache / "kernels").iterdir()) == []
    for text in ("first", "second"):
        with cache.publish(place) as scratch:
            (scratch / text).touch()
    assert [path.name for path in place.iterdir()] == ["second"]


def test_published_file(own_cache: Path) -> None:
    path = own_cache / "guests" / "image"
    with pytest.raises(OSError), cache.publish_file(path) as scratch:
        scratch.write_bytes(b"half")
        raise OSError
    assert list(path.parent.iterdir()) == []
    with cache.publish_file(path) as scratch:
        scratch.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"


def test_lock_is_waited_for() -> None:
    said: list[str] = []
    cancel = threading.Event()

    def progress(step: Progress) -> None:
        said.append(step.text)
        cancel.set()

    first, second = Work(lambda _: None), Work(progress, cancel)
    with cache.locked(first, "kernels/x"), pytest.raises(LabCancelled), cache.locked(second, "kernels/x"):
        pytest.fail("two have it")
    assert said == ["waiting for another probewright, which is making kernels/x"]
    with cache.locked(Work(progress), "kernels/x"):
        pass


def test_run_folders_of_the_dead_are_swept(own_cache: Path) -> None:
    mine = cache.run_folder()
    dead = subprocess.run(["sh", "-c", "echo $$"], capture_output=True).stdout.decode().strip()
    (own_cache / "run" / f"{dead}_1_x").mkdir()
    (own_cache / "run" / f"{os.getpid()}_1_x").mkdir()  # our number, in another life
    second = cache.run_folder()
    assert set((own_cache / "run").iterdir()) == {mine, second}
    assert mine.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_host_key_is_dropbears(work: Work, tmp_path: Path) -> None:
    made = keys.make(work, tmp_path)
    assert made.identity.stat().st_mode & 0o777 == 0o600
    assert made.authorized.startswith(b"ssh-ed25519 ")
    assert made.host_public.split()[1] != made.authorized.split()[1]
    assert not (tmp_path / "host").exists()
    if shutil.which("dropbearkey") is None:
        pytest.skip("dropbear-bin is not installed, nothing to compare with")
    (tmp_path / "dropbear").write_bytes(made.host)
    shown = subprocess.run(["dropbearkey", "-y", "-f", str(tmp_path / "dropbear")], capture_output=True, check=True)
    assert made.host_public in shown.stdout


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
@pytest.mark.parametrize("options", [["-t", "ecdsa", "-N", ""], ["-t", "ed25519", "-N", "secret"]])
def test_other_keys_are_refused(options: list[str], tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", *options, "-f", str(tmp_path / "key")], check=True)
    with pytest.raises(ValueError, match="ed25519"):
        keys.dropbear_key((tmp_path / "key").read_text())
    with pytest.raises(ValueError, match="OpenSSH"):
        keys.dropbear_key("AAAA")


@pytest.mark.parametrize(
    ("arch", "program"),
    [("amd64", "qemu-system-x86_64"), ("arm64", "qemu-system-aarch64"), ("riscv64", "qemu-system-riscv64")],
)
def test_command_line(arch: str, program: str, tmp_path: Path) -> None:
    kernel = KernelImage(Path("/k"), arch, "7.2")
    argv = qemu.command_line(kernel, tmp_path / "i", tmp_path / "c", 4022, "one two")
    assert argv[0] == program
    assert "tcg,thread=single" in argv
    netdev = argv[argv.index("-netdev") + 1]
    assert "hostfwd=tcp:127.0.0.1:4022-:22" in netdev
    assert "restrict=on" in netdev
    words = argv[argv.index("-append") + 1]
    assert words.endswith(" one two")
    assert ("no_timer_check" in words) == (arch == "amd64"), "x86 alone has that test"


def test_a_slow_guest_is_not_asked_by_one_more_connection_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "_ANSWER", 0.05)
    monkeypatch.setattr(qemu, "start_process", lambda *_, **__: None)
    monkeypatch.setattr(qemu, "end_process", lambda _: None)
    machine = qemu.Machine(tmp_path, KernelImage(Path("/k"), "amd64", "7.2"), tmp_path / "i", "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        machine.port = server.getsockname()[1]
        assert not any(machine.answers() for _ in range(1 + 2 + 4))
        taken = [server.accept()[0] for _ in range(3)]
        assert not machine.answers()
        taken.append(server.accept()[0])
        taken[-1].sendall(b"SSH-2.0-dropbear")
        assert machine.answers()
        for connection in taken:
            connection.close()
    assert not machine.answers(), "nobody is there"
    machine.close()


def test_a_full_disk_is_told_with_the_folder_and_the_way_out(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(guest, "boot", full)
    with pytest.raises(LabError, match=f"{own_cache}: No space left") as caught:
        open_lab("lab:7.2")
    assert "PROBEWRIGHT_CACHE" in caught.value.remedy
