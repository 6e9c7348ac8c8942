"""A verdict as `check` prints it."""

from __future__ import annotations

import io

import pytest

from probes.rules.hints import hint_for
from probes.verdict import Refusal, Verdict
from tui.cli.check import show_verdict


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
