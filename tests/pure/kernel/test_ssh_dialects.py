"""Both dialects of a remote host, on this machine's files: the same questions, the same answers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.agent import frames
from kernel.errors import FileRefused, TargetLost
from kernel.remote.protocol.agent_client import AgentClient
from kernel.target import Effect, Step
from tests.descriptors import descriptors
from tests.pure.remote_hosts import KINDS, SHELLS, RemoteHost, eventually, remote_host, runs

BYTES = bytes(range(256)) * 300
NAMES = [
    "plain",
    "two words",
    "quo'te",
    'dou"ble',
    "$(touch pwned)",
    "`id`",
    "new\nline",
    "-n",
    "*",
    "\\0101",
    ".dot",
    "tail ",
]


@pytest.fixture(params=KINDS)
def far(request: pytest.FixtureRequest) -> Iterator[RemoteHost]:
    with remote_host(request.param) as side:
        yield side


def refusal(call: object, *args: object) -> int:
    with pytest.raises(FileRefused) as caught:
        call(*args)  # type: ignore[operator]
    return caught.value.errno


def test_reads_any_bytes_up_to_the_limit(far: RemoteHost, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BYTES)
    assert far.dialect.read(str(path), 1 << 20) == BYTES
    assert far.dialect.read(str(path), 1000) == BYTES[:1000]
    path.write_bytes(b"")
    assert far.dialect.read(str(path), 1000) == b""
    assert far.dialect.read("/proc/version", 4096) == Path("/proc/version").read_bytes()


def test_reads_from_an_offset(far: RemoteHost, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BYTES)
    for offset, limit in ((1, 10), (4095, 2), (4096, 4096), (5000, 1 << 20), (len(BYTES) - 3, 10), (len(BYTES), 10)):
        assert far.dialect.read(str(path), limit, offset) == BYTES[offset : offset + limit], (offset, limit)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
        file.seek((1 << 40) - 5)
        file.write(b"tail!")
    assert far.dialect.read(str(path), 100, (1 << 40) - 9) == b"\0\0\0\0tail!"
    assert refusal(far.dialect.read, str(tmp_path / "none"), 10, 4096) == errno.ENOENT


def test_reads_what_is_larger_than_any_buffer(far: RemoteHost, tmp_path: Path) -> None:
    data = os.urandom(1 << 20) + b"x" * (2 << 20)
    (tmp_path / "large").write_bytes(data)
    assert far.dialect.read(str(tmp_path / "large"), 64 << 20) == data


def test_a_long_file_does_not_keep_other_requests_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long").write_bytes(b"x" * (24 << 20))
    answered: list[int] = []
    take = AgentClient._take

    def taken(client: AgentClient, ident: int, op: int, fields: list[bytes]) -> None:
        answered.extend([ident] if op == frames.OK else [])
        take(client, ident, op, fields)

    monkeypatch.setattr(AgentClient, "_take", taken)
    with remote_host("agent") as far:
        client = far.dialect._client  # type: ignore[union-attr]
        asked = [
            client.submit(frames.READ, bytes(tmp_path / "long"), b"%d" % (64 << 20), limit=64 << 20),
            client.submit(frames.LIST, bytes(tmp_path)),
        ]
        for _, reply in asked:
            assert reply.done.wait(60)
        assert [ident for ident in answered if ident in dict(asked)] == [asked[1][0], asked[0][0]]
        assert sum(map(len, asked[0][1].parts)) == 24 << 20
        assert refusal(far.dialect.read, "/proc/self/mem", 10) == errno.EIO
        assert far.dialect.read("/proc/self/comm", 10), "the file that failed is closed and answered"


def test_writes_any_bytes(far: RemoteHost, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"longer than what comes next")
    far.dialect.perform(Step(Effect.WRITE, str(path), BYTES[:4000]))
    assert path.read_bytes() == BYTES[:4000]
    far.dialect.perform(Step(Effect.APPEND, str(path), b"%s\\n'\n"))
    assert path.read_bytes() == BYTES[:4000] + b"%s\\n'\n"
    far.dialect.perform(Step(Effect.APPEND, str(path)))
    assert path.stat().st_size == 4006
    far.dialect.perform(Step(Effect.WRITE, str(path)))
    assert path.read_bytes() == b""


def test_says_what_went_wrong(far: RemoteHost, tmp_path: Path) -> None:
    none, file = str(tmp_path / "none"), str(tmp_path / "file")
    Path(file).write_text("x")
    (tmp_path / "full/inside").mkdir(parents=True)
    dialect = far.dialect
    assert refusal(dialect.read, none, 10) == errno.ENOENT
    assert refusal(dialect.read, str(tmp_path), 10) == errno.EISDIR
    assert refusal(dialect.list, none) == errno.ENOENT
    assert refusal(dialect.list, file) == errno.ENOTDIR
    assert refusal(dialect.hold, none) == errno.ENOENT
    assert refusal(dialect.stream, none) == errno.ENOENT
    assert refusal(dialect.perform, Step(Effect.WRITE, none, b"x")) == errno.ENOENT
    assert not Path(none).exists()
    assert refusal(dialect.perform, Step(Effect.APPEND, none, b"x")) == errno.ENOENT
    assert refusal(dialect.perform, Step(Effect.MKDIR, file)) == errno.EEXIST
    assert refusal(dialect.perform, Step(Effect.RMDIR, str(tmp_path / "full"))) == errno.ENOTEMPTY
    assert refusal(dialect.perform, Step(Effect.RMDIR, none)) == errno.ENOENT
    assert refusal(dialect.perform, Step(Effect.WRITE, "/dev/full", b"x")) == errno.ENOSPC
    assert refusal(dialect.perform, Step(Effect.WRITE, "/proc/self/oom_score_adj", b"zz")) == errno.EINVAL
    assert refusal(dialect.read, "with\0nul", 10) == errno.EINVAL
    assert dialect.read(file, 10) == b"x"  # and goes on


def test_names_are_never_understood(far: RemoteHost, tmp_path: Path) -> None:
    for name in NAMES:
        far.dialect.perform(Step(Effect.MKDIR, f"{tmp_path}/{name}"))
    assert far.dialect.list(str(tmp_path)) == sorted(NAMES)
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)
    for name in NAMES:
        (tmp_path / name / "f").write_text(name)
        assert far.dialect.read(f"{tmp_path}/{name}/f", 99).decode() == name
    assert far.dialect.list(f"{tmp_path}/plain") == ["f"]
    raw = os.fsdecode(b"\xff\xfe")
    far.dialect.perform(Step(Effect.MKDIR, f"{tmp_path}/{raw}"))
    assert raw in far.dialect.list(str(tmp_path))
    assert not Path("pwned").exists()


@pytest.mark.parametrize("kind", SHELLS)  # the agent: tests/pure/kernel/test_journal.py
def test_a_shell_reads_no_journal_that_may_be_someone_elses(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "probewright" / "undo"
    folder.mkdir(parents=True)
    (folder / "1-2").write_text("ours")
    (folder / "3-4").symlink_to(folder / "1-2")
    os.mkfifo(folder / "5-6")
    names = ["3-4", "5-6"]
    if os.geteuid() == 0:
        (folder / "7-8").write_text("theirs")
        os.chown(folder / "7-8", 12345, 12345)
        names.append("7-8")
    with remote_host(kind) as far:
        assert far.dialect.read(str(folder / "1-2"), 100) == b"ours"
        for name in names:
            assert refusal(far.dialect.read, str(folder / name), 100) == errno.EPERM, name


def test_links_of_a_folder(far: RemoteHost, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("socket:[12]")
    (tmp_path / "b").symlink_to("/x y")
    (tmp_path / "c").write_text("no link")
    assert sorted(far.dialect.links(str(tmp_path))) == ["/x y", "socket:[12]"]


def test_holds_until_we_remove_the_folder(far: RemoteHost, tmp_path: Path) -> None:
    """As the kernel's instances: what is held there cannot be removed by anyone but us."""
    for name in ("one", "one more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tracing_on").write_text("")
    (tmp_path / "file").write_text("")

    def held() -> set[str]:
        paths = descriptors(far.dialect.pid)
        return {os.path.relpath(path.removesuffix(" (deleted)"), tmp_path) for path in paths if str(tmp_path) in path}

    far.dialect.hold(f"{tmp_path}/one/tracing_on")
    far.dialect.hold(f"{tmp_path}/one more/tracing_on")
    far.dialect.hold(f"{tmp_path}/file")
    assert held() == {"one/tracing_on", "one more/tracing_on", "file"}
    (tmp_path / "one/tracing_on").unlink()
    far.dialect.perform(Step(Effect.RMDIR, f"{tmp_path}/one"))
    assert held() == {"one more/tracing_on", "file"}
    far.dialect.hold(f"{tmp_path}/file")
    far.dialect.close()
    far.process.wait(60)


