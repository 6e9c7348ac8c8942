"""Messages that name a machine or a reason: it is the right machine, and what was not looked at is not denied."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from events.search.search import plain_text
from events.store.outage_mark import OUTAGE_EVENT, Outage, task_text
from events.store.store import Store
from kernel.connection.open_target import shipped_recording
from kernel.errors import FileRefused, PasswordNeeded, TargetLost, TargetUnusable
from kernel.remote.address import Address
from kernel.remote.bootstrap import Greeting
from kernel.remote.connect_failure import connect_error, locked_keys
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from probes.attaching.attach import attachability
from probes.attaching.values import ReasonKind
from probes.check import check_typed
from probes.completion.choice import NameSources
from probes.completion.complete import complete
from probes.facts.facts import TargetFacts, Trouble
from tests.events_data import captured
from tests.fake_target import FakeTarget
from tests.pure.kernel.test_facts import NOWHERE, ROOT, look, machine, tracefs

USER = {"/proc/self/status": b"Uid:\t1000\t1000\nCapEff:\t0000000000000000\n"}
REFUSED = "sudo: a password is required"


def closed() -> dict[str, bytes]:
    """What a user sees of a kernel: tracefs is mounted, and its folder is root's alone."""
    return machine() | {path: data for path, data in tracefs("7.2").items() if not path.startswith(ROOT)} | USER


class Closed:
    """The remote host of a user."""

    pid, last_received = 1, 0.0

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = FakeTarget(files, facts=NOWHERE)

    def read(self, path: str, limit: int = 1 << 20, offset: int = 0) -> bytes:
        return self._files.read(path, limit, offset)

    def list(self, path: str) -> list[str]:
        return list(self._files.list(path))

    def ahead(self, paths: object) -> dict[str, bytes | FileRefused]:
        return {}

    def close(self) -> None:
        pass


def far_facts(files: dict[str, bytes], hello: str = f"1000\n\nyes\nbox {REFUSED}") -> TargetFacts:
    troubles = Greeting(hello.encode()).troubles(Address("box", "jo"))
    return RemoteTarget(RemoteConnection(Closed(files), "agent", troubles), "ssh://jo@box").facts()  # type: ignore[arg-type]


def test_who_is_not_root_far_away_is_told_what_sudo_said_there() -> None:
    first, *rest = (trouble for trouble in far_facts(closed()).troubles if trouble.fatal)
    assert first.what == f"not root on box, and no way to become it: {REFUSED}"
    assert "jo ALL=(root) NOPASSWD: ALL" in first.remedy and "there" in first.remedy
    assert first.code == ReasonKind.PRIVILEGES
    for trouble in (first, *rest):
        assert "`sudo probewright`" not in trouble.remedy, "which makes root of who is here"


def test_who_is_not_root_here_is_told_what_helps_here() -> None:
    (fatal,) = (trouble for trouble in look(closed()).troubles if trouble.fatal)
    assert (fatal.what, fatal.code) == ("only root arms probes", ReasonKind.PRIVILEGES)
    assert "`sudo probewright`" in fatal.remedy


@pytest.mark.parametrize(
    "change",
    [
        {"/proc/self/mounts": b"proc /proc proc rw 0 0\n"},
        {"/proc/self/mounts": b"tracefs /sys/kernel/tracing tracefs ro 0 0\n"},
        {"/sys/kernel/debug/kprobes/enabled": b"0\n"},
        {"/proc/sys/kernel/ftrace_enabled": b"0\n"},
        {"/proc/sys/kernel/kptr_restrict": b"2\n"},
        {"/sys/kernel/debug/kprobes/blacklist": b""},
    ],
)
@pytest.mark.parametrize("rights", [{}, USER])
def test_a_command_that_helps_is_said_with_its_machine(change: dict[str, bytes], rights: dict[str, bytes]) -> None:
    files = machine() | tracefs("7.2") | rights | change
    here, there = look(files).troubles, far_facts(files, "0\n\nyes\nbox").troubles
    commands = ("mount ", "umount ", "sudo mount ", "echo ", "sysctl ")
    local = [trouble for trouble in here if trouble.remedy.startswith(commands)]
    assert local
    for trouble in local:
        assert replace(trouble, remedy=f"on ssh://jo@box: {trouble.remedy}") in there


def test_root_of_a_container_is_no_user() -> None:
    files = machine() | tracefs("7.2") | {"/proc/self/uid_map": b"0 100000 65536\n"}
    (told,) = (trouble for trouble in look(files).troubles if trouble.code == ReasonKind.PRIVILEGES)
    assert "root of a container" in told.what and "sudo" not in told.remedy
    files = machine() | tracefs("7.2") | {"/proc/self/status": b"Uid:\t0\t0\nCapEff:\t0000000000000000\n"}
    (told,) = (trouble for trouble in look(files).troubles if trouble.code == ReasonKind.PRIVILEGES)
    assert "CAP_DAC_OVERRIDE" in told.what and "sudo" not in told.remedy


TEXTS = (
    "f vfs_read", "p vfs_read", "r vfs_read $retval", "f:g/e vfs_read%return", "p vfs_read+4", "t sched_switch prev",
    "e sched/sched_switch x=$prev_pid", "p /bin/ls:main", "f vfs_*",
)  # fmt: skip
DENIED = ("This kernel", "this kernel has", "no tracer", "not in available_filter_functions", "No name in", "no such")


@pytest.mark.parametrize("text", TEXTS)
def test_what_nobody_could_look_at_is_not_denied(text: str) -> None:
    error = check_typed(text, None, look(closed())).verdict.error
    assert error is not None
    said = f"{error.message} {error.hint}"
    assert not any(words in said for words in DENIED), said
    assert "only root arms probes" in said.lower() and "`sudo probewright`" in said


