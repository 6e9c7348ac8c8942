"""A far target is opened beside the imports: once, by who asks for it, and closed where nobody does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kernel.connection.open_target import TargetChoice
from kernel.errors import TargetUnusable
from tests.fake_target import FakeTarget
from tui.cli.console import early
from tui.cli.console.waiting import print_line

FAR = "ssh://root@far"


class Far(FakeTarget):
    closed = False

    def close(self) -> None:
        self.closed = True


class Opener:
    """Stands in for `kernel.connection.open_target.choose`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.target = Far()
        self.error: Exception | None = None
        self.waits_for_cancel = False
        self.cancelled = False

    def __call__(
        self,
        spec: str,
        progress: object = None,
        cancel: threading.Event | None = None,
        *,
        tell: Callable[[str], None],
    ) -> TargetChoice:
        assert tell is print_line, "what a far host says is not lost"
        self.asked.append(spec)
        if self.waits_for_cancel:
            assert cancel is not None
            self.cancelled = cancel.wait(60)
            raise TargetUnusable("cancelled")
        if self.error is not None:
            raise self.error
        return TargetChoice(self.target)


@pytest.fixture
def opener(monkeypatch: pytest.MonkeyPatch) -> Opener:
    made = Opener()
    monkeypatch.setattr(early, "choose", made)
    return made


def words(command: str = "run", target: str = FAR, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(command=command, target=target, **more)


def test_what_was_begun_is_what_is_taken(opener: Opener) -> None:
    with early.opening_early(words()):
        assert early.take_target(FAR).target is opener.target
        assert opener.asked == [FAR]
        assert early.take_target(FAR).target is opener.target
        assert opener.asked == [FAR, FAR], "taken once; the next one is another"
    assert not opener.target.closed


def test_what_nobody_took_is_closed(opener: Opener) -> None:
    with early.opening_early(words()):
        pass
    assert opener.asked == [FAR]
    assert opener.target.closed


def test_it_is_given_up_where_the_command_ends_before(opener: Opener) -> None:
    opener.waits_for_cancel = True
    with pytest.raises(KeyboardInterrupt), early.opening_early(words()):
        raise KeyboardInterrupt
    assert opener.cancelled


def test_what_went_wrong_is_told_to_who_asks(opener: Opener) -> None:
    opener.error = TargetUnusable("no route", "go there")
    with pytest.raises(TargetUnusable, match="no route"), early.opening_early(words()):
        early.take_target(FAR)


@pytest.mark.parametrize(
    "given",
    [
        words(target="local"),
        words(target="lab"),
        words("app"),
        words("completion"),
        words(targets=(FAR, "ssh://root@other")),
        words(groups=["web"]),
    ],
)
def test_only_a_lone_line_is_begun_early(opener: Opener, given: SimpleNamespace) -> None:
    with early.opening_early(given):
        assert not opener.asked
