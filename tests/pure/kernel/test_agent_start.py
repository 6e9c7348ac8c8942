"""A Python of our version gets the agent compiled; every other one its source."""

from __future__ import annotations

import importlib.util
import subprocess

import pytest

from kernel.remote import bootstrap
from kernel.remote.protocol.agent_dialect import AgentDialect
from tests.pure.remote_hosts import spawn

NO_ZLIB = "import sys; sys.modules['zlib']=None; "


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the shell and the Python behind it were sent."""
    parts: list[bytes] = []
    send = bootstrap._send

    def note(process: subprocess.Popen[bytes], data: bytes) -> None:
        parts.append(data)
        send(process, data)

    monkeypatch.setattr(bootstrap, "_send", note)
    return parts


@pytest.mark.parametrize(("magic", "first", "is_source"), [("", "", False), ("0000", "", True), ("", NO_ZLIB, True)])
def test_an_agent_serves_however_it_was_sent(
    magic: str, first: str, is_source: bool, sent: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    if magic:
        monkeypatch.setattr(importlib.util, "MAGIC_NUMBER", bytes.fromhex(magic))
    with spawn(["sh"]) as process:
        try:
            assert bootstrap.boot_agent(process, lambda program: f'exec python3 -I -S -c "{first}{program}"')
            dialect = AgentDialect(process)
            own = dialect.read("/proc/self/stat", 99).split()[0]
            assert own == str(dialect.pid).encode() == str(process.pid).encode()
            dialect.close()
        finally:
            process.kill()
    (_, agent) = sent
    assert (agent == bootstrap.agent_source()) is is_source
    assert is_source or len(agent) < len(bootstrap.agent_source())
