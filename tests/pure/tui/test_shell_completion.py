"""Completion of shells: accepted by each shell that is here, and in bash really asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel.remote.protocol.shell_quote import quote
from tui.cli.args.completion_scripts import SCRIPTS
from tui.cli.args.fast_path import COMMANDS
from tui.cli.args.grammar import commands
from tui.cli.args.parser import DIALECTS, parse
from tui.cli.commands import completion

BASH = shutil.which("bash") or ""
WORDS = commands()


def test_every_command_is_there_with_its_words():
    assert WORDS[0].path == () and WORDS[0].commands == COMMANDS
    assert {one.path[0] for one in WORDS[1:]} == set(COMMANDS)
    record = next(one for one in WORDS if one.path == ("record",))
    assert record.usage == "probewright record [OPTION …] -o FILE.pwr SPEC|PRESET …"
    assert all(one.help for one in WORDS)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_shell_accepts_it(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(SCRIPTS[shell](WORDS))
    asked = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say(tmp_path):
    script = tmp_path / "script"
    script.write_text(SCRIPTS["bash"](WORDS))
    asked = subprocess.run(["shellcheck", "-s", "bash", str(script)], capture_output=True, text=True)
    assert (asked.returncode, asked.stdout) == (0, "")


def test_the_command_prints_it(capsys):
    assert completion.run(parse(["completion", "fish"])) == 0
    assert capsys.readouterr().out == SCRIPTS["fish"](WORDS)


def offered(folder: Path, *line: str) -> list[str]:
    """What bash would offer for the last word of a line, whose words are as bash cuts them."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "script").write_text(SCRIPTS["bash"](WORDS))
    program = folder / "bin" / "probewright"
    program.write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -m tui "$@"\n')
    program.chmod(0o755)
    words = " ".join(map(quote, ("probewright", *line)))
    script = (
        f"source {quote(str(folder / 'bin' / 'script'))}; cd {quote(str(folder))}; COMP_WORDS=({words}); "
        f"COMP_CWORD={len(line)}; _probewright; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "XDG_CONFIG_HOME": str(folder),
    }
    asked = subprocess.run([BASH, "--norc", "-c", script], capture_output=True, text=True, env=environment)
    assert asked.stderr == ""
    return asked.stdout.split("\n")[:-1]


@pytest.mark.skipif(not BASH, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        (["re"], ["record", "refs"]),
        (["c"], ["check", "compare", "clean", "completion"]),
        (["preset", "s"], ["show", "save"]),
        (["-t", "lab", ":", "6.12", "li"], ["list"]),
        (["-t", "list", "sho"], ["show"]),
        (["--target", "lab", ":", "6"], ["6.1", "6.12"]),
        (["--target", "=", "loc"], ["local"]),
        (["run", "--exp"], ["--export"]),
        (["run", "--export", "p"], ["parquet", "perfetto"]),
        (["run", "--for", "5", "--co"], ["--count", "--count-only"]),
        (["run", "run-q"], ["run-queue-delay"]),
        (["run", "f vfs_read", "--summary", "--hi"], ["--hist"]),
        (["export", "--as", "b"], [name for name in DIALECTS if name.startswith("b")]),
        (["preset", "show", "slow"], ["slow-opens"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["show", "--vmlinux", "two"], ["two words.pwr"]),
        (["compare", "a.pwr", "two"], ["two words.pwr"]),
        (["list", "--limit", "re"], [""]),
        (["run", "f vfs_read", "--", "probewr"], ["probewright"]),
        (["record", "f vfs_read", "-o", "x", "--", "cat", "two"], ["two words.pwr"]),
    ],
)
def test_bash_offers(line, found, tmp_path):
    (tmp_path / "two words.pwr").touch()
    assert offered(tmp_path, *line) == found
