"""The unit for systemd: taken by systemd's own checker, and its commands by our command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel.preset_files import Presets
from tui.cli.args.parser import parse
from tui.cli.exports.export_options import export_request_of

UNIT = Path(__file__).parents[3] / "docs/probewright@.service"


def values(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in values("Environment") for pair in shlex.split(line))


def words_of(command: str, settings: dict[str, str]) -> list[str]:
    """A command line as systemd.exec(5) makes it: `${X}` is one word, `$X` as many as there are.

    %I is the instance without its escapes, and makes `slow/opens` of slow-opens (systemd.unit(5)).
    """
    found: list[str] = []
    for word in shlex.split(command.lstrip("-")):
        word = word.replace("%I", "slow/opens").replace("%i", "slow-opens")
        if re.fullmatch(r"\$[A-Z_]+", word):
            found += settings.get(word[1:], "").split()
        else:
            found.append(re.sub(r"\$\{([A-Z_]+)\}", lambda match: settings.get(match[1], ""), word))
    return found


def test_its_commands_are_ours():
    settings = environment() | {"PROBEWRIGHT_OPTIONS": "-p min_latency=10ms"}
    program, *words = words_of(values("ExecStart")[0], settings)
    arguments = parse(words)
    assert program.endswith("/probewright")
    assert (arguments.command, arguments.target, arguments.specs) == ("run", "local", ["slow-opens"])
    assert arguments.parameters == ["min_latency=10ms"]
    wanted = export_request_of(arguments)
    assert wanted is not None and wanted.outlet is not None
    assert Presets().find("slow-opens").preset is not None
    for name in ("ExecStartPre", "ExecStopPost"):
        cleaning = parse(words_of(values(name)[0], settings)[1:])
        assert (cleaning.command, cleaning.target) == ("clean", "local")


def test_own_presets_and_what_is_kept_are_where_it_says(monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    assert str(Presets().user) == "/etc/probewright/presets"
    from kernel.agent.journal import folders

    assert folders(0, os.environ)[0] == f"/run/{values('RuntimeDirectory')[0]}"


def test_what_would_hide_tracefs_is_not_set():
    """ProtectKernelTunables= mounts it read-only, ProtectKernelLogs= takes CAP_SYSLOG (systemd.exec(5))."""
    assert not values("ProtectKernelTunables") and not values("ProtectKernelLogs") and not values("PrivateNetwork")
    assert values("CapabilityBoundingSet") == ["CAP_DAC_OVERRIDE CAP_SYSLOG"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_it(tmp_path):
    program = tmp_path / "probewright"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = UNIT.read_text().replace("/usr/local/bin/probewright", str(program))
    unit = tmp_path / "probewright@.service"
    unit.write_text(text)

    def verify() -> str:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / "probewright@x.service")],
            capture_output=True,
            text=True,
            env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:/usr/lib/systemd/system:/lib/systemd/system"},
        )
        told = [line for line in (done.stdout + done.stderr).splitlines() if "probewright" in line]
        return "\n".join(told) + ("" if done.returncode == 0 or not told else f"\nstatus {done.returncode}")

    assert verify() == ""
    unit.write_text(text.replace("ProtectHome=yes", "ProtectHome=perhaps").replace("Type=exec", "Typ=exec"))
    assert "perhaps" in verify() and "Typ" in verify()
