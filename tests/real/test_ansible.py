"""The playbook, by Ansible itself, on a machine without Python: looked at, run, refused, and what it leaves."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from probes.command import parse_armable
from probes.export.export import dialect_named
from tui.output.probe_exports import exported

TRACING = "/sys/kernel/tracing"
HOSTILE = "{{ 7*7 }}{% raw %}'$(touch /tmp/broken)`touch /tmp/broken`"
SPECS = (
    f'f do_sys_openat2 filename:ustring how->flags if comm != "{HOSTILE}"',
    "f shmem_file_llseek%return offset whence $retval",
)


class Plays:
    """Runs a playbook on a guest."""

    def __init__(self, guest: Guest, folder: Path, sockets: str) -> None:
        self.guest, self.folder, self.sockets = guest, folder, sockets
        options = shlex.join(guest.ssh_options)
        settings = f"ansible_host={guest.host.rpartition('@')[2]} ansible_user=root ansible_shell_type=sh"
        (folder / "hosts").write_text(f"machine/one {settings} ansible_ssh_common_args={shlex.quote(options)}\n")
        planner = Planner(KernelInfo(connect(guest, "guest", python=False)))
        try:
            made = exported(planner, [parse_armable(spec) for spec in SPECS], dialect_named("ansible"))
        finally:
            planner.info.close()
        self.book = folder / "book.yml"
        self.book.write_text(made.text)

    def command(self, *words: str) -> list[str]:
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        return [program, "-i", str(self.folder / "hosts"), str(self.book), *words]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": self.sockets,
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=30s",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_NOCOLOR": "true",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def left(self) -> str:
        """What is in the guest of anybody's."""
        look = (
            f"(cat {TRACING}/dynamic_events; ls {TRACING}/instances /tmp) | grep -E 'pw_|probewright|broken' || true"
        )
        return self.guest.run(look).decode()


@pytest.fixture(scope="module")
def plays(guest_72_sh: Guest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plays]:
    with tempfile.TemporaryDirectory(dir="/tmp") as sockets:  # a socket's name is short
        yield Plays(guest_72_sh, tmp_path_factory.mktemp("ansible"), sockets)
        for control in Path(sockets).iterdir():  # else the guest has another connection than when it was lent
            subprocess.run(["ssh", "-S", str(control), "-O", "exit", "any"], capture_output=True, check=True)


def test_check_looks_and_changes_nothing(plays: Plays) -> None:
    shutil.rmtree(plays.folder / "probewright", ignore_errors=True)
    done = plays.run("--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed=0" in done.stdout and "unreachable=0" in done.stdout
    assert plays.left() == ""
    assert not (plays.folder / "probewright").exists()


def test_it_records_fetches_and_leaves_nothing(plays: Plays) -> None:
    guest = plays.guest
    work = f"""
      until grep -q 1 {TRACING}/instances/probewright-*/events/pw_*/do_sys_openat2__entry/enable 2>/dev/null
      do usleep 200000; done
      cd /tmp; printf 'first line\\nsecond line\\n' >read-me
      dd if=read-me of=/dev/null bs=5 skip=2 count=1 2>/dev/null; cat /no/such/file 2>/dev/null; rm read-me
      until grep -q /no/such/file /tmp/probewright-*/out; do usleep 200000; done
      kill -TERM $(cat /tmp/probewright-*/pid)"""
    worker = threading.Thread(target=guest.run, args=(work,))
    worker.start()
    done = plays.run("-e", "probewright_seconds=600")  # the workload ends it
    worker.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert plays.left() == ""
    (path,) = (plays.folder / "probewright").iterdir()
    assert path.name == "machine_one.txt"
    text = path.read_text()
    opened = re.search(r'do_sys_openat2__entry: \(\S+\) filename="/no/such/file" flags=(\S+)', text)
    assert opened and int(opened[1], 0) & 0o3 == 0, text[-2000:]
    assert re.search(r"shmem_file_llseek__exit: .* offset=10 whence=[01] ret=10\b", text), text[-2000:]


def test_a_kernel_that_refuses_is_told_and_what_it_took_is_taken_back(plays: Plays) -> None:
    text = plays.book.read_text()
    plays.book.write_text(text.replace("shmem_file_llseek%return ", "no_such_function%return "))
    try:
        done = plays.run()
    finally:
        plays.book.write_text(text)
    assert done.returncode == 2
    assert "no_such_function" in done.stdout and "refused:" in done.stdout
    assert plays.left() == ""


def test_a_controller_that_is_killed_leaves_no_probes(plays: Plays) -> None:
    """The script ends by itself; only its folder waits for somebody to fetch it."""
    guest = plays.guest
    with subprocess.Popen(
        plays.command("-e", "probewright_seconds=5"),
        cwd=plays.folder,
        env=plays.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        # It waits, so that its time is not over before the controller is killed.
        wait = "until ls /tmp/probewright-*/ready 2>/dev/null; do usleep 100000; done"
        guest.run(f"{wait}; kill -STOP $(cat /tmp/probewright-*/pid)")
        os.killpg(process.pid, signal.SIGKILL)
    guest.run("kill -CONT $(cat /tmp/probewright-*/pid)")
    there = f"(cat {TRACING}/dynamic_events; ls {TRACING}/instances) | grep -qE 'pw_|probewright'"
    guest.run(f"while {there}; do usleep 200000; done")
    folders = guest.run("until cat /tmp/probewright-*/status 2>/dev/null; do usleep 200000; done; ls /tmp").decode()
    assert folders.startswith("0\n") and "probewright-" in folders
    guest.run("rm -r /tmp/probewright-*")
