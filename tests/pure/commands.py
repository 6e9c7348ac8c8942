"""`probewright` in the process of the test, for what it says and writes; as a process it takes a second more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.real.command import Done
from tui.__main__ import main


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Done]:
    """Return a function that takes the words of a command line and returns the status and what was written."""

    def run(*words: str) -> Done:
        capfdbinary.readouterr()
        try:
            status = main([*words])
        except SystemExit as end:
            status = int(end.code or 0)
        told = capfdbinary.readouterr()
        return Done(status, told.out, told.err)

    return run


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return the status of a command, and what it wrote."""
    status = main(list(words))
    told = capsys.readouterr()
    return status, told.out, told.err
