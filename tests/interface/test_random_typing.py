"""Words typed and pasted by chance, in every state: no event, probe, file or mode of counting is lost or made by them.

A letter alone may do what can be taken back; that is taken back here, and nothing may be missing then. The profile
`typing` (`--hypothesis-profile=typing`) tries hundreds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from textual import events

import kernel.open
import tui.keyboard
from kernel.arming import Mode
from kernel.open import Choice
from tests.fake_target import ROOT
from tests.interface.test_app import SIZE, application, open_compose, pick, recording
from tests.interface.test_guards import Kernel
from tests.interface.widget_host import until
from tui.app import Probewright

__all__ = ["recording"]

settings.register_profile("typing", settings.get_profile("random"), max_examples=300)
PROFILE = settings.get_current_profile_name()
TRIES = settings(
    max_examples=300 if PROFILE == "typing" else 4,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
WORDS = st.one_of(
    st.sampled_from(["do_sys_open", "clear", "Disarm", "ckdDwTLo", "kK", "vfs_read", "stack", "uncommon", "oys", "wy"]),
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Z")), min_size=1, max_size=12),
)
STEPS = st.lists(st.tuples(WORDS, st.sampled_from(["typed", "pasted", "letter by letter", "entered"])), max_size=5)
NAMES = {" ": "space", "_": "underscore", "/": "slash", ".": "full_stop", "?": "question_mark", ":": "colon"}


class Clock:
    """Stands still within a word."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class State(NamedTuple):
    """What typing may not change."""

    events: int
    armed: tuple[str, ...]
    modes: tuple[Mode, ...]
    files: tuple[str, ...]
    clipboard: str
    recorded: bool


def state_of(app: Probewright, folder: Path) -> State:
    watching = app.watching
    assert watching is not None and watching.session is not None
    return State(
        len(watching.store or ()),
        tuple(sorted(str(one.plan.probe) for one in watching.armed)),
        tuple(sorted(watching.session.mode(one) for one in watching.armed)),
        tuple(sorted(str(path) for path in folder.rglob("*") if path.is_file())),
        app.clipboard,
        watching.recorder is not None,
    )


def key_of(letter: str) -> events.Key:
    from textual.keys import _character_to_key

    return events.Key(NAMES.get(letter) or _character_to_key(letter), letter)


async def type_words(app: Probewright, pilot: Any, clock: Clock, steps: list[tuple[str, str]]) -> None:
    for word, how in steps:
        clock.now += 10
        if how == "pasted":
            app.post_message(events.Paste(word))
        else:
            for letter in word:
                app.post_message(key_of(letter))
                if how == "letter by letter":
                    await pilot.pause()
            if how == "entered":
                app.post_message(events.Key("enter", "\r"))
        await pilot.pause()


async def settled(app: Probewright, pilot: Any, before: State, folder: Path) -> None:
    """Answer no question, go back to the events, and take back all that can be: everything is as it was."""
    for _ in range(10):
        await pilot.press("escape")
    await until(lambda: not app.keyboard.rule.pending, pilot)
    await app.workers.wait_for_complete([one for one in app.workers if one.group in ("arm", "histograms", "graph")])
    while app.undo:
        app.undo_last()
        await pilot.pause()
        await app.workers.wait_for_complete([one for one in app.workers if one.group in ("arm", "histograms")])
        await pilot.pause()
    try:
        await until(lambda: state_of(app, folder) == before, pilot, 10)
    except AssertionError:
        assert state_of(app, folder) == before
        raise


async def run(make: Callable[[], Probewright], state: str, steps: list[tuple[str, str]], folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock()
        patch.setattr(tui.keyboard, "CLOCK", clock)
        patch.chdir(folder)
        app = make()
        async with app.run_test(size=SIZE) as pilot:
            before = await COMING_TO[state](app, pilot, clock, folder)
            await type_words(app, pilot, clock, steps)
            await settled(app, pilot, before, folder)
        if app.watching is not None:
            app.watching.close()
