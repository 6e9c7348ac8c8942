"""ssh and our terminal: ssh asks there before the application takes it; an interrupt there does not disconnect."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time
from pathlib import Path

from kernel.lab.guest import Guest
from tests.real.processes import PATIENCE
from tests.real.test_ssh_guest import is_clean, left

SCRIPT = """
import json, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it, and that is inherited
sys.path.insert(0, sys.argv[1])
from kernel.remote.address import Address
from kernel.remote.connect import open_ssh
from kernel.session.start import open_session
from tests.real.test_ssh_guest import plan
target = open_ssh(Address("127.0.0.1", "root"), options=json.loads(sys.argv[2]))
session = open_session(target)
session.probes.arm(plan(session, "read", "p vfs_read"))
print("armed", flush=True)
try:
    time.sleep(3600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
target.read("/proc/version")  # an answer: the interrupt was not ssh's, too
print("failed steps:", session.close(), flush=True)
target.close()
print("done", flush=True)
"""


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *argv: str) -> None:
        self.said = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execv(argv[0], argv)

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while text not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.said += os.read(self.fd, 4096).decode()
                except OSError:
                    assert text in self.said, self.said
                    return

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def end(self) -> int:
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_asks_for_the_host_key_and_outlives_an_interrupt(guest_72: Guest, tmp_path: Path) -> None:
    options = [
        word.replace("BatchMode=yes", "BatchMode=no").replace(
            "StrictHostKeyChecking=yes", "StrictHostKeyChecking=ask"
        )
        for word in guest_72.ssh_options
    ]
    options = [f"UserKnownHostsFile={tmp_path}/known" if "UserKnownHostsFile" in word else word for word in options]
    top = str(Path(__file__).parents[2])
    terminal = Terminal(sys.executable, "-c", SCRIPT, top, json.dumps(options))
    terminal.wait_for("Are you sure you want to continue connecting")
    assert "armed" not in terminal.said
    terminal.type("yes\n")
    terminal.wait_for("armed")
    assert "pw_" in left(guest_72)
    said = len(terminal.said)
    terminal.type("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_for("done")
    assert "failed steps: []" in terminal.said
    # Nothing but our own words: a message of ssh would stand in the middle of the screen.
    words = [word for word in terminal.said[said:].replace("\r", "").split("\n") if word]
    assert words == ["^Cinterrupted", "failed steps: []", "done"]
    assert terminal.end() == 0
    assert is_clean(guest_72), left(guest_72)
    assert (tmp_path / "known").read_text()
