"""Completion of shells: accepted by each shell that is here, and in bash really asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel.connection import name_cache
from kernel.remote.protocol.shell_quote import quote
from tui.cli.args.completion_scripts import SCRIPTS
from tui.cli.args.fast_path import COMMANDS
from tui.cli.args.grammar import commands
from tui.cli.args.known_names import FUNCTIONS, PLACES, SPECIFICATIONS, candidates
from tui.cli.args.parser import DIALECTS, parse
from tui.cli.commands import completion

BASH, FISH = shutil.which("bash") or "", shutil.which("fish") or ""
NAMES = ("vfs_read", "vfs_readv", "vfs_write", "t sched_switch", "sched/sched_switch", "sched/sched_wakeup")
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
        "PATH": f"{folder / 'bin'}:{os.defpath}",  # of an activated venv has a second probewright
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "XDG_CONFIG_HOME": str(folder),
        "PROBEWRIGHT_CACHE": str(folder),
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
        (["list", "vfs_r"], ["vfs_read", "vfs_readv"]),
        (["show", "sched/sched"], ["sched/sched_switch", "sched/sched_wakeup"]),
        (["errors", "vfs_r"], ["vfs_read", "vfs_readv"]),
        (["graph", "--depth", "3", "vfs_readv"], ["vfs_readv"]),
        (["run", "'f vfs_re"], ["f vfs_read", "f vfs_readv"]),
        (["record", "-o", "x", '"f:mine/reads vfs_re'], ["f:mine/reads vfs_read", "f:mine/reads vfs_readv"]),
        (["check", "'t sched_s"], ["t sched_switch"]),
        (["check", "'on sched/sched_w"], ["on sched/sched_wakeup"]),
        (["check", "'e sched/sched_w"], ["e sched/sched_wakeup"]),
        (["record", "f vfs_read", "-o", "x", "--", "cat", "two"], ["two words.pwr"]),
    ],
)
def test_bash_offers(line, found, tmp_path, monkeypatch):
    (tmp_path / "two words.pwr").touch()
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    name_cache.save(NAMES)
    assert offered(tmp_path, *line) == found


@pytest.mark.skipif(not FISH, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("list vfs_r", ["vfs_read", "vfs_readv"]),
        ("run 'f vfs_readv", ["f vfs_readv"]),
        ("check 't sch", ["t sched_switch"]),
    ],
)
def test_fish_offers_names(line, found, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    name_cache.save(NAMES)
    offered(tmp_path, "re")  # makes the program
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    (tmp_path / "script.fish").write_text(SCRIPTS["fish"](WORDS))
    asked = f"source {tmp_path / 'script.fish'}; complete -C {quote('probewright ' + line)}"
    done = subprocess.run([FISH, "--no-config", "-c", asked], capture_output=True, text=True)
    assert done.stdout.split("\n")[:-1] == found


def test_names_are_of_the_kind_that_may_stand_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    name_cache.save(NAMES)
    names = name_cache.load()
    assert candidates(FUNCTIONS, "sched", names) == []
    assert candidates(PLACES, "sched", names) == ["sched/sched_switch", "sched/sched_wakeup"]
    assert candidates(SPECIFICATIONS, "p vfs_w", names) == ["p vfs_write"]
    assert candidates(SPECIFICATIONS, "r8:mine/x vfs_w", names) == ["r8:mine/x vfs_write"]
    assert candidates(SPECIFICATIONS, "vfs_w", names) == candidates(FUNCTIONS, "v", names) == []
    assert candidates(FUNCTIONS, "vfs_é", names) == candidates(FUNCTIONS, "vfs_w", b"") == []


def test_of_too_many_names_the_common_beginning_stays():
    many = [f"many_{number:05}" for number in range(5_000)]
    found = candidates(FUNCTIONS, "many", "\n".join(["", *many, "mean", ""]).encode())
    assert len(found) < len(many) and (found[0], found[-1]) == (many[0], many[-1])


def test_no_name_that_a_shell_reads_otherwise_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    name_cache.save(["good", "$(touch x)", "a\tb", "b;c", "esc\x1b[31m", "ä", "`id`", "a\nb"])
    assert name_cache.load() == b"\na\nb\ngood\n"
    name_cache.path().parent.chmod(0o777)
    assert name_cache.load() == b"", "others may have written it"


def test_a_shell_waits_for_nothing_but_the_names():
    code = "import sys; sys.argv[1:] = ['completion', 'names', 'places', 'vfs_r']\n"
    code += "from tui.__main__ import main\nmain()\nprint(' '.join(sys.modules), file=sys.stderr)"
    root = Path(__file__).parents[3]
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    heavy = {
        "numpy",
        "textual",
        "rich",
        "argparse",
        "probes",
        "btf",
        "kernel.target",
        "kernel.connection.open_target",
    }
    assert not heavy & set(asked.stderr.split())
