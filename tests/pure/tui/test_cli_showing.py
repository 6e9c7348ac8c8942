"""Names of tasks that the kernel learns after their events were read, as those of tasks that live for a moment."""

import argparse

from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.watch.watch import Watch
from tests.fake_target import ROOT
from tests.pure.kernel.test_watch import Anything, Target, id_of, probe
from tui.cli.follow.event_printer import EventPrinter
from tui.cli.follow.follow import follow

NAMES = f"{ROOT}/saved_cmdlines"


class Late(Target):
    """Knows the name of its task from the `knows_from`-th question on."""

    def __init__(self, knows_from: int) -> None:
        super().__init__()
        self.asked = 0
        self.knows_from = knows_from

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path == NAMES:
            self.asked += 1
            self.files[NAMES] = b"812 cat\n" if self.asked >= self.knows_from else b"7 sh\n"
        return super().read(path, limit, offset)


def names_shown(target: Target, number: int) -> list[str]:
    """Of as many events, which came before they are followed."""
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    event, paths = id_of(armed), {one.path for one in armed.plan.events}
    for ts in range(number):
        target.event(1000 + ts, event)
    shown: list[Record] = []
    assert follow(watch, argparse.Namespace(seconds=60.0, count=number), paths, shown.append) == number
    assert [record.ts for record in shown] == list(range(1000, 1000 + number))
    assert watch.close() == []
    return [record.comm for record in shown]


def test_an_event_waits_until_the_kernel_was_asked_for_the_name_of_its_task():
    """The first two questions are those of every session, before there is an event."""
    assert names_shown(Late(knows_from=3), 3) == ["cat"] * 3


def test_what_has_no_name_is_shown_without_one():
    target = Late(knows_from=1000)
    assert names_shown(target, 3) == ["<...>"] * 3


def test_the_kernel_is_asked_once_more_at_the_end(monkeypatch):
    target = Late(knows_from=1000)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    end_reading = watch.end_reading

    def one_comes_last() -> None:
        target.event(1000, id_of(armed))
        target.knows_from = 0
        end_reading()

    monkeypatch.setattr(watch, "end_reading", one_comes_last)
    shown: list[Record] = []
    paths = {one.path for one in armed.plan.events}
    assert follow(watch, argparse.Namespace(seconds=0.1, count=None), paths, shown.append) == 1
    assert [record.comm for record in shown] == ["cat"]
    watch.close()


def test_events_of_a_task_that_has_no_name_wait_once():
    target = Late(knows_from=1000)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    shown: list[int] = []
    paths = {one.path for one in armed.plan.events}
    showing = EventPrinter(watch, 0, paths, lambda record: shown.append(record.ts), None)

    def comes(ts: int) -> None:
        target.event(ts, id_of(armed))
        watch.intake.settle()
        showing.tick()

    comes(1000)
    assert showing.waiting
    assert shown == []
    showing.learn_names()
    assert shown == [1000]
    comes(1001)
    assert not showing.waiting
    assert shown == [1000, 1001]
    watch.close()
