"""The ssh target over lines as they are: cut and back again, slow, with a long way to go, through a jump host."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from events.recording.reader import Recording
from events.store.outage_mark import OUTAGE_EVENT, outage_of_batch
from kernel.cleanup import leftovers
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.remote import answer_limit
from kernel.remote.address import Address
from kernel.remote.connect import open_ssh
from kernel.remote.protocol import shell_client
from kernel.remote.target import RemoteTarget
from kernel.session.start import open_session
from kernel.target import Effect, Step
from kernel.watch.reconnect import ReconnectAttempt, can_reconnect
from kernel.watch.watch import Watch
from probes.command import parse_armable
from tests.real import command
from tests.real.openssh import Server
from tests.real.processes import PATIENCE, sshs, until, zombies
from tests.real.test_ssh_guest import DIALECTS, TRACEFS, drained, is_clean, is_recording, left, plan, seen, the_master
from tests.slow_connection import SlowConnection

READ = "f vfs_read count"
NAME = "vfs_read__entry"
TRACER = b"function_graph"


def through(line: SlowConnection, guest: Guest) -> list[str]:
    """Options that lead to a guest over a line."""
    options = guest.ssh_options
    options[options.index("-p") + 1] = str(line.port)
    return [*options, "-o", f"HostKeyAlias=[127.0.0.1]:{guest.port}"]


def reach(options: Sequence[str], *, python: bool = True) -> RemoteTarget:
    return open_ssh(Address("127.0.0.1", "root"), options=options, python=python)


def names(watch: Watch, count: int) -> list[str]:
    """Of the events, when there are so many; a busy guest's remote host may take longer than one settling."""

    def came() -> bool:
        watch.intake.settle()
        assert watch.store is not None
        return watch.store.next_seq - watch.store.first_seq >= count

    until(came)
    store = watch.store
    assert store is not None
    return [store.record(seq).event.rpartition("/")[2] for seq in range(store.first_seq, store.next_seq)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_watch_comes_back_when_its_ssh_was_killed(guest_72: Guest, dialect: str) -> None:
    target = reach(guest_72.ssh_options, python=dialect == "agent")
    watch = Watch(Planner(KernelInfo(target)))
    try:
        watch.armed.arm(parse_armable(f"{READ} if count == 4242"))
        guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=3")
        assert names(watch, 3) == [NAME] * 3
        before = watch.session.group if watch.session else ""
        os.kill(the_master(), signal.SIGKILL)
        assert until(lambda: can_reconnect(watch))
        back = ReconnectAttempt(watch, patience=PATIENCE).run()
        assert len(back.rearmed) == 1 and not back.rejected_probes and not back.outage.booted
        guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=2")
        assert names(watch, 6) == [*[NAME] * 3, OUTAGE_EVENT, *[NAME] * 2]
        assert until(lambda: before not in left(guest_72)), "the remote host of before has undone what it did"
        assert watch.close() == []
    finally:
        watch.close()
        target.close()
    assert is_clean(guest_72), left(guest_72)
    assert until(lambda: not sshs(os.getpid()) and not zombies())


LATENCY = "lat:slow {f vfs_mkdir mode} to {f vfs_mkdir%return} by common_pid"
ONCE = "mkdir /tmp/one; rmdir /tmp/one"
SYNTHETIC = f"ls {TRACEFS}/events/synthetic"


def test_a_latency_comes_back_beside_that_of_a_remote_host_that_stands_still(guest_72: Guest) -> None:
    """Both are there at once, by names of their own; the one of before goes when its remote host goes on."""
    target = reach(guest_72.ssh_options)
    watch = Watch(Planner(KernelInfo(target)))
    agent = target.owner.split("_")[0]
    try:
        watch.armed.arm(parse_armable(LATENCY))
        guest_72.run(ONCE)
        assert watch.session is not None
        before = watch.session.group
        assert names(watch, 1) == [f"{before}__slow"]
        guest_72.run(f"kill -STOP {agent}")
        os.kill(the_master(), signal.SIGKILL)
        assert until(lambda: can_reconnect(watch))
        back = ReconnectAttempt(watch, patience=PATIENCE).run()
        group = watch.session.group
        assert len(back.rearmed) == 1 and not back.rejected_probes and group != before
        assert {f"{one}__slow" for one in (before, group)} <= set(guest_72.run(SYNTHETIC).decode().split())
        guest_72.run(ONCE)
        assert names(watch, 3) == [f"{group}__slow", OUTAGE_EVENT, f"{group}__slow"]
        guest_72.run(f"kill -CONT {agent}")
        assert until(lambda: before not in left(guest_72)), "the remote host of before has undone what it did"
        assert f"{group}__slow" in guest_72.run(SYNTHETIC).decode()
        assert watch.close() == []
    finally:
        guest_72.run(f"kill -CONT {agent} || true")
        watch.close()
        target.close()
    assert is_clean(guest_72), left(guest_72)


@pytest.mark.parametrize("guest", ["7.2", "6.1"], indirect=True)
def test_what_a_killed_agent_left_is_gone_once_another_one_serves(guest: Guest, tmp_path: Path) -> None:
    """Its triggers keep its instance, which would record on and on."""
    env = command.ssh_to(guest, tmp_path)
    words = ["run", LATENCY, f"{READ} if count == 4242", "--json", "--for", "600"]
    process = command.start(*words, "--reconnect", "300", "-t", command.address(guest), env=env)

    def sessions() -> list[str]:
        """Return their names, and a word more for each that does not record yet."""
        files = "events/synthetic/*__slow/enable events/pw_*/vfs_read*/enable tracing_on"
        ready = f'(cd "$one" && [ "$(cat {files})" = "$(printf "1\\n1\\n1")" ] || echo no) 2>/dev/null'
        return guest.run(f'cd {TRACEFS}/instances; for one in *; do echo "$one"; {ready}; done').decode().split()

    found, first, replaced = list[str](), "", False
    try:
        assert until(lambda: len(sessions()) == 1)
        (first,) = sessions()
        guest.run(f"kill -9 {first.removeprefix('probewright-').partition('_')[0]}")
        replaced = until(lambda: len(sessions()) == 1 and first not in sessions())
        found = [*sessions(), *left(guest).split()]
        guest.run(ONCE)
    finally:
        process.terminate()
        done = command.finish(process)
    assert replaced and first.removeprefix("probewright-") not in found, (first, found, done)
    assert done.status == 0, done
    assert [one["event"] for one in done.objects if "summary" not in one] == [OUTAGE_EVENT, "slow"], done
    assert "left behind" not in done.err and "not armed again" not in done.err
    assert is_clean(guest), left(guest)


def ssh_over(line: SlowConnection, guest: Guest, folder: Path) -> dict[str, str]:
    """The environment of a command whose ssh goes over a line."""
    env = command.ssh_to(guest, folder)
    wrapper = folder / "ssh"
    wrapper.write_text(wrapper.read_text().replace(f"-p {guest.port}", f"-p {line.port}").replace(
        '"$@"', f"-o 'HostKeyAlias=[127.0.0.1]:{guest.port}' \"$@\""
    ))  # fmt: skip
    return env


@pytest.mark.parametrize(
    "parts",
    [(6_000, 40_000), pytest.param((1_500, 0.5, 0.95), marks=pytest.mark.matrix)],
    ids=["two", "more"],
)
def test_a_recording_is_made_wherever_its_line_is_cut(
    guest_72: Guest, tmp_path: Path, parts: tuple[float, ...]
) -> None:
    """While keys are exchanged, the agent is sent, the kernel is read, its types and symbols come, a probe is armed.

    Parts below one are of all bytes where nothing of that kernel is cached, the others bytes.
    """
    with SlowConnection(guest_72.port) as line:
        env = ssh_over(line, guest_72, tmp_path)

        def recorded(name: str, cut_at: int) -> command.Done:
            line.carried, line.cut_at = 0, cut_at
            words = ["record", f"{READ} if count == 4242", "-o", str(tmp_path / name), "--count", "3"]
            target = f"ssh://root@127.0.0.1:{line.port}"
            cache = {"PROBEWRIGHT_CACHE": str(tmp_path / f"cache of {name}")} if parts[-1] < 1 else {}
            return command.run(*words, "--reconnect", "300", "-t", target, env={**env, **cache})

        # There, once a second: a command over ssh for each look would take as much as what is looked at.
        reads = "while :; do dd if=/dev/zero of=/dev/null bs=4242 count=3; sleep 1; done"
        reader = int(guest_72.run(f"sh -c '{reads}' </dev/null >/dev/null 2>&1 & echo $!"))
        if parts[-1] < 1:
            done = recorded("whole.pwr", 0)
            assert done.status == 0 and "trying again" not in done.err, done
        all_of_it = line.carried
        for part in (int(part if part > 1 else part * all_of_it) for part in parts):
            done = recorded(f"{part}.pwr", part)
            assert done.status == 0 and "trying again for 300 s" in done.err, (part, all_of_it, done)
            recording = Recording.open(tmp_path / f"{part}.pwr")
            assert not recording.truncated and recording.plans and sum(1 for _ in recording.batches())
        guest_72.run(f"kill {reader}")
        assert until(lambda: is_clean(guest_72)), left(guest_72)


@pytest.mark.parametrize("how", [pytest.param("time", marks=pytest.mark.matrix), "signal"])
def test_a_command_ends_where_its_remote_host_stands_still(guest_72: Guest, tmp_path: Path, how: str) -> None:
    """The agent is stopped; as it goes on it finds nobody, and removes its probes by itself."""
    env = command.ssh_to(guest_72, tmp_path)
    path = tmp_path / "frozen.pwr"
    words = ["record", f"{READ} if count == 4242", "-o", str(path), "-t", f"ssh://root@127.0.0.1:{guest_72.port}"]
    process = command.start(*words, *(["--for", "25"] if how == "time" else []), env=env)
    assert until(lambda: is_recording(guest_72))
    guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=3")
    agents = "kill -{} $(pidof python3) || true"
    guest_72.run(agents.format("STOP"))
    try:
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        done = command.finish(process)
    finally:
        guest_72.run(agents.format("CONT"))
    assert done.status == 3 and "did not answer for" in done.err, done
    assert "removes its probes by itself; `clean` there checks again" in done.err
    assert not Recording.open(path).truncated
    assert until(lambda: is_clean(guest_72)), left(guest_72)


def test_run_waits_for_a_line_that_is_cut(guest_72: Guest, tmp_path: Path) -> None:
    with SlowConnection(guest_72.port) as line:
        env = ssh_over(line, guest_72, tmp_path)
        spec = f"{READ} if count == 4242"
        target = f"ssh://root@127.0.0.1:{line.port}"
        process = command.start("run", spec, "--count", "5", "--json", "--reconnect", "300", "-t", target, env=env)

        def reads(count: int) -> None:
            guest_72.run(f"dd if=/dev/zero of=/dev/null bs=4242 count={count}")

        assert until(lambda: is_recording(guest_72))
        reads(2)
        assert process.stdout is not None
        early = [process.stdout.readline() for _ in range(2)]
        line.cut()
        assert is_clean(guest_72), "nobody is there: the remote host cleans up at once"
        reads(1)
        line.mend()
        assert until(lambda: is_recording(guest_72))
        reads(2)
        done = command.finish(process)
    assert done.status == 0, done
    told = [command.Done(0, b"".join(early), b""), done]
    rows = [one for part in told for one in part.objects]
    assert [one["event"].rpartition("/")[2] for one in rows] == [NAME, NAME, OUTAGE_EVENT, NAME, NAME]
    gap = rows[2]["values"]
    assert rows[1]["ts"] <= gap["lost"] < gap["back"] <= rows[3]["ts"], "both of its times are right"
    assert gap["seconds"] == (gap["back"] - gap["lost"]) // 1_000_000 / 1000
    (fields,) = {frozenset(one["values"]) for part in told for one in part.objects if one["event"] != OUTAGE_EVENT}
    assert "count" in fields, "and the same of the probe that was armed again"
    assert "trying again for 300 s" in done.err
    assert "events of that time are lost" in done.err
    assert is_clean(guest_72), left(guest_72)


def test_a_graph_comes_back_when_its_line_was_cut(guest_72: Guest, tmp_path: Path) -> None:
    with SlowConnection(guest_72.port) as line:
        env = ssh_over(line, guest_72, tmp_path)
        path = tmp_path / "x.pwr"
        words = ["graph", "vfs_mkdir", "--depth", "1", "--count", "2", "--json", "-o", str(path)]
        target = f"ssh://root@127.0.0.1:{line.port}"
        process = command.start(*words, "--reconnect", "300", "-t", target, env=env)
        assert process.stdout is not None
        out = process.stdout

        def is_tracing() -> bool:
            folder = f"{TRACEFS}/instances/probewright-*"
            return guest_72.run(f"cat {folder}/current_tracer {folder}/tracing_on || true").split() == [TRACER, b"1"]

        assert until(is_tracing)
        guest_72.run("mkdir /tmp/one")
        first = command.Done(0, out.readline(), b"")  # so it waits for the other one
        line.cut()
        assert until(lambda: is_clean(guest_72)), "nobody is there: the remote host cleans up"
        line.mend()
        assert until(is_tracing)
        guest_72.run("mkdir /tmp/two")
        done = command.finish(process)
        guest_72.run("rmdir /tmp/one /tmp/two")
    assert done.status == 0 and "trying again for 300 s" in done.err, done
    rows = [*first.objects, *done.objects]
    assert [one["function"] for one in rows if one.get("level") == 0] == ["vfs_mkdir"] * 2
    [gap] = [one for one in rows if one["kind"] == "line_cut"]
    assert gap["seconds"] > 0 and int(gap["back"]) > int(gap["lost"]), gap
    assert sum(1 for batch in Recording.open(path).batches() if outage_of_batch(batch) is not None) == 1
    assert until(lambda: is_clean(guest_72)), left(guest_72)


@pytest.mark.parametrize(
    "delay", [pytest.param(0.025, id="50 ms", marks=pytest.mark.matrix), pytest.param(0.150, id="300 ms")]
)
def test_every_event_is_accounted_for_on_a_slow_line(guest_72: Guest, delay: float) -> None:
    """What 0.1 Mbit/s can't carry stays in the kernel's buffer, which counts what it has no room for; never in ours.

    On a busy machine the guest is slow, too: the line has to be slower by far while it works.
    """
    with contextlib.ExitStack() as far:
        line = far.enter_context(SlowConnection(guest_72.port, delay))
        target = far.enter_context(contextlib.closing(reach(through(line, guest_72))))
        session = far.enter_context(open_session(target, buffer_kb=64))
        # Random bytes, which nobody can pack.
        session.probes.arm(
            plan(
                session,
                "read",
                "f vfs_read%return a=+u0($arg2):x64 b=+u8($arg2):x64 c=+u16($arg2):x64 d=+u24($arg2):x64",
            )
        )
        line.bits = 1e5
        guest_72.run("dd if=/dev/urandom of=/dev/null bs=32 count=30000")
        line.bits = 1e6
        came = 0

        def all_came() -> bool:
            nonlocal came
            came += len(drained(session))
            counts = session.counts()
            return came + counts.lost >= counts.written

        assert until(all_came)
        counts = session.counts()
        assert came + counts.lost == counts.written >= 30_000
        assert counts.lost > 0, "the kernel's buffer was full"
        assert counts.dropped == 0
        assert session.pump.received_bytes < 4 << 20, "what waited did so over there"
        assert session.close() == []
    assert is_clean(guest_72), left(guest_72)


def test_through_a_jump_host(guest_72: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSH's server here is the jump, dropbear in the guest is behind it: by the user's own configuration."""
    with Server(tmp_path) as jump:
        words = dict(word.split("=", 1) for word in guest_72.ssh_options if "=" in word)
        behind = {
            "Port": str(guest_72.port),
            "User": "root",
            "IdentityFile": guest_72.ssh_options[guest_72.ssh_options.index("-i") + 1],
            "UserKnownHostsFile": words["UserKnownHostsFile"],
            "ProxyJump": "gate",
        }
        monkeypatch.setenv("PATH", jump.client(far=behind, gate={})["PATH"])
        with contextlib.closing(open_ssh(Address("far"))) as target, open_session(target) as session:
            assert target.facts().release == guest_72.kernel.release
            session.probes.arm(plan(session, "read", "p vfs_read count=%dx:u64"))
            guest_72.run("dd if=/dev/zero of=/dev/null bs=4711 count=5")
            assert len(seen(session, 5)) >= 5
            assert session.close() == []
        assert jump.log().count("Accepted publickey") == 1
    assert is_clean(guest_72), left(guest_72)


def test_the_line_is_asked_whether_it_lives(guest_72: Guest) -> None:
    """A configuration that says otherwise does not count: ssh takes the first that it is given, and that is ours."""
    with contextlib.closing(reach([*guest_72.ssh_options, "-o", "ServerAliveInterval=0"])):
        words = Path(f"/proc/{the_master()}/cmdline").read_bytes().split(b"\0")
        told = [word for word in words if word.startswith(b"ServerAlive")]
        assert told == [b"ServerAliveInterval=5", b"ServerAliveCountMax=3", b"ServerAliveInterval=0"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_remote_host_that_dies_leaves_nobody_here(guest_72: Guest, dialect: str) -> None:
    target = reach(guest_72.ssh_options, python=dialect == "agent")
    session = open_session(target)
    group = session.group
    guest_72.run(f"kill -9 {target.owner.split('_')[0]}")
    assert until(lambda: session.pump.error is not None)  # also of a shell whose reader lives on, and is not asked
    session.close()
    target.close()
    assert until(lambda: not sshs(os.getpid()) and not zombies())
    with contextlib.closing(reach(guest_72.ssh_options)) as again:
        for leftover in leftovers.find(again):
            leftovers.remove(again, leftover)
    assert group not in left(guest_72)


def test_a_shell_is_waited_for_while_it_is_at_work(guest_72: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody reads stands for a kernel that takes longer for a write than a silent line is waited for."""
    monkeypatch.setattr(answer_limit, "SILENCE_LIMIT", 10.0)
    monkeypatch.setattr(shell_client, "AFTER", 0.0)
    slow = "/tmp/slow"
    guest_72.run(f"rm -f {slow}; mkfifo {slow}")
    with contextlib.closing(reach(guest_72.ssh_options, python=False)) as target, ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        step = pool.submit(target.perform, Step(Effect.WRITE, slow, b"nop"))
        assert until(lambda: step.done() or target.last_received > began + 2 * answer_limit.SILENCE_LIMIT)
        assert not step.done()
        assert guest_72.run(f"cat {slow}; rm {slow}") == b"nop"
        step.result()
        assert target.read("/proc/version")
