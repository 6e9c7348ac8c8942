"""A short run of the random actions that `make fuzz` does by the thousand."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.monkey.actions import Action
from tests.monkey.materials import MATERIALS
from tests.monkey.session import Fault, run_actions, run_session
from tui.app.palette import CommandsByName, Palette
from widgets.footer import KeyFooter

ACTIONS = 60


@pytest.mark.parametrize("material", MATERIALS)
def test_random_actions_never_end_the_application(material: str, tmp_path: Path) -> None:
    seed = "fixed" if settings.default.derandomize else str(random.random())
    assert run_session(material, seed, ACTIONS, tmp_path) > 0


WAIT = Action("wait", "", 0.02)


def fail(*_: object) -> Any:
    raise RuntimeError("planted")


async def fail_later() -> None:
    fail()


def run(tmp_path: Path, *steps: Callable[[Any], Action | None]) -> None:
    """Do what the steps say, one after the other; one that says nothing is asked again, a moment later."""
    left, rests = list(steps), iter(range(20))

    def choose(app: Any) -> Action | None:
        if not left:
            return WAIT if next(rests, None) is not None else None
        action = left[0](app)
        if action is not None:
            del left[0]
        return action or WAIT

    run_actions("shipped", "any", choose, tmp_path)


def test_an_error_of_the_palette_is_a_fault_though_textual_goes_on(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(CommandsByName, "discover", fail)
    with pytest.raises(Fault, match="planted"):
        run(
            tmp_path,
            lambda app: Action("size", "", 80, 4),
            lambda app: Action("key", "ctrl+p", 1.0),
            lambda app: WAIT if isinstance(app.screen, Palette) else None,
        )


def test_an_error_behind_a_click_is_a_fault(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(KeyFooter, "on_click", fail)

    def click(app: Any) -> Action | None:
        x, y, width, height = (
            app.screen.query(KeyFooter).first().region if app.screen.query(KeyFooter) else (0, 0, 0, 0)
        )
        return (
            Action("click", "", (x + 1.5) / app.size.width, (y + 0.5) / app.size.height) if width * height else None
        )

    with pytest.raises(Fault, match="planted"):
        run(tmp_path, lambda app: Action("size", "", 120, 40), click)


@pytest.mark.parametrize(
    "begin",
    [
        lambda app: threading.Thread(target=fail).start(),
        lambda app: asyncio.get_running_loop().create_task(fail_later()),
        lambda app: app.log.error("planted"),
    ],
    ids=["thread", "task", "log"],
)
def test_an_error_that_nobody_sees_is_a_fault(begin: Callable[[Any], object], tmp_path: Path) -> None:
    def step(app: Any) -> Action:
        begin(app)
        return WAIT

    with pytest.raises(Fault, match="planted"):
        run(tmp_path, step)


def test_without_an_error_there_is_no_fault(tmp_path: Path) -> None:
    run(tmp_path, lambda app: WAIT)
