"""A verdict as `check` prints it."""

from __future__ import annotations

import io
import json

import pytest

from kernel.connection.open_target import shipped_recording
from probes.rules.messages.hints import hint_for
from probes.verdict import Refusal, Verdict
from tui.__main__ import main
from tui.cli.console.verdict import show_verdict
from widgets.spec.layout import column_in


@pytest.mark.parametrize("code", ["NO_BTFARG", ""])
def test_a_suggestion_is_printed_once(code: str) -> None:
    hint, nearest = hint_for(code, "countt", ("count", "counts"))
    assert set(nearest) == {"count", "counts"}
    out = io.StringIO()
    refused = Verdict("f vfs_read countt", Refusal("X", "", 11, "countt", hint, nearest))
    show_verdict(refused.command, refused, (), out)
    assert out.getvalue().lower().count("did you mean") == 1
    assert out.getvalue().endswith(f"    did you mean {', '.join(nearest)}?\n")
    assert ("no parameter of this name\n" in out.getvalue()) is bool(code)


def test_a_hint_without_a_suggestion_stays() -> None:
    out = io.StringIO()
    show_verdict("p x", Verdict("p x", Refusal("X", "", 2, "x", "Write `->`")), (), out)
    assert out.getvalue().endswith("    Write `->`\n")


@pytest.mark.parametrize(
    "spec",
    ["f vfs_raed", "f vfs_raed%return $retval fiel->f_pos", "f vfs_read $$args if cont > 3", "p vfs_read $retval"],
)
def test_every_command_refuses_in_the_same_words(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--target", str(shipped_recording())]
    assert main(["check", spec, *target]) == 1
    block = capsys.readouterr().out
    assert block.startswith(f"no  {spec}\n") and "\n    put right: " in block
    assert main(["run", spec, "--for", "1", *target]) == 1
    assert capsys.readouterr().err == block
    assert main(["check", spec, "--json", *target]) == 1
    told = json.loads(capsys.readouterr().out)
    assert main(["run", spec, "--for", "1", "--json", *target]) == 1
    again = capsys.readouterr()
    assert again.err == block
    assert json.loads(again.out) == {key: told[key] for key in ("spec", "ok", "error")}
    error = told["error"]
    assert set(error) == {"code", "message", "column", "token", "why", "nearest", "corrected"}
    assert error["corrected"] in block and error["message"] in block


@pytest.mark.parametrize("spec", ["f vfs_raed count", "f:g/one vfs_raed count file"])
def test_the_caret_stands_under_the_word_that_the_text_is_about(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel's column is that of an argument, which it reads before it looks for the function."""
    target = ["--target", str(shipped_recording())]
    assert main(["check", spec, "--json", *target]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["token"]) == ("NO_BTF_ENTRY", "vfs_raed")
    assert error["column"] == spec.index(" count") + 1
    assert main(["check", spec, *target]) == 1
    first, caret, *_ = capsys.readouterr().out.splitlines()
    assert first[caret.index("^") :].startswith("vfs_raed")
    refused = Verdict(spec, Refusal("NO_BTF_ENTRY", "", error["column"], "vfs_raed"))
    assert column_in(f"  {spec}", refused) == 2 + spec.index(" vfs_raed") + 1, "and so it does in the application"
    known = Verdict(spec, Refusal("NO_BTF_ENTRY", "", error["column"], "count"))
    assert known.caret == error["column"], "a function without types, whose argument can't be known"
