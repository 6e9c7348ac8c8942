"""Words typed and pasted by chance, in every state: they lose no event and no probe, write no file, change no mode.

A letter alone may do what can be taken back; that is taken back here, and nothing may be missing then. More of it:
`--hypothesis-profile=typing`.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

import kernel.connection.open_target
import tui.app.keyboard
from kernel.connection.open_target import TargetChoice
from kernel.session.probe_steps import Mode
from tests.interface.test_app import SIZE, application, open_compose, pick, recording
from tests.interface.test_guards import Kernel
from tests.interface.widget_host import until
from tui import kernel_jobs
from tui.app.app import Probewright
from tui.dialogs import dialogs

__all__ = ["recording"]

WORDS = (
    "do_sys_open",
    "clear",
    "Disarm",
    "ckdDwTLo",
    "kK",
    "vfs_read",
    "stack",
    "uncommon",
    "oys",
    "wy",
    "c",
    "D",
    "k",
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_->.,:/()?!<> "
HOW = ("typed", "letter by letter", "pasted", "entered")
TRIES = settings(
    max_examples=20 if settings.get_current_profile_name() == "typing" else 1,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)


AT_ONCE = 7
"""Places in one run: the profile comes to all."""


class Clock:
    """Stands still within a word."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class State(NamedTuple):
    """All that typing may not change."""

    events: int
    modes: dict[str, Mode]
    files: list[Path]
    recorded: bool


def state_of(app: Probewright, folder: Path) -> State:
    watching = app.current_watch
    assert watching is not None and watching.session is not None
    modes = {str(one.plan.probe): watching.session.probes.mode(one) for one in watching.armed.probes}
    return State(len(watching.store or ()), modes, sorted(folder.rglob("*")), watching.recording.recorder is not None)


def same(app: Probewright, before: State, folder: Path) -> bool:
    """A probe may have been armed besides: nothing is lost by that."""
    now = state_of(app, folder)
    return now._replace(modes={name: mode for name, mode in now.modes.items() if name in before.modes}) == before


async def type_words(app: Probewright, pilot: Pilot[None], clock: Clock, chance: random.Random) -> list[str]:
    said = []
    for _ in range(chance.randint(1, 3)):
        word = chance.choice(WORDS) if chance.random() < 0.6 else "".join(chance.choices(LETTERS, k=8))
        how = chance.choice(HOW)
        said.append(f"{word} {how}")
        clock.now += 10
        if how == "pasted":
            app.post_message(events.Paste(word))
        else:
            for letter in word:
                app.post_message(events.Key(_character_to_key(letter), letter))
                if how == "letter by letter":
                    await pilot.pause()
            if how == "entered":
                app.post_message(events.Key("enter", "\r"))
        await pilot.pause()
    return said


async def taken_back(app: Probewright, pilot: Pilot[None], clock: Clock) -> None:
    """No question is answered, the events are gone back to, and all is taken back that can be."""
    await until(lambda: not app.keyboard.rule.pending, pilot)
    clock.now += 10
    for _ in range(6):
        await pilot.press("escape")
    dialogs.close_all(app)
    await pilot.press("f3")
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)

    def idle() -> bool:
        return not any(one.group in ("arm", "histograms") and not one.is_finished for one in app.workers)

    await until(idle, pilot)
    while app.undo:
        app.undo.take_back()
        await until(idle, pilot)


async def in_every_state(
    app: Probewright, pilot: Pilot[None], places: Sequence[Sequence[str]], chance: random.Random, folder: Path
) -> None:
    """From the events by keys to each place; there words are typed."""
    clock = tui.app.keyboard.CLOCK
    assert isinstance(clock, Clock)
    before = state_of(app, folder)
    for place in chance.sample(places, AT_ONCE):
        for key in place:
            clock.now += 10
            await pilot.press(key)
        await pilot.pause()
        said = await type_words(app, pilot, clock, chance)
        await taken_back(app, pilot, clock)
        try:
            await until(lambda: same(app, before, folder), pilot, 10)
        except AssertionError as error:
            raise AssertionError(f"{place}: {said}: {before} became {state_of(app, folder)}") from error