def end_by_close(far: RemoteHost) -> None:
    far.dialect.close()


def end_by_eof(far: RemoteHost) -> None:
    assert far.process.stdin
    far.process.stdin.close()


def end_by_sigterm(far: RemoteHost) -> None:
    os.kill(far.dialect.pid, signal.SIGTERM)


def end_by_sighup(far: RemoteHost) -> None:
    os.kill(far.dialect.pid, signal.SIGHUP)


@pytest.mark.parametrize("end", [end_by_close, end_by_eof, end_by_sigterm, end_by_sighup])
def test_undoes_what_is_guarded_when_we_vanish(far: RemoteHost, tmp_path: Path, end: object) -> None:
    log, inner = tmp_path / "log", tmp_path / "it's\nhere"
    log.write_text("")
    dialect = far.dialect
    dialect.guard(Step(Effect.APPEND, str(log), b"first "))
    dialect.guard(Step(Effect.RMDIR, str(inner)))
    dialect.guard(Step(Effect.APPEND, str(log), b"taken back "))
    dialect.guard(Step(Effect.RMDIR, str(tmp_path / "never there")))  # fails, and is no end of it
    dialect.guard(Step(Effect.APPEND, str(log), b"taken back "))
    dialect.guard(Step(Effect.APPEND, str(log), b"'last\\0' "))
    dialect.perform(Step(Effect.MKDIR, str(inner)))
    dialect.unguard(Step(Effect.APPEND, str(log), b"taken back "))
    dialect.unguard(Step(Effect.APPEND, str(log), b"taken back "))
    dialect.hold(str(log))
    assert log.read_text() == ""
    end(far)  # type: ignore[operator]
    far.process.wait(60)
    assert log.read_text() == "'last\\0' first "
    assert not inner.exists()
    with pytest.raises(TargetLost):
        dialect.read(str(log), 10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theirs", [False, True])
def test_what_someone_else_has_made_meanwhile_is_left_alone(kind: str, theirs: bool, tmp_path: Path) -> None:
    events = tmp_path / "dynamic_events"
    ours = "s:synthetic/it's\tu64 lat; $(touch x)"
    made = f"{'s:synthetic/other' if theirs else ours}\np:a/b vfs_read\n"
    events.write_text(made)
    with remote_host(kind) as far:
        far.dialect.guard(Step(Effect.APPEND, str(events), b"-:synthetic/it's\n", ours.encode()))
        assert far.process.stdin is not None
        far.process.stdin.close()
        far.process.wait(60)
    assert events.read_text() == made + ("" if theirs else "-:synthetic/it's\n")


@pytest.mark.parametrize("kind", SHELLS)
def test_what_is_guarded_no_more_takes_no_room(kind: str, tmp_path: Path) -> None:
    """A long watch arms and disarms without end."""
    with remote_host(kind) as far:
        dialect, shell = far.dialect, far.dialect._shell
        kept, passing = (Step(Effect.APPEND, str(tmp_path / "log"), data) for data in (b"kept", b"passing"))
        (tmp_path / "log").write_text("")
        dialect.guard(kept)
        before = shell.run('echo "$guards" >&3')
        for _ in range(20):
            dialect.guard(passing)
            dialect.unguard(passing)
        assert shell.run('echo "$guards" >&3') == before
        dialect.close()
        assert (tmp_path / "log").read_text() == "kept"


@pytest.mark.parametrize("kind", KINDS)
def test_undoes_after_too_long_a_silence(kind: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("")
    with remote_host(kind, silence=2) as far:
        far.dialect.guard(Step(Effect.WRITE, str(log), b"undone"))
        assert not eventually(lambda: far.process.poll() is not None, 4.0), "we talk, so it has to stay"
        line = far.dialect._client if kind == "agent" else far.dialect._shell
        line._quiet.set()  # as if we hung
        assert eventually(lambda: far.process.poll() is not None)
        assert log.read_text() == "undone"


@pytest.mark.parametrize("kind", SHELLS)
def test_a_shell_whose_line_takes_nothing_any_more_undoes(kind: str, tmp_path: Path) -> None:
    """It waits for a command that writes into a full pipe, as where the network is gone."""
    log, big = tmp_path / "log", tmp_path / "big"
    log.write_text("")
    big.write_bytes(bytes(1 << 20))
    with remote_host(kind, silence=2) as far:
        shell = far.dialect._shell  # type: ignore[union-attr]
        far.dialect.guard(Step(Effect.WRITE, str(log), b"undone"))
        with shell._turn:  # nobody talks from here on, and nobody reads
            shell._send(f"1 token\nt_read '{big}' {1 << 20}\n".encode())
            assert eventually(lambda: log.read_text() == "undone")
            shell._lose("nobody reads")


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_no_process(kind: str, tmp_path: Path) -> None:
    with remote_host(kind) as far:
        session = os.getsid(far.process.pid)
        far.dialect.read("/proc/version", 10)
        far.dialect.close()
        far.process.wait(60)

        def left() -> list[str]:
            found = subprocess.run(["ps", "-s", str(session), "-o", "stat=,args="], capture_output=True, text=True)
            return [line for line in found.stdout.splitlines() if not line.startswith("Z")]

        assert eventually(lambda: not left()), left()
        assert not runs(far.dialect.pid)


@pytest.mark.parametrize("kind", SHELLS)
def test_the_watcher_of_a_killed_shell_harms_nobody(kind: str) -> None:
    """It must not signal whoever gets the process id next, nor stay."""
    with remote_host(kind, silence=24) as far:
        session = os.getsid(far.process.pid)

        def left() -> str:
            found = subprocess.run(["ps", "-s", str(session), "-o", "stat=,args="], capture_output=True, text=True)
            return "".join(line for line in found.stdout.splitlines(True) if not line.startswith("Z"))

        assert eventually(lambda: "sleep 3" in left()), left()
        far.process.kill()
        far.process.wait()
        assert eventually(lambda: not left()), left()
