"""Whether a target is a kernel or a recording is known without a word to the remote host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel.errors import TargetLost
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget

ROOT = Path(__file__).parents[3]


class _Lost:
    """A line that is gone before anything was asked."""

    pid = 4242

    def read(self, *words: Any) -> bytes:
        raise TargetLost("the connection was lost")


def test_a_lost_line_is_not_asked_whether_it_is_a_kernel():
    far = RemoteTarget(RemoteConnection(_Lost(), "agent", (), lambda: None), "ssh://gone")  # type: ignore[arg-type]
    assert far.is_kernel
    with pytest.raises(TargetLost):
        _ = far.owner


_IN_A_THREAD = {"tui/compose/completer.py"}
"""Waits for the remote host, and says that it raises its errors."""


def test_no_screen_asks_for_the_name_of_our_process_there():
    """An answer of the remote host is needed, which a screen neither waits for nor may fail by."""
    files = [path for folder in ("tui", "widgets") for path in (ROOT / folder).rglob("*.py")]
    asking = {str(path.relative_to(ROOT)) for path in files if "target.owner" in path.read_text()}
    assert asking == _IN_A_THREAD