@contextlib.contextmanager
def still() -> Iterator[Path]:
    """A clock that stands still, and an empty folder to be in."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(tui.app.keyboard, "CLOCK", Clock())
        patch.chdir(folder)
        yield Path(folder)


EVERYWHERE = (
    ("e",),
    ("g",),
    ("x",),
    ("s",),
    ("e", "slash"),
    ("e", "home", "right"),
    *((view,) for view in "ERJIybFMlUB"),
    ("ctrl+p",),
    ("L",),
    ("d",),
    ("o",),
    ("f1",),
    ("f4",),
)
BUILDING = (("f2",), ("f2", *"vfs_read", "enter"), ("f6",), ("f2", *"vfs_read", "enter", "o"), ("f5",))


@TRIES
@given(seed=st.integers(0, 2**32))
async def test_on_a_recording_nothing_is_lost_and_no_file_is_written(recording, seed):
    with still() as folder:
        app = application(recording)
        async with app.run_test(size=SIZE) as pilot:
            await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)
            await in_every_state(app, pilot, (*EVERYWHERE, *BUILDING), random.Random(seed), folder)
            before = state_of(app, folder)
            app.open_target(str(recording))
            await type_words(app, pilot, tui.app.keyboard.CLOCK, random.Random(seed))
            await until(
                lambda: app.current_watch and app.current_watch.ended and not app.keyboard.rule.pending, pilot
            )
            await taken_back(app, pilot, tui.app.keyboard.CLOCK)
            await until(lambda: same(app, before, folder), pilot, 10)


@contextlib.asynccontextmanager
async def two_armed() -> AsyncIterator[tuple[Probewright, Pilot[None]]]:
    """The events of a kernel with two probes; nothing of them may be left in the end."""
    found, clock = Kernel(10), tui.app.keyboard.CLOCK
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel.connection.open_target, "choose", lambda *_, **_more: TargetChoice(found))
        app = application("fake")
        async with app.run_test(size=SIZE) as pilot:
            await open_compose(app, pilot)
            for number, name in enumerate(("vfs_read", "vfs_write"), 1):
                clock.now += 10
                await pilot.press("f2")
                await pick(app, pilot, name)
                clock.now += 10
                await pilot.press("enter")
                await until(partial(_armed, app, number), pilot)
            yield app, pilot
        app.current_watch.close()
        assert not found.traces


@TRIES
@given(seed=st.integers(0, 2**32))
async def test_on_a_kernel_no_probe_goes_and_none_is_only_counted(seed):
    arm, free, chance = kernel_jobs.arm, threading.Event(), random.Random(seed)
    free.set()

    def slow(*args: Any, **options: Any) -> object:
        free.wait(60)
        return arm(*args, **options)

    with still() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_jobs, "arm", slow)
        clock = tui.app.keyboard.CLOCK
        async with two_armed() as (app, pilot):
            await in_every_state(app, pilot, (*EVERYWHERE, ("T",), ("T", "enter"), *BUILDING), chance, folder)
            before = state_of(app, folder)
            clock.now += 10
            await pilot.press("f2")
            await pick(app, pilot, "vfs_open")
            free.clear()
            clock.now += 10
            await pilot.press("enter")
            await until(lambda: app.keyboard.rule.pending, pilot)
            await type_words(app, pilot, clock, chance)
            free.set()
            await taken_back(app, pilot, clock)
            await until(lambda: same(app, before, folder), pilot, 10)


def _armed(app: Probewright, number: int) -> bool:
    here = app.places.live is not None and app.places.live.is_current
    return here and app.current_watch is not None and len(app.current_watch.armed.probes) == number
