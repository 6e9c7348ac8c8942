"""What a command says at its end of what did not reach it, in the same numbers as the screen."""

from __future__ import annotations

import struct
from typing import NoReturn

from events.batch import Batch, Chunk
from events.subbuffer import MISSED_EVENTS
from kernel.cleanup.undo import UndoFailure
from kernel.errors import TargetLost
from kernel.target import Effect, Step
from tests.pure.kernel.test_watch import id_of, probe, rows, target, watch
from tui.cli.follow.disarming import disarm_all
from tui.cli.follow.loss_printer import print_losses
from tui.cli.main import print_error
from tui.present.loss_totals import losses_of

__all__ = ["target", "watch"]  # fixtures


def page_after(lost: int, number: int) -> Batch:
    """A page with one event, before which so many were lost."""
    data = struct.pack("<IHHi", 2, number, 0, 812)
    flagged = len(data) | MISSED_EVENTS | 1 << 30  # RB_MISSED_STORED: the number stands behind the data
    page = struct.pack("<QQ", 1000, flagged) + data + struct.pack("<Q", lost)
    return Batch((Chunk(0, page.ljust(4096, b"\0")),), drained=True)


def test_losses_that_only_the_pages_tell_of_are_told_as_on_the_screen(watch, target, capsys):
    """As of a recording that was cut before its counts were written."""
    number = id_of(watch.armed.arm(probe("vfs_read")))
    target.pages.queue.put(page_after(4321, number))
    assert rows(watch, 1) == ["vfs_read"]
    counts = watch.counts()
    assert counts is not None and counts.lost == 0
    print_losses(watch)
    assert "4,321 events lost in the ring buffer" in capsys.readouterr().err
    assert losses_of(watch, counts).lost == 4321


def test_events_that_stand_behind_younger_ones_are_told(watch, target, capsys):
    number = id_of(watch.armed.arm(probe("vfs_read")))
    target.event(2000, number)
    assert rows(watch, 1) == ["vfs_read"]
    print_losses(watch)
    assert capsys.readouterr().err == ""
    target.event(1000, number)
    assert rows(watch, 2) == ["vfs_read"] * 2
    print_losses(watch)
    assert "1 event came late: it stands behind younger ones" in capsys.readouterr().err


def test_why_a_line_was_lost_is_said_once_by_all_that_come_upon_it(watch, monkeypatch, capsys):
    """The last look at the losses, what becomes of the probes, and the end of the command."""

    def lost(*_: object) -> NoReturn:
        raise TargetLost("no answer for 10 s")

    step = Step(Effect.WRITE, "tracing_on", b"0")
    watch.armed.arm(probe("vfs_read"))
    monkeypatch.setattr(watch, "counts", lost)
    monkeypatch.setattr(watch, "close", lambda: [UndoFailure(step, TargetLost("no answer for 10 s"))])
    print_losses(watch)
    assert disarm_all(watch) == 1
    assert print_error(TargetLost("no answer for 10 s"), 3) == 3
    told = capsys.readouterr().err
    assert told.count("no answer for") == 1
    assert told.count("losses are told as of before") == told.count("removes its probes by itself") == 1
    assert print_error(TargetLost("the connection was lost"), 3) == 3
    assert "the connection was lost" in capsys.readouterr().err
