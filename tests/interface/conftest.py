"""Fixtures of every test of the interface."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

import tui.keyboard
from tests.shared_work import collections_without_modules, pumps_closed_after_the_test, recordings_unpacked_once

__all__ = ["collections_without_modules", "pumps_closed_after_the_test", "recordings_unpacked_once"]


@pytest.fixture(scope="session", autouse=True)
def style_sheets_parsed_once() -> Iterator[None]:
    """Share parsed rules between applications: all have the sheets of the same widgets."""
    parse, known = Stylesheet._parse_rules, {}

    def parse_once(sheet: Stylesheet, *source: Any, **more: Any) -> list[RuleSet]:
        key = (source, *sorted(more.items()), *sorted(sheet._variables.items()))
        if key not in known:
            known[key] = parse(sheet, *source, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True)
def keys_pressed_with_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each key come long after the one before, whatever time that takes; tests of fast typing stop the clock."""
    monkeypatch.setattr(tui.keyboard, "CLOCK", itertools.count(0, 10).__next__)
