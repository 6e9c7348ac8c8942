"""Words typed by chance while an export runs, a recording is written, a graph begins, or hosts are armed."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tui.app.keyboard
from events.export.job import Job
from kernel.errors import KernelError
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.fleet import Fleet
from kernel.watch.watch import Watch
from tests.interface.test_app import SIZE, application, pick, recording
from tests.interface.test_hosts import running
from tests.interface.test_random_typing import (
    TRIES,
    in_every_state,
    same,
    state_of,
    still,
    taken_back,
    two_armed,
    type_words,
)
from tests.interface.widget_host import until
from tests.pure.fake_hosts import FakeHost, Lan
from tui.hosts.screen import HostsScreen
from tui.live.event_export import EventExportScreen

__all__ = ["recording"]

SEEDS = st.integers(0, 2**32)


@TRIES
@given(seed=SEEDS)
async def test_an_export_that_runs_is_written_whole_or_not_at_all(recording, seed):
    step, free, chance = Job.step, threading.Event(), random.Random(seed)
    with still() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "step", lambda job, budget: step(job, budget) if free.is_set() else False)
        app, clock = application(recording), tui.app.keyboard.CLOCK
        async with app.run_test(size=SIZE) as pilot:
            await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
            before = state_of(app, folder)
            clock.now += 10
            await pilot.press("o")
            await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
            clock.now += 10
            await pilot.press("enter")
            await until(lambda: app.screen._job is not None, pilot)
            await type_words(app, pilot, clock, chance)
            free.set()
            await until(lambda: not isinstance(app.screen, EventExportScreen) or app.screen._job is None, pilot)
            await taken_back(app, pilot, clock)
            written = sorted(folder.rglob("*"))
            assert same(app, before._replace(files=written), folder)
            assert len(written) <= 1
            assert all(_lines(path) == before.events for path in written)


def _lines(path: Path) -> int:
    """Events in a file of JSON lines, less the line about all of them where there is one."""
    return sum(b'"event"' in line for line in path.read_bytes().splitlines())


@TRIES
@given(seed=SEEDS)
async def test_a_recording_that_is_written_goes_on(seed):
    with still() as folder:
        async with two_armed() as (app, pilot):
            clock = tui.app.keyboard.CLOCK
            clock.now += 10
            await pilot.press("w")
            clock.now += 10
            await pilot.press("enter")
            await until(lambda: app.current_watch.recording.recorder is not None and not app.recorder._doing, pilot)
            before = state_of(app, folder)
            await in_every_state(app, pilot, _PLACES, random.Random(seed), folder)
            assert before.recorded and app.current_watch.recording.recorder is not None


@TRIES
@given(seed=SEEDS)
async def test_while_a_graph_begins_nothing_is_lost(seed):
    free, chance = threading.Event(), random.Random(seed)

    def begin(watching: Watch) -> None:
        free.wait(60)
        raise KernelError("no tracer here")

    with still() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "begin", begin)
        async with two_armed() as (app, pilot):
            clock, before = tui.app.keyboard.CLOCK, state_of(app, folder)
            await pilot.press("f2")
            await pick(app, pilot, "vfs_open")
            clock.now += 10
            await pilot.press("G")
            clock.now += 10
            await pilot.press("3")
            await until(lambda: app.keyboard.rule.pending, pilot)
            await type_words(app, pilot, clock, chance)
            free.set()
            await taken_back(app, pilot, clock)
            await until(lambda: same(app, before, folder), pilot, 10)


@TRIES
@given(seed=SEEDS)
async def test_no_host_loses_a_probe_or_an_event(seed):
    with still() as folder:
        hosts = Lan(FakeHost("web1", behind=100), FakeHost("web2.example.com", behind=-3))
        async with running(hosts, "web1", "web2.example.com", size=SIZE) as (app, pilot):
            fleet, clock, chance = app.hosts.fleet, tui.app.keyboard.CLOCK, random.Random(seed)
            fleet.arm(ArmRequest(("f vfs_read",)))
            await until(lambda: all(host.state == "armed" for host in fleet.hosts), pilot)
            for host in hosts.hosts.values():
                host.event(10**9)
            await until(lambda: fleet.events.next_seq == 2, pilot)
            before = _of_hosts(fleet, folder)
            for place in (("f9",), ("f9", "tab"), ("f9", "tab", "slash"), ("f9", "f1"), ("f9", "f5")):
                for key in place:
                    clock.now += 10
                    await pilot.press(key)
                said = await type_words(app, pilot, clock, chance)
                clock.now += 10
                for _ in range(6):
                    await pilot.press("escape")
                await pilot.press("f9")
                await until(lambda: isinstance(app.screen, HostsScreen), pilot)
                now = _of_hosts(fleet, folder)
                assert before[:2] == now[:2] and before[2] <= now[2], (place, said)


def _of_hosts(fleet: Fleet, folder: Path) -> tuple[int, list[Path], set[tuple[str, str]]]:
    """Events in the list of all, files, and the probes of each host."""
    armed = {
        (host.name, str(one.plan.probe))
        for host in fleet.hosts
        if host.watch is not None
        for one in host.watch.armed.probes
    }
    return fleet.events.next_seq - fleet.events.first_seq, sorted(folder.rglob("*")), armed


_PLACES = (("e",), ("s",), ("x",), ("L",), ("w",), ("o",), ("f1",), ("f2",), ("f5",))
