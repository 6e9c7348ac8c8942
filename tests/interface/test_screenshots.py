"""`make screenshots` still gets to all that it has pictures of, with keys that come at real times."""

from __future__ import annotations

import time

import tui.app.keyboard
from screenshots.__main__ import SIZES, pictures
from screenshots.offered import fictitious_machine


def test_every_picture_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(tui.app.keyboard, "CLOCK", time.monotonic)
    size, folder = (80, 24), SIZES[80, 24]
    with fictitious_machine():
        saved = pictures(size, tmp_path)
    assert sorted(path.name for path in saved) == sorted(path.name for path in folder.glob("*.svg"))
    assert all("<text" in path.read_text() for path in saved)
