"""A short run of the random actions that `make fuzz` does by the thousand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import settings

from tests.monkey.materials import MATERIALS
from tests.monkey.session import run_session

ACTIONS = 60


@pytest.mark.parametrize("material", MATERIALS)
def test_random_actions_never_end_the_application(material: str, tmp_path: Path) -> None:
    seed = "fixed" if settings.default.derandomize else str(random.random())
    assert run_session(material, seed, ACTIONS, tmp_path) > 0
