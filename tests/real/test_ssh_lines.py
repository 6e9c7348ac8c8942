"""The ssh target over lines as they are: cut and back again, slow, with a long way to go, through a jump host."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernel.address import Address
from kernel.connection import Connection
from kernel.far import FarTarget
from kernel.lab.guest import Guest
from kernel.line_cut import EVENT
from kernel.reconnect import Reconnecting, can_come_back
from kernel.ssh import open_ssh
from kernel.watch import Watch
from probes.check import armable
from tests.real import command
from tests.real.processes import children, until
from tests.real.test_ssh_guest import DIALECTS, is_clean, left, sshs
from tests.slow_line import SlowLine

READ = "f vfs_read count"
NAME = "vfs_read__entry"


def through(line: SlowLine, guest: Guest) -> list[str]:
    """Options that lead to a guest over a line."""
    options = guest.ssh_options
    options[options.index("-p") + 1] = str(line.port)
    return [*options, "-o", f"HostKeyAlias=[127.0.0.1]:{guest.port}"]


def reach(options: Sequence[str], *, python: bool = True) -> FarTarget:
    return open_ssh(Address("127.0.0.1", "root"), options=options, python=python)


def names(watch: Watch) -> list[str]:
    watch.settle()
    store = watch.store
    assert store is not None
    return [store.record(seq).event.rpartition("/")[2] for seq in range(store.first_seq, store.next_seq)]


def zombies() -> list[int]:
    """Children of ours that nobody waited for."""
    found = []
    for pid in children(os.getpid()):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                found.append(pid)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_watch_comes_back_when_its_ssh_was_killed(guest_72: Guest, dialect: str) -> None:
    target = reach(guest_72.ssh_options, python=dialect == "agent")
    watch = Watch(Connection(target))
    try:
        watch.arm(armable(f"{READ} if count == 4242"))
        guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=3")
        assert names(watch) == [NAME] * 3
        before = watch.session.group if watch.session else ""
        (master,) = sshs(os.getpid(), master=True)
        os.kill(master, signal.SIGKILL)
        assert until(lambda: can_come_back(watch))
        back = Reconnecting(watch, patience=30).run()
        assert len(back.again) == 1 and not back.refused and not back.cut.booted
        guest_72.run("dd if=/dev/zero of=/dev/null bs=4242 count=2")
        assert names(watch) == [*[NAME] * 3, EVENT, *[NAME] * 2]
        assert until(lambda: before not in left(guest_72)), "the far side of before has undone what it did"
        assert watch.close() == []
    finally:
        watch.close()
        target.close()
    assert is_clean(guest_72), left(guest_72)
    assert not sshs(os.getpid()) and not zombies()


def test_run_waits_for_a_line_that_is_cut(guest_72: Guest, tmp_path: Path) -> None:
    with SlowLine(guest_72.port) as line:
        env = command.ssh_to(guest_72, tmp_path)
        wrapper = tmp_path / "ssh"
        wrapper.write_text(wrapper.read_text().replace(f"-p {guest_72.port}", f"-p {line.port}").replace(
            '"$@"', f"-o 'HostKeyAlias=[127.0.0.1]:{guest_72.port}' \"$@\""
        ))  # fmt: skip
        spec = f"{READ} if count == 4242"
        target = f"ssh://root@127.0.0.1:{line.port}"
        process = command.start("run", spec, "--count", "5", "--json", "--reconnect", "120", "-t", target, env=env)
        assert until(lambda: "vfs_read" in left(guest_72), 120)

        def reads(count: int) -> None:
            guest_72.run(f"dd if=/dev/zero of=/dev/null bs=4242 count={count}")

        # Until our instance is on: dynamic_events shows an event before it is.
        assert until(
            lambda: guest_72.run("cat /sys/kernel/tracing/instances/probewright-*/events/pw_*/enable") == b"1\n"
        )
        reads(2)
        assert process.stdout is not None
        early = [process.stdout.readline() for _ in range(2)]
        line.cut()
        assert is_clean(guest_72), "nobody is there: the far side cleans up at once"
        reads(1)
        line.mend()
        assert until(lambda: "vfs_read" in left(guest_72), 120)
        assert until(
            lambda: guest_72.run("cat /sys/kernel/tracing/instances/probewright-*/events/pw_*/enable") == b"1\n"
        )
        reads(2)
        done = command.finish(process)
    assert done.status == 0, done
    told = [command.Done(0, b"".join(early), b""), done]
    events = [one["event"].rpartition("/")[2] for part in told for one in part.objects]
    assert events == [NAME, NAME, EVENT, NAME, NAME]
    assert all(set(one["values"]) == {"count"} for part in told for one in part.objects if one["event"] != EVENT)
    assert "trying again for 120 s" in done.err
    assert "events of that time are lost" in done.err
    assert is_clean(guest_72), left(guest_72)
