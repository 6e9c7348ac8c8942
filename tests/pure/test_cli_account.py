"""What a command says at its end of what did not reach it, in the same numbers as the screen."""

from __future__ import annotations

import struct

from events.batch import Batch, Chunk
from events.subbuffer import MISSED_EVENTS
from tests.pure.test_kernel_watch import id_of, probe, rows, target, watch
from tui.cli.watching import account
from tui.shown import losses_of

__all__ = ["target", "watch"]  # fixtures


def page_after(lost: int, number: int) -> Batch:
    """A page with one event, before which so many were lost."""
    data = struct.pack("<IHHi", 2, number, 0, 812)
    flagged = len(data) | MISSED_EVENTS | 1 << 30  # RB_MISSED_STORED: the number stands behind the data
    page = struct.pack("<QQ", 1000, flagged) + data + struct.pack("<Q", lost)
    return Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True)


def test_losses_that_only_the_pages_tell_of_are_told_as_on_the_screen(watch, target, capsys):
    """As of a recording that was cut before its counts were written."""
    number = id_of(watch.arm(probe("vfs_read")))
    target.pages.queue.put(page_after(4321, number))
    assert rows(watch, 1) == ["vfs_read"]
    counts = watch.counts()
    assert counts is not None and counts.lost == 0
    account(watch)
    assert "4,321 events lost in the ring buffer" in capsys.readouterr().err
    assert losses_of(watch, counts).lost == 4321


def test_events_that_stand_behind_younger_ones_are_told(watch, target, capsys):
    number = id_of(watch.arm(probe("vfs_read")))
    target.event(2000, number)
    assert rows(watch, 1) == ["vfs_read"]
    account(watch)
    assert capsys.readouterr().err == ""
    target.event(1000, number)
    assert rows(watch, 2) == ["vfs_read"] * 2
    account(watch)
    assert "1 events came late: they stand behind younger ones" in capsys.readouterr().err
