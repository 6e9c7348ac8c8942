"""Texts of progress: where they are printed, and what is left of them."""

from __future__ import annotations

import io
import sys

import pytest

from kernel.connection.open_target import TargetChoice
from tui.cli.console import output, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_the_text_at_once_and_nothing_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with waiting.waiting("opening a\x1b[2J"):
        assert terminal.getvalue() == "\r\x1b[Kopening a\\x1b[2J"
        waiting.show_progress("booting", 0.5)
        assert terminal.getvalue().endswith("\r\x1b[Kbooting 50%")
    assert terminal.getvalue().endswith("50%\r\x1b[K")


def test_a_file_has_a_line_for_each_text_where_a_machine_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_prints_lines", False)
    with waiting.waiting("opening ssh://far"):
        waiting.show_progress("connecting")
    assert capsys.readouterr() == ("", "")
    waiting.print_lines()
    with waiting.waiting("opening lab\x1b"):
        waiting.show_progress("opening lab\x1b", 0.5)  # no second line for another fraction
        waiting.show_progress("booting")
    assert capsys.readouterr() == ("", "probewright: opening lab\\x1b\nprobewright: booting\n")


def test_connecting_to_a_lab_prints_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_prints_lines", False)

    def opened(spec: str) -> TargetChoice:
        waiting.show_progress(f"booting for {spec}")
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "take_target", opened)
    for spec in ("ssh://far", "lab:7.2"):
        with pytest.raises(KeyboardInterrupt):
            output.connect(spec)
    assert capsys.readouterr() == ("", "probewright: opening lab:7.2\nprobewright: booting for lab:7.2\n")
