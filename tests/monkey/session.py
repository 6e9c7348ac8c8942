"""One session of random actions: the application on one material, in a folder of its own, far from any kernel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest
from textual import events
from textual.errors import NoWidget
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot

import kernel.connection.open_target
import tui.app.keyboard
from kernel.connection.open_target import TargetChoice, choose, names_file
from kernel.errors import TargetUnusable
from tests.interface.widget_host import screen_text
from tests.monkey.actions import SIZES, Action
from tests.monkey.choice import Chooser, Tried
from tests.monkey.materials import MATERIALS, Subject
from tests.monkey.safety import Bounds
from tests.monkey.unheard import hear_tasks, unheard_errors
from tui.app.app import Probewright

PATIENCE = 30.0
"""Seconds of the longest time that one action may take; more of it is a hang."""


_OBEYED = re.compile("[\\0-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\ud800-\\udfff]")
"""What a terminal obeys, and what can't be written to one."""


class Fault(AssertionError):
    """The application ended by itself, hung, or showed what no terminal may get."""


Chosen = Callable[[Any], Action | None]
"""Gives the next action on an application; None: no more."""


class TypingClock:
    """Time of the keyboard, which can be put forward: as if nobody had typed for so long."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def put_forward(self, seconds: float) -> None:
        """Let so many seconds have gone by."""
        self._ahead += seconds

    def __call__(self) -> float:
        """Return seconds from some moment on."""
        return time.monotonic() + self._ahead


def run_session(
    material: str, seed: str, count: int, folder: Path, bounds: Bounds | None = None, tried: Tried | None = None
) -> int:
    """Do random actions until `count` of them are done or the application was left; return how many were.

    Args:
        material: a key of `MATERIALS`.
        seed: of all that is random.
        count: of actions.
        folder: everything that is written goes there.
        bounds: of this process, which hear of each action; None: there are none.
        tried: by earlier sessions, counted on; None: nothing was.

    Raises:
        Fault: with the number of the action that led there.
    """
    chooser = Chooser(Random(f"{seed} actions"), material, Tried() if tried is None else tried)
    left = iter(range(count))
    return run_actions(
        material, seed, lambda app: chooser.choose(app) if next(left, None) is not None else None, folder, bounds
    )


def run_actions(material: str, seed: str, choose: Chosen, folder: Path, bounds: Bounds | None = None) -> int:
    """Do what is chosen, as `run_session`."""
    random = Random(seed)
    done: list[Action] = []

    def note(action: Action) -> None:
        done.append(action)
        if bounds is not None:
            bounds.begin(action)

    where = f"{material}, seed {seed}"
    with _far_from_kernels(folder) as (clock, unheard), MATERIALS[material](folder, random) as subject:
        try:
            asyncio.run(_act(subject, random, choose, note, clock, unheard, bounds))
        except Exception as error:
            raise Fault(f"{where}, action {len(done)}: {error!r}") from error
    if unheard:
        raise Fault(f"{where}: {unheard[0]!r}, and nobody would see it") from unheard[0]
    return len(done)


async def _act(
    subject: Subject,
    random: Random,
    choose: Chosen,
    note: Callable[[Action], None],
    clock: TypingClock,
    unheard: list[BaseException],
    bounds: Bounds | None,
) -> None:
    app = subject.app
    hear_tasks(unheard)
    async with app.run_test(size=random.choice(SIZES)) as pilot:
        while (action := choose(app)) is not None:
            note(action)
            await asyncio.wait_for(_do(pilot, action, clock), PATIENCE)
            if app._exception is not None or not app.is_running or unheard:
                break
            if random.random() < 0.2:
                await asyncio.to_thread(subject.disturb, random)
            _require_safe_text(app)
            if bounds is not None and (told := bounds.beyond()):
                raise Fault(told)


async def _do(pilot: Pilot[None], action: Action, clock: TypingClock) -> None:
    """Do one action, and wait until the application has looked at it (not for what it began)."""
    app = pilot.app
    if action.kind == "key":
        clock.put_forward(action.x)
        await pilot.press(action.text)
    elif action.kind == "burst":
        for letter in action.text:
            _send_key(app, letter)
        await pilot.pause()
    elif action.kind == "paste":
        app.post_message(events.Paste(action.text))
        await pilot.pause()
    elif action.kind in ("click", "double", "wheel"):
        with contextlib.suppress(NoWidget):  # of the pilot: a screen that has just come has nothing at that point yet
            await _use_mouse(pilot, action)
    elif action.kind == "size":
        await pilot.resize_terminal(int(action.x), int(action.y))
    else:
        await pilot.pause(action.x)


async def _use_mouse(pilot: Pilot[None], action: Action) -> None:
    point = _point(pilot.app, action)
    if action.kind == "wheel":
        await pilot._post_mouse_events([MouseScrollUp if action.text == "up" else MouseScrollDown], offset=point)
    else:
        await pilot.click(offset=point, times=2 if action.kind == "double" else 1)


def _send_key(app: Any, letter: str) -> None:
    """Send a key without waiting for the one before, as a fast hand or a slow connection does."""
    key = events.Key("enter" if letter == "\n" else letter, None if letter == "\n" else letter)
    key.set_sender(app)
    app._driver.send_message(key)


def _point(app: Any, action: Action) -> tuple[int, int]:
    width, height = app.screen.size
    return min(int(action.x * width), width - 1), min(int(action.y * height), height - 1)


def _require_safe_text(app: Probewright) -> None:
    """Raise Fault where the screen holds what a terminal obeys."""
    for line in screen_text(app):
        if _OBEYED.search(line):
            raise Fault(f"on the screen: {line!r}")


@contextmanager
def _far_from_kernels(folder: Path) -> Iterator[tuple[TypingClock, list[BaseException]]]:
    """Let nothing leave the folder, open a kernel or start a program; the keyboard's clock, and unheard errors."""

    def choose_files_alone(spec: str, *rest: Any, **more: Any) -> TargetChoice:
        if not names_file(spec) or not spec:
            if spec.startswith("ssh://"):
                return choose(spec, *rest, **more)  # without a PATH: there is no ssh
            raise TargetUnusable(f"{spec}: not here", "a recording")
        return choose(spec, *rest, **more)

    clock = TypingClock()
    with pytest.MonkeyPatch.context() as patch, unheard_errors(patch) as unheard:
        patch.setattr(kernel.connection.open_target, "choose", choose_files_alone)
        patch.setattr(tui.app.keyboard, "CLOCK", clock)
        patch.setattr(Probewright, "suspend", lambda app: nullcontext())
        for name in (
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME",
        ):
            patch.setenv(name, str(folder))
        patch.setenv("PATH", os.devnull)
        for name in ("EDITOR", "VISUAL", "PROBEWRIGHT_TARGET"):
            patch.delenv(name, raising=False)
        patch.chdir(folder)
        yield clock, unheard
