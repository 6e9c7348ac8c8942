"""Words the command line does not take: what was meant is named, and what is a file stays one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.cli.args.parser import parse


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(words.split())
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("rnu x", "rnu: no such command; did you mean run?"),
        ("-t lab:7.2 rnu x --seconds 3", "rnu: no such command; did you mean run?"),
        ("chekc --json", "chekc: no such command; did you mean check?"),
        ("xyzzy x", "xyzzy: no such command; commands are list, show, check, run, "),
        ("ssh://host x", "unrecognized arguments: x"),
        ("run x --fro 3", "unrecognized arguments: --fro 3; did you mean --for?"),
        ("list --lmit=3", "unrecognized arguments: --lmit=3; did you mean --limit?"),
        ("preset list --tgas a", "unrecognized arguments: --tgas; did you mean --tags?"),
        ("x.pwr --exprt csv", "unrecognized arguments: --exprt csv; did you mean --export?"),
        ("record f -o x.pwr cat x", "unrecognized arguments: cat x; a command to run stands behind --"),
        ("x.pwr --by comm --json", "unrecognized arguments: --json; `--export jsonl` writes JSON lines"),
        ("x.pwr --frobnicate", "unrecognized arguments: --frobnicate"),
        ("list --depht", "unrecognized arguments: --depht"),
        ("--for 3 run x", "unrecognized arguments: "),
    ],
)
def test_what_was_meant_is_named(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(words, capsys).startswith(said)


def test_a_file_stays_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rnu").touch()
    assert parse(["rnu"]).recording == "rnu"
    assert parse(["rnu", "--export", "csv"]).recording == "rnu"
    assert refused("rnu x", capsys) == "unrecognized arguments: x"
