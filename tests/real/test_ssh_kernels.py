"""The ssh target on the other kernels, and where no Python is: found out, and as good as it gets."""

from __future__ import annotations

import contextlib
import os

import pytest

from kernel.connection.open_target import open_target
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.start import open_session
from tests.real.test_ssh_guest import falls_silent, is_clean, left, plan, seen


@pytest.mark.parametrize("guest", ["6.1", "6.12", "7.2-sh", "arm64:6.12", "riscv64:7.2"], indirect=True)
def test_events_arrive(guest: Guest) -> None:
    with contextlib.closing(connect(guest, "lab")) as target:
        assert target.access == ("sh" if guest.run("command -v python3 || true") == b"" else "agent")
        facts = target.facts()
        assert facts.release == guest.kernel.release
        assert facts.machine == guest.run("uname -m").decode().strip()
        assert target.btf()[:2] == b"\x9f\xeb"
        with open_session(target) as session:
            armed = session.probes.arm(plan(session, "read", "p vfs_read"))
            assert falls_silent(session)
            guest.workload(True)
            found = seen(session, 11)
            guest.workload(False)
            assert len(found) > 10
            assert not set(target.our_pids()) & {pid for pid, _ in found}
            assert session.probes.disarm(armed) == []
            assert session.close() == []
    assert is_clean(guest), left(guest)


@pytest.mark.matrix  # the application's lab ends with it in test_terminal and test_killed
def test_a_lab_opened_by_its_name_ends_with_its_target() -> None:
    said: list[str] = []
    before = set(os.listdir("/proc"))
    target = open_target("lab:7.2,nopython,idle", lambda text, share: said.append(text))
    assert target.facts().release.startswith("7.")
    assert any("booting" in text for text in said)
    assert any("connecting" in text for text in said)
    target.close()
    target.close()
    left_over = []
    for pid in set(os.listdir("/proc")) - before:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
            status = file.read()
            if f"PPid:\t{os.getpid()}\n" in status and "State:\tZ" not in status:
                left_over.append(status.splitlines()[0])
    assert not left_over