def test_a_function_of_a_closed_tracefs_is_not_denied() -> None:
    facts = look(closed())
    about = attachability("vfs_read", facts, None)
    assert [reason.kind for reason in about.reasons] == [ReasonKind.PRIVILEGES]
    found = complete("p /bin/ls", 9, NameSources(facts, lambda _: None, lambda _: (), pytest.fail))
    assert "cannot be seen" in found.note, found
    bare = replace(facts, troubles=())
    assert "no tracer" in attachability("vfs_read", bare, None).reasons[0].text, "of a kernel that was looked at"


def test_a_kernel_that_has_not_got_it_is_still_told_so() -> None:
    config = {"/proc/config.gz": b"", "/boot/config-6.18.5": b""}
    facts = look(machine() | tracefs("6.1") | config)
    error = check_typed("t sched_switch prev", None, facts).verdict.error
    assert error is not None and error.code != "unseen"


@pytest.mark.parametrize("asking", [True, False])
def test_a_key_with_a_passphrase_and_nobody_to_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: bool
) -> None:
    key = tmp_path / "key"
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-f", str(key)]
    subprocess.run([*made, "-N", "a passphrase"], check=True)
    options = ["-F", "none", "-i", str(key)]
    assert locked_keys(Address("box"), options) == [str(key)]
    monkeypatch.setattr("kernel.remote.connect_failure._has_terminal", lambda: False)
    said = "jo@box: Permission denied (publickey)."
    error = connect_error(Address("box", "jo"), said, "", TargetLost("cut"), options, asking=asking)
    assert isinstance(error, TargetUnusable if asking else PasswordNeeded)
    assert error.remedy.startswith(f"{key} has a passphrase, and ssh can't ask here: ssh-add {key} first; ")
    key.unlink()
    subprocess.run([*made, "-N", ""], check=True, input=b"y\n")
    error = connect_error(Address("box", "jo"), said, "", TargetLost("cut"), options, asking=asking)
    assert "passphrase" not in error.remedy and error.remedy.startswith("ssh can't ask for a password here; ")
    monkeypatch.setattr("kernel.remote.connect_failure._has_terminal", lambda: True)
    error = connect_error(Address("box", "jo"), said, "", TargetLost("cut"), options)
    assert error.remedy.startswith("check the user's name, or copy your key there")


@pytest.mark.parametrize("name", ["rsa", "ecdsa"])
def test_old_files_of_keys(tmp_path: Path, name: str) -> None:
    for passphrase, form in (("secret", "PEM"), ("", "PEM"), ("secret", "PKCS8")):
        key = tmp_path / f"key{form}{passphrase}"
        words = ["ssh-keygen", "-q", "-t", name, "-m", form, "-N", passphrase, "-f", str(key)]
        subprocess.run(words, check=True)
        assert locked_keys(Address("box"), ["-F", "none", "-i", str(key)]) == ([str(key)] if passphrase else [])
    for junk in (b"", b"\0" * 100, base64.b64encode(b"openssh-key-v1"), b"-----BEGIN\n", os.urandom(300)):
        key.write_bytes(junk)
        assert locked_keys(Address("box"), ["-F", "none", "-i", str(key)]) == []


def test_what_a_remote_host_says_is_no_reason_of_ssh() -> None:
    """A login that ends with such words has nothing to do with keys."""
    error = connect_error(Address("box"), "", "sh: /etc/profile: Permission denied", TargetLost("cut"))
    assert "Permission denied" in str(error) and "key" not in error.remedy
    jump = "jo@gate: Permission denied (publickey)."
    error = connect_error(Address("box"), "Connection closed by UNKNOWN port 65535", jump, TargetLost("cut"))
    assert str(error) == f"box: {jump}".replace("box", "ssh://box") and "copy your key" in error.remedy


def test_the_mark_of_a_cut_line_is_no_task() -> None:
    store = Store(captured("7.2", "events").decoder)
    store.feed(Outage(5.8).batch(10**9))
    store.flush()
    (mark,) = [store.record(seq) for seq in range(len(store))]
    assert (mark.event, mark.comm) == (OUTAGE_EVENT, "5.8 s lost")
    assert task_text(mark.comm, mark.pid, mark.event) == "5.8 s lost"
    assert plain_text(mark).startswith("5.8 s lost line_cut ")
    assert task_text("cat", 812, "g/e") == "cat-812"
    assert task_text("idle", 0, "g/e") == "idle-0"


def test_no_other_way_to_write_a_task() -> None:
    """Each place that shows a task by name and number leaves the number of a mark out."""
    top = Path(__file__).parents[3]
    own = {"events/store/outage_mark.py", "events/search/sorted_rows.py", "tui/views/calls/call_text.py"}
    own |= {"events/export/formats/perfetto.py", "events/export/formats/text.py"}  # formats of other tools
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=top, capture_output=True, text=True, check=True)
    for path in set(listed.stdout.split()) - own:
        if path.partition("/")[0] in ("events", "kernel", "widgets", "tui"):
            assert "comm}-{" not in (top / path).read_text(), path


def test_doctor_says_where_it_has_looked_for_libbpf() -> None:
    words = [sys.executable, "-m", "tui", "doctor", "-t", str(shipped_recording())]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("libbpf")]
    assert "not found" not in line and "apt-get" not in line, line


def test_a_trouble_is_one_of_what_keeps_from_looking() -> None:
    facts = TargetFacts("x86_64", "7.2", troubles=(Trouble("slow", fatal=False), Trouble("closed")))
    assert facts.unreadable == Trouble("closed")
    assert replace(facts, readme="tracing mini-HOWTO").unreadable is None
    assert replace(facts, troubles=facts.troubles[:1]).unreadable is None
