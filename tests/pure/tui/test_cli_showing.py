"""Names of tasks that the kernel learns after their events were read, as those of tasks that live for a moment."""

import argparse

import pytest

from events.aggregates.request import AggregateRequest
from events.record import Record
from events.store.outage_mark import task_text
from kernel.connection.kernel_info import KernelInfo
from kernel.session.armed import Armed
from kernel.watch.watch import Watch
from tests.fake_target import ROOT
from tests.pure.kernel.test_watch import Anything, Target, id_of, probe
from tui.cli.follow.event_printer import EventPrinter
from tui.cli.follow.follow import follow
from tui.cli.tables.aggregate_printer import count_events
from tui.filter.filter import Filter

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


def table_of(watch: Watch, armed: Armed, number: int | None, seconds: float = 60.0) -> dict[str, int]:
    """Return the rows of `--by comm` of the events that come."""
    events = {one.path for one in armed.plan.events}
    arguments = argparse.Namespace(seconds=seconds, count=number, by="comm")
    model, error = count_events(watch, arguments, events, AggregateRequest(("comm",)), Filter())
    assert error is None and model is not None
    return {row.labels[0]: row.hits for row in model.rows(0).rows}


@pytest.mark.parametrize("number", [3, None])
def test_a_table_has_the_names_that_came_last(monkeypatch, number):
    """The programs of a command end at once: all names are learned after the first question."""
    target = Late(knows_from=1000)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    for ts in range(3):
        target.event(1000 + ts, id_of(armed))
    last = "end_reading" if number is None else "set_deadline"
    happens, calls = getattr(watch, last), []

    def learns_then(*words: float) -> None:
        calls.append(words)
        if number is None or len(calls) > 1:  # the first deadline is that of the beginning
            target.knows_from = 0
        happens(*words)

    monkeypatch.setattr(watch, last, learns_then)
    assert table_of(watch, armed, number, seconds=0.5) == {"cat": 3}
    watch.close()


def test_a_table_asks_for_names_while_the_kernel_has_them():
    """The kernel forgets the name of a task for those of others."""

    class Forgetful(Late):
        def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
            found = super().read(path, limit, offset)
            if path == NAMES and self.asked == self.knows_from:
                self.knows_from = 1000
            return found

    target = Forgetful(knows_from=1000)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    events = {one.path for one in armed.plan.events}
    counted = iter(range(1, 100))
    printer = EventPrinter(watch, 0, events, lambda _: None, lambda: next(counted))
    target.event(1000, id_of(armed))
    watch.intake.settle()
    printer.tick()
    assert printer.number and printer.is_held_back and not printer.waiting, "it is counted at once"
    target.knows_from = target.asked + 1
    printer.learn_names()
    assert not printer.is_held_back
    printer.finish()
    assert watch.store is not None and watch.store.record(0).comm == "cat"
    watch.close()


def test_tasks_without_names_are_rows_of_their_own_named_as_events_name_them():
    target = Late(knows_from=1000)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    for ts in range(3):
        target.event(1000 + ts, id_of(armed), 812 + ts // 2)
    rows = table_of(watch, armed, 3)
    assert rows == {"pid 812": 2, "pid 813": 1}
    assert watch.store is not None
    records = [watch.store.record(seq) for seq in range(3)]
    assert rows.keys() == {task_text(one.comm, one.pid, one.event) for one in records}
    watch.close()
